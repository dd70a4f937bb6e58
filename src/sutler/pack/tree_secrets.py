"""Secrets of a project's tree: no text about the project shows a value that one of its files
reveals as a secret."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sutler.budget.selection import Choice, Selection
from sutler.config import Settings
from sutler.errors import SutlerError
from sutler.formats.document import CleanText
from sutler.pack.cache import PackCache
from sutler.pack.load import Loader
from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.root import Reader, Root
from sutler.scan.snapshot import FileEntry, Problem, Snapshot
from sutler.scan.text import Loaded, decode
from sutler.secrets.cleaner import Clean, Numbering, Redactor, masked, numbered
from sutler.store import home

if TYPE_CHECKING:
    from sutler.secrets.shared_values import Secret, SharedValues

SURVEY_BYTES = 4_000_000
"""Limit of text that is searched for secrets before a limited pack or an answer is made."""
_LARGEST = 1_000_000  # a dump would use up the limit for all settings files
_CREDENTIAL_BYTES = 65_536  # .env files and keys are small; a larger one is no list of values
_CREDENTIAL_FILES = 200
_LATER = ("source", "test", "documentation", "entrypoint", "api")
_FRESH = 60.0  # seconds; a server reads again after that
_LEARNED = 1_000  # values from texts that a server returned


def survey_order(entries: Iterable[FileEntry]) -> list[Choice]:
    """Return the files to search: files that are neither code nor prose first, then by path, up to
    `SURVEY_BYTES`. The result depends on the tree alone; `entries` are sorted by path."""
    small = [entry for entry in entries if entry.size <= _LARGEST]
    small.sort(key=lambda entry: facts_of(entry.path).category in _LATER)  # by path they are
    room, files = SURVEY_BYTES, []
    for entry in small:
        if entry.size <= room:
            room -= entry.size
            files.append(Choice(entry, facts_of(entry.path), 0, 0.0, ""))
    return files


def surveyed(loader: Loader, files: Iterable[Choice], cache: PackCache) -> Iterator[Secret]:
    """Yield the secrets of these files; a file is read only if the cache does not record it as
    clean."""
    for file in files:
        seen = loader.look(file)
        cache.learn(file.entry.path, seen.record)
        yield from seen.secrets
    loader.problems.clear()  # reported when a file is loaded


def shared_values(secrets: Iterable[Secret]) -> SharedValues | None:
    """Return the values to hide in every text, if there are any."""
    values = dict(secrets)
    if not values:
        return None
    from sutler.secrets.shared_values import SharedValues

    return SharedValues(values.items(), home.key(os.environ))


def without_secret_names(
    values: SharedValues, snapshot: Snapshot, selection: Selection, numbering: Numbering
) -> tuple[Snapshot, Selection, frozenset[str]]:
    """Drop files whose path holds one of the values from the snapshot and the selection; return the
    paths too."""

    def hide(text: str, path: str, raw: bytes = b"") -> CleanText:
        return values.hide(CleanText(text), raw)

    names = masked(snapshot, numbered(hide, numbering))
    if names is snapshot:
        return snapshot, selection, frozenset()
    out = frozenset(_paths(snapshot)).difference(_paths(names))
    choices = tuple(choice for choice in selection.choices if choice.path not in out)
    listed = tuple(path for path in selection.listed if path not in out)
    return names, replace(selection, choices=choices, listed=listed), out


def _paths(snapshot: Snapshot) -> list[str]:
    """Return every path that the cache may have a record of."""
    return [*(one.path for one in snapshot.entries), *(one.path for one in snapshot.excluded)]


def credential_secrets(
    reader: Reader, snapshot: Snapshot, loader: Loader, cache: PackCache
) -> Iterator[Secret]:
    """Yield the secrets of files that every pack excludes by name, such as `.env`: a copy of their
    values must not leave with another file."""
    out = [item.path for item in snapshot.excluded if item.reason == "credentials"]
    for path in [path for path in out if not path.endswith("/")][:_CREDENTIAL_FILES]:
        blob = reader.read(RelPath(path), _CREDENTIAL_BYTES)
        if isinstance(blob, Problem) or blob.links > 1:
            continue
        if (decoded := decode(blob.data)) is not None:
            digest = sha256(blob.data).hexdigest()
            seen = loader.seen(Loaded(RelPath(path), decoded.text, digest, len(blob.data)))
            cache.learn(path, seen.record)
            yield from seen.secrets


def _named_in(paths: Sequence[str], values: SharedValues | None) -> frozenset[str]:
    if values is None:
        return frozenset()
    shown = values.hide(CleanText("\n".join(paths))).text.split("\n")
    return frozenset(path for path, name in zip(paths, shown, strict=False) if path != name)


class TreeSecrets:
    """The shared values of one tree, read before the first text is cleaned and again after a
    minute. A server in use reads them again in the background before that, so that no call waits.

    `plain` redacts a text alone, `found` scans the whole tree, unless it is given, and masks its
    names, so that no record of the cache has a secret as its name; `cache` is that of packs."""

    def __init__(
        self,
        opened: Callable[[], Root],
        found: Callable[[PackCache, Snapshot | None], Snapshot],
        plain: Callable[[int], Clean],
        settings: Settings,
        cache: Callable[[], PackCache],
    ) -> None:
        self._opened, self._found = opened, found
        self._plain, self._settings, self._cache = plain, settings, cache
        self._values: SharedValues | None = None
        self._secrets: dict[str, str] = {}
        self._learned: dict[str, str] = {}
        self._hidden: dict[str, str] = {}
        self._at = 0.0
        self._reading, self._pid = threading.Lock(), os.getpid()

    def values(self, tree: Snapshot | None = None) -> SharedValues | None:
        """Return the values as the tree was at most a minute ago. `tree`: the whole of it, if the
        caller has just scanned it."""
        age = time.monotonic() - self._at if self._at else _FRESH
        if age >= _FRESH:
            with self._lock():
                if not self._at or time.monotonic() - self._at >= _FRESH:
                    self._refresh(tree)  # else another thread has read them meanwhile
        elif age >= _FRESH / 2:
            self.prefetch()
        return self._values

    def prefetch(self) -> None:
        """Read the tree in a thread, unless a thread does already."""
        if not self._lock().locked():
            # A server that ends does not wait for it.
            threading.Thread(target=self._read_ahead, daemon=True).start()

    def _read_ahead(self) -> None:
        # A tree that cannot be read is an error of the call that needs it.
        with self._lock(), suppress(OSError, SutlerError):
            self._refresh()

    def _refresh(self, tree: Snapshot | None = None) -> None:
        cache = self._cache()
        self.read(self._found(cache, tree), cache)
        cache.save(whole=False)

    def _lock(self) -> threading.Lock:
        """Return the lock for reading the tree; a forked process has its own, since the holder may
        not exist there."""
        if self._pid != os.getpid():
            self._reading, self._pid = threading.Lock(), os.getpid()
        return self._reading

    def epoch(self) -> object:
        """Return an object that changes with the values: an earlier clean text may show one of
        them."""
        return self._values

    def read(self, snapshot: Snapshot | None, cache: PackCache) -> SharedValues | None:
        """Return the values as the tree is now. `snapshot`: the whole tree, if the caller has
        scanned it."""
        tree = snapshot or self._found(cache, None)
        self._secrets = dict(self.outside((), tree, cache))
        self._at = time.monotonic()
        values = self._compiled()
        cache.forget(_named_in(_paths(tree), values))
        return values

    def outside(
        self, paths: Collection[str], snapshot: Snapshot | None, cache: PackCache
    ) -> list[Secret]:
        """Return the secrets of the files other than `paths`."""
        tree = snapshot or self._found(cache, None)
        files = survey_order(entry for entry in tree.entries if entry.path not in paths)
        size = sum(file.entry.size for file in files)
        clean = Redactor(lambda: self._plain(size))  # cached texts need none
        with self._opened().reader() as reader:
            loader = Loader(reader, clean, self._settings, cache)
            secrets = list(surveyed(loader, files, cache))
            return [*secrets, *credential_secrets(reader, tree, loader, cache)]

    def hiding(self, clean: Clean) -> Clean:
        """Return a cleaner that also hides the values of the tree, and learns those of each
        text."""

        def hide(text: str, path: str, raw: bytes = b"") -> CleanText:
            values = self.values()
            cleaned = clean(text, path, raw)
            if cleaned.findings and path and self._learn(text, cleaned.text):
                values = self._compiled()
            return values.hide(cleaned, raw) if values is not None else cleaned

        return hide

    def named_in(self, paths: Sequence[str]) -> frozenset[str]:
        """Return those of these paths that hold a secret of the tree."""
        return _named_in(paths, self.values())

    def unmarked(self, text: str) -> str:
        """Remove secrets from a query without markers in their place."""
        clean = self.hiding(self._plain(0))(text, "")
        if not clean.findings:
            return text
        from sutler.secrets.markers import MARKER

        return MARKER.sub(" ", clean.text)

    def _learn(self, text: str, clean: str) -> bool:
        from sutler.secrets.shared_values import values_of

        fresh = {
            value: rule
            for value, rule in values_of(text, clean)
            if value not in self._learned and value not in self._secrets
        }
        if not fresh or len(self._learned) > _LEARNED:
            return False
        self._learned |= fresh
        return True

    def _compiled(self) -> SharedValues | None:
        values = {**self._secrets, **self._learned}
        if values != self._hidden:
            self._values, self._hidden = shared_values(values.items()), values
        return self._values
