"""The state directory: private, outside every project, created by sutler itself.

Receipts wait in it, one file each, until the store is opened next: opening a database takes longer
than many a pack.
"""

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
    """Create a 0700 directory whatever the umask, or accept one that is already ours and marked."""
    if not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    try:
        fs.mkdir(path, 0o700)
        os.chmod(path, 0o700)
    except FileExistsError:
        found = os.lstat(path)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != fs.geteuid():
            raise _refused("is not a directory of this user") from None
        # In this order: another process may be making it just now, and its mark is what it makes
        # first.
        if fs.listdir(path) and not os.path.lexists(os.path.join(path, MARKER)):
            raise _refused("holds files but was not made by sutler") from None
        if found.st_mode & 0o077:
            os.chmod(path, 0o700)
    marker = os.path.join(path, MARKER)
    if not os.path.lexists(marker):
        private_file(
            marker, _MARK, durable=False
        )  # that it is there is all; what is kept here will be synced after it
    return path


def _refused(what: str) -> RefusedError:
    return RefusedError(
        f"the state directory {what}",
        rule="state is read only from a directory that sutler made",
        next_step="set XDG_STATE_HOME to a directory of your own",
    )


def private_file(path: str, content: bytes | None = None, *, durable: bool = True) -> None:
    """Create a 0600 file whatever the umask; an existing one must be a plain file of this user.
    Unless it is `durable`, a power cut may leave less of it than was written.
    """
    try:
        fd = fs.open(
            path, fs.O_CREAT | fs.O_EXCL | fs.O_WRONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC, 0o600
        )
    except FileExistsError:
        found = os.lstat(path)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != fs.geteuid():
            raise _refused("holds something that is not a plain file of this user") from None
        if found.st_mode & 0o077:
            os.chmod(path, 0o600)
        return
    try:
        os.fchmod(fd, 0o600)
        if content:
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if durable:
                fs.fsync(fd)
    finally:
        fs.close(fd)


def refuse_inside(state: str, root: str) -> None:
    """Refuse a state directory inside the project, compared by what the directories are and not by
    their names.
    """
    try:
        tree = fs.stat(root)
    except OSError:
        return
    at = os.path.abspath(state)
    while True:
        try:
            here = fs.stat(at)
            if (here.st_dev, here.st_ino) == (tree.st_dev, tree.st_ino):
                raise RefusedError(
                    "the state directory lies inside the project",
                    rule="an agent must not reach the ledger",
                    next_step="set XDG_STATE_HOME to a directory outside the project",
                )
        except OSError:
            pass  # not made yet; its parents decide
        if at == os.path.dirname(at):
            return
        at = os.path.dirname(at)


def install_key(home: str) -> bytes:
    """32 random bytes of this installation, made once. Outside the database, so that who can write
    the one cannot sign for the other.
    """
    path = os.path.join(home, "install.key")
    for _ in range(2):
        try:
            fd = fs.open(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC)
        except FileNotFoundError:
            temporary = f"{path}.{os.urandom(8).hex()}"
            private_file(temporary, os.urandom(32))
            try:
                fs.link(temporary, path)  # whole or not at all, and the first one wins
            except FileExistsError:
                pass
            finally:
                fs.unlink(temporary)
            continue
        with os.fdopen(fd, "rb") as file:
            key = file.read(33)
        if len(key) == 32:
            return key
    raise _refused("holds a damaged install.key")


def project_id(root: str, key: bytes) -> str:
    """Names a project in the store. Keyed, so that equal paths on two machines never meet in one
    database.
    """
    try:
        real = os.path.realpath(root)
    except OSError:  # a folder above it is replaced at this moment
        real = os.path.abspath(root)
    return hmac.new(key, os.fsencode(real), "sha256").hexdigest()[:32]


FOLDER = "receipts"
MOST = 32
"""Receipts that may wait. Each holds a list of files, which the store keeps once for the same
pack.
"""
UNFINISHED = 3600.0
"""Seconds after which an unfinished receipt counts as abandoned."""
_PART, _DAMAGED = ".part", ".damaged"

Row = tuple[str, str, str, bytes]
"""The pack's id, when it left, the receipt, and what the pack held."""


def leave(directory: str, row: Row) -> int:
    """Keep a receipt in a project's private directory; it is on the disk then. Returns how many
    wait.
    """
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


def take_in(directory: str, put: Callable[[Row], None]) -> None:
    """Put what waits into the store. Two that do it at once do no harm: the store takes a receipt
    once. A damaged one is set aside.
    """
    folder = os.path.join(directory, FOLDER)
    for path in _waiting(folder):
        try:
            with os.fdopen(fs.open(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC), "rb") as file:
                row = msgpack.decode(file.read(), type=Row)
        except FileNotFoundError:  # another process was faster
            continue
        except (OSError, MsgspecError):
            fs.rename(path, path + _DAMAGED)
            continue
        put(row)
        _unlink(path)


def _waiting(folder: str) -> list[str]:
    """What waits; what a killed process left unfinished goes."""
    found: list[str] = []
    try:
        names = sorted(fs.listdir(folder))
    except FileNotFoundError:
        return []
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(_PART):
            _forget_old(path)
        elif not name.endswith(_DAMAGED):
            found.append(path)
    return found


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
