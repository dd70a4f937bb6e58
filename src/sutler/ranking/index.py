"""A compact index of a project: who holds which term, which name, which phrase, and who asks for
which module.

An index is a few segments, each a table of documents and sharded postings. A query reads only the
shards its terms fall into. After an edit the old segment stays: the changed files go into a new
small segment and the documents they replace are dead. Every figure a ranking uses (document
frequency, average length) is counted over the living, so that a ranking never depends on how an
index came to be.

Keys of postings: `term` for words, `=Name` for definitions, `~a b c` for phrases in string
literals, `>stem` for imports. A posting is two unsigned 32-bit numbers: the document and packed
counts (body | symbols << 8 | docs << 16 | path << 24).
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import itemgetter
from zlib import crc32

import msgspec
from msgspec import Struct

from sutler.languages.facts import Facts, Region
from sutler.languages.table import facts_version, source_version
from sutler.languages.terms import split, words
from sutler.paths import basename
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import Role

INDEX_VERSION = 4
MOST_SHARDS = 4096
KEYS = 200
"""Keys of one shard, about, where there are few."""
_BETWEEN = b"\0"  # separates keys, so it is in none
ROOM = 80_000_000
"""Bytes, about, that postings take before they are laid aside."""
_NUMBER = array("I").itemsize
_KEY, _POSTING = 256, 9  # what a key and a posting take of it
MOST_LATE = 8
"""Segments that edits may add before they are made into one."""
_TYPES = frozenset({"class", "type", "module"})


def index_version() -> tuple[int, int]:
    """The version of the file format, and of all that the content of an index follows from."""
    return INDEX_VERSION, facts_version() ^ source_version("sutler.scan", "classify", "key_names")


class Doc(Struct, frozen=True, gc=False, array_like=True):
    """A file as the ranking sees it. `lengths` are of the fields body, symbols, docs, path."""

    path: str
    digest: str
    kind: Role
    language: str
    chars: int
    lengths: tuple[int, int, int, int]


class Detail(Struct, frozen=True, gc=False, array_like=True):
    """What is asked of few files only. `imports` holds the targets, one a line; `top` the most
    frequent terms, for feedback; `regions` are decoded when somebody wants them.
    """

    imports: str
    top: str
    regions: msgspec.Raw


class Segment(Struct, frozen=True, array_like=True):
    """`details` holds each document's Detail in MessagePack. Of a large index neither these nor the
    shards need be in memory: they are asked for one by one.
    """

    docs: tuple[Doc, ...]
    shards: Sequence[bytes]
    details: Sequence[bytes]


class Index(Struct, frozen=True, array_like=True):
    """Segments and, for each, the documents that are dead. `version` guards what is kept on
    disk.
    """

    version: tuple[int, int]
    segments: tuple[Segment, ...]
    dead: tuple[tuple[int, ...], ...]


def build(files: Iterable[tuple[str, str, Facts]]) -> Index:
    """An index of (path, digest, facts)."""
    return build_in_order(sorted(files, key=lambda file: file[0]))


Keep = Callable[[Iterable[bytes]], Sequence[bytes]]
"""Takes pieces of an index as they are made, and gives them back when they are asked for."""


def build_in_order(
    files: Iterable[tuple[str, str, Facts]], keep: Keep = list, aside: Keep = list
) -> Index:
    """As `build`, of files that come in path order: not all the facts are held. Of a large tree not
    even the index is, where somebody else can `keep` it, and lay `aside` what is needed again
    before the end.
    """
    return Index(index_version(), (_segment(files, keep, aside),), ((),))


def stale(index: Index, current: Mapping[str, str]) -> list[str]:
    """The paths of `current` (path -> digest) whose facts the index lacks: what must be extracted
    before `update`.
    """
    held = {doc.path: doc.digest for doc in living(index).values()}
    return sorted(path for path, digest in current.items() if held.get(path) != digest)


def update(
    index: Index, current: Mapping[str, str], fresh: Iterable[tuple[str, str, Facts]]
) -> Index:
    """The index of the tree `current`, given the facts of its stale files."""
    segments = list(index.segments)
    dead: list[tuple[int, ...]] = []
    for segment, gone in zip(index.segments, index.dead, strict=True):
        buried = set(gone)
        dead.append(
            tuple(
                i
                for i, doc in enumerate(segment.docs)
                if i in buried or current.get(doc.path) != doc.digest
            )
        )
    added = sorted(fresh, key=lambda file: file[0])
    if added:
        segments.append(_segment(added))
        dead.append(())
    return Index(index.version, tuple(segments), tuple(dead))


def worn(index: Index) -> bool:
    """Whether a rebuild pays: a good share of dead or late documents."""
    total = sum(len(segment.docs) for segment in index.segments)
    late = sum(len(segment.docs) for segment in index.segments[1:]) + sum(map(len, index.dead))
    return late * 4 > total


def tidied(index: Index, first: int) -> Index:
    """The index without what came after its first segments, where that lies in many pieces: these
    few files are stale again and come back in one.
    """
    if len(index.segments) <= first + MOST_LATE:
        return index
    return Index(index.version, index.segments[:first], index.dead[:first])


def living(index: Index) -> dict[int, Doc]:
    """Documents by their number across segments."""
    found: dict[int, Doc] = {}
    base = 0
    for segment, gone in zip(index.segments, index.dead, strict=True):
        buried = set(gone)
        found.update((base + i, doc) for i, doc in enumerate(segment.docs) if i not in buried)
        base += len(segment.docs)
    return found


def dumps(index: Index) -> bytes:
    return msgspec.msgpack.encode(index)


def loads(data: bytes) -> Index | None:
    """An index from `dumps`, or None when it is damaged or of another version."""
    try:
        index = msgspec.msgpack.decode(data, type=Index)
    except msgspec.DecodeError:
        return None
    return index if usable(index) else None


def usable(index: Index) -> bool:
    """Whether it is of this version."""
    return index.version == index_version()


def _segment(
    files: Iterable[tuple[str, str, Facts]], keep: Keep = list, aside: Keep = list
) -> Segment:
    postings = _Postings(aside)
    docs: list[Doc] = []

    def details() -> Iterator[bytes]:
        for number, (path, digest, facts) in enumerate(files):
            targets = sorted({target for found in facts.imports for target in found.targets})
            docs.append(_index_file(postings, number, path, digest, facts, targets))
            yield _encode(
                Detail("\n".join(targets), _top(facts), msgspec.Raw(_encode(facts.regions)))
            )

    kept = keep(details())
    return Segment(tuple(docs), keep(postings.shards()), kept)


class _Postings:
    """Postings on their way into shards. When there are many they are laid aside and put together
    in the end; documents come in order, so one follows the other.
    """

    def __init__(self, aside: Keep) -> None:
        self._aside = aside
        self._laid: list[Sequence[bytes]] = []
        self._held: dict[str, array[int]] = {}
        self._room = ROOM

    def add(self, number: int, values: Mapping[str, int]) -> None:
        held = self._held
        before = len(held)
        for key, value in values.items():
            entry = held.get(key)
            if entry is None:
                entry = held[key] = array("I")
            entry.append(number)
            entry.append(value)
        self._room -= (len(held) - before) * _KEY + len(values) * _POSTING

    def lay_aside(self) -> None:
        """If there are many."""
        if self._room < 0:
            self._laid.append(self._aside(self._sharded(MOST_SHARDS)))
            self._room = ROOM

    def shards(self) -> Iterator[bytes]:
        if not self._laid:
            yield from self._sharded(min(MOST_SHARDS, 1 << (len(self._held) // KEYS).bit_length()))
            return
        self._laid.append(self._aside(self._sharded(MOST_SHARDS)))
        for number in range(MOST_SHARDS):
            whole: dict[bytes, array[int]] = {}
            for part in self._laid:
                for key, raw in entries(part[number]):
                    whole.setdefault(key, array("I")).frombytes(raw)
            yield _shard_of(list(whole.items()))

    def _sharded(self, count: int) -> Iterator[bytes]:
        shards: list[list[tuple[bytes, array[int]]]] = [[] for _ in range(count)]
        for key, found in self._held.items():
            name = key.encode("utf-8", "surrogatepass")
            shards[crc32(name) % count].append((name, found))
        self._held = {}
        for some in shards:
            yield _shard_of(some)
            some.clear()


class _Shard(Struct, frozen=True, gc=False, array_like=True):
    """Some keys and their postings. `keys` stand in order, one after the other, each between two
    separators; `ends` says where in `data` the postings of each end, counted in numbers. So one key
    is found without making the others.
    """

    keys: bytes
    ends: bytes
    data: bytes


def _shard_of(postings: list[tuple[bytes, array[int]]]) -> bytes:
    postings.sort(key=itemgetter(0))
    keys = _BETWEEN.join([b"", *[key for key, _ in postings], b""])
    if keys.count(_BETWEEN) > len(postings) + 1:  # some hold the separator: no query asks for these
        return _shard_of([pair for pair in postings if _BETWEEN not in pair[0]])
    found = [some for _, some in postings]
    return _encode(_Shard(keys, array("I", accumulate(map(len, found))).tobytes(), b"".join(found)))


def entries(shard: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Every key of a shard and its postings."""
    found = _decode_shard(shard)
    start = 0
    for key, end in zip(
        found.keys.split(_BETWEEN)[1:], memoryview(found.ends).cast("I"), strict=False
    ):
        yield key, found.data[start : end * _NUMBER]
        start = end * _NUMBER


