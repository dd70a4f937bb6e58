"""Features of the operating system, and their replacements where they are missing.

    feature      use                                    without it
    openat2      the kernel confines each open          each component is opened by itself
    descriptors  folders are open descriptors           a folder is a path, checked for links
    fdatasync    the log of the database                fsync
    locks        one writer of a file, by flock         a holder file with the id of its process
    fork         worker processes                       one process does all the work
    exchange     two names change places in one step    a hard link keeps the old file, then rename
    affinity     the cores that this process may use    all cores of the machine
    pipe_size    workers run further ahead              pipes of the usual size
    owners       files of other users are refused       every file counts as the user's own

`fs` has the calls of `os` with these replacements: code that holds folders, owners or flags uses
`fs` instead of `os`; `plain_calls` has them."""

from __future__ import annotations

import errno
import os
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

from sutler.plain_calls import PlainCalls, error_of

Feature = Literal[
    "openat2",
    "descriptors",
    "fdatasync",
    "locks",
    "fork",
    "exchange",
    "affinity",
    "pipe_size",
    "owners",
]
FEATURES: tuple[Feature, ...] = get_args(Feature)

_LINUX = sys.platform.startswith("linux")


# openat2 and the exchange are probed when they are first used.
_PLATFORM: dict[Feature, bool] = {
    "openat2": _LINUX,
    "descriptors": os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW"),
    "fdatasync": hasattr(os, "fdatasync"),
    "locks": sys.platform != "win32",
    "fork": _LINUX,
    "exchange": _LINUX,
    "affinity": hasattr(os, "sched_getaffinity"),
    "pipe_size": _LINUX,
    "owners": hasattr(os, "getuid"),
}
offered: frozenset[Feature] = frozenset(feature for feature in FEATURES if _PLATFORM[feature])


_EMULATED: frozenset[Feature] = frozenset({"descriptors", "fdatasync", "owners"})

if TYPE_CHECKING:
    fs = os
else:
    fs = os if offered >= _EMULATED else PlainCalls(_EMULATED - offered)


def switch_off(*features: Feature) -> None:
    """Disable these features, as on a platform that lacks them. Call it before any other module of
    the package is imported: they take their calls and flags from here."""
    global offered, fs
    offered -= frozenset(features)
    fs = os if offered >= _EMULATED else PlainCalls(_EMULATED - offered)  # type: ignore[assignment]


# cores, workers and pipes


def cores() -> int:
    """Return the number of cores that this process may use."""
    if "affinity" in offered:
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def may_fork() -> bool:
    """Return whether a fork is safe: on Linux, with no other thread whose locks a child would
    inherit."""
    if "fork" not in offered:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:  # no /proc, as in some sandboxes: whether other threads run is unknown
        return False


_PIPE = 1 << 20  # the most that Linux allows without a privilege
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ


def widen(pipe: int) -> None:
    """Enlarge a pipe's buffer to a megabyte, if the user's limit allows it."""
    if "pipe_size" in offered:
        import fcntl

        with suppress(OSError):
            fcntl.fcntl(pipe, _SET_PIPE_SIZE, _PIPE)


# locks


def try_lock(fd: int, path: str) -> bool:
    """Lock the open file for this process alone; False if another holder has it."""
    if "locks" in offered:
        import fcntl

        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # raised by flock if the lock is held
            return False
        return True
    return _hold_by_file(f"{path}.held")


def unlock(fd: int, path: str) -> None:
    """Release the lock and close the file."""
    os.close(fd)  # the kernel releases with the descriptor, also when a process is killed
    if "locks" not in offered:
        with suppress(FileNotFoundError):
            os.unlink(f"{path}.held")


def _hold_by_file(holder: str) -> bool:
    for _ in range(2):
        try:
            fd = os.open(holder, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        except FileExistsError:
            if _is_held(holder):
                return False
            with suppress(FileNotFoundError):
                os.unlink(holder)
            continue
        os.write(fd, str(os.getpid()).encode())
        os.close(fd)
        return True
    return False


def _is_held(holder: str) -> bool:
    """Return whether the process that created the holder file still runs. An empty file is being
    created."""
    try:
        with open(holder, encoding="ascii") as stream:
            text = stream.read()
        if text:
            os.kill(int(text), 0)
    except (ProcessLookupError, FileNotFoundError, ValueError):
        return False
    except OSError:
        pass  # it runs as another user
    return True


# system calls that the os module lacks


@cache  # loading it takes longer than most calls
def _libc() -> Any:
    import ctypes  # only where single opens are confined or names exchanged

    return ctypes.CDLL(None, use_errno=True)


@cache
def _syscall() -> Any:
    import ctypes

    call = _libc().syscall
    call.restype = ctypes.c_long
    return call


_OPENAT2 = 437  # the same on every Linux architecture since the tables were unified
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
# Openat2 answers EAGAIN while a rename elsewhere runs; renames without end are an attack.
_RETRIES = 64


def _open_how(flags: int) -> bytes:
    """Encode the kernel's `struct open_how`."""
    return struct.pack("=QQQ", flags, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)


def open_beneath(fd: int, path: str, flags: int) -> int:
    """Open `path` beneath `fd` without following any link; the kernel checks every component."""
    import ctypes

    if path.startswith("/") or "\0" in path:
        raise error_of(errno.EXDEV)
    how = _open_how(flags)
    raw = os.fsencode(path)
    for _ in range(_RETRIES):
        opened = int(_syscall()(_OPENAT2, fd, raw, how, len(how)))
        if opened >= 0:
            return opened
        number = ctypes.get_errno()
        # A rename raced with the look-up; the kernel could not be sure and asks for another try.
        if number not in (errno.EAGAIN, errno.EINTR):
            break
    raise error_of(number)


def opener(fd: int, flags: int) -> Callable[[str], int]:
    """Return `open_beneath` with all arguments but the path prepared, for thousands of files. The
    path is a RelPath."""
    how = _open_how(flags)
    size, call, encode = len(how), _syscall(), os.fsencode

    def open_file(path: str) -> int:
        opened: int = call(_OPENAT2, fd, encode(path), how, size)
        # A failed open is repeated by `open_beneath`, which retries and raises the right error.
        return opened if opened >= 0 else open_beneath(fd, path, flags)

    return open_file


def has_openat2() -> bool:
    """Return whether this kernel, and the sandbox around this process, offers openat2."""
    if "openat2" not in offered or "descriptors" not in offered:
        return False
    try:
        here = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # a sandbox without a readable root: openat2 brings nothing there
        return False
    try:
        os.close(open_beneath(here, ".", os.O_PATH | os.O_CLOEXEC))
    except OSError:  # an older kernel, or a seccomp filter that refuses the call
        return False
    finally:
        os.close(here)
    return True


_EXCHANGE = 2  # RENAME_EXCHANGE


def exchange(fd: int, left: str, right: str) -> bool:
    """Exchange two names of the folder `fd` in one step; False if the system cannot."""
    if "exchange" not in offered or "descriptors" not in offered:
        return False
    import ctypes

    call = getattr(_libc(), "renameat2", None)
    if call is None:
        return False
    if call(fd, os.fsencode(left), fd, os.fsencode(right), ctypes.c_uint(_EXCHANGE)) == 0:
        return True
    number = ctypes.get_errno()
    if number in (errno.EINVAL, errno.ENOSYS, errno.EPERM):
        return False
    raise error_of(number)
