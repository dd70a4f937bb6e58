"""A project's word index, made from clean texts and kept between runs, and its commit messages.

A file is looked at again only when its size, time or inode changed. Because words come from clean
text, nothing secret is ever in the cache. A cache that is damaged, old or foreign is ignored and
built anew."""

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
from sutler.scan.commits import History
from sutler.scan.root import Root
from sutler.scan.snapshot import FileEntry, Problem
from sutler.scan.text import decode
from sutler.secrets.cleaner import Clean
from sutler.store import home
from sutler.store.state import project_id

VERSION = 5
_CHECK = 4  # bytes of a checksum
RACY_NS = 2_000_000_000
"""A file changed this shortly before it was looked at may change again within one tick of the
clock: not trusted."""
HELD = 64_000_000
"""Bytes of files that are held from the look at them until they are indexed; others are read again.
"""
_BETWEEN = "\n----------sutler:next-commit----------\n"


def _versions() -> tuple[int, ...]:
    return VERSION, *index_version()


Sight = tuple[int, int, int, str]  # size, mtime_ns, inode, digest
_Shape = TypeVar("_Shape")


class Kept(Struct, frozen=True, array_like=True):
    """What is kept: when and under which redaction rules it was made, what each file looked like,
    and the index."""

    version: tuple[int, ...]
    rules: str
    seen_ns: int
    files: dict[str, Sight]
    index: Index


class Later(Struct, frozen=True, array_like=True):
    """What changed since `Kept` was made, in a file of its own: an edit must not write the whole
    index again. `made_ns` names the `Kept` it belongs to; a file that is gone has no sight;
    `segments` follow those of `Kept`."""

    made_ns: int
    seen_ns: int
    files: dict[str, Sight | None]
    segments: tuple[Segment, ...]
    dead: tuple[tuple[int, ...], ...]


class _State(Struct, frozen=True):
    """Both of them put together."""

    index: Index
    base: Kept
    seen_ns: int
    files: dict[str, Sight]


def reader_of(
    entries: Sequence[FileEntry],
    root: Root,
    clean: Clean,
    environ: Mapping[str, str],
    tell: Callable[[str, int, int], None] | None = None,
    named: Sequence[RelPath] = (),
) -> Reader:
    """A reader of the index of these files, brought up to date and kept for the next run; `tell` is
    the progress callback. Where only some paths were `named` they have an index of their own: one
    for all would be made anew whenever others are. A file whose name is not UTF-8 cannot be kept
    and is not indexed: it ranks by nothing."""
    from sutler.secrets.format_table import rules_digest

    entries = [entry for entry in entries if wire_path(entry.path) == entry.path]
    tag = f"{project_id(root.host_path, home.key(environ))}{_tag(named, home.key(environ))}"
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
    current = {path: sight[3] for path, sight in files.items()}

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
    """Pause the search for cycles. An index is millions of small objects and no cycle, and looking
    through them again and again takes a seventh of the time of a first pack for a goal."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _tag(named: Sequence[RelPath], key: bytes) -> str:
    """Tells the indexes of one project apart."""
    text = "\0".join(named).encode("utf-8", "surrogateescape")
    return f"-{hmac.new(key, text, 'sha256').hexdigest()[:16]}" if named else ""


def _later(state: _State, index: Index, files: dict[str, Sight], now: int) -> Later:
    old = state.base.files
    changed: dict[str, Sight | None] = {
        path: sight for path, sight in files.items() if old.get(path) != sight
    }
    changed.update((path, None) for path in old if path not in files)
    first = len(state.base.index.segments)
    return Later(state.base.seen_ns, now, changed, index.segments[first:], index.dead)


class KeptPast(Struct, frozen=True, array_like=True):
    version: int
    head: str
    past: Past


def past_of(root: Root, environ: Mapping[str, str]) -> Past:
    """What a ranking needs of the last commits of the repository that holds `root`, kept until its
    head moves. Messages may hold anything, so they are cleaned like every other text before
    anything is kept of them."""
    from sutler.scan.commits import head_of, read_history
    from sutler.scan.git import find_repository
    from sutler.secrets.cleaner import cleaner, numbered

    repository = find_repository(root.anchor)
    if repository is None:
        return Past()
    head = head_of(repository)
    if not head:
        return Past()
    name = f"history-{project_id(root.host_path, home.key(environ))}.bin"
    data = home.cached(name, environ)
    if data is not None:
        try:
            stored = msgspec.msgpack.decode(data, type=KeptPast)
        except msgspec.DecodeError:
            stored = None
        if stored is not None and (stored.version, stored.head) == (VERSION, head):
            return stored.past
    history = read_history(repository.git_dir)
    clean = numbered(cleaner(resolve([]), sum(len(commit.message) for commit in history.commits)))
    messages = clean(_BETWEEN.join(commit.message for commit in history.commits), "").text.split(
        _BETWEEN
    )
    if len(messages) != len(
        history.commits
    ):  # a message that plays with our separator: better none than a raw one
        messages = [""] * len(history.commits)
    pairs = zip(history.commits, messages, strict=True)
    past = summarise(History(tuple(replace(commit, message=text) for commit, text in pairs)))
    home.keep(name, msgspec.msgpack.encode(KeptPast(VERSION, head, past)), environ)
    return past


def _keep(name: str, value: Kept | Later, environ: Mapping[str, str]) -> None:
    """With a checksum in front, so that a truncated file is known by its content."""
    data = msgspec.msgpack.encode(value)
    check = crc32(data).to_bytes(_CHECK, "little")
    home.keep(name, check + data, environ, durable=False)


def _restored(name: str, shape: type[_Shape], environ: Mapping[str, str]) -> _Shape | None:
    """What `_keep` wrote; anything odd about it counts as absent."""
    data = home.cached(name, environ)
    if data is None or crc32(memoryview(data)[_CHECK:]).to_bytes(_CHECK, "little") != data[:_CHECK]:
        return None
    try:
        return msgspec.msgpack.decode(memoryview(data)[_CHECK:], type=shape)
    except msgspec.DecodeError:
        return None


def _load(name: str, rules: str, environ: Mapping[str, str]) -> _State | None:
    """What is kept, if it is whole and of this version and these rules."""
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
    for path, sight in later.files.items():
        if sight is None:
            files.pop(path, None)
        else:
            files[path] = sight
    whole = Index(index.version, index.segments + later.segments, later.dead)
    return _State(whole, base, later.seen_ns, files)


class _Texts:
    """Clean texts on demand: from the bytes that were read already, else from the disk."""

    def __init__(self, root: Root, clean: Clean) -> None:
        self._root = root
        self._clean = clean
        self._held: dict[str, bytes] = {}

    def look(
        self, entries: Sequence[FileEntry], cached: Mapping[str, Sight], seen_ns: int
    ) -> dict[str, Sight]:
        """What every file looks like now; the bytes of those that had to be read are held, as long
        as there is room."""
        files: dict[str, Sight] = {}
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
