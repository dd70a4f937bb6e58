"""Counts of terms by document, stored so that a query reads only the terms that it needs.

The word index of a project (`ranking.index`) lists the words of each file; a query walks all of
them. Over many repositories that is too much. Here each term leads to its documents. Terms are in
shards that are compressed one by one."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from zlib import crc32

import msgspec
from msgspec import Raw, Struct

from sutler.ranking.index import Doc

KEYS = 20
"""Approximate number of terms in a shard: a query reads a shard for nearly each of its terms."""
_LEVEL = 6


class Postings(Struct, frozen=True, array_like=True):
    """Documents, and shards of terms: for each term the numbers of its documents, each with its
    count there. Each part is compressed."""

    docs: bytes
    shards: tuple[bytes, ...]


def build(docs: Iterable[tuple[Doc, Mapping[str, int]]]) -> Postings:
    """Build the postings of documents, each with its terms and their counts."""
    kept: list[Doc] = []
    held: dict[str, list[int]] = {}
    for number, (doc, terms) in enumerate(docs):
        kept.append(doc)
        for term, count in terms.items():
            row = held.get(term)
            if row is None:
                held[term] = [number, count]
            else:
                row += number, count
    size = 1 + (1 << (len(held) // KEYS).bit_length())
    shards: list[dict[str, list[int]]] = [{} for _ in range(size)]
    for term in sorted(held):
        shards[shard_of(term, size)][term] = held[term]
    return Postings(_packed(kept), tuple(map(_packed, shards)))


class Lookup:
    """Postings as a query reads them: documents are numbered from `base`, `load` returns a
    shard."""

    def __init__(self, docs: bytes, size: int, load: Callable[[int], bytes], base: int = 0) -> None:
        self._size, self._load, self._base = size, load, base
        self._open: dict[int, dict[str, Raw]] = {}
        self.docs: dict[int, Doc] = dict(enumerate(_DOCS.decode(zlib.decompress(docs)), base))

    def counts(self, term: str) -> dict[int, int]:
        """Return the count of a term by document."""
        at = shard_of(term, self._size)
        if at not in self._open:
            self._open[at] = _SHARD.decode(zlib.decompress(self._load(at)))
        row = self._open[at].get(term)
        if row is None:
            return {}
        numbers = _ROW.decode(row)
        return dict(zip(map(self._base.__add__, numbers[::2]), numbers[1::2], strict=True))


def dumps(postings: Postings) -> bytes:
    return _encode(postings)


def loads(data: bytes) -> Postings:
    return _POSTINGS.decode(data)


def shard_of(term: str, size: int) -> int:
    """Return the number of the shard that has a term. The first has those of paths: they are few,
    and a query has each of its terms as one."""
    return 0 if term[:1] == "/" else 1 + crc32(term.encode("utf-8", "surrogatepass")) % (size - 1)


def _packed(value: object) -> bytes:
    return zlib.compress(_encode(value), _LEVEL)


_encode = msgspec.msgpack.Encoder().encode
_DOCS = msgspec.msgpack.Decoder(tuple[Doc, ...])
_SHARD = msgspec.msgpack.Decoder(dict[str, Raw])  # a query reads a row or two of a shard
_ROW = msgspec.msgpack.Decoder(list[int])
_POSTINGS = msgspec.msgpack.Decoder(Postings)
