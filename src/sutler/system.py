"""What the operating system offers, and what takes its place where it is missing.

feature      use                                    without it
openat2      the kernel confines each open          each component is opened by itself
descriptors  folders are open descriptors           a folder is a path, checked for links
fdatasync    the log of the database                fsync
locks        one writer of a file, by flock         a holder file with the id of its process
fork         worker processes                       one process does all the work
exchange     two names change places in one step    a hard link keeps the old file, then a rename
affinity     the cores that this process may use    all cores of the machine
pipe_size    workers run further ahead              pipes of the usual size
writev       one call for many pieces               one call for each piece
owners       files of other users are refused       every file counts as the user's own

`fs` has the calls of `os` with these replacements: code that holds folders, owners or flags uses
`fs` instead of `os`. A path in place of a descriptor is weaker: between the check and the use
another process may put a link there, which descriptors rule out.
"""

from __future__ import annotations

import errno
import os
import stat
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, get_args

Feature = Literal[
    "openat2",
    "descriptors",
    "fdatasync",
    "locks",
    "fork",
    "exchange",
    "affinity",
    "pipe_size",
    "writev",
    "owners",
]
FEATURES: tuple[Feature, ...] = get_args(Feature)

_LINUX = sys.platform.startswith("linux")


# openat2 and the exchange are asked of the kernel when they are first used.
_PLATFORM: dict[Feature, bool] = {
    "openat2": _LINUX,
    "descriptors": os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW"),
    "fdatasync": hasattr(os, "fdatasync"),
    "locks": sys.platform != "win32",
    "fork": _LINUX,
    "exchange": _LINUX,
    "affinity": hasattr(os, "sched_getaffinity"),
    "pipe_size": _LINUX,
    "writev": hasattr(os, "writev"),
    "owners": hasattr(os, "getuid"),
}
offered: frozenset[Feature] = frozenset(feature for feature in FEATURES if _PLATFORM[feature])


class _PlainCalls:
    """The calls of `os` on a platform that lacks some of them. A folder is a number above all
    descriptors, which stands for its path.
    """

    def __init__(self, missing: frozenset[Feature]) -> None:
        if "fdatasync" in missing:
            self.fdatasync = os.fsync
        if "writev" in missing:
            self.writev = _writev
        if "owners" in missing:
            self.getuid = self.geteuid = lambda: 0
            self.fchown = lambda fd, user, group: None
        if "descriptors" in missing:
            self.__dict__.update(_folder_calls())

    def __getattr__(self, name: str) -> Any:
        # Flags that the platform lacks change nothing there.
        return getattr(os, name, 0) if name.startswith("O_") else getattr(os, name)


def _writev(fd: int, pieces: list[bytes]) -> int:
    sent = 0
    for piece in pieces:
        written = os.write(fd, piece)
        sent += written
        if written < len(piece):
            break
    return sent


def _folder_calls() -> dict[str, Any]:
    """The calls that take or return a folder, without descriptors of folders."""
    folders = _Folders()
    flags = {"O_DIRECTORY": _DIRECTORY, "O_NOFOLLOW": _NOFOLLOW, "O_NONBLOCK": 0, "O_PATH": 0}
    calls = [name for name in vars(_Folders) if not name.startswith("_")]
    return flags | {name: getattr(folders, name) for name in calls}


_DIRECTORY, _NOFOLLOW = 1 << 40, 1 << 41
_FIRST = 1 << 30


