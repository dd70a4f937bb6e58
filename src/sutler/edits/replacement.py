"""Replace files durably, completely, and only if the file is still the one that the author of the
write saw.

The new bytes go to a temporary name in the same directory and to the disk. Then the two names are
exchanged, in one step if the kernel supports it, so the replaced file is never lost: it has the
temporary name, is compared with the expected content, and is exchanged back if it differs. No write
follows a link."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from sutler.errors import ConflictError, RefusedError, SutlerError
from sutler.paths import RelPath, dirname, quote
from sutler.scan.root import DIRECTORY, TEMPORARY, Root, read_descriptor
from sutler.scan.snapshot import Problem
from sutler.system import exchange, fs

_NEW = fs.O_WRONLY | fs.O_CREAT | fs.O_EXCL | fs.O_NOFOLLOW | fs.O_CLOEXEC
# A pipe with this name must not block.
_FILE = fs.O_RDONLY | fs.O_NONBLOCK | fs.O_NOFOLLOW | fs.O_CLOEXEC
_ACCESS_LIST = "system.posix_acl_access"
_PREFIX = 18  # 16 digits of a digest: no two names of a folder share them by chance
# granted to the old bytes; the kernel, too, drops it when a file is written
_CAPABILITY = "security.capability"


class Held(NamedTuple):
    """The present file: no bytes and an empty digest without one. `mark` distinguishes this very
    file, untouched since, from any other with the same bytes."""

    data: bytes
    digest: str
    mode: int = 0
    mark: str = ""

    def same(self, other: Held) -> bool:
        """Return whether the bytes and the mode are the same."""
        return (self.digest, self.mode) == (other.digest, other.mode)


ABSENT = Held(b"", "")


def held(root: Root, path: RelPath, limit: int) -> Held:
    """Read the file's bytes, digest and mode; refuse an object that is not a replaceable plain
    file."""
    try:
        fd = root.open(path)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return ABSENT
        raise failed(path, error) from None
    try:
        blob = read_descriptor(fd, path, limit)
    except OSError as error:
        raise failed(path, error) from None
    finally:
        fs.close(fd)
    if isinstance(blob, Problem):
        raise RefusedError(f"{quote(path)}: {blob.detail}", rule="only plain files are written")
    if blob.links > 1:
        raise RefusedError(
            f"{quote(path)} has {blob.links} names on disk",
            rule="a hard-linked file is not replaced",
            next_step="copy it to break the link, then edit",
        )
    return Held(
        blob.data,
        sha256(blob.data).hexdigest(),
        stat.S_IMODE(blob.mode),
        mark_of(blob.inode, blob.ctime_ns),
    )


def mark_of(inode: int, ctime_ns: int) -> str:
    """Return a mark that changes with every change of a file, and with the file that has the
    name."""
    return f"{inode:x}.{ctime_ns:x}"


def failed(path: str, error: OSError) -> SutlerError:
    reason = "a symbolic link" if error.errno == errno.ELOOP else os.strerror(error.errno or 0)
    return SutlerError(
        f"cannot write {quote(path)}: {reason}",
        rule="a file is written whole or not at all",
        next_step="nothing was changed; mend the cause and try again",
    )


class UnsettledError(SutlerError):
    """A write failed and could not be undone: recovery records what the files hold."""


def replace_all(steps: Sequence[Replacement]) -> None:
    """Give every file its new content, durably, or none of them."""
    try:
        for step in steps:
            step.stage()
        for step in steps:
            step.exchange()
    except BaseException as error:
        _each(reversed(steps), Replacement.undo, "a write failed and could not be undone")
        if isinstance(error, OSError):
            named = steps[0].path if len(steps) == 1 else "the files of the patch"
            raise failed(named, error) from None
        raise
    _each(steps, Replacement.finish, "a write may not have reached the disk")


def _each(steps: Iterable[Replacement], act: Callable[[Replacement], None], what: str) -> None:
    """Apply `act` to every step, whatever fails, then name the files for which it failed."""
    lost = []
    for step in steps:
        try:
            act(step)
        except (OSError, SutlerError):
            lost.append(quote(step.path))
    if lost:
        raise UnsettledError(
            f"{what}: {', '.join(lost)}",
            next_step="the next call looks at the file and records what it holds",
        )


class Replacement:
    """Change of one file from `before` to `after`; `after` None deletes it."""

    def __init__(self, root: Root, path: RelPath, before: Held, after: Held | None) -> None:
        self.path = path
        self._root = root
        self._before = before
        self._after = after
        self._name = path.rpartition("/")[2]
        self._temporary = f"{prefix_of(self._name)}{os.urandom(8).hex()}{TEMPORARY}"
        self._fd = -1
        self._named = self._swapped = False

    def stage(self) -> None:
        """Write the new bytes to the temporary name and to the disk."""
        if littered(self._root, self.path):
            sweep(self._root, self.path)
        self._fd = _parent(self._root, self.path, make=self._after is not None)
        if self._after is None:
            self._writable(fs.stat(self._name, dir_fd=self._fd, follow_symlinks=False))
            return
        fd = fs.open(self._temporary, _NEW, 0o600, dir_fd=self._fd)
        self._named = True
        try:
            self._fill(fd, self._after)
            fs.fsync(fd)
        finally:
            fs.close(fd)

    def _fill(self, fd: int, after: Held) -> None:
        with open(fd, "wb", closefd=False) as file:
            file.write(after.data)
        if self._before.digest:
            self._like_the_old(fd, after.mode)
        else:
            os.fchmod(fd, after.mode or _new_mode())

    def _writable(self, state: os.stat_result) -> None:
        if not state.st_mode & 0o222:
            raise RefusedError(
                f"{quote(self.path)} is read-only", rule="a read-only file is not replaced"
            )

    def _like_the_old(self, fd: int, mode: int) -> None:
        old = fs.open(self._name, _FILE, dir_fd=self._fd)
        try:
            was, now = fs.fstat(old), fs.fstat(fd)
            self._writable(was)
            if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
                fs.fchown(fd, was.st_uid, was.st_gid)
            os.fchmod(fd, mode or _new_mode())
            _same_attributes(old, fd)
        finally:
            fs.close(old)

    def exchange(self) -> None:
        """Exchange the names if the file is still what was expected."""
        if not self._untouched() and self._digest(self._name) != self._before.digest:
            raise self._moved()
        if self._after is None:
            fs.rename(self._name, self._temporary, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            self._named = True
        elif self._before.digest:
            self._exchange()
        else:
            try:
                fs.link(self._temporary, self._name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            except FileExistsError:
                raise self._moved() from None
        self._swapped = True
        if self._before.digest and self._digest(self._temporary) != self._before.digest:
            # another process replaced the file after the check; undo gives it back
            raise self._moved()

    def _untouched(self) -> bool:
        try:
            state = fs.stat(self._name, dir_fd=self._fd, follow_symlinks=False)
            return mark_of(state.st_ino, state.st_ctime_ns) == self._before.mark
        except FileNotFoundError:  # removed by another program meanwhile
            return False

    def _exchange(self) -> None:
        if exchange(self._fd, self._temporary, self._name):
            return
        old = f"{self._temporary[: -len(TEMPORARY)]}-old{TEMPORARY}"
        fs.link(self._name, old, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)
        try:
            fs.rename(self._temporary, self._name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except OSError:
            fs.unlink(old, dir_fd=self._fd)
            raise
        self._temporary = old

    def _digest(self, name: str) -> str:
        try:
            fd = fs.open(name, _FILE, dir_fd=self._fd)
        except FileNotFoundError:
            return ""
        try:
            blob = read_descriptor(fd, self.path, None)
        finally:
            fs.close(fd)
        return "not a file" if isinstance(blob, Problem) else sha256(blob.data).hexdigest()

    def _moved(self) -> ConflictError:
        return ConflictError(
            f"{quote(self.path)} changed while it was being written",
            rule="a write replaces what its author saw and nothing else",
            next_step="read it again and repeat the edit",
        )

    def undo(self) -> None:
        """Restore the state before `stage`; raises if that is not possible."""
        if self._fd < 0:
            return
        if self._swapped:
            if not self._before.digest:
                fs.unlink(self._name, dir_fd=self._fd)
            else:
                if self._after is not None and self._digest(self._name) != self._after.digest:
                    raise self._moved()
                fs.rename(self._temporary, self._name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            self._swapped = False
            fs.fsync(self._fd)
        with suppress(OSError):
            self.finish()

    def finish(self) -> None:
        """Remove the temporary name, sync the names and close. A temporary name that cannot be
        removed is swept by the next write of the file."""
        try:
            if self._named:
                self._unlink()
            fs.fsync(self._fd)  # once for both names: a power cut brings neither back
        finally:
            fs.close(self._fd)
            self._fd = -1

    def _unlink(self) -> None:
        for _ in range(2):
            try:
                fs.unlink(self._temporary, dir_fd=self._fd)
                return
            except FileNotFoundError:  # swept by another writer first
                return
            except OSError:
                self._root.swept.setdefault(dirname(self.path), set()).add(prefix_of(self._name))


def _same_attributes(old: int, new: int) -> None:
    """Copy extended attributes if the platform has them. An access list must be copied: without it
    the mode's group bits, which are its mask, would admit a whole group."""
    if not hasattr(os, "listxattr"):
        return
    try:
        for name in os.listxattr(old):
            if name == _CAPABILITY:
                continue
            try:
                os.setxattr(new, name, os.getxattr(old, name))
            except OSError:
                if name == _ACCESS_LIST:
                    raise
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.ENOSYS):
            raise


