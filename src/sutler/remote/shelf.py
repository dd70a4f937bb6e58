"""Fetched folders in the cache: one for each commit or digest, whole or absent."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from hashlib import sha256

from msgspec import Struct

from sutler.errors import RefusedError
from sutler.store import home

FOLDER = "remotes"
DEEPEST = 100
"""Limit of nested folders in a fetched tree."""
MOST_FILES = 200_000
MOST_BYTES = 1_000_000_000


class Shelved(Struct, frozen=True):
    """One fetched folder: its name in the cache, its size, and the time of its last use."""

    name: str
    size: int
    used: float


def shelf(environ: Mapping[str, str]) -> str:
    return home.private_dir(os.path.join(home.cache_home(environ), FOLDER))


def fetched(key: str, name: str, environ: Mapping[str, str], fill: Callable[[str], None]) -> str:
    """Return the folder `name` for `key`; if it is absent, `fill` writes its content into an empty
    folder. Files of a `fill` that fails are removed."""
    place = os.path.join(shelf(environ), sha256(key.encode("utf-8", "surrogateescape")).hexdigest())
    if not os.path.isdir(place):
        make_room(environ)
        unfinished = tempfile.mkdtemp(prefix="new-", dir=shelf(environ))
        try:
            folder = os.path.join(unfinished, name)
            os.mkdir(folder)
            fill(folder)
            os.rename(unfinished, place)
        except OSError:
            if not os.path.isdir(place):  # another run was not faster
                raise
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    os.utime(place)  # by this time make_room finds the least recently used
    return os.path.join(place, name)


def shelved(environ: Mapping[str, str]) -> list[Shelved]:
    """Return every fetched folder, the least recently used first."""
    place = os.path.join(home.cache_folder(environ), FOLDER)
    try:
        with os.scandir(place) as listing:
            rows = [
                Shelved(entry.name, size_of(entry.path), entry.stat().st_mtime)
                for entry in listing
                if entry.is_dir(follow_symlinks=False)
            ]
    except OSError:  # nothing was fetched yet
        return []
    return sorted(rows, key=lambda row: (row.used, row.name))


def size_of(folder: str) -> int:
    """Sum the bytes of all files below a folder; files that vanish meanwhile do not count."""
    total = 0
    for at, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.lstat(os.path.join(at, file)).st_size
            except OSError:
                continue
    return total


def forget_shelved(names: list[str], environ: Mapping[str, str]) -> None:
    place = os.path.join(home.cache_folder(environ), FOLDER)
    for name in names:
        shutil.rmtree(os.path.join(place, name), ignore_errors=True)


def make_room(environ: Mapping[str, str]) -> None:
    """Delete the least recently used folders until there is room for one more of the largest."""
    rows = shelved(environ)
    total = sum(row.size for row in rows)
    for row in rows:
        if total <= home.CACHE_LIMIT:
            return
        forget_shelved([row.name], environ)
        total -= row.size


class Writer:
    """Writes the files of a fetched tree below a folder, with limits on number, size and depth. It
    creates every folder itself, so it follows no link."""

    def __init__(self, folder: str, what: str) -> None:
        self._folder = folder
        self._what = what
        self._folders = {""}
        self._files = self._bytes = 0

    def room(self, size: int) -> None:
        """Refuse a file of `size` bytes if it exceeds a limit."""
        self._files += 1
        self._bytes += size
        if self._files > MOST_FILES or self._bytes > MOST_BYTES:
            raise RefusedError(
                f"{self._what} is too large",
                rule=f"at most {MOST_FILES:,} files and {MOST_BYTES:,} bytes are unpacked",
                next_step="fetch it yourself and pack a part of it",
            )

    def write(self, path: str, data: bytes, *, executable: bool = False) -> None:
        parts = path.split("/")
        if len(parts) > DEEPEST:
            raise RefusedError(
                f"{self._what} is nested more than {DEEPEST} levels deep",
                rule="a fetched tree has a limited depth",
            )
        for depth in range(1, len(parts)):
            parent = "/".join(parts[:depth])
            if parent not in self._folders:
                os.mkdir(os.path.join(self._folder, parent))
                self._folders.add(parent)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        mode = 0o755 if executable else 0o644
        with os.fdopen(os.open(os.path.join(self._folder, path), flags, mode), "wb") as stream:
            stream.write(data)


def plain_path(path: str) -> bool:
    """Return whether a path of a fetched tree may be written: relative, without dots, no `.git`."""
    parts = path.split("/")
    return bool(path) and not any(
        part in ("", ".", "..") or part.lower() == ".git" or "\0" in part for part in parts
    )
