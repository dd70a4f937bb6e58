"""A word index of a project: which file holds which word, how often, and which words hold a term.

Nothing is parsed for it. A segment numbers the distinct words of its files, lists for each file the
numbers and counts of its words, and leads from each term to the words that hold it. A query walks
these lists once. After an edit the old segment stays: the changed files go into a new small segment
and the documents they replace are dead. Every figure a ranking uses (document frequency, average
length) is counted over the living, so a ranking does not depend on the history of an index.

Words of a path are words of their own, spelled with a leading slash, and so are their terms."""

from __future__ import annotations

import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, count
from zlib import crc32

import msgspec
from msgspec import Struct

from sutler.languages import language_of
from sutler.languages.extract import MAX_BYTES, holds_data
from sutler.languages.table import source_version
from sutler.languages.terms import split, words
from sutler.paths import basename
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import Role

INDEX_VERSION = 6
SEGMENT_WORDS = 4_000_000
"""Entries of a segment, about: the words of a segment are in memory while it is made."""
MOST_LATE = 8
"""Segments that edits may add before they are made into one."""
KEYS = 1000
"""Terms of a shard, about."""
_DATA_LINES = 120
_MOST_COUNT = 255  # a count is one byte
_SLASH = ord("/")
_BETWEEN = b"\0"  # separates keys, so it is in none
_NUMBER = array("I").itemsize
# Bytes above ASCII belong to words: what they spell is taken apart once for each distinct word.
_TO_WORDS = bytes(
    code if code > 127 or chr(code).isalnum() or code == ord("_") else ord(" ")
    for code in range(256)
)
_DIGITS = b"0123456789"


def index_version() -> tuple[int, int]:
    """The version of the format, and of everything that the content of an index follows from."""
    return INDEX_VERSION, (
        source_version("sutler.languages", "terms", "table")
        ^ source_version("sutler.scan", "classify", "key_names")
    )


class Doc(Struct, frozen=True, gc=False, array_like=True):
    """A file as the ranking sees it before it is parsed. `words` is the number of its words;
    `language` is empty where there is no grammar for it."""

    path: str
    digest: str
    kind: Role
    language: str
    words: int


class Segment(Struct, frozen=True, array_like=True):
    """Documents; shards of terms with the numbers of the words that hold them; and for all
    documents in a row the numbers and counts of their words. `ends` are where each document's words
    end."""

    docs: tuple[Doc, ...]
    terms: tuple[bytes, ...]
    ends: bytes
    words: bytes
    counts: bytes


class Index(Struct, frozen=True, array_like=True):
    """Segments and, for each, the documents that are dead. `version` guards what is kept on
    disk."""

    version: tuple[int, int]
    segments: tuple[Segment, ...]
    dead: tuple[tuple[int, ...], ...]


_HEAD = 1_500  # characters that a banner stands in
_LONG_TEXT, _LONG_LINES = 5_000, 300  # from this size on, lines this long on average are minified
_GENERATED = re.compile(
    r"(?i)@generated\b|\bcode generated\b[^\n]{0,80}\bdo not (?:edit|modify)\b"
    r"|\b(?:auto-?|automatically )generated (?:by|from|file|code)\b[^\n]{0,80}"
    r"\bdo not (?:edit|modify)\b"
)
_BANNER = re.compile(
    r"(?i)(?:[^\n]{0,200}\n){0,4}?[ \t]{0,9}(?:[/*#;%-]|\"//)[^\w\n]{0,11}"
    r"(?:this file (?:is|was) )?(?:an? )?(?:(?:auto-?|automatically )?generated (?:by|from|with)\b"
    r"|(?:auto-?|automatically )generated\b|amalgamation of\b|bison parser, made by\b)"
)
"""A comment at the top that says of the whole file how it was made."""
_MANUAL = re.compile(r"(?:[^\n]{0,200}\n){0,30}?\.(?:TH|Dd) \S")
_VENDORED = re.compile(r"\s{0,9}/\*!\s{0,9}(?:\*\s{0,9})?[\w.-]{1,40} v?\d{1,4}\.\d")


