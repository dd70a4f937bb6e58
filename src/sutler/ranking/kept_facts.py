"""Log of the facts of queried files, kept between runs by content digest.

Each record has its length, its checksum and its key; a damaged record counts as absent. Records are
only appended, so that two runs may write at once. A log that exceeds its limit starts anew with the
records that the present query needs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from zlib import crc32

import msgspec
from msgspec.structs import replace

from sutler.errors import SutlerError
from sutler.languages.facts import Facts
from sutler.languages.table import facts_version
from sutler.parallel import alone, ordered, workers_for
from sutler.ranking.index import Doc
from sutler.store import home
from sutler.system import fs

LIMIT = 48_000_000
"""Limit of a log in bytes. A query reads all of it, and verifies only the records that it uses."""
SEPARATE_ABOVE = 48
"""Above this number of files, worker processes parse: it is faster, and a crash of the parser does
not end the run."""
CHUNK = 12
_LENGTH, _CHECK, _KEY = 4, 4, 16  # bytes


class KeptFacts:
    """The log of one project under one set of redaction rules. `text` returns the clean text of a
    path."""

    def __init__(
        self, name: str, rules: str, text: Callable[[str], str], environ: Mapping[str, str]
    ) -> None:
        self._name = name
        self._rules = rules
        self._text = text
        self._environ = environ
        data = home.cached(name, environ) or b""
        self._size = len(data)
        self._records = dict(_records(data))
        if data and not self._records:  # unreadable: start anew
            self._size = LIMIT

    def __call__(self, docs: Sequence[Doc]) -> list[Facts]:
        """Return the facts of these documents; extract those that the log lacks."""
        keys = [self._key(doc) for doc in docs]
        held = {key: facts for key in keys if (facts := _decoded(self._records.get(key)))}
        missing = {key: doc.path for key, doc in zip(keys, docs, strict=True) if key not in held}
        fresh: list[bytes] = []
        for key, data in zip(missing, self._extracted(list(missing.values())), strict=True):
            held[key] = _decode(data)
            fresh.append(_record(key, data))
            self._records[key] = memoryview(fresh[-1])[_LENGTH:]
        if fresh:
            self._add(fresh)
        return [held[key] for key in keys]

    def _key(self, doc: Doc) -> bytes:
        """Derive a key from all that decides the facts: content, language (by path), both sets of
        rules."""
        parts = (doc.digest, doc.path, self._rules, str(facts_version()))
        return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()[:_KEY]

    def _add(self, records: list[bytes]) -> None:
        """Append records. A cache that cannot be written is no loss."""
        self._size += sum(map(len, records))
        if self._size > LIMIT:
            self._size = sum(map(len, records))
            home.keep(self._name, b"".join(records), self._environ, durable=False)
            return
        try:
            path = os.path.join(home.cache_home(self._environ), self._name)
            flags = fs.O_WRONLY | fs.O_CREAT | fs.O_APPEND | fs.O_NOFOLLOW | fs.O_CLOEXEC
            descriptor = fs.open(path, flags, 0o600)
        except (OSError, SutlerError):
            return
        try:
            with open(descriptor, "wb", closefd=False) as stream:
                stream.write(b"".join(records))
        except OSError:  # no space, most likely; the checksum detects a truncated record
            pass
        finally:
            fs.close(descriptor)

    def _extracted(self, paths: Sequence[str]) -> Iterator[bytes]:
        workers = workers_for(len(paths), SEPARATE_ABOVE)
        if not workers:
            yield from map(self._fresh, paths)
            return
        batches = [paths[at : at + CHUNK] for at in range(0, len(paths), CHUNK)]

        def work(index: int) -> list[bytes]:
            if index:
                return list(map(self._fresh, batches[index - 1]))

            self._text(paths[0])
            return []

        def again(index: int) -> list[bytes]:
            return list(map(self._alone, batches[index - 1]))

        every = ordered(work, len(batches) + 1, workers, list[bytes], again)
        for encoded in every:
            yield from encoded

    def _fresh(self, path: str) -> bytes:
        from sutler.languages.extract import extract

        return _encode(extract(path, self._text(path)))

    def _alone(self, path: str) -> bytes:
        """Return the facts of a file of a batch in which a parser crashed. The file on which it
        crashes is indexed by its words alone."""
        from sutler.languages.extract import extract

        facts = alone(lambda: self._fresh(path), bytes)
        if facts is not None:
            return facts
        return _encode(replace(extract("unparsed.txt", self._text(path)), status="failed"))


def _record(key: bytes, data: bytes) -> bytes:
    body = crc32(key + data).to_bytes(_CHECK, "little") + key + data
    return len(body).to_bytes(_LENGTH, "little") + body


def _records(data: bytes) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the keys and records, without their length, up to the first implausible length."""
    at, view = 0, memoryview(data)
    least = _CHECK + _KEY
    while at + _LENGTH + least <= len(data):
        start = at + _LENGTH
        at = start + int.from_bytes(view[at:start], "little")
        if not start + least <= at <= len(data):
            return
        yield bytes(view[start + _CHECK : start + least]), view[start:at]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Facts).decode


def _decoded(record: bytes | memoryview | None) -> Facts | None:
    """Return the facts of a record, or None if it is absent or damaged."""
    if record is None or crc32(record[_CHECK:]) != int.from_bytes(record[:_CHECK], "little"):
        return None
    try:
        return _decode(record[_CHECK + _KEY :])
    except msgspec.DecodeError:
        return None
