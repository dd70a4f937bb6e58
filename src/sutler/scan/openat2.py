"""The openat2 system call, which Python's os module lacks. Imported only where single opens are
confined.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Callable

_NUMBER = 437  # the same on every Linux architecture since the tables were unified
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH, _NO_XDEV = 0x02, 0x04, 0x08, 0x01
_RETRIES = 64


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


def open_beneath(fd: int, path: str, flags: int, *, same_mount: bool = False) -> int:
    """Open `path` beneath `fd` without following any link; the kernel checks every component."""
    if path.startswith("/") or "\0" in path:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
    resolve = _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS | (_NO_XDEV if same_mount else 0)
    how = _OpenHow(flags, 0, resolve)
    raw = os.fsencode(path)
    for _ in range(_RETRIES):
        found = int(_syscall(_NUMBER, fd, raw, ctypes.byref(how), ctypes.sizeof(how)))
        if found >= 0:
            return found
        number = ctypes.get_errno()
        # A rename raced with the look-up; the kernel could not be sure and asks for another try.
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(number, os.strerror(number))


def opener(fd: int, flags: int) -> Callable[[str], int]:
    """`open_beneath` with everything but the path made ready, for thousands of files. The path is a
    RelPath.
    """
    resolve = _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS
    how = ctypes.byref(_OpenHow(flags, 0, resolve))
    size, call, encode = ctypes.sizeof(_OpenHow), _syscall, os.fsencode

    def open_file(path: str) -> int:
        found: int = call(_NUMBER, fd, encode(path), how, size)
        # What failed is tried once more the long way, which knows what to retry and how to say it.
        return found if found >= 0 else open_beneath(fd, path, flags)

    return open_file


def available() -> bool:
    """Whether this kernel, and the sandbox around us, answers openat2."""
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


_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long
