"""A compact index of a project: who holds which term, which name, which phrase, and who asks for which module.

An index is a few segments, each a table of documents and sharded postings. A query decodes only the shards its
terms fall into. After an edit the old segment stays: the changed files go into a new small segment and the documents
they replace are dead. Every figure a ranking uses (document frequency, average length) is counted over the living, so
that a ranking never depends on how an index came to be.

Keys of postings: `term` for words, `=Name` for definitions, `~a b c` for phrases in string literals, `>stem` for
imports. A posting is two unsigned 32-bit numbers: the document and packed counts
(body | symbols << 8 | docs << 16 | path << 24).
"""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from sutler.stages.rank.classes import FileClass, class_of
from sutler.stages.terms import WORD, split
from sutler.values.facts import FACTS_VERSION, Facts, Region
from sutler.values.paths import basename

INDEX_VERSION = 3
SHARDS = 512
MOST_LATE = 8
"""Segments that edits may add before they are made into one."""
_TYPES = frozenset({"class", "type", "module"})


class Doc(Struct, frozen=True, gc=False, array_like=True):
    """A file as the ranking sees it. `lengths` are of the fields body, symbols, docs, path; `imports` holds the
    targets, one a line, and is split only when needed; `top` holds the most frequent terms, for feedback."""

    path: str
    digest: str
    kind: FileClass
    language: str
    chars: int
    lengths: tuple[int, int, int, int]
    imports: str
    top: str


class Segment(Struct, frozen=True, array_like=True):
    """`regions` holds each document's regions in MessagePack: only those of the best documents are ever decoded."""

    docs: tuple[Doc, ...]
    shards: tuple[bytes, ...]
    regions: tuple[bytes, ...]


class Index(Struct, frozen=True, array_like=True):
    """Segments and, for each, the documents that are dead. `version` guards what is kept on disk."""

    version: tuple[int, int]
    segments: tuple[Segment, ...]
    dead: tuple[tuple[int, ...], ...]


def build(files: Iterable[tuple[str, str, Facts]]) -> Index:
    """An index of (path, digest, facts)."""
    return build_in_order(sorted(files, key=lambda file: file[0]))


def build_in_order(files: Iterable[tuple[str, str, Facts]]) -> Index:
    """As `build`, of files that come in path order: of a large tree only the index is held, and not all the facts."""
    return Index((INDEX_VERSION, FACTS_VERSION), (_segment(files),), ((),))


def stale(index: Index, current: Mapping[str, str]) -> list[str]:
    """The paths of `current` (path -> digest) whose facts the index lacks: what must be extracted before `update`."""
    held = {doc.path: doc.digest for doc in living(index).values()}
    return sorted(path for path, digest in current.items() if held.get(path) != digest)