def _parent(root: Root, path: RelPath, *, make: bool) -> int:
    """Open the directory of `path`, created if it is missing, step by step and never through a
    link."""
    fd = fs.open(".", DIRECTORY, dir_fd=root.fd)
    for part in path.split("/")[:-1]:
        try:
            if make:
                with suppress(FileExistsError):
                    fs.mkdir(part, 0o777, dir_fd=fd)
                    fs.fsync(fd)
            step = fs.open(part, DIRECTORY, dir_fd=fd)
        finally:
            fs.close(fd)
        fd = step
    return fd


def _new_mode() -> int:
    mask = os.umask(0o077)  # the only way to read it is to set it
    os.umask(mask)
    return 0o666 & ~mask


# remains of interrupted replacements


@lru_cache(maxsize=4_096)
def prefix_of(name: str) -> str:
    """Return the prefix of temporary names for `name`: a digest, since the name itself may have the
    maximum length."""
    return f".{sha256(os.fsencode(name)).hexdigest()[: _PREFIX - 2]}."


def sweep(root: Root, path: RelPath) -> tuple[bytes, ...]:
    """Remove the remains of an interrupted write of `path`, and return them. The caller holds the
    path's lock."""
    folder, prefix, left = dirname(path), prefix_of(path.rpartition("/")[2]), list[bytes]()
    try:
        fd = open_directory(root, folder)
    except OSError:  # no folder, so no remains
        return ()
    root.swept.get(folder, set()).discard(prefix)
    try:
        for name in sorted(fs.listdir(fd)):
            if name.startswith(prefix) and name.endswith(TEMPORARY):
                blob = root.read(RelPath(f"{folder}/{name}".lstrip("/")))
                if not isinstance(blob, Problem):
                    left.append(blob.data)
                with suppress(OSError):
                    fs.unlink(name, dir_fd=fd)
                    fs.fsync(fd)
    finally:
        fs.close(fd)
    return tuple(left)


def littered(root: Root, path: RelPath) -> bool:
    """Return whether an interrupted replacement of `path` may have left a file beside it. One
    listing for each directory suffices: this process notes its own remains, and another one's have
    an intent."""
    directory = dirname(path)
    if directory not in root.swept:
        root.swept[directory] = _litter(root, directory)
    return prefix_of(path.rpartition("/")[2]) in root.swept[directory]


def _litter(root: Root, directory: str) -> set[str]:
    try:
        fd = open_directory(root, directory)
    except OSError:  # no folder, so no remains
        return set()
    try:
        return {name[:_PREFIX] for name in fs.listdir(fd) if name.endswith(TEMPORARY)}
    finally:
        fs.close(fd)


def open_directory(root: Root, directory: str) -> int:
    if directory:
        return root.open(RelPath(directory), DIRECTORY)
    return fs.open(".", DIRECTORY, dir_fd=root.fd)


def sync_parent(root: Root, path: RelPath) -> None:
    """Sync the names in the directory of `path`; a deleted directory needs none."""
    with suppress(FileNotFoundError):
        fd = open_directory(root, dirname(path))
        try:
            fs.fsync(fd)
        finally:
            fs.close(fd)
