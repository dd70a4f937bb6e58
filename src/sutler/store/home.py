"""State of this installation: the key, the stores of its projects, and a cache that may be deleted
at any time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from functools import cache
from stat import S_ISREG
from typing import TYPE_CHECKING

from msgspec import Struct

from sutler.errors import RefusedError, SutlerError, UsageError
from sutler.store import state
from sutler.store.state import (
    install_key,
    private_dir,
    private_file,
    project_id,
    refuse_inside,
    state_home,
)
from sutler.system import fs

if TYPE_CHECKING:
    from sutler.store.sql import Store


CACHE_LIMIT = 1_000_000_000
"""Maximum size of the cache in bytes; above it the oldest files are removed."""
DATABASE = "state.db"
"""Name of the SQLite file in a project's private directory."""
UNFINISHED = 3600.0
"""Seconds after which an unfinished file of the cache counts as abandoned."""
_RANDOM, _HEX = 8, frozenset("0123456789abcdef")


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


def open_store(root: str, environ: Mapping[str, str]) -> tuple[Store, str, bytes]:
    """Open a project's store; return it with the private directory and the installation's key.
    SQLite by default, PostgreSQL if SUTLER_STORE is a URL. Waiting receipts are added to the store.
    """
    directory, project, own = project_folder(root, environ)
    store = connect(root, directory, project, environ)
    try:
        _require_here(store)
        state.take_in(directory, store.put_receipt)
    except BaseException:
        store.close()
        raise
    return store, directory, own


def _require_here(store: Store) -> None:
    from sutler.store.rows import moved_to

    if target := moved_to(store.database, store.project):
        raise RefusedError(
            f"the ledger of this project goes on in another store, as {target}",
            rule="a ledger is continued in one place",
            next_step="set SUTLER_STORE to that store, or 'sutler store move' it back",
        )


def connect(root: str, directory: str, project: str, environ: Mapping[str, str]) -> Store:
    url = environ.get("SUTLER_STORE", "")
    if is_url(url):
        from sutler.store.identity import identity_of
        from sutler.store.postgres import open_postgres

        return open_postgres(url, identity_of(root, environ, project))
    if url:
        raise UsageError(
            "SUTLER_STORE is not a PostgreSQL URL",
            next_step="use postgresql://…, or unset it for SQLite",
        )
    from sutler.store.sqlite import open_sqlite

    return open_sqlite(os.path.join(directory, DATABASE), project)


def is_url(text: str) -> bool:
    return text.startswith(("postgresql://", "postgres://"))


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
    if S_ISREG(state.st_mode):
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
    "figures": "figures of whole packs",
    "history": "commit messages, cleaned",
    "index": "facts for ranking",
    "processed": "texts that processors printed, with nothing to redact",
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
        file for file in files if file.mtime < time.time() - UNFINISHED and _temporary(file.name)
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


def temporary(path: str) -> str:
    """Return a temporary name for a file of the cache that is being written."""
    return f"{path}.{os.urandom(_RANDOM).hex()}"


def _temporary(name: str) -> bool:
    tail = name.rpartition(".")[2]
    return len(tail) == 2 * _RANDOM and set(tail) <= _HEX


def keep(name: str, data: bytes, environ: Mapping[str, str], *, durable: bool = True) -> None:
    """Write a file of the cache atomically; ignore errors. Pass `durable=False` if a truncated file
    can be detected by its contents: that saves a sync."""
    unfinished = ""
    try:
        path = os.path.join(cache_home(environ), name)
        unfinished = temporary(path)
        private_file(unfinished, data, durable=durable)
        os.replace(unfinished, path)
        make_room(environ)
    except (OSError, SutlerError):
        if unfinished:
            forget([os.path.basename(unfinished)], environ)