def update(index: Index, current: Mapping[str, str], fresh: Iterable[tuple[str, str, Facts]]) -> Index:
    """The index of the tree `current`, given the facts of its stale files."""
    segments = list(index.segments)
    dead: list[tuple[int, ...]] = []
    for segment, gone in zip(index.segments, index.dead, strict=True):
        buried = set(gone)
        dead.append(
            tuple(i for i, doc in enumerate(segment.docs) if i in buried or current.get(doc.path) != doc.digest)
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
    """The index without what came after its first segments, where that lies in many pieces: these few files are stale
    again and come back in one."""
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
    return index.version == (INDEX_VERSION, FACTS_VERSION)


def _segment(files: Iterable[tuple[str, str, Facts]]) -> Segment:
    postings: dict[str, array[int]] = {}
    docs: list[Doc] = []
    regions: list[bytes] = []
    encode = msgspec.msgpack.Encoder().encode
    for number, (path, digest, facts) in enumerate(files):
        docs.append(_index_file(postings, number, path, digest, facts))
        regions.append(encode(facts.regions))
    shards: list[list[str]] = [[] for _ in range(SHARDS)]
    for key in sorted(postings):
        shards[_shard(key)].append(key)
    made = tuple(encode({key: postings.pop(key).tobytes() for key in keys}) for keys in shards)
    return Segment(tuple(docs), made, tuple(regions))


def _index_file(postings: dict[str, array[int]], number: int, path: str, digest: str, facts: Facts) -> Doc:
    packed = dict(facts.terms)
    in_path = path_terms(path)
    for term, count in in_path.items():
        packed[term] = packed.get(term, 0) + (min(count, 255) << 24)
    keyed: dict[str, int] = {}
    for symbol in facts.symbols:
        key = "=" + symbol.name.rpartition("::")[2].lstrip("$~:@")
        keyed[key] = keyed.get(key, 0) | (2 if symbol.kind in _TYPES else 1 if symbol.kind != "field" else 4)
    for phrase in facts.phrases:
        keyed["~" + phrase] = 1
    targets = sorted({target for found in facts.imports for target in found.targets})
    for target in targets:
        keyed[">" + target_stem(target)] = 1
    for table in (packed, keyed):
        for key, value in table.items():
            entry = postings.get(key)
            if entry is None:
                entry = postings[key] = array("I")
            entry.append(number)
            entry.append(value)
    lengths = (*_lengths(facts), sum(in_path.values()))
    return Doc(path, digest, class_of(path), facts.language, facts.chars, lengths, "\n".join(targets), _top(facts))


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
    often = [((value & 255) + (value >> 8 & 255), term) for term, value in facts.terms.items() if value & 254]
    often.sort(key=lambda item: (-item[0], item[1]))
    return " ".join(f"{term}:{count}" for count, term in often[:size])


def path_terms(path: str) -> dict[str, int]:
    """Terms of a path; the file's own name counts more than the folders around it."""
    counts: dict[str, int] = {}
    name = basename(path)
    stem = name[: name.find(".")] if name.find(".") > 0 else name
    for text, weight in ((path[: len(path) - len(name)], 1), (stem, 2)):
        for word in WORD.findall(text):
            for term in split(word):
                counts[term] = counts.get(term, 0) + weight
    return counts


def target_stem(target: str) -> str:
    """The last component of an import target without its extension, lower-case: where a search for importers starts."""
    tail = target.replace("::", "/").replace("\\", "/").rstrip("/*.")
    tail = tail[tail.rfind("/") + 1 :]
    head, dot, ext = tail.rpartition(".")
    if dot and ("/" in target or len(ext) <= 3) and not target.startswith("."):
        tail = head or ext if "/" in target or ext in ("h", "hh", "hpp", "js", "ts", "rb", "php", "sh") else ext
    return tail[tail.rfind(".") + 1 :].lower()


def _shard(key: str) -> int:
    return zlib.crc32(key.encode("utf-8", "surrogatepass")) % SHARDS


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
        self._shards: dict[tuple[int, int], dict[str, bytes]] = {}
        self._found: dict[str, tuple[list[int], list[int]]] = {}
        self._decode = msgspec.msgpack.Decoder(dict[str, bytes]).decode
        self._decode_regions = msgspec.msgpack.Decoder(tuple[Region, ...]).decode

    def regions(self, number: int) -> tuple[Region, ...]:
        """The regions of one document."""
        at = bisect_right(self._bases, number) - 1
        return self._decode_regions(self._index.segments[at].regions[number - self._bases[at]])

    def holds(self, key: str) -> bool:
        """Whether any document has a key."""
        return bool(self.postings(key)[0])

    def postings(self, key: str) -> tuple[list[int], list[int]]:
        """Documents that hold a key, and their packed counts: not for changing, they are remembered."""
        known = self._found.get(key)
        if known is not None:
            return known
        shard = _shard(key)
        docs: list[int] = []
        values: list[int] = []
        for number, segment in enumerate(self._index.segments):
            bucket = self._shards.get((number, shard))
            if bucket is None:
                bucket = self._shards[number, shard] = self._decode(segment.shards[shard])
            raw = bucket.get(key)
            if raw is not None:
                self._append(docs, values, raw, number)
        self._found[key] = docs, values
        return docs, values

    def _append(self, docs: list[int], values: list[int], raw: bytes, number: int) -> None:
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