def _entry(shard: bytes, key: bytes) -> bytes:
    """The postings of one key; empty when it is not there."""
    found = _decode_shard(shard)
    at = found.keys.find(_BETWEEN + key + _BETWEEN)
    if at < 0 or _BETWEEN in key:
        return b""
    number, ends = found.keys.count(_BETWEEN, 0, at), memoryview(found.ends).cast("I")
    return found.data[ends[number - 1] * _NUMBER if number else 0 : ends[number] * _NUMBER]


_encode = msgspec.msgpack.Encoder().encode
_decode_shard = msgspec.msgpack.Decoder(_Shard).decode


def _index_file(
    postings: _Postings, number: int, path: str, digest: str, facts: Facts, targets: Sequence[str]
) -> Doc:
    packed = dict(facts.terms)
    in_path = path_terms(path)
    for term, count in in_path.items():
        packed[term] = packed.get(term, 0) + (min(count, 255) << 24)
    keyed: dict[str, int] = {}
    for symbol in facts.symbols:
        key = "=" + symbol.name.rpartition("::")[2].lstrip("$~:@")
        keyed[key] = keyed.get(key, 0) | (
            2 if symbol.kind in _TYPES else 1 if symbol.kind != "field" else 4
        )
    for phrase in facts.phrases:
        keyed["~" + phrase] = 1
    for target in targets:
        keyed[">" + target_stem(target)] = 1
    postings.add(number, packed)
    postings.add(number, keyed)
    postings.lay_aside()
    lengths = (*_lengths(facts), sum(in_path.values()))
    return Doc(path, digest, facts_of(path).role, facts.language, facts.chars, lengths)


