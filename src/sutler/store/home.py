"""What sutler keeps for this installation: its key, its ledger's database, and a cache that may
vanish any time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from functools import cache
from stat import S_ISREG
from typing import TYPE_CHECKING

from msgspec import Struct

from sutler.errors import SutlerError, UsageError
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
    from sutler.store.base import Store


CACHE_LIMIT = 1_000_000_000
"""Bytes that the cache may take; beyond that the oldest part of it goes."""
UNFINISHED = 3600.0
"""Seconds after which an unfinished file of the cache counts as abandoned."""
_RANDOM, _HEX = 8, frozenset("0123456789abcdef")


def home(environ: Mapping[str, str]) -> str:
    """The private state directory, made if need be."""
    return private_dir(state_home(environ))


def key(environ: Mapping[str, str]) -> bytes:
    """This installation's key; one of the moment where no state can be kept, so that tags still
    mean nothing.
    """
    try:
        return install_key(home(environ))
    except (OSError, SutlerError):  # not writable, or another user's: nothing of it is read
        return _key_of_the_moment()


@cache
def _key_of_the_moment() -> bytes:
    """One for the whole process: a text that is cleaned twice must know its own markers."""
    return os.urandom(32)


def project_folder(root: str, environ: Mapping[str, str]) -> tuple[str, str, bytes]:
    """A project's private directory, outside the project and made if need be; its id, and the
    installation's key.
    """
    state = state_home(environ)
    refuse_inside(state, root)
    private_dir(state)
    own = install_key(state)
    project = project_id(root, own)
    return private_dir(os.path.join(state, project)), project, own


def open_store(root: str, environ: Mapping[str, str]) -> tuple[Store, str, bytes]:
    """A project's store, its private directory and the installation's key. SQLite by default;
    PostgreSQL when SUTLER_STORE is a URL. Receipts that waited for it are in it then.
    """
    directory, project, own = project_folder(root, environ)
    store = _opened(directory, project, environ)
    try:
        state.take_in(directory, lambda row: _put(store, row))
    except BaseException:
        store.close()
        raise
    return store, directory, own


def _put(store: Store, row: state.Row) -> None:
    from sutler.store.records import Receipt

    pack, at, body, files = row
    store.put_receipt(Receipt(pack=pack, at=at, body=body), files)


def _opened(directory: str, project: str, environ: Mapping[str, str]) -> Store:
    url = environ.get("SUTLER_STORE", "")
    if url.startswith(("postgresql://", "postgres://")):
        from sutler.store.postgres import open_postgres

        return open_postgres(url, environ.get("SUTLER_PROJECT", "") or project)
    if url:
        raise UsageError(
            "SUTLER_STORE is not a PostgreSQL URL",
            next_step="use postgresql://…, or unset it for SQLite",
        )
    from sutler.store.sqlite import open_sqlite

    return open_sqlite(os.path.join(directory, "state.db"), project)


def own_folders(root: str, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Where our state and cache lie below `root`, if they do: nothing of them is ever scanned."""
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
    """A cached file's bytes, or None: anything odd about it counts as absent."""
    try:
        return read_kept(os.path.join(cache_home(environ), name))
    except (OSError, SutlerError):
        return None


def read_kept(path: str) -> bytes:
    """A cached file's bytes, by its full name."""
    with os.fdopen(fs.open(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC), "rb") as stream:
        return stream.read()


class Sight(Struct, frozen=True, gc=False):
    """Which file a name in the cache is just now: another one looks different."""

    folder: str
    inode: int
    size: int
    mtime_ns: int


def sight_of(name: str, environ: Mapping[str, str]) -> Sight | None:
    """What a cached file looks like, or None where `cached` would find nothing."""
    try:
        folder = cache_home(environ)
        state = os.lstat(os.path.join(folder, name))
    except (OSError, SutlerError):
        return None
    return (
        Sight(folder, state.st_ino, state.st_size, state.st_mtime_ns)
        if S_ISREG(state.st_mode)
        else None
    )


class Cached(Struct, frozen=True, gc=False):
    """One file of the cache: what it is for, its name, size and age."""

    kind: str
    name: str
    size: int
    mtime: float


KINDS = {
    "facts": "what packs found out about files",
    "figures": "what packs found out about themselves",
    "history": "commit messages, cleaned",
    "index": "facts for ranking",
    "packs": "clean packs of trees that have not changed since",
    "secrets": "the redactor's compiled rules",
}
"""What lies in the cache, by the first word of a file's name."""


def cache_files(environ: Mapping[str, str]) -> list[Cached]:
    """Everything in the cache that is ours, by name."""
    folder = cache_folder(environ)
    found: list[Cached] = []
    try:
        with fs.scandir(folder) as listing:
            for entry in listing:
                kind = entry.name.partition("-")[0]
                if kind in KINDS and entry.is_file(follow_symlinks=False):
                    state = entry.stat(follow_symlinks=False)
                    found.append(Cached(kind, entry.name, state.st_size, state.st_mtime))
    except OSError:
        return []
    return sorted(found, key=lambda one: one.name)


def forget(names: Iterable[str], environ: Mapping[str, str]) -> None:
    """Remove files from the cache; one that is gone already is no matter."""
    folder = cache_folder(environ)
    for name in names:
        try:
            fs.unlink(os.path.join(folder, name))
        except OSError:
            continue


def make_room(environ: Mapping[str, str]) -> None:
    """Forget what a run that was killed left unfinished, and then what was not written for longest,
    until the cache is within its limit.
    """
    files = sorted(cache_files(environ), key=lambda one: (one.mtime, one.name))
    left = [one for one in files if one.mtime < time.time() - UNFINISHED and _temporary(one.name)]
    if left:
        forget([one.name for one in left], environ)
        files = [one for one in files if one not in left]
    total = sum(one.size for one in files)
    for one in files:
        if total <= CACHE_LIMIT:
            return
        forget([one.name], environ)
        total -= one.size


def temporary(path: str) -> str:
    """A name for a file of the cache until it is whole."""
    return f"{path}.{os.urandom(_RANDOM).hex()}"


def _temporary(name: str) -> bool:
    tail = name.rpartition(".")[2]
    return len(tail) == 2 * _RANDOM and set(tail) <= _HEX


def keep(name: str, data: bytes, environ: Mapping[str, str], *, durable: bool = True) -> None:
    """Put bytes into the cache, whole or not at all; a cache that cannot be written is no loss. Who
    can tell by the bytes whether all of them are there need not wait for the disk.
    """
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
