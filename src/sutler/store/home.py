"""State of this installation, private and outside every project: the key, the stores of the
projects, and a cache that may be deleted at any time."""

from __future__ import annotations

import hmac
import os
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache

from msgspec import Struct

from sutler.errors import RefusedError, SutlerError
from sutler.system import fs

CACHE_LIMIT = 1_000_000_000
"""Maximum size of the cache in bytes; above it the oldest files are removed."""
UNFINISHED = 3600.0
"""Seconds after which an unfinished file counts as abandoned."""
_RANDOM, _HEX = 8, frozenset("0123456789abcdef")
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


def replace_private(path: str, content: bytes, *, durable: bool = True) -> None:
    """Replace a 0600 file, or create it: whole or not at all."""
    unfinished = f"{path}.{os.urandom(_RANDOM).hex()}"
    try:
        private_file(unfinished, content, durable=durable)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(FileNotFoundError):
            fs.unlink(unfinished)
        raise


def is_unfinished(name: str) -> bool:
    """Return whether a file is being written, or was left behind by a killed process."""
    tail = name.rpartition(".")[2]
    return len(tail) == 2 * _RANDOM and set(tail) <= _HEX


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
    for _ in range(2):  # the second time for the key that this or a faster process made
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
            key = file.read(33)  # a longer file is no key either
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


def home(environ: Mapping[str, str]) -> str:
    """Return the private state directory; create it if needed."""
    return private_dir(state_home(environ))


def key(environ: Mapping[str, str]) -> bytes:
    """Return this installation's key, or a random per-process key if the state directory is not
    writable. Either way tags reveal nothing about the values behind them."""
    try:
        return install_key(home(environ))
    except (OSError, SutlerError):  # not writable, or of another user: never read
        return _key_of_the_moment()


@cache
def _key_of_the_moment() -> bytes:
    """Return one key for the whole process: redacting a text twice must give the same markers."""
    return os.urandom(32)


def project_folder(root: str, environ: Mapping[str, str]) -> tuple[str, str, bytes]:
    """Return a project's private directory (outside the project, created if needed), its id, and
    the installation's key."""
    state = state_home(environ)
    refuse_inside(state, root)
    private_dir(state)
    own = install_key(state)
    project = project_id(root, own)
    return private_dir(os.path.join(state, project)), project, own


def own_folders(root: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return our state and cache directories below `root`, if any; they are never scanned."""
    folders = (state_home(environ), cache_folder(environ))
    inside = [os.path.relpath(folder, root) for folder in folders]
    return tuple(f"{folder}/" for folder in inside if not folder.startswith(".."))


def cache_folder(environ: Mapping[str, str]) -> str:
    base = environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    return os.path.join(base, "sutler")


def cache_home(environ: Mapping[str, str]) -> str:
    return private_dir(cache_folder(environ))


def cached(name: str, environ: Mapping[str, str]) -> bytes | None:
    """Return a cached file's bytes, or None if it cannot be read for any reason."""
    try:
        return read_kept(os.path.join(cache_home(environ), name))
    except (OSError, SutlerError):
        return None


def read_kept(path: str) -> bytes:
    """Return a cached file's bytes, by its full path."""
    with os.fdopen(fs.open(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC), "rb") as stream:
        return stream.read()


class CachedFile(Struct, frozen=True, gc=False):
    """Identity of a cached file by its stat data; a replaced file has another one."""

    folder: str
    inode: int
    size: int
    mtime_ns: int


def cached_file(name: str, environ: Mapping[str, str]) -> CachedFile | None:
    """Return the identity of a cached file, or None if there is no such file."""
    try:
        folder = cache_home(environ)
        state = os.lstat(os.path.join(folder, name))
    except (OSError, SutlerError):  # evicted by another run meanwhile
        return None
    if stat.S_ISREG(state.st_mode):
        return CachedFile(folder, state.st_ino, state.st_size, state.st_mtime_ns)
    return None


class Cached(Struct, frozen=True, gc=False):
    """A file of the cache: its kind, name, size and modification time."""

    kind: str
    name: str
    size: int
    mtime: float


KINDS = {
    "facts": "facts about files",
    "figures": "figures and outlines of whole packs",
    "history": "commit messages, cleaned",
    "index": "facts for ranking",
    "processed": "texts that processors printed, with nothing to redact",
    "standing": "order of files by their users",
    "secrets": "the redactor's compiled rules",
}
"""Contents of the cache, by the first word of a file's name."""


def cache_files(environ: Mapping[str, str]) -> list[Cached]:
    """Return our files in the cache, sorted by name."""
    folder = cache_folder(environ)
    files: list[Cached] = []
    try:
        with fs.scandir(folder) as listing:
            for entry in listing:
                kind = entry.name.partition("-")[0]
                if kind in KINDS and entry.is_file(follow_symlinks=False):
                    state = entry.stat(follow_symlinks=False)
                    files.append(Cached(kind, entry.name, state.st_size, state.st_mtime))
    except OSError:  # no cache yet
        return []
    return sorted(files, key=lambda file: file.name)


def forget(names: Iterable[str], environ: Mapping[str, str]) -> None:
    """Remove files from the cache; ignore missing ones."""
    folder = cache_folder(environ)
    for name in names:
        try:
            fs.unlink(os.path.join(folder, name))
        except OSError:  # another run was first
            continue


def make_room(environ: Mapping[str, str]) -> None:
    """Remove unfinished files of killed runs, then the oldest files, until the cache is within its
    limit."""
    files = sorted(cache_files(environ), key=lambda file: (file.mtime, file.name))
    left = [
        file for file in files if file.mtime < time.time() - UNFINISHED and is_unfinished(file.name)
    ]
    if left:
        forget([file.name for file in left], environ)
        files = [file for file in files if file not in left]
    total = sum(file.size for file in files)
    for file in files:
        if total <= CACHE_LIMIT:
            return
        forget([file.name], environ)
        total -= file.size


def keep(name: str, data: bytes, environ: Mapping[str, str], *, durable: bool = True) -> None:
    """Write a file of the cache atomically; ignore errors. Pass `durable=False` if a truncated file
    can be detected by its contents: that saves a sync."""
    with suppress(OSError, SutlerError):
        replace_private(os.path.join(cache_home(environ), name), data, durable=durable)
        make_room(environ)