def _lengths(facts: Facts) -> tuple[int, int, int]:
    body = names = texts = 0
    for value in facts.terms.values():
        body += value & 255
        if value > 255:
            names += value >> 8 & 255
            texts += value >> 16
    return body, names, texts


def _top(facts: Facts, size: int = 40) -> str:
    """The terms a file says most often, for feedback; those in names count double."""
    often = [
        ((value & 255) + (value >> 8 & 255), term)
        for term, value in facts.terms.items()
        if value & 254
    ]
    often.sort(key=lambda item: (-item[0], item[1]))
    return " ".join(f"{term}:{count}" for count, term in often[:size])


def path_terms(path: str) -> dict[str, int]:
    """Terms of a path; the file's own name counts more than the folders around it."""
    counts: dict[str, int] = {}
    name = basename(path)
    stem = name[: name.find(".")] if name.find(".") > 0 else name
    for text, weight in ((path[: len(path) - len(name)], 1), (stem, 2)):
        for word in words(text):
            for term in split(word):
                counts[term] = counts.get(term, 0) + weight
    return counts


def target_stem(target: str) -> str:
    """The last component of an import target without its extension, lower-case: where a search for
    importers starts.
    """
    tail = target.replace("::", "/").replace("\\", "/").rstrip("/*.")
    tail = tail[tail.rfind("/") + 1 :]
    head, dot, ext = tail.rpartition(".")
    if dot and ("/" in target or len(ext) <= 3) and not target.startswith("."):
        tail = (
            head or ext
            if "/" in target or ext in ("h", "hh", "hpp", "js", "ts", "rb", "php", "sh")
            else ext
        )
    return tail[tail.rfind(".") + 1 :].lower()


class Reader:
    """Postings of the living, shard by shard, remembered for one query."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.docs = living(index)
        self._bases: list[int] = []
        base = 0
        for segment in index.segments:
            self._bases.append(base)
            base += len(segment.docs)
        self.size = base
        self._dead = [frozenset(gone) for gone in index.dead]
        self._found: dict[str, tuple[array[int], array[int]]] = {}
        self._decode_detail = msgspec.msgpack.Decoder(Detail).decode
        self._decode_regions = msgspec.msgpack.Decoder(tuple[Region, ...]).decode

    def detail(self, number: int) -> Detail:
        """What is known of one document besides."""
        at = bisect_right(self._bases, number) - 1
        return self._decode_detail(self._index.segments[at].details[number - self._bases[at]])

    def regions(self, number: int) -> tuple[Region, ...]:
        """The regions of one document."""
        return self._decode_regions(self.detail(number).regions)

    def holds(self, key: str) -> bool:
        """Whether any document has a key."""
        return bool(self.postings(key)[0])

    def postings(self, key: str) -> tuple[Sequence[int], Sequence[int]]:
        """Documents that hold a key, and their packed counts: not for changing, they are
        remembered.
        """
        known = self._found.get(key)
        if known is not None:
            return known
        name = key.encode("utf-8", "surrogatepass")
        check = crc32(name)
        docs, values = array("I"), array("I")
        for number, segment in enumerate(self._index.segments):
            raw = _entry(segment.shards[check % len(segment.shards)], name)
            if raw:
                self._append(docs, values, raw, number)
        self._found[key] = docs, values
        return docs, values

    def _append(self, docs: array[int], values: array[int], raw: bytes, number: int) -> None:
        pairs = array("I")
        pairs.frombytes(raw)
        base, dead = self._bases[number], self._dead[number]
        if not dead and not base:
            docs += pairs[::2]
            values += pairs[1::2]
            return
        for doc, value in zip(pairs[::2], pairs[1::2], strict=True):
            if doc not in dead:
                docs.append(base + doc)
                values.append(value)
