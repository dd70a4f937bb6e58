"""The word index of a project and its commit messages, built from clean texts and kept between
runs.

A file is read again only if its size, time or inode changed. Words come from clean text, so the
cache never holds a secret. A cache that is damaged, outdated or of another project is ignored and
rebuilt."""

from __future__ import annotations

import gc
import hmac
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import TypeVar
from zlib import crc32

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sutler.config import resolve
from sutler.paths import RelPath, wire_path
from sutler.ranking.history import Past, summarise
from sutler.ranking.index import (
    File,
    Index,
    Segment,
    bag_of,
    build_in_order,
    index_version,
    indexed_part,
    stale,
    tidied,
    update,
    worn,
)
from sutler.ranking.kept_facts import KeptFacts
from sutler.ranking.reader import Reader
from sutler.scan.root import Root
from sutler.scan.snapshot import FileEntry, Problem
from sutler.scan.text import decode
from sutler.secrets.cleaner import Clean, cleaner, numbered
from sutler.store import home

VERSION = 5
_CHECK = 4  # bytes of a checksum
RACY_NS = 2_000_000_000
"""A file that changed within this time before its stat may change again within one tick of the
clock, so its stat key is not trusted."""
HELD = 64_000_000
"""Bytes of files that stay in memory between stat and indexing; other files are read again."""
_BETWEEN = "\n----------sutler:next-commit----------\n"


def _versions() -> tuple[int, ...]:
    return VERSION, *index_version()


FileState = tuple[int, int, int, str]  # size, mtime_ns, inode, digest
_Shape = TypeVar("_Shape")


class Kept(Struct, frozen=True, array_like=True):
    """The saved index: when and under which redaction rules it was built, and each file's stat
    key."""

    version: tuple[int, ...]
    rules: str
    seen_ns: int
    files: dict[str, FileState]
    index: Index


class Later(Struct, frozen=True, array_like=True):
    """Changes since `Kept` was built, in a file of their own, so that an edit does not rewrite the
    whole index. `made_ns` identifies the `Kept` it belongs to; a deleted file has no stat key;
    `segments` follow those of `Kept`."""

    made_ns: int
    seen_ns: int
    files: dict[str, FileState | None]
    segments: tuple[Segment, ...]
    dead: tuple[tuple[int, ...], ...]


class _State(Struct, frozen=True):
    """`Kept` and `Later` combined."""

    index: Index
    base: Kept
    seen_ns: int
    files: dict[str, FileState]


def reader_of(
    entries: Sequence[FileEntry],
    root: Root,
    clean: Clean,
    environ: Mapping[str, str],
    tell: Callable[[str, int, int], None] | None = None,
    named: Sequence[RelPath] = (),
) -> Reader:
    """Return a reader of the index of these files, updated and saved for the next run; `tell` is
    the progress callback. If only some paths are `named`, they have an index of their own: a shared
    one would be rebuilt whenever other paths are named. A file whose name is not UTF-8 cannot be
    saved and is not indexed, so no signal ranks it."""
    from sutler.secrets.format_table import rules_digest

    entries = [entry for entry in entries if wire_path(entry.path) == entry.path]
    tag = f"{home.project_id(root.host_path, home.key(environ))}{_tag(named, home.key(environ))}"
    texts = _Texts(root, clean)
    index = _index_of(f"index-{tag}", rules_digest(), entries, texts, environ, tell)
    facts = KeptFacts(f"index-{tag}.facts", rules_digest(), texts.text, environ)
    return Reader(index, facts)


def _index_of(
    name: str,
    rules: str,
    entries: Sequence[FileEntry],
    texts: _Texts,
    environ: Mapping[str, str],
    tell: Callable[[str, int, int], None] | None,
) -> Index:
    state = _load(name, rules, environ)
    now = time.time_ns()
    files = texts.look(entries, state.files if state else {}, state.seen_ns if state else 0)
    if state is not None and files == state.files and not worn(state.index):
        return state.index
    current = {path: stat_key[3] for path, stat_key in files.items()}

    def fresh(paths: Sequence[str]) -> Iterator[File]:
        for number, path in enumerate(paths, 1):
            yield path, current[path], bag_of(path, texts.indexed(path))
            if tell is not None:
                tell("indexing", number, len(paths))

    if state is None or worn(state.index):
        with _no_collection():
            index = build_in_order(fresh(sorted(current)))
        base = Kept(_versions(), rules, now, files, index)
        _keep(f"{name}.bin", base, environ)
        return index
    index = tidied(state.index, len(state.base.index.segments))
    index = update(index, current, fresh(stale(index, current)))
    _keep(f"{name}.later", _later(state, index, files, now), environ)
    return index


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the garbage collector. An index has millions of small objects and no cycle, and
    repeated collections take a seventh of the time of a first pack for a goal."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _tag(named: Sequence[RelPath], key: bytes) -> str:
    """Return a suffix that distinguishes the indexes of one project."""
    text = "\0".join(named).encode("utf-8", "surrogateescape")
    return f"-{hmac.new(key, text, 'sha256').hexdigest()[:16]}" if named else ""