def role_of(path: str, text: str) -> Role:
    """A file's part in the project, by its path, and where that says source, by its text: generated
    by a banner, amalgamated or minified, vendored by the banner of a released library, or a page of
    a manual."""
    role = facts_of(path).role
    if role != "source":
        return role
    head = text[:_HEAD]
    if _GENERATED.search(head) or _BANNER.match(head):
        return "generated"
    if _MANUAL.match(head):
        return "doc"
    if len(text) > _LONG_TEXT and len(text) > _LONG_LINES * (text.count("\n") + 1):
        return "generated"
    return "vendor" if _VENDORED.match(head) else role


class Bag(Struct, frozen=True, array_like=True):
    """The words of a text with their counts, and what else the text says of its file."""

    role: Role
    language: str
    words: dict[bytes, int]


File = tuple[str, str, Bag]
"""Path, digest and words of a file."""


def bag_of(path: str, text: str) -> Bag:
    """The words of a clean text, or of its indexed part. Bytes are taken apart in half the time of
    a regular expression, and most of a cold start is spent here."""
    language = language_of(path, text[:200])
    words_found = text.encode("utf-8", "surrogatepass").translate(_TO_WORDS).split()
    name = language.name if language is not None and language.grammar is not None else ""
    return Bag(role_of(path, text), name, Counter(words_found))


def build(files: Iterable[File]) -> Index:
    """An index of files in any order."""
    return build_in_order(sorted(files, key=lambda file: file[0]))


def build_in_order(files: Iterable[File]) -> Index:
    """An index of files that arrive in path order: their texts are not held."""
    segments = tuple(_segments(iter(files)))
    return Index(index_version(), segments, ((),) * len(segments))


def stale(index: Index, current: Mapping[str, str]) -> list[str]:
    """The paths of `current` (path -> digest) that the index lacks: `update` needs their texts."""
    held = {doc.path: doc.digest for doc in living(index).values()}
    return sorted(path for path, digest in current.items() if held.get(path) != digest)


def update(index: Index, current: Mapping[str, str], fresh: Iterable[File]) -> Index:
    """The index of the tree `current`, given its stale files."""
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
    added = tuple(_segments(iter(sorted(fresh, key=lambda file: file[0]))))
    return Index(index.version, index.segments + added, (*dead, *((),) * len(added)))


def worn(index: Index) -> bool:
    """Whether a rebuild pays: a good share of documents is dead or was added late."""
    total = sum(len(segment.docs) for segment in index.segments)
    return sum(map(len, index.dead)) * 4 > total


def tidied(index: Index, first: int) -> Index:
    """The index without what followed its first segments, where that lies in many pieces: these few
    files are stale again and return in one segment."""
    if len(index.segments) <= first + MOST_LATE:
        return index
    return Index(index.version, index.segments[:first], index.dead[:first])


def living(index: Index) -> dict[int, Doc]:
    """Documents by their number across segments."""
    docs: dict[int, Doc] = {}
    base = 0
    for segment, gone in zip(index.segments, index.dead, strict=True):
        buried = set(gone)
        docs.update((base + i, doc) for i, doc in enumerate(segment.docs) if i not in buried)
        base += len(segment.docs)
    return docs


def dumps(index: Index) -> bytes:
    return msgspec.msgpack.encode(index)


def loads(data: bytes) -> Index | None:
    """An index from `dumps`, or None if it is damaged or of another version."""
    try:
        index = msgspec.msgpack.decode(data, type=Index)
    except msgspec.DecodeError:
        return None
    return index if index.version == index_version() else None


def _segments(files: Iterator[File]) -> Iterator[Segment]:
    for first in files:
        yield _segment(first, files)


def _segment(first: File, files: Iterator[File]) -> Segment:
    """A segment of a file and of those that follow it, until there are enough words."""
    numbers: defaultdict[bytes, int] = defaultdict(count().__next__)
    docs: list[Doc] = []
    held, counts, sizes = array("I"), bytearray(), array("I")
    file: File | None = first
    while file is not None:
        path, digest, bag = file
        for some in (bag.words, path_words(path)):
            held.extend(map(numbers.__getitem__, some))
            counts += _capped(some.values())
        sizes.append(len(held))
        total = sum(bag.words.values())
        docs.append(Doc(path, digest, bag.role, bag.language, total))
        file = next(files, None) if len(held) < SEGMENT_WORDS else None
    return Segment(tuple(docs), _terms(numbers), sizes.tobytes(), held.tobytes(), bytes(counts))


