"""The state directory: private, outside every project, created by sutler itself.

Receipts wait in it, one file each, until the store is opened the next time: opening a database
takes longer than many packs."""

from __future__ import annotations

import hmac
import os
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec import MsgspecError, msgpack

from sutler.errors import RefusedError
from sutler.system import fs

MARKER = ".sutler-state"
_MARK = b"sutler state directory 1\n"


def state_home(environ: Mapping[str, str] = os.environ) -> str:
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):  # the base directory specification ignores a relative value
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "sutler")


def private_dir(path: str) -> str:
    """Create a 0700 directory whatever the umask, or accept an existing one of this user with our
    marker."""
    if not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        fs.mkdir(path, 0o700)
        os.chmod(path, 0o700)
    except FileExistsError:
        status = os.lstat(path)
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != fs.geteuid():
            raise _refused("is not a directory of this user") from None
        # In this order: another process may be creating the directory, and it creates the marker
        # first.
        if fs.listdir(path) and not os.path.lexists(os.path.join(path, MARKER)):
            raise _refused("holds files but was not made by sutler") from None
        if status.st_mode & 0o077:
            os.chmod(path, 0o700)
    marker = os.path.join(path, MARKER)
    if not os.path.lexists(marker):
        # No sync: only its existence matters.
        private_file(marker, _MARK, durable=False)
    return path


def _refused(what: str) -> RefusedError:
    return RefusedError(
        f"the state directory {what}",
        rule="state is read only from a directory that sutler made",
        next_step="set XDG_STATE_HOME to a directory of your own",
    )


def private_file(path: str, content: bytes | None = None, *, durable: bool = True) -> None:
    """Create a 0600 file whatever the umask; an existing one must be a plain file of this user.
    Without `durable` a power failure may truncate it."""
    try:
        fd = fs.open(
            path, fs.O_CREAT | fs.O_EXCL | fs.O_WRONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC, 0o600
        )
    except FileExistsError:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != fs.geteuid():
            raise _refused("holds something that is not a plain file of this user") from None
        if status.st_mode & 0o077:
            os.chmod(path, 0o600)
        return
    try:
        os.fchmod(fd, 0o600)
        if content:
            with open(fd, "wb", closefd=False) as file:
                file.write(content)
            if durable:
                fs.fsync(fd)
    finally:
        fs.close(fd)


def replace_private(path: str, content: bytes) -> None:
    """Replace a 0600 file, or create it: whole or not at all."""
    temporary = f"{path}.{os.urandom(8).hex()}"
    private_file(temporary, content)
    os.replace(temporary, path)


def refuse_inside(state: str, root: str) -> None:
    """Raise RefusedError if the state directory is inside the project. Directories are compared by
    device and inode, because a name can be a link."""
    try:
        tree = fs.stat(root)
    except OSError:  # an unreadable root holds no files of ours
        return
    at = os.path.abspath(state)
    while True:
        try:
            here = fs.stat(at)
            if (here.st_dev, here.st_ino) == (tree.st_dev, tree.st_ino):
                raise RefusedError(
                    "the state directory is inside the project",
                    rule="an agent must not reach the ledger",
                    next_step="set XDG_STATE_HOME to a directory outside the project",
                )
        except OSError:
            pass  # does not exist yet; check its parents
        if at == os.path.dirname(at):
            return
        at = os.path.dirname(at)


def install_key(home: str) -> bytes:
    """Return the 32 random bytes of this installation; create them once. The key is not in the
    database: write access to the database must not be enough to sign."""
    path = os.path.join(home, "install.key")
    for _ in range(2):
        try:
            fd = fs.open(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC)
        except FileNotFoundError:
            temporary = f"{path}.{os.urandom(8).hex()}"
            private_file(temporary, os.urandom(32))
            try:
                fs.link(temporary, path)  # atomic, and the first process wins
            except FileExistsError:
                pass
            finally:
                fs.unlink(temporary)
            continue
        with os.fdopen(fd, "rb") as file:
            key = file.read(33)
        if len(key) == 32:  # a shorter one was cut off by a full disk
            return key
    raise _refused("holds a damaged install.key")


def project_id(root: str, key: bytes) -> str:
    """Return the project's id in the store: a keyed hash, so that equal paths on two machines do
    not collide in one database."""
    try:
        real = os.path.realpath(root)
    except OSError:  # a parent folder is being replaced
        real = os.path.abspath(root)
    return hmac.new(key, os.fsencode(real), "sha256").hexdigest()[:32]


FOLDER = "receipts"
MOST = 32
"""Maximum number of waiting receipts. Each holds a list of files, which the store keeps once per
pack."""
UNFINISHED = 3600.0
"""Seconds after which an unfinished receipt counts as abandoned."""
_PART, _DAMAGED = ".part", ".damaged"

ReceiptRow = tuple[str, str, str, bytes]
"""The pack's id, the time it was sent, the receipt, and the list of its files."""


def leave(directory: str, row: ReceiptRow) -> int:
    """Write a receipt to a project's private directory and sync it. Return how many are waiting."""
    folder = os.path.join(directory, FOLDER)
    with suppress(FileExistsError):
        fs.mkdir(folder, 0o700)
    path = os.path.join(folder, f"{row[0][:16]}-{os.urandom(8).hex()}")
    try:
        private_file(path + _PART, msgpack.encode(row))
        fs.rename(path + _PART, path)
    except BaseException:
        _unlink(path + _PART)
        raise
    _sync(folder)
    return len(_waiting(folder))


def take_in(directory: str, put: Callable[[ReceiptRow], None]) -> None:
    """Move waiting receipts into the store. Two processes may do so at once, because the store
    ignores a duplicate. A damaged receipt is renamed."""
    folder = os.path.join(directory, FOLDER)
    for path in _waiting(folder):
        try:
            with os.fdopen(fs.open(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC), "rb") as file:
                row = msgpack.decode(file.read(), type=ReceiptRow)
        except FileNotFoundError:  # another process was faster
            continue
        except (OSError, MsgspecError):
            fs.rename(path, path + _DAMAGED)
            continue
        put(row)
        _unlink(path)


def _waiting(folder: str) -> list[str]:
    """Return the waiting receipts; remove old unfinished files of killed processes."""
    paths: list[str] = []
    try:
        names = sorted(fs.listdir(folder))
    except FileNotFoundError:  # no pack was made yet
        return []
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(_PART):
            _forget_old(path)
        elif not name.endswith(_DAMAGED):
            paths.append(path)
    return paths


def _forget_old(path: str) -> None:
    with suppress(FileNotFoundError):
        if os.lstat(path).st_mtime < time.time() - UNFINISHED:
            fs.unlink(path)


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        fs.unlink(path)


def _sync(folder: str) -> None:
    fd = fs.open(folder, fs.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC)
    try:
        fs.fsync(fd)
    finally:
        fs.close(fd)