def _later(state: _State, index: Index, files: dict[str, FileState], now: int) -> Later:
    old = state.base.files
    changed: dict[str, FileState | None] = {
        path: stat_key for path, stat_key in files.items() if old.get(path) != stat_key
    }
    changed.update((path, None) for path in old if path not in files)
    first = len(state.base.index.segments)
    return Later(state.base.seen_ns, now, changed, index.segments[first:], index.dead)


class KeptPast(Struct, frozen=True, array_like=True):
    version: int
    head: str
    past: Past


def past_of(root: Root, environ: Mapping[str, str]) -> Past:
    """Return the prepared history of the repository that holds `root`, cached until its head moves.
    Messages may hold anything, so they are redacted like every other text before they are
    cached."""
    from sutler.scan.commits import head_of, read_history
    from sutler.scan.git import find_repository

    repository = find_repository(root.anchor)
    if repository is None:
        return Past()
    head = head_of(repository)
    if not head:
        return Past()
    name = f"history-{home.project_id(root.host_path, home.key(environ))}.bin"
    data = home.cached(name, environ)
    if data is not None:
        try:
            stored = msgspec.msgpack.decode(data, type=KeptPast)
        except msgspec.DecodeError:
            stored = None
        if stored is not None and (stored.version, stored.head) == (VERSION, head):
            return stored.past
    commits = read_history(repository.git_dir)
    clean = numbered(cleaner(resolve([]), sum(len(commit.message) for commit in commits)))
    joined = clean(_BETWEEN.join(commit.message for commit in commits), "").text
    messages = joined.split(_BETWEEN)
    # A message that plays with our separator: better none than a raw one.
    messages = messages if len(messages) == len(commits) else [""] * len(commits)
    pairs = zip(commits, messages, strict=True)
    past = summarise([replace(commit, message=text) for commit, text in pairs])
    home.keep(name, msgspec.msgpack.encode(KeptPast(VERSION, head, past)), environ)
    return past


def _keep(name: str, value: Kept | Later, environ: Mapping[str, str]) -> None:
    """Write a value with a checksum in front, so that a truncated file is detected."""
    data = msgspec.msgpack.encode(value)
    check = crc32(data).to_bytes(_CHECK, "little")
    home.keep(name, check + data, environ, durable=False)


def _restored(name: str, shape: type[_Shape], environ: Mapping[str, str]) -> _Shape | None:
    """Read a file of `_keep`; None if it is damaged or of another shape."""
    data = home.cached(name, environ)
    if data is None or crc32(memoryview(data)[_CHECK:]).to_bytes(_CHECK, "little") != data[:_CHECK]:
        return None
    try:
        return msgspec.msgpack.decode(memoryview(data)[_CHECK:], type=shape)
    except msgspec.DecodeError:
        return None


def _load(name: str, rules: str, environ: Mapping[str, str]) -> _State | None:
    """Load the saved state if it is whole and of this version and these rules."""
    base = _restored(f"{name}.bin", Kept, environ)
    if base is None or (base.version, base.rules) != (_versions(), rules):
        return None
    later = _restored(f"{name}.later", Later, environ)
    index = base.index
    if (
        later is None
        or later.made_ns != base.seen_ns
        or len(later.dead) != len(index.segments) + len(later.segments)
    ):
        return _State(index, base, base.seen_ns, base.files)
    files = dict(base.files)
    for path, stat_key in later.files.items():
        if stat_key is None:
            files.pop(path, None)
        else:
            files[path] = stat_key
    whole = Index(index.version, index.segments + later.segments, later.dead)
    return _State(whole, base, later.seen_ns, files)


class _Texts:
    """Clean texts on demand: from the bytes in memory, else from the disk."""

    def __init__(self, root: Root, clean: Clean) -> None:
        self._root = root
        self._clean = clean
        self._held: dict[str, bytes] = {}

    def look(
        self, entries: Sequence[FileEntry], cached: Mapping[str, FileState], seen_ns: int
    ) -> dict[str, FileState]:
        """Return the stat key of every file. Bytes of files that had to be read stay in memory
        while there is room."""
        files: dict[str, FileState] = {}
        room = HELD
        with self._root.reader() as reader:
            for entry in entries:
                old = cached.get(entry.path)
                same = old is not None and old[:3] == (entry.size, entry.mtime_ns, entry.inode)
                if old is not None and same and entry.mtime_ns < seen_ns - RACY_NS:
                    files[entry.path] = old
                    continue
                blob = reader.read(entry.path, entry.size + 1_000_000)
                if isinstance(blob, Problem):
                    continue
                digest = sha256(blob.data).hexdigest()
                files[entry.path] = (entry.size, entry.mtime_ns, entry.inode, digest)
                if (old is None or old[3] != digest) and room > 0:
                    self._held[entry.path] = blob.data
                    room -= len(blob.data)
        return files

    def text(self, path: str) -> str:
        return self._clean(self._raw(path), path).text

    def indexed(self, path: str) -> str:
        return self._clean(indexed_part(path, self._raw(path)), path).text

    def _raw(self, path: str) -> str:
        data = self._held.pop(path, None)
        if data is None:
            with self._root.reader() as reader:
                blob = reader.read(RelPath(path))
            data = b"" if isinstance(blob, Problem) else blob.data
        decoded = decode(data)
        return "" if decoded is None else decoded.text