def _capped(values: Collection[int]) -> bytes:
    try:
        return bytes(values)
    except ValueError:  # one of them is over 255
        return bytes(min(value, _MOST_COUNT) for value in values)


def indexed_part(path: str, text: str) -> str:
    """What of a text is indexed: the subject of a catalogue or a data file shows in its head, and
    of a huge file the first part counts."""
    if holds_data(path, language_of(path, text[:200])):
        return "\n".join(text[:MAX_BYTES].split("\n", _DATA_LINES)[:_DATA_LINES])
    return text[:MAX_BYTES]


def path_words(path: str) -> dict[bytes, int]:
    """Words of a path; those of the file's own name count more than the folders around it."""
    counts: dict[bytes, int] = {}
    name = basename(path)
    stem = name[: name.find(".")] if name.find(".") > 0 else name
    for text, weight in ((path[: len(path) - len(name)], 1), (stem, 2)):
        for word in words(text):
            key = b"/" + word.encode("utf-8", "surrogatepass")
            counts[key] = counts.get(key, 0) + weight
    return counts


def _terms(numbers: Mapping[bytes, int]) -> tuple[bytes, ...]:
    """The shards that lead from terms to words."""
    held: defaultdict[str, list[int]] = defaultdict(list)
    for word, number in numbers.items():
        for term in word_terms(word):
            held[term].append(number)
    size = 1 << (len(held) // KEYS).bit_length()
    shards: list[list[tuple[bytes, list[int]]]] = [[] for _ in range(size)]
    for term, some in held.items():
        key = term.encode("utf-8", "surrogatepass")
        shards[crc32(key) % size].append((key, some))
    return tuple(map(_shard_of, shards))


def word_terms(word: bytes) -> Iterable[str]:
    """The terms that a word of a text, or of a path, holds."""
    if word.isascii():
        if word[0] == _SLASH:
            return ["/" + term for term in split(word[1:].decode("ascii"))]
        text = word.lstrip(_DIGITS).decode("ascii")
        return split(text) if len(text) > 1 else ()
    text = word.decode("utf-8", "surrogatepass")
    mark = "/" if word[0] == _SLASH else ""
    return {mark + term: None for part in words(text) for term in split(part)}


class _Shard(Struct, frozen=True, gc=False, array_like=True):
    """Some terms and their words. `keys` stand in order, one after the other, each between two
    separators; `ends` are where in `data` the numbers of each end. So one key is found without
    decoding the others."""

    keys: bytes
    ends: bytes
    data: bytes


def _shard_of(entries: list[tuple[bytes, list[int]]]) -> bytes:
    entries.sort()
    keys = _BETWEEN.join([b"", *[key for key, _ in entries], b""])
    ends = array("I", accumulate(len(some) for _, some in entries))
    data = array("I", [number for _, some in entries for number in some])
    return _encode(_Shard(keys, ends.tobytes(), data.tobytes()))


def words_with(segment: Segment, term: str) -> Sequence[int]:
    """The numbers of the words of a segment that hold a term."""
    key = term.encode("utf-8", "surrogatepass")
    shard = _decode_shard(segment.terms[crc32(key) % len(segment.terms)])
    at = shard.keys.find(_BETWEEN + key + _BETWEEN)
    if at < 0 or _BETWEEN in key:
        return ()
    number, ends = shard.keys.count(_BETWEEN, 0, at), memoryview(shard.ends).cast("I")
    start = ends[number - 1] if number else 0
    return memoryview(shard.data).cast("I")[start : ends[number]]


def entries(segment: Segment) -> Iterator[tuple[Sequence[int], bytes]]:
    """For each document of a segment the numbers of its words and their counts."""
    numbers = memoryview(segment.words).cast("I")
    start = 0
    for end in memoryview(segment.ends).cast("I"):
        yield numbers[start:end], segment.counts[start:end]
        start = end


_encode = msgspec.msgpack.Encoder().encode
_decode_shard = msgspec.msgpack.Decoder(_Shard).decode