class _Folders:
    """Folders by number. Names below one are joined to its path; a link on the last step is
    refused.
    """

    def __init__(self) -> None:
        self._paths: dict[int, str] = {}
        self._next = _FIRST

    def _join(self, name: str | int, folder: int | None) -> str | int:
        if isinstance(name, int):
            return self._paths.get(name, name)
        if folder is None or os.path.isabs(name):
            return name
        if folder not in self._paths:
            raise _error(errno.EBADF)
        return os.path.normpath(os.path.join(self._paths[folder], name))

    def _hold(self, path: str) -> int:
        self._next += 1
        self._paths[self._next] = path
        return self._next

    def open(self, name: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        path = str(self._join(name, dir_fd))
        plain = flags & ~(_DIRECTORY | _NOFOLLOW)
        if flags & _DIRECTORY:
            state = os.lstat(path) if flags & _NOFOLLOW else os.stat(path)
            if not stat.S_ISDIR(state.st_mode):
                raise _error(errno.ENOTDIR)
            if not os.access(path, os.R_OK | os.X_OK):
                raise _error(errno.EACCES)
            return self._hold(os.path.abspath(path))
        if not flags & _NOFOLLOW or flags & os.O_EXCL:
            return os.open(path, plain, mode)
        before = os.lstat(path)
        if stat.S_ISLNK(before.st_mode):
            raise _error(errno.ELOOP)
        if stat.S_ISDIR(before.st_mode):
            raise _error(errno.EISDIR)
        if not stat.S_ISREG(before.st_mode):
            raise _error(errno.ENXIO)  # a pipe would wait for its other end
        fd = os.open(path, plain, mode)
        after = os.fstat(fd)
        if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
            os.close(fd)
            raise _error(errno.ELOOP)  # replaced between the check and the open
        return fd

    def close(self, fd: int) -> None:
        if self._paths.pop(fd, None) is None:
            os.close(fd)

    def dup(self, fd: int) -> int:
        return self._hold(self._paths[fd]) if fd in self._paths else os.dup(fd)

    def fsync(self, fd: int) -> None:
        if fd not in self._paths:  # names reach the disk with the file system's own journal
            os.fsync(fd)

    def fstat(self, fd: int) -> os.stat_result:
        return os.lstat(self._paths[fd]) if fd in self._paths else os.fstat(fd)

    def stat(
        self, name: str | int, *, dir_fd: int | None = None, follow_symlinks: bool = True
    ) -> os.stat_result:
        path = self._join(name, dir_fd)
        return os.stat(path) if follow_symlinks or isinstance(path, int) else os.lstat(path)

    def access(
        self, name: str, mode: int, *, dir_fd: int | None = None, follow_symlinks: bool = True
    ) -> bool:
        path = str(self._join(name, dir_fd))
        return os.path.lexists(path) and (not follow_symlinks or os.access(path, mode))

    def scandir(self, folder: str | int) -> Any:
        return os.scandir(self._join(folder, None))

    def listdir(self, folder: str | int) -> list[str]:
        return os.listdir(self._join(folder, None))

    def readlink(self, name: str, *, dir_fd: int | None = None) -> str:
        return os.readlink(str(self._join(name, dir_fd)))

    def mkdir(self, name: str, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        os.mkdir(str(self._join(name, dir_fd)), mode)

    def unlink(self, name: str, *, dir_fd: int | None = None) -> None:
        os.unlink(str(self._join(name, dir_fd)))

    def rename(
        self, old: str, new: str, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        os.replace(str(self._join(old, src_dir_fd)), str(self._join(new, dst_dir_fd)))

    def link(
        self,
        old: str,
        new: str,
        *,
        src_dir_fd: int | None = None,
        dst_dir_fd: int | None = None,
        follow_symlinks: bool = True,
    ) -> None:
        del follow_symlinks  # the name was checked: it is no link
        os.link(str(self._join(old, src_dir_fd)), str(self._join(new, dst_dir_fd)))


def _error(number: int) -> OSError:
    """As the kernel raises it, of the right subclass."""
    return OSError(number, os.strerror(number))


_EMULATED: frozenset[Feature] = frozenset({"descriptors", "fdatasync", "writev", "owners"})

if TYPE_CHECKING:
    fs = os
else:
    fs = os if offered >= _EMULATED else _PlainCalls(_EMULATED - offered)


def switch_off(*features: Feature) -> None:
    """Do without these features, as on a platform that lacks them. Call it before any other module
    of the package is imported: they take their calls and flags from here.
    """
    global offered, fs
    offered -= frozenset(features)
    fs = os if offered >= _EMULATED else _PlainCalls(_EMULATED - offered)  # type: ignore[assignment]


# cores, workers and pipes


def cores() -> int:
    """Cores that this process may use."""
    if "affinity" in offered:
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def may_fork() -> bool:
    """Whether a fork is safe: on Linux, with no other thread whose locks a child would inherit."""
    if "fork" not in offered:
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


_PIPE = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ


def widen(pipe: int) -> None:
    """Make room for a megabyte in a pipe, where the user's limit allows it."""
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
        except BlockingIOError:
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
    """Whether the process that made the holder file still runs. An empty file is being made."""
    try:
        with open(holder, encoding="ascii") as stream:
            text = stream.read()
        if text:
            os.kill(int(text), 0)
    except (ProcessLookupError, FileNotFoundError, ValueError):
        return False
    except OSError:
        pass  # it runs, as another user
    return True


# system calls that the os module lacks


@cache
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
_RETRIES = 64


def _open_how(flags: int) -> bytes:
    """The kernel's `struct open_how`."""
    return struct.pack("=QQQ", flags, 0, _BENEATH | _NO_MAGICLINKS | _NO_SYMLINKS)


def open_beneath(fd: int, path: str, flags: int) -> int:
    """Open `path` beneath `fd` without following any link; the kernel checks every component."""
    import ctypes

    if path.startswith("/") or "\0" in path:
        raise _error(errno.EXDEV)
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
    raise _error(number)


def opener(fd: int, flags: int) -> Callable[[str], int]:
    """`open_beneath` with all arguments but the path prepared, for thousands of files. The path is
    a RelPath.
    """
    how = _open_how(flags)
    size, call, encode = len(how), _syscall(), os.fsencode

    def open_file(path: str) -> int:
        opened: int = call(_OPENAT2, fd, encode(path), how, size)
        # A failed open is repeated by `open_beneath`, which retries and raises the right error.
        return opened if opened >= 0 else open_beneath(fd, path, flags)

    return open_file


def has_openat2() -> bool:
    """Whether this kernel, and the sandbox around this process, offers openat2."""
    if "openat2" not in offered or "descriptors" not in offered:
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


_EXCHANGE = 2  # RENAME_EXCHANGE


def exchange(fd: int, left: str, right: str) -> bool:
    """Exchange two names of the folder `fd` in one step; False where the system cannot."""
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
    raise _error(number)
