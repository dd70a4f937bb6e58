"""What the operating system offers, in one place."""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any


def cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def may_fork() -> bool:
    """Whether a fork is safe: on Linux, with no other thread whose locks a child would inherit."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


_NUMBER = 437  # the same on every Linux architecture since the tables were unified
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH, _NO_XDEV = 0x02, 0x04, 0x08, 0x01
_RETRIES = 64


@cache
def _syscall() -> Any:
    """The C library's `syscall`: Python's os module has no openat2."""
    import ctypes  # only where single opens are confined

    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    return call


def _open_how(flags: int, resolve: int) -> bytes:
    """The kernel's `struct open_how`."""
    return struct.pack("=QQQ", flags, 0, resolve)


def open_beneath(fd: int, path: str, flags: int, *, same_mount: bool = False) -> int:
    """Open `path` beneath `fd` without following any link; the kernel checks every component."""
    import ctypes

    if path.startswith("/") or "\0" in path:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    resolve = _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS | (_NO_XDEV if same_mount else 0)
    how = _open_how(flags, resolve)
    raw = os.fsencode(path)
    for _ in range(_RETRIES):
        opened = int(_syscall()(_NUMBER, fd, raw, how, len(how)))
        if opened >= 0:
            return opened
        number = ctypes.get_errno()
        # A rename raced with the look-up; the kernel could not be sure and asks for another try.
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number))


def opener(fd: int, flags: int) -> Callable[[str], int]:
    """`open_beneath` with all arguments but the path prepared, for thousands of files. The path is
    a RelPath.
    """
    how = _open_how(flags, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)
    size, call, encode = len(how), _syscall(), os.fsencode

    def open_file(path: str) -> int:
        opened: int = call(_NUMBER, fd, encode(path), how, size)
        # A failed open is repeated by `open_beneath`, which retries and raises the right error.
        return opened if opened >= 0 else open_beneath(fd, path, flags)

    return open_file


def has_openat2() -> bool:
    """Whether this kernel, and the sandbox around this process, offers openat2."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        here = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        os.close(open_beneath(here, ".", os.O_PATH | os.O_CLOEXEC))
    except OSError:
        return False
    finally:
        os.close(here)
    return True
