"""One file takes the place of another: durable, whole, and only if what it replaces is what its author saw.

The new bytes go to a temporary file in the same directory and to the disk first. Then the two names are exchanged in
one step where the kernel can, so that the file that was there is never lost: it lies under the temporary name until
the outcome is recorded, is compared with what was expected, and goes back when it is something else. Nothing is ever
written through a link.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from sutler.disk.root import DIRECTORY, TEMPORARY, Root, read_descriptor
from sutler.values.errors import ConflictError, RefusedError, SutlerError
from sutler.values.paths import RelPath, dirname, quote
from sutler.values.snapshot import Problem

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_EXCHANGE = 2
_ACCESS_LIST = "system.posix_acl_access"
_CAPABILITY = "security.capability"  # was given to the old bytes; the kernel, too, drops it when a file is written


class Held(NamedTuple):
    """A file as it is: no bytes and an empty digest when there is none."""

    data: bytes
    digest: str
    mode: int = 0


ABSENT = Held(b"", "")


def held(root: Root, path: RelPath, limit: int) -> Held:
    """The file's bytes, digest and mode; refuses what is not a plain file that can be replaced."""
    try:
        fd = root.open(path)
    except OSError as error:
        if error.errno == errno.ENOENT:
            return ABSENT
        raise failed(path, error) from None
    try:
        state = os.fstat(fd)
        if stat.S_ISREG(state.st_mode) and state.st_nlink > 1:
            raise RefusedError(
                f"{quote(path)} has {state.st_nlink} names on disk", rule="a hard-linked file is not replaced",
                next_step="copy it to break the link, then edit",
            )  # fmt: skip
        blob = read_descriptor(fd, path, limit)
    except OSError as error:
        raise failed(path, error) from None
    finally:
        os.close(fd)
    if isinstance(blob, Problem):
        raise RefusedError(f"{quote(path)}: {blob.detail}", rule="only plain files are written")
    return Held(blob.data, sha256(blob.data).hexdigest(), stat.S_IMODE(state.st_mode))


def failed(path: str, error: OSError) -> SutlerError:
    reason = "a symbolic link" if error.errno == errno.ELOOP else os.strerror(error.errno or 0)
    return SutlerError(
        f"cannot write {quote(path)}: {reason}",
        rule="a file is written whole or not at all",
        next_step="nothing was changed; mend the cause and try again",
    )


