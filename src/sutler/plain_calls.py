"""Replacements for calls of `os` on a platform without descriptors of folders, owners or
fdatasync.

`system` decides which are missing. A path in place of a descriptor is weaker: between the check and
the use another process may put a link there, which descriptors rule out."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from typing import Any


class PlainCalls:
    """The calls of `os` with these replacements. A folder is a number above all descriptors, which
    stands for its path."""

    def __init__(self, missing: frozenset[str]) -> None:
        if "fdatasync" in missing:
            self.fdatasync = os.fsync
        if "owners" in missing:
            self.getuid = self.geteuid = lambda: 0
            self.fchown = lambda fd, user, group: None
        if "descriptors" in missing:
            self.__dict__.update(_folder_calls())

    def __getattr__(self, name: str) -> Any:
        # Flags that the platform lacks change nothing there.
        return getattr(os, name, 0) if name.startswith("O_") else getattr(os, name)


def _folder_calls() -> dict[str, Any]:
    """Return the calls that take or return a folder, without descriptors of folders."""
    folders = _Folders()
    flags = {"O_DIRECTORY": _DIRECTORY, "O_NOFOLLOW": _NOFOLLOW, "O_NONBLOCK": 0, "O_PATH": 0}
    calls = [name for name in vars(_Folders) if not name.startswith("_")]
    return flags | {name: getattr(folders, name) for name in calls}


_DIRECTORY, _NOFOLLOW = 1 << 40, 1 << 41  # no flag of a platform has these bits
_FIRST = 1 << 30  # far above real descriptors: a confusion is an error and reads no other file


class _Folders:
    """Folders by number. Names below one are joined to its path; a link as the last component is
    refused."""

    def __init__(self) -> None:
        self._paths: dict[int, str] = {}
        self._next = _FIRST

    def _join(self, name: str | int, folder: int | None) -> str | int:
        if isinstance(name, int):
            return self._paths.get(name, name)
        if folder is None or os.path.isabs(name):
            return name
        if folder not in self._paths:
            raise error_of(errno.EBADF)
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
                raise error_of(errno.ENOTDIR)
            if not os.access(path, os.R_OK | os.X_OK):
                raise error_of(errno.EACCES)
            return self._hold(os.path.abspath(path))
        if not flags & _NOFOLLOW or flags & os.O_EXCL:
            return os.open(path, plain, mode)
        if flags & os.O_CREAT and not os.path.lexists(path):
            with suppress(FileExistsError):  # another process made it first: open that one
                return os.open(path, plain | os.O_EXCL, mode)
        before = os.lstat(path)
        if stat.S_ISLNK(before.st_mode):
            raise error_of(errno.ELOOP)
        if stat.S_ISDIR(before.st_mode):
            raise error_of(errno.EISDIR)
        if not stat.S_ISREG(before.st_mode):
            raise error_of(errno.ENXIO)  # a pipe would wait for its other end
        fd = os.open(path, plain, mode)
        after = os.fstat(fd)
        if (before.st_dev, before.st_ino) != (after.st_dev, after.st_ino):
            os.close(fd)
            raise error_of(errno.ELOOP)  # replaced between the check and the open
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


def error_of(number: int) -> OSError:
    """Return an OSError of the right subclass, as the kernel raises it."""
    return OSError(number, os.strerror(number))
