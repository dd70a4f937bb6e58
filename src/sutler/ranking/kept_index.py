"""A project's index for ranking: facts of every file, extracted from its clean text, kept between
runs.

A file is looked at again only when its size, time or inode changed; its facts are extracted again
only when its content did. Because facts come from clean text, nothing secret is ever in the cache.
A cache that is damaged, old or foreign is ignored and built anew.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TypeVar, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from sutler.config import resolve
from sutler.languages.facts import Facts
from sutler.paths import RelPath, wire_path
from sutler.ranking import Index, stale, update, worn
from sutler.ranking.history import Past, summarise
from sutler.ranking.index import Doc, Segment, build_in_order, index_version, tidied
from sutler.ranking.index_file import Draft, Pieces, stored
from sutler.scan.commits import History
from sutler.scan.root import Reader, Root
from sutler.scan.snapshot import FileEntry, Problem
from sutler.scan.text import decode
from sutler.secrets.cleaner import Clean
from sutler.store import home
from sutler.store.state import project_id
from sutler.system import cores

VERSION = 4
RACY_NS = 2_000_000_000
"""A file changed this shortly before it was looked at may change again within one tick of the
clock: not trusted.
"""
SEPARATE_ABOVE = 48
"""From this many files on, parsing goes to worker processes: faster, and a parser that dies takes
no pack along.
"""
CHUNK = 24
HELD = 64_000_000
"""Bytes of files that are kept from the look at them until their facts are extracted; others are
read again.
"""
_BETWEEN = "\n----------sutler:next-commit----------\n"


def _versions() -> tuple[int, ...]:
    return VERSION, *index_version()


Sight = tuple[int, int, int, str]  # size, mtime_ns, inode, digest
_Shape = TypeVar("_Shape")


class Kept(Struct, frozen=True, array_like=True):
    """The account of what is kept: when and under which redaction rules it was made, what each file
    looked like, the index's documents, and where its shards and details lie.
    """

    version: tuple[int, ...]
    rules: str
    seen_ns: int
    files: dict[str, Sight]
    docs: tuple[Doc, ...]
    shards: bytes
    details: bytes


class Later(Struct, frozen=True, array_like=True):
    """What changed since `Kept` was made, in a file of its own: an edit must not write the whole
    index again. `made_ns` names the `Kept` it belongs to; a file that is gone has no sight;
    `segments` follow those of `Kept`.
    """

    made_ns: int
    seen_ns: int
    files: dict[str, Sight | None]
    segments: tuple[Segment, ...]
    dead: tuple[tuple[int, ...], ...]


class _State(Struct, frozen=True):
    """Both of them put together."""

    index: Index
    base: Kept
    segments: int  # how many of the index's segments are the base's
    seen_ns: int
    files: dict[str, Sight]


def index_of(
    entries: Sequence[FileEntry],
    root: Root,
    clean: Clean,
    environ: Mapping[str, str],
    tell: Callable[[str, int, int], None] | None = None,
    named: Sequence[RelPath] = (),
) -> Index:
    """The index of these files, brought up to date and kept for the next run; `tell` hears how far
    it has come. Where only some paths were `named` they have an index of their own: one for all
    would be made anew whenever others are. A file whose name is not UTF-8 cannot be kept and is not
    indexed: it ranks by nothing.
    """
    from sutler.secrets.format_table import rules_digest

    entries = [entry for entry in entries if wire_path(entry.path) == entry.path]

    name = f"index-{project_id(root.host_path, home.key(environ))}{_tag(named, home.key(environ))}"
    rules = rules_digest()
    state = _load(name, rules, environ)
    known = state.files if state else {}
    now = time.time_ns()
    with root.reader() as reader:
        files, texts = _look(entries, reader, known, state.seen_ns if state else 0)
        if state is not None and files == known and not worn(state.index):
            return state.index
        current = {path: sight[3] for path, sight in files.items()}
        index = None if state is None or worn(state.index) else tidied(state.index, state.segments)
        wanted = sorted(current) if index is None else stale(index, current)
        fresh = _told(_extracted(wanted, current, _Texts(texts, reader, clean)), len(wanted), tell)
        if state is None or index is None:
            return _built(
                f"{name}.bin", fresh, Kept(_versions(), rules, now, files, (), b"", b""), environ
            )
        index = update(index, current, fresh)
    home.keep(f"{name}.later", msgspec.msgpack.encode(_later(state, index, files, now)), environ)
    return index


def _built(
    name: str, fresh: Iterator[tuple[str, str, Facts]], kept: Kept, environ: Mapping[str, str]
) -> Index:
    """A new index, written as it is made: of a large tree it would take much room."""
    draft, aside = Draft(name, environ), Draft(f"{name}.aside", environ)
    aside.drop()
    try:
        index = build_in_order(fresh, draft.keep, aside.keep)
    except BaseException:
        draft.drop()
        raise
    segment = index.segments[0]
    shards, details = (
        cast("Pieces", pieces).places for pieces in (segment.shards, segment.details)
    )
    draft.finish(
        msgspec.msgpack.encode(replace(kept, docs=segment.docs, shards=shards, details=details))
    )
    return index


def _tag(named: Sequence[RelPath], key: bytes) -> str:
    """Tells the indexes of one project apart."""
    text = "\0".join(named).encode("utf-8", "surrogateescape")
    return f"-{hmac.new(key, text, 'sha256').hexdigest()[:16]}" if named else ""


def _told(
    files: Iterator[tuple[str, str, Facts]],
    total: int,
    tell: Callable[[str, int, int], None] | None,
) -> Iterator[tuple[str, str, Facts]]:
    for number, found in enumerate(files, 1):
        yield found
        if tell is not None:
            tell("indexing", number, total)


def _later(state: _State, index: Index, files: dict[str, Sight], now: int) -> Later:
    old = state.base.files
    changed: dict[str, Sight | None] = {
        path: sight for path, sight in files.items() if old.get(path) != sight
    }
    changed.update((path, None) for path in old if path not in files)
    return Later(state.base.seen_ns, now, changed, index.segments[state.segments :], index.dead)


class KeptPast(Struct, frozen=True, array_like=True):
    version: int
    head: str
    past: Past


def past_of(root: Root, environ: Mapping[str, str]) -> Past:
    """What a ranking needs of the last commits of the repository that holds `root`, kept until its
    head moves. Messages may hold anything, so they are cleaned like every other text before
    anything is kept of them.
    """
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
            kept = msgspec.msgpack.decode(data, type=KeptPast)
        except msgspec.DecodeError:
            kept = None
        if kept is not None and (kept.version, kept.head) == (VERSION, head):
            return kept.past
    history = read_history(repository.git_dir)
    clean = numbered(cleaner(resolve([]), sum(len(one.message) for one in history.commits)))
    messages = clean(_BETWEEN.join(one.message for one in history.commits), "").text.split(_BETWEEN)
    if len(messages) != len(
        history.commits
    ):  # a message that plays with our separator: better none than a raw one
        messages = [""] * len(history.commits)
    pairs = zip(history.commits, messages, strict=True)
    past = summarise(History(tuple(replace(one, message=text) for one, text in pairs)))
    home.keep(name, msgspec.msgpack.encode(KeptPast(VERSION, head, past)), environ)
    return past


def _load(name: str, rules: str, environ: Mapping[str, str]) -> _State | None:
    """What is kept, if it is whole and of this version and these rules."""
    source = stored(f"{name}.bin", environ)
    account = None if source is None else source.account()
    kept = None if account is None else _decoded(account, Kept)
    if source is None or kept is None or (kept.version, kept.rules) != (_versions(), rules):
        return None
    segment = Segment(kept.docs, source.pieces(kept.shards), source.pieces(kept.details))
    index = Index(index_version(), (segment,), ((),))
    state = _State(index, kept, len(index.segments), kept.seen_ns, kept.files)
    data = home.cached(f"{name}.later", environ)
    later = None if data is None else _decoded(data, Later)
    if later is None or later.made_ns != kept.seen_ns:
        return state
    if len(later.dead) != len(index.segments) + len(later.segments):
        return state
    files = dict(kept.files)
    for path, sight in later.files.items():
        if sight is None:
            files.pop(path, None)
        else:
            files[path] = sight
    whole = Index(index.version, index.segments + later.segments, later.dead)
    return _State(whole, kept, len(index.segments), later.seen_ns, files)


def _decoded(data: bytes, shape: type[_Shape]) -> _Shape | None:
    try:
        return msgspec.msgpack.decode(data, type=shape)
    except msgspec.DecodeError:
        return None


def _look(
    entries: Sequence[FileEntry], reader: Reader, known: Mapping[str, Sight], seen_ns: int
) -> tuple[dict[str, Sight], dict[str, bytes]]:
    """What every file looks like now; the bytes of those that had to be read come along, as long as
    there is room.
    """
    files: dict[str, Sight] = {}
    texts: dict[str, bytes] = {}
    room = HELD
    for entry in entries:
        old = known.get(entry.path)
        same = old is not None and old[:3] == (entry.size, entry.mtime_ns, entry.inode)
        if old is not None and same and entry.mtime_ns < seen_ns - RACY_NS:
            files[entry.path] = old
            continue
        blob = reader.read(entry.path, entry.size + 1_000_000)
        if isinstance(blob, Problem):
            continue
        files[entry.path] = (entry.size, entry.mtime_ns, entry.inode, sha256(blob.data).hexdigest())
        if (old is None or old[3] != files[entry.path][3]) and room > 0:
            texts[entry.path] = blob.data
            room -= len(blob.data)
    return files, texts


class _Texts:
    """Clean texts on demand: from the bytes that were read already, else from the disk."""

    def __init__(self, held: dict[str, bytes], reader: Reader, clean: Clean) -> None:
        self._held = held
        self._reader = reader
        self._clean = clean

    def text(self, path: str) -> str:
        data = self._held.pop(path, None)
        if data is None:
            blob = self._reader.read(path)  # type: ignore[arg-type]  # a path of the snapshot
            data = b"" if isinstance(blob, Problem) else blob.data
        decoded = decode(data)
        return "" if decoded is None else self._clean(decoded.text, path).text


def _extracted(
    paths: Sequence[str], digests: Mapping[str, str], texts: _Texts
) -> Iterator[tuple[str, str, Facts]]:
    from sutler.languages.extract import (
        extract,
    )  # not where nothing has changed; children inherit it

    if len(paths) < SEPARATE_ABOVE:
        for path in paths:
            yield path, digests[path], extract(path, texts.text(path))
        return
    batches = (
        [(path, texts.text(path)) for path in paths[at : at + CHUNK]]
        for at in range(0, len(paths), CHUNK)
    )
    for batch, facts in _in_workers(batches):
        for (path, _), found in zip(batch, facts, strict=True):
            yield path, digests[path], found


Batch = list[tuple[str, str]]


def _in_workers(batches: Iterator[Batch]) -> Iterator[tuple[Batch, list[Facts]]]:
    """Facts of each batch, in order, by as many processes as there are cores; some batches ahead,
    never all.
    """
    from collections import deque
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    decode = msgspec.msgpack.Decoder(list[Facts]).decode
    workers = cores()
    pool = ProcessPoolExecutor(workers)
    waiting: deque[tuple[Batch, Future[bytes]]] = deque()
    try:
        for batch in batches:
            waiting.append((batch, pool.submit(extract_batch, batch)))
            while len(waiting) > workers * 2:
                yield waiting[0][0], decode(waiting[0][1].result())
                waiting.popleft()
        while waiting:
            yield waiting[0][0], decode(waiting[0][1].result())
            waiting.popleft()
    except BrokenProcessPool:
        # A parser died. What is left goes one file at a time, each in a process of its own; the
        # culprit is words only.
        for batch in [batch for batch, _ in waiting]:
            yield batch, [_alone(path, text) for path, text in batch]
        for batch in batches:
            yield batch, [_alone(path, text) for path, text in batch]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def extract_batch(batch: Batch) -> bytes:
    """In MessagePack, which takes less time than what processes pickle for each other."""
    from sutler.languages.extract import extract

    return msgspec.msgpack.encode([extract(path, text) for path, text in batch])


def _alone(path: str, text: str) -> Facts:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    from sutler.languages.extract import extract

    try:
        with ProcessPoolExecutor(1) as pool:
            return pool.submit(extract, path, text).result()
    except BrokenProcessPool:
        return replace(extract("unparsed.txt", text), status="failed")
