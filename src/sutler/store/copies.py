"""Copies of a project's rows: from one database to another, and to and from a backup file.

A backup file holds one line of JSON (format, project, head) and frames of MessagePack, each a table
and up to `_PAGE` rows, with their length before them. The last frame holds the digest of all that
precedes it, so that a truncated file is detected."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterable, Iterator
from typing import IO, Any

import msgspec
from msgspec import Struct

from sutler.errors import RefusedError
from sutler.store.base import Database, Query
from sutler.store.rows import MOVED
from sutler.store.tables import TABLES

_COPIED = {name: table.key for name, table in TABLES.items() if table.copied}
_FORMAT = "sutler backup 1"
_PAGE = 200
_LONGEST = 1 << 30  # a damaged length must not ask for more memory than there is
Page = tuple[str, list[tuple[Any, ...]]]
"""Rows of one table, without the project's name."""


class Header(Struct, frozen=True):
    format: str
    project: str
    seq: int
    hash: str


def pages(database: Database, project: str) -> Iterator[Page]:
    """Yield all rows of a project. Each page is read in its own transaction: the caller holds the
    project still."""
    for table, order in _COPIED.items():
        # Columns that were added later are at the end on both databases.
        sql = f"SELECT * FROM {table} WHERE project = ? ORDER BY {order} LIMIT ? OFFSET ?"  # noqa: S608
        offset = 0
        while rows := database.select(sql, (project, _PAGE, offset)):
            offset += len(rows)
            plain = [tuple(_plain(value) for value in row[1:]) for row in rows]
            yield table, [row for row in plain if (table, row[0]) != ("named", MOVED)]


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, memoryview | bytearray) else value


def insert(query: Query, project: str, content: Iterable[Page]) -> int:
    """Insert rows under a project's name, in the transaction of `query`; return their number."""
    count = 0
    for table, rows in content:
        for row in rows:
            marks = ", ".join("?" * (len(row) + 1))
            if table == "heads":  # an opened store has its head already
                query("DELETE FROM heads WHERE project = ? AND name = ?", (project, row[0]))
            query(f"INSERT INTO {table} VALUES ({marks})", (project, *row))  # noqa: S608
            count += 1
    return count


def clear(query: Query, project: str) -> None:
    for table in _COPIED:
        query(f"DELETE FROM {table} WHERE project = ?", (project,))  # noqa: S608  # our own tables


def dump(header: Header, content: Iterable[Page], write: Callable[[bytes], object]) -> None:
    """Write a backup."""
    digest = hashlib.sha256()

    def put(data: bytes) -> None:
        digest.update(data)
        write(data)

    put(msgspec.json.encode(header) + b"\n")
    for page in content:
        frame = msgspec.msgpack.encode(page)
        put(len(frame).to_bytes(8, "big") + frame)
    last = msgspec.msgpack.encode(("end", [(digest.hexdigest(),)]))
    write(len(last).to_bytes(8, "big") + last)


def load(stream: IO[bytes]) -> tuple[Header, Iterator[Page]]:
    """Read a backup: its header, and its pages as they are consumed. Raise RefusedError for a file
    that is none, is damaged or ends early."""
    digest = hashlib.sha256()
    line = stream.readline(io.DEFAULT_BUFFER_SIZE)
    digest.update(line)
    try:
        header = msgspec.json.decode(line, type=Header)
    except msgspec.MsgspecError:
        raise _refused("is no backup of a store") from None
    if header.format != _FORMAT:
        raise _refused(f"has another format: {header.format[:40]}")
    return header, _frames(stream, digest)


def header_of(project: str, head: tuple[int, str]) -> Header:
    return Header(_FORMAT, project, *head)


def _frames(stream: IO[bytes], digest: Any) -> Iterator[Page]:
    while True:
        size = stream.read(8)
        frame = stream.read(min(int.from_bytes(size, "big"), _LONGEST))
        try:
            table, rows = msgspec.msgpack.decode(frame, type=Page)
        except msgspec.MsgspecError:
            raise _refused("is damaged or ends early") from None
        if table == "end":
            if rows != [(digest.hexdigest(),)]:
                raise _refused("is damaged: its digest differs")
            return
        if table not in _COPIED:
            raise _refused(f"holds an unknown table {table[:40]!r}")
        digest.update(size + frame)
        yield table, rows


def _refused(what: str) -> RefusedError:
    return RefusedError(
        f"the file {what}",
        rule="a backup is restored whole or not at all",
        next_step="use another backup",
    )