class Replacement:
    """The way of one file from what it is to what it shall be. `after` None deletes it."""

    def __init__(self, root: Root, path: RelPath, before: Held, after: Held | None) -> None:
        self.path = path
        self._root = root
        self._before = before
        self._after = after
        self._name = path.rpartition("/")[2]
        self._temporary = f"{_prefix(self._name)}{os.urandom(8).hex()}{TEMPORARY}"
        self._fd = -1
        self._swapped = False

    def prepare(self) -> None:
        """The new bytes are on the disk under the temporary name."""
        if self.path not in self._root.swept:  # a listing, so only once: what this process leaves it removes itself
            sweep(self._root, self.path)
            self._root.swept.add(self.path)
        self._fd = _parent(self._root, self.path, make=self._after is not None)
        if self._before.digest:
            self._writable()
        if self._after is None:
            return
        fd = os.open(self._temporary, _NEW, 0o600, dir_fd=self._fd)
        try:
            view = memoryview(self._after.data)
            while view:
                view = view[os.write(fd, view) :]
            self._same_owner(fd)
            os.fchmod(fd, self._after.mode or _new_mode())
            if self._before.digest:
                self._same_attributes(fd)
            os.fsync(fd)
        finally:
            os.close(fd)

    def _writable(self) -> None:
        state = os.stat(self._name, dir_fd=self._fd, follow_symlinks=False)
        if not state.st_mode & 0o222:
            raise RefusedError(f"{quote(self.path)} is read-only", rule="a read-only file is not replaced")

    def _same_owner(self, fd: int) -> None:
        if not self._before.digest:
            return
        old, new = os.stat(self._name, dir_fd=self._fd, follow_symlinks=False), os.fstat(fd)
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.fchown(fd, old.st_uid, old.st_gid)

    def _same_attributes(self, fd: int) -> None:
        """Extended attributes go along where the platform has them. An access list must: without it the mode's group
        bits, which are its mask, would let a whole group in."""
        if not hasattr(os, "listxattr"):
            return
        old = os.open(self._name, _FILE, dir_fd=self._fd)
        try:
            for name in os.listxattr(old):
                if name == _CAPABILITY:
                    continue
                try:
                    os.setxattr(fd, name, os.getxattr(old, name))
                except OSError:
                    if name == _ACCESS_LIST:
                        raise
        except OSError as error:
            if error.errno not in (errno.ENOTSUP, errno.ENOSYS):
                raise
        finally:
            os.close(old)

    def swap(self) -> None:
        """The names change places, if the file is still what was expected."""
        if self._current() != self._before.digest:
            raise self._moved()
        if self._after is None:
            os.rename(self._name, self._temporary, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        elif not self._before.digest:
            try:
                os.link(self._temporary, self._name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            except FileExistsError:
                raise self._moved() from None
        else:
            self._exchange()
        self._swapped = True
        if self._before.digest and self._digest(self._temporary) != self._before.digest:
            raise self._moved()  # somebody was quicker by a hair; undo gives it back
        os.fsync(self._fd)

    def _exchange(self) -> None:
        if (exchange := _renameat2()) and exchange(self._fd, self._temporary, self._name):
            return
        old = f"{self._temporary[: -len(TEMPORARY)]}-old{TEMPORARY}"
        os.link(self._name, old, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)
        os.rename(self._temporary, self._name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        self._temporary = old

    def _current(self) -> str:
        return self._digest(self._name)

    def _digest(self, name: str) -> str:
        try:
            fd = os.open(name, _FILE, dir_fd=self._fd)
        except FileNotFoundError:
            return ""
        try:
            blob = read_descriptor(fd, self.path, None)
        finally:
            os.close(fd)
        return "not a file" if isinstance(blob, Problem) else sha256(blob.data).hexdigest()

    def _moved(self) -> ConflictError:
        return ConflictError(
            f"{quote(self.path)} changed while it was being written",
            rule="a write replaces what its author saw and nothing else",
            next_step="read it again and repeat the edit",
        )

    def undo(self) -> None:
        """As if nothing had been done; raises when that cannot be had."""
        if self._fd < 0:
            return
        if self._swapped:
            if not self._before.digest:
                os.unlink(self._name, dir_fd=self._fd)
            else:
                if self._after is not None and self._current() != self._after.digest:
                    raise self._moved()
                os.rename(self._temporary, self._name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            self._swapped = False
            os.fsync(self._fd)
        self.finish()

    def finish(self) -> None:
        """Remove the temporary name and close. The write is done by now: a name that stays is swept by the next one."""
        if self._fd >= 0:
            for _ in range(2):
                try:
                    os.unlink(self._temporary, dir_fd=self._fd)
                    os.fsync(self._fd)  # or a power cut would bring the name back, and no intent would tell of it
                    break
                except FileNotFoundError:
                    break
                except OSError:
                    self._root.swept.discard(self.path)
            os.close(self._fd)
            self._fd = -1


def _prefix(name: str) -> str:
    """How the temporary names for `name` begin: a digest, since the name itself may be as long as names can be."""
    return f".{sha256(os.fsencode(name)).hexdigest()[:16]}."


def sweep(root: Root, path: RelPath) -> tuple[bytes, ...]:
    """Remove what a writer of `path` that ended in the middle left behind, and return it. The caller holds the path."""
    name, left = path.rpartition("/")[2], list[bytes]()
    try:
        fd = root.open(dirname(path), DIRECTORY) if dirname(path) else os.open(".", DIRECTORY, dir_fd=root.fd)
    except OSError:
        return ()
    try:
        prefix = _prefix(name)
        for found in sorted(one for one in os.listdir(fd) if one.startswith(prefix)):
            if found.endswith(TEMPORARY):
                blob = root.read(RelPath(f"{dirname(path)}/{found}".lstrip("/")))
                if not isinstance(blob, Problem):
                    left.append(blob.data)
                with suppress(OSError):
                    os.unlink(found, dir_fd=fd)
                    os.fsync(fd)
    finally:
        os.close(fd)
    return tuple(left)


def _parent(root: Root, path: RelPath, *, make: bool) -> int:
    """The directory of `path`, made where it is missing, step by step and never through a link."""
    fd = os.open(".", DIRECTORY, dir_fd=root.fd)
    for part in path.split("/")[:-1]:
        try:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o777, dir_fd=fd)
                    os.fsync(fd)
            step = os.open(part, DIRECTORY, dir_fd=fd)
        finally:
            os.close(fd)
        fd = step
    return fd


def _new_mode() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask


class _Renamer(NamedTuple):
    call: ctypes._NamedFuncPointer

    def __call__(self, fd: int, one: str, other: str) -> bool:
        """Exchange two names; False where the file system cannot."""
        if self.call(fd, os.fsencode(one), fd, os.fsencode(other), _EXCHANGE) == 0:
            return True
        number = ctypes.get_errno()
        if number in (errno.EINVAL, errno.ENOSYS, errno.EPERM):
            return False
        raise OSError(number, os.strerror(number))


@cache
def _renameat2() -> _Renamer | None:
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    return _Renamer(call)
