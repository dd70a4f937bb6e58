"""Confinement: nothing outside the root is ever opened.

The kernel decides, not a string comparison: `realpath` and compare says "inside" for a chain of
links longer than PATH_MAX while the kernel opens a file outside, and a directory may become a link
between the check and the use. So every open goes through a descriptor of the root, either by
openat2 (which resolves beneath it, without links) or component by component with O_NOFOLLOW. Both
refuse every symbolic link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Literal

from msgspec import Struct

import sutler.system as system
from sutler.errors import RefusedError, UsageError
from sutler.paths import RelPath, parse_relpath, quote
from sutler.scan.snapshot import Problem, ProblemKind
from sutler.system import fs, has_openat2, open_beneath, opener

Method = Literal["openat2", "descriptor walk"]

DIRECTORY: Final = fs.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW | fs.O_CLOEXEC
FILE: Final = fs.O_RDONLY | fs.O_NONBLOCK | fs.O_NOFOLLOW | fs.O_CLOEXEC | fs.O_NOCTTY
OPEN_DIRECTORIES: Final = 64  # a common limit is 256 files, and others hold some
MANY_DIRECTORIES: Final = 256
"""Number of directories above which openat2, with one call for each file, repays loading ctypes."""
_CLOSE_BY: Final = 16  # levels to walk from an open ancestor instead of from the root
TEMPORARY: Final = ".sutler-tmp"  # ending of the name of a file that is being written
DESCRIPTORS: Final = "/proc/self/fd/"
_PROC: Final = os.path.isdir("/proc/self/fd")
_STEP: Final = 3000  # bytes of path for one system call, below PATH_MAX

_KINDS: Final[dict[int, ProblemKind]] = {
    errno.ENOENT: "vanished",
    errno.ENOTDIR: "vanished",
    errno.ESTALE: "vanished",
    errno.EACCES: "denied",
    errno.EPERM: "denied",
    errno.ELOOP: "loop",
    errno.EXDEV: "denied",
    errno.ENXIO: "special",
    errno.ENODEV: "special",
    errno.EISDIR: "special",
    errno.ENAMETOOLONG: "missing",
    errno.EMFILE: "too_many",
    errno.ENFILE: "too_many",
}


class Blob(Struct, frozen=True, gc=False):
    """Bytes of a file, and the state of the same descriptor before they were read."""

    data: bytes
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    mode: int
    links: int


def problem_of(path: str, error: OSError) -> Problem:
    """Convert an operating-system error to data, without the host path that the exception has."""
    number = error.errno or 0
    detail = (
        "a symbolic link"
        if number == errno.ELOOP
        else os.strerror(number)
        if number
        else "unreadable"
    )
    return Problem(path, _KINDS.get(number, "denied"), detail)


def read_descriptor(fd: int, path: str, limit: int | None) -> Blob | Problem:
    """Read all bytes of a regular file, at most `limit`, even while the file grows."""
    state = fs.fstat(fd)
    if state.st_mode & 0o170000 != stat.S_IFREG:
        return Problem(path, "special", "not a regular file")
    size = state.st_size
    if limit is not None and size > limit:
        return Problem(path, "too_large", f"{size} bytes, limit {limit}")
    data = os.read(fd, size + 1)
    if len(data) != size:
        data = _read_on(fd, data, limit)
        if limit is not None and len(data) > limit:
            return Problem(path, "too_large", f"grew beyond the limit {limit} while it was read")
    times = state.st_mtime_ns, state.st_ctime_ns
    return Blob(data, size, *times, state.st_ino, state.st_mode, state.st_nlink)


def _read_on(fd: int, start: bytes, limit: int | None) -> bytes:
    """Read to the end, or to one byte over the limit, after a short read or a change of size."""
    parts, total = [start], len(start)
    while start and (limit is None or total <= limit):
        start = os.read(fd, 1 << 20 if limit is None else min(1 << 20, limit + 1 - total))
        parts.append(start)
        total += len(start)
    return b"".join(parts)


def _steps(path: str) -> Iterator[str]:
    """Yield the path in pieces that one openat2 can take, cut at slashes."""
    while len(path) > _STEP // 4 and len(os.fsencode(path)) > _STEP:
        cut = path.rfind("/", 0, _STEP // 4)
        if cut <= 0:
            cut = path.find("/")
        if cut <= 0:
            break
        yield path[:cut]
        path = path[cut + 1 :]
    yield path


def canonical(folder: str) -> str:
    """Return the path of a folder without links; for a root's anchor, the path that the kernel
    knows."""
    return os.readlink(folder) if folder.startswith(DESCRIPTORS) else os.path.realpath(folder)


class Root:
    """A directory that stays open; the only access to the files below it."""

    __slots__ = ("_openat2", "fd", "host_path", "swept")

    def __init__(self, host_path: str, *, method: Method | None = None) -> None:
        self.fd = -1
        self.host_path = os.path.abspath(host_path)
        self.swept: dict[
            str, set[str]
        ] = {}  # per directory, remains of unfinished replacements: edits.replacement
        self._openat2: bool | None = None if method is None else method == "openat2"
        try:
            self.fd = fs.open(host_path, fs.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC)
        except (OSError, ValueError) as error:
            reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else "not a path"
            raise UsageError(
                f"cannot open {quote(host_path)} as a folder: {reason}",
                rule="a root is a readable directory",
                next_step="name an existing folder",
            ) from None

    def __enter__(self) -> Root:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        if self.fd >= 0:
            fs.close(self.fd)
            self.fd = -1

    @property
    def anchor(self) -> str:
        """Path to this directory that stays valid when its name changes, if the system has one;
        usable while the root is open."""
        descriptor = _PROC and "descriptors" in system.offered
        return f"{DESCRIPTORS}{self.fd}" if descriptor else self.host_path

    def require_place(self) -> None:
        """Refuse if the path of the root no longer names the directory that was opened."""
        try:
            there = os.stat(self.host_path)
        except OSError:
            there = None
        if there is None or not os.path.samestat(there, fs.fstat(self.fd)):
            raise RefusedError(
                "the project folder was moved or replaced after it was opened",
                rule="a root is opened once, and only that directory is read",
                next_step="start the command or the server again",
            )

    def __del__(self) -> None:
        self.close()

    @property
    def name(self) -> str:
        return os.path.basename(self.host_path) or "/"

    def method(self) -> Method:
        """Method that confines single opens here; `doctor` shows it."""
        if self._openat2 is None:
            self._openat2 = has_openat2()
        return "openat2" if self._openat2 else "descriptor walk"

    def relpath(self, raw: str) -> RelPath:
        """Convert an untrusted spelling to a RelPath, or refuse it, without expansion or
        look-up."""
        return parse_relpath(raw)

    def open(self, path: RelPath, flags: int = FILE) -> int:
        """Open the object at `path` itself, never through a link. Raise OSError."""
        parse_relpath(path)
        if self.method() == "openat2":
            return self._open_beneath(path, flags)
        return self.open_by_steps(path, flags)

    def _open_beneath(self, path: str, flags: int) -> int:
        *heads, last = _steps(path or ".")
        fd = self.fd
        try:
            for head in heads:
                fd, old = open_beneath(fd, head, fs.O_PATH | fs.O_DIRECTORY | fs.O_CLOEXEC), fd
                if old != self.fd:
                    fs.close(old)
            return open_beneath(fd, last, flags)
        finally:
            if fd != self.fd:
                fs.close(fd)

    def open_by_steps(self, path: str, flags: int) -> int:
        """Open like `open`, one component after the other: for a few folders, since the first
        openat2 of a process loads ctypes."""
        *heads, last = path.split("/") if path else ["."]
        fd = self.fd
        try:
            for head in heads:
                fd, old = fs.open(head, DIRECTORY, dir_fd=fd), fd
                if old != self.fd:
                    fs.close(old)
            return fs.open(last, flags, dir_fd=fd)
        finally:
            if fd != self.fd:
                fs.close(fd)

    def read(self, path: RelPath, limit: int | None = None) -> Blob | Problem:
        """Read one file; refuse a pipe, a device or a link at once."""
        try:
            return _read_and_close(self.open(path), path, limit)
        except OSError as error:
            return problem_of(path, error)

    @contextmanager
    def reader(self) -> Iterator[Reader]:
        """Read thousands of files in path order, with the descriptors of recent directories kept
        open."""
        reader = Reader(self)
        try:
            yield reader
        finally:
            reader.close()


def _read_and_close(fd: int, path: RelPath, limit: int | None) -> Blob | Problem:
    try:
        return read_descriptor(fd, path, limit)
    finally:
        fs.close(fd)


class Reader:
    """Reads many files with one open and one read for each. Directories are opened once per visit,
    until they are so many that openat2 from the root is cheaper."""

    __slots__ = ("_beneath", "_directory", "_entered", "_fd", "_fds", "_root")

    def __init__(self, root: Root) -> None:
        self._root = root
        self._fds: dict[str, int] = {}  # least recently opened first
        self._entered = 0
        self._beneath: Callable[[str], int] | None = None
        self._directory = ""
        self._fd = root.fd

    def close(self) -> None:
        for fd in self._fds.values():
            fs.close(fd)
        self._fds = {}

    def read(self, path: RelPath, limit: int | None = None) -> Blob | Problem:
        if ".." in path or "\0" in path:
            parse_relpath(path)
        try:
            if self._beneath is not None and len(path) < _STEP // 4:
                fd = self._beneath(path)
            else:
                cut = path.rfind("/")
                directory = path[:cut] if cut > 0 else ""
                if directory != self._directory:
                    self._fd = self._enter(directory)
                    self._directory = directory
                fd = fs.open(path[cut + 1 :], FILE, dir_fd=self._fd)
            return _read_and_close(fd, path, limit)
        except OSError as error:
            return problem_of(path, error)

    def _enter(self, directory: str) -> int:
        """Return the directory's descriptor, opened from its nearest open ancestor; the least
        recent ones are closed."""
        if not directory:
            return self._root.fd
        fds = self._fds
        if directory in fds:
            fd = fds[directory] = fds.pop(directory)
            return fd
        self._entered += 1
        if self._entered == MANY_DIRECTORIES and self._root.method() == "openat2":
            self._beneath = opener(self._root.fd, FILE)
        near, missing = directory, list[str]()
        while near and near not in fds and len(missing) < _CLOSE_BY:
            near, _, name = near.rpartition("/")
            missing.append(name)
        if near and near not in fds:
            return self._keep(directory, self._root.open(RelPath(directory), DIRECTORY))
        fd = fds[near] if near else self._root.fd
        for name in reversed(missing):
            near = f"{near}/{name}" if near else name
            fd = self._keep(near, fs.open(name, DIRECTORY, dir_fd=fd))
        return fd

    def _keep(self, directory: str, fd: int) -> int:
        fds = self._fds
        fds[directory] = fd
        if len(fds) > OPEN_DIRECTORIES:
            oldest = next(iter(fds))
            if oldest == self._directory:
                self._directory, self._fd = "", self._root.fd
            fs.close(fds.pop(oldest))
        return fd
