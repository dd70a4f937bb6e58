"""Log of the facts of queried files, kept between runs by content digest.

Each record has its length, its checksum and its key; a damaged record counts as absent. Records are
only appended, so that two runs may write at once. A log that exceeds its limit starts anew with the
records that the present query needs."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from zlib import crc32

import msgspec

from sutler.errors import SutlerError
from sutler.languages.facts import Facts
from sutler.languages.table import facts_version
from sutler.ranking.index import Doc
from sutler.store import home
from sutler.system import cores, fs

LIMIT = 48_000_000
"""Limit of a log in bytes. A query reads all of it, and verifies only the records that it uses."""
SEPARATE_ABOVE = 48
"""Above this number of files, worker processes parse: it is faster, and a crash of the parser does
not end the run."""
CHUNK = 12
_LENGTH, _CHECK, _KEY = 4, 4, 16  # bytes

Batch = list[tuple[str, str]]
"""Paths and clean texts."""


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
        from sutler.languages.extract import extract

        if len(paths) < SEPARATE_ABOVE:
            for path in paths:
                yield _encode(extract(path, self._text(path)))
            return
        batches = (
            [(path, self._text(path)) for path in paths[at : at + CHUNK]]
            for at in range(0, len(paths), CHUNK)
        )
        for encoded in _in_workers(batches):
            yield from encoded


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


def _in_workers(batches: Iterator[Batch]) -> Iterator[list[bytes]]:
    """Yield the encoded facts of each batch in order, from one process for each core. A few batches
    are queued ahead, never all."""
    from collections import deque
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    workers = cores()
    pool = ProcessPoolExecutor(workers, initializer=gc.disable)  # a parse leaves no cycles
    waiting: deque[tuple[Batch, Future[list[bytes]]]] = deque()
    try:
        for batch in batches:
            waiting.append((batch, pool.submit(extract_batch, batch)))
            while len(waiting) > workers * 2:
                yield waiting[0][1].result()
                waiting.popleft()
        while waiting:
            yield waiting[0][1].result()
            waiting.popleft()
    except BrokenProcessPool:
        # A parser crashed. What is left goes one file at a time, each in a process of its own; of
        # the culprit only the words count.
        for batch in [*(batch for batch, _ in waiting), *batches]:
            yield [_alone(path, text) for path, text in batch]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def extract_batch(batch: Batch) -> list[bytes]:
    """Return encoded facts: MessagePack takes less time than pickle between processes."""
    from sutler.languages.extract import extract

    return [_encode(extract(path, text)) for path, text in batch]


def _alone(path: str, text: str) -> bytes:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    from msgspec.structs import replace

    from sutler.languages.extract import extract

    try:
        with ProcessPoolExecutor(1) as pool:
            return pool.submit(extract_batch, [(path, text)]).result()[0]
    except BrokenProcessPool:  # a parser crashed on it: this file is indexed by its words alone
        return _encode(replace(extract("unparsed.txt", text), status="failed"))
