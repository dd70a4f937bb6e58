"""One file takes the place of another: durable, whole, and only if what it replaces is what its author saw.

The new bytes go to a file without a name in the same directory, where the file system has such, and to the disk first.
Then it gets a temporary name and the two names are exchanged in one step where the kernel can, so that the file that
was there is never lost: it lies under the temporary name, is compared with what was expected, and goes back when it is
something else. Nothing is ever written through a link.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from typing import NamedTuple

from sutler.disk.aio import start_sync
from sutler.disk.leftovers import littered, prefix_of, sweep
from sutler.disk.ring import UNNAMED
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
    """A file as it is: no bytes and an empty digest when there is none. `mark` tells this very file, untouched since,
    from any other with the same bytes."""

    data: bytes
    digest: str
    mode: int = 0
    mark: str = ""

    def same(self, other: Held) -> bool:
        """Whether the bytes and the mode are the same."""
        return (self.digest, self.mode) == (other.digest, other.mode)


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
        blob = read_descriptor(fd, path, limit)
    except OSError as error:
        raise failed(path, error) from None
    finally:
        os.close(fd)
    if isinstance(blob, Problem):
        raise RefusedError(f"{quote(path)}: {blob.detail}", rule="only plain files are written")
    if blob.links > 1:
        raise RefusedError(
            f"{quote(path)} has {blob.links} names on disk", rule="a hard-linked file is not replaced",
            next_step="copy it to break the link, then edit",
        )  # fmt: skip
    return Held(blob.data, sha256(blob.data).hexdigest(), stat.S_IMODE(blob.mode), mark_of(blob.inode, blob.ctime_ns))


def mark_of(inode: int, ctime_ns: int) -> str:
    """Changes with whatever happens to a file, and with the file that has the name."""
    return f"{inode:x}.{ctime_ns:x}"


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
        self._temporary = f"{prefix_of(self._name)}{os.urandom(8).hex()}{TEMPORARY}"
        self._fd = self._new = self._old = -1
        self._sync: Callable[[], None] | None = None
        self._named = self._swapped = False

    @property
    def lazy(self) -> bool:
        """Whether the next start can tell from the file that this was lost with the power, and do it again: where other
        bytes take the place of a file, but not where a name comes or goes."""
        return bool(self._before.digest and self._after and self._after.digest != self._before.digest)

    def stage(self) -> None:
        """The new bytes are in a file that nobody sees, and on their way to the disk; unless a directory must be made
        first, which can be seen."""
        try:
            self._stage(make=False)
        except FileNotFoundError:
            if self._fd >= 0:
                raise
        if self._new >= 0:
            self._sync = start_sync(self._new)

    def prepare(self) -> None:
        """The new bytes are on the disk, and nobody sees them yet."""
        if self._fd < 0:
            self._stage(make=self._after is not None)
        sync, self._sync = self._sync, None
        if sync is not None:
            sync()
        elif self._new >= 0:
            os.fsync(self._new)

    def _stage(self, *, make: bool) -> None:
        if littered(self._root, self.path):
            sweep(self._root, self.path)
        self._fd = _parent(self._root, self.path, make=make)
        if self._after is None:
            self._writable(os.stat(self._name, dir_fd=self._fd, follow_symlinks=False))
            return
        self._new = fd = self._create()
        view = memoryview(self._after.data)
        while view:
            view = view[os.write(fd, view) :]
        if self._before.digest:
            self._like_the_old(fd, self._after.mode)
        else:
            os.fchmod(fd, self._after.mode or _new_mode())

    def _create(self) -> int:
        if UNNAMED and _has_proc():
            # A new file takes after its directory as that is now; one that replaces another takes after that one.
            spare = self._root.spare if self._before.digest else None
            if spare is not None and (ready := spare.take(self._fd)) >= 0:
                return ready
            try:
                return os.open(".", UNNAMED, 0o600, dir_fd=self._fd)
            except OSError as error:
                if error.errno not in (errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL):
                    raise
        self._named = True
        return os.open(self._temporary, _NEW, 0o600, dir_fd=self._fd)

    def _writable(self, state: os.stat_result) -> None:
        if not state.st_mode & 0o222:
            raise RefusedError(f"{quote(self.path)} is read-only", rule="a read-only file is not replaced")

    def _like_the_old(self, fd: int, mode: int) -> None:
        old = os.open(self._name, _FILE, dir_fd=self._fd)
        try:
            was, now = os.fstat(old), os.fstat(fd)
            self._writable(was)
            if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
                os.fchown(fd, was.st_uid, was.st_gid)
            os.fchmod(fd, mode or _new_mode())
            _same_attributes(old, fd)
        finally:
            os.close(old)

    def swap(self) -> None:
        """The names change places, if the file is still what was expected."""
        if not self._untouched() and self._digest(self._name) != self._before.digest:
            raise self._moved()
        if self._after is None:
            os.rename(self._name, self._temporary, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            self._named = True
        elif not self._before.digest:
            try:
                self._link(self._name)
            except FileExistsError:
                raise self._moved() from None
        else:
            if not self._named:
                self._link(self._temporary)
                self._named = True
            self._exchange()
        self._swapped = True
        if self._before.digest and self._digest(self._temporary, keep=True) != self._before.digest:
            raise self._moved()  # somebody was quicker by a hair; undo gives it back

    def _untouched(self) -> bool:
        try:
            state = os.stat(self._name, dir_fd=self._fd, follow_symlinks=False)
            return mark_of(state.st_ino, state.st_ctime_ns) == self._before.mark
        except FileNotFoundError:
            return False

    def _link(self, name: str) -> None:
        if self._named:
            os.link(self._temporary, name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        else:
            os.link(f"/proc/self/fd/{self._new}", name, dst_dir_fd=self._fd)

    def _exchange(self) -> None:
        if (exchange := _renameat2()) and exchange(self._fd, self._temporary, self._name):
            return
        old = f"{self._temporary[: -len(TEMPORARY)]}-old{TEMPORARY}"
        os.link(self._name, old, src_dir_fd=self._fd, dst_dir_fd=self._fd, follow_symlinks=False)
        try:
            os.rename(self._temporary, self._name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except OSError:
            os.unlink(old, dir_fd=self._fd)
            raise
        self._temporary = old

    def _digest(self, name: str, *, keep: bool = False) -> str:
        try:
            fd = os.open(name, _FILE, dir_fd=self._fd)
        except FileNotFoundError:
            return ""
        try:
            blob = read_descriptor(fd, self.path, None)
        finally:
            if keep:  # whoever closes it last waits while its blocks are given back
                self._old = fd
            else:
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
                if self._after is not None and self._digest(self._name) != self._after.digest:
                    raise self._moved()
                os.rename(self._temporary, self._name, src_dir_fd=self._fd, dst_dir_fd=self._fd)
            self._swapped = False
            os.fsync(self._fd)
        self.finish()

    def sync(self) -> None:
        """The names are on the disk too."""
        os.fsync(self._fd)

    def finish(self) -> None:
        """Remove the temporary name and close. The write is done by now: a name that stays is swept by the next one."""
        if self._fd < 0:
            return
        if self._unlink():
            with suppress(OSError):
                os.fsync(self._fd)  # or a power cut would bring the name back, and no intent would tell of it
        self._close()

    def drop(self) -> None:
        """Let go of what was begun. What has changed places already stays for the next start to judge."""
        if self._fd >= 0:
            self._named = self._named and not self._swapped
            self._close()

    def _close(self) -> None:
        directory, old = self.release()
        os.close(directory)
        if old >= 0:
            os.close(old)

    def release(self) -> tuple[int, int]:
        """Remove the temporary name and hand over the directory, to be synced and closed, and the file that had the
        name (-1: there was none), to be closed."""
        if self._sync is not None:
            sync, self._sync = self._sync, None
            with suppress(OSError):
                sync()  # nobody wants these bytes any more, but the kernel is still at it
        self._unlink()
        found, self._fd, self._old = (self._fd, self._old), -1, -1
        if self._new >= 0:
            os.close(self._new)
            self._new = -1
        return found

    def _unlink(self) -> bool:
        """Whether there was a name and it is gone."""
        for _ in range(2 if self._named else 0):
            try:
                os.unlink(self._temporary, dir_fd=self._fd)
                self._named = False
                return True
            except FileNotFoundError:
                self._named = False
                return False
            except OSError:
                self._root.swept.setdefault(dirname(self.path), set()).add(prefix_of(self._name))
        return False


def _same_attributes(old: int, new: int) -> None:
    """Extended attributes go along where the platform has them. An access list must: without it the mode's group bits,
    which are its mask, would let a whole group in."""
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


@cache
def _has_proc() -> bool:
    """A file without a name gets one by way of /proc."""
    return os.path.isdir("/proc/self/fd")


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
