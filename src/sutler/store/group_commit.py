"""Group commit: rows of reads by many callers of one project in one transaction.

A commit waits for the disk, and the head of the chain is locked until then, so that one commit for
each read limits a server to the disk's rate. Here a thread commits all rows that wait meanwhile.
Each caller returns when its own row is on the disk; nothing is acknowledged earlier."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from queue import SimpleQueue

from msgspec.json import encode

from sutler.store.base import Database, Query, Row, Value
from sutler.store.records import AuditEntry, AuditRow, Fact, Version, seal
from sutler.store.rows import HEAD, Place, Recent, add_seen, chain, charge

_MOST = 256
"""Maximum number of requests in one transaction."""
_APPEND = (  # one statement, because each one waits for an answer
    "WITH added AS (INSERT INTO audit SELECT ?::text, x.* FROM jsonb_to_recordset(?::jsonb) AS x"
    " (seq bigint, call text, phase text, session text, path text, hash text, body text)"
    " ON CONFLICT (project, call, phase) DO NOTHING RETURNING 1),"
    " head AS (UPDATE heads SET seq = ?, hash = ? WHERE project = ? AND name = 'audit'),"
    " cost AS (INSERT INTO spending SELECT ?::text, x.* FROM jsonb_to_recordset(?::jsonb) AS x"
    " (caller text, session text, reads bigint, writes bigint, bytes bigint, tokens bigint)"
    " ON CONFLICT (project, caller, session) DO UPDATE SET reads = spending.reads +"
    " excluded.reads, writes = spending.writes + excluded.writes, bytes = spending.bytes +"
    " excluded.bytes, tokens = spending.tokens + excluded.tokens),"
    " used AS (INSERT INTO usage SELECT ?::text, x.* FROM jsonb_to_recordset(?::jsonb) AS x"
    " (person text, day text, calls bigint, bytes bigint, tokens bigint)"
    " ON CONFLICT (tenant, person, day) DO UPDATE SET calls = usage.calls + excluded.calls,"
    " bytes = usage.bytes + excluded.bytes, tokens = usage.tokens + excluded.tokens"
    " RETURNING person, day, calls, bytes, tokens)"
    " SELECT (SELECT count(*) FROM added), used.* FROM used"
)
_SESSION = ("caller", "session", "reads", "writes", "bytes", "tokens")
_DAY = ("person", "day", "calls", "bytes", "tokens")

Used = Callable[[str, str, int, int, int], None]
"""Receives the use of a day: person (empty: the tenant), day, calls, bytes, tokens."""

Attest = Callable[[Sequence[AuditRow]], None]
"""Signs the head before rows that are due a checkpoint."""


class Request:
    """Rows that one caller waits for, with their result."""

    def __init__(
        self,
        entries: Sequence[AuditEntry],
        versions: Sequence[Version],
        facts: Sequence[Fact],
        attest: Attest,
    ) -> None:
        self.entries, self.versions, self.facts, self.attest = entries, versions, facts, attest
        self.rows: tuple[AuditRow, ...] = ()
        self.error: Exception | None = None
        self.done = threading.Lock()
        self.done.acquire()


class GroupCommit:
    """Committer of one project: a thread that commits waiting rows, one transaction after the
    other. `aside` lets other calls of a server run while one waits."""

    def __init__(
        self,
        database: Database,
        project: str,
        used: Used,
        aside: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._database = database
        self._project = project
        self._tenant = project.partition("/")[0]
        self._used = used
        self._aside = aside
        self.recent = Recent(versions=True)
        self._queue: SimpleQueue[Request | None] = SimpleQueue()
        # Requests wait for it, the process does not.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def record(
        self,
        entries: Sequence[AuditEntry],
        versions: Sequence[Version],
        facts: Sequence[Fact],
        attest: Attest,
    ) -> tuple[AuditRow, ...]:
        """Append entries with their versions and facts; return when they are on the disk."""
        request = Request(entries, versions, facts, attest)
        self._queue.put(request)
        with self._aside():
            request.done.acquire()
        if request.error is not None:
            raise request.error
        return request.rows

    def close(self) -> None:
        """Commit waiting rows, and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (request := self._queue.get()) is not None:
            batch = [request]
            while len(batch) < _MOST and not self._queue.empty():
                following = self._queue.get()
                if following is None:  # end after this batch
                    self._queue.put(None)
                    break
                batch.append(following)
            self._commit(batch)
            for request in batch:
                request.done.release()

    def _commit(self, batch: Sequence[Request]) -> None:
        """Commit a batch. If that fails, commit its requests one by one, so that one member's
        missing right does not fail another's read."""
        try:
            self._transact(batch)
        except Exception as error:  # every caller gets its own answer, whatever happened
            if len(batch) > 1:
                for request in batch:
                    self._commit((request,))
            elif isinstance(error, RepeatedError):
                self._repeat(batch[0])
            else:
                batch[0].error = error

    def _transact(self, batch: Sequence[Request]) -> None:
        rows, used = self._database.transact(lambda query: self._append(query, batch), write=True)
        remaining = iter(rows)
        for request in batch:
            request.rows = tuple(next(remaining) for _ in request.entries)
            self.recent.remember(request.versions, request.facts)
        for row in used:
            self._used(*row)

    def _repeat(self, request: Request) -> None:
        """Append the rows that a lost reply left out; return those that exist."""
        place = Place(self._project, HEAD["postgres"])
        try:
            request.rows = self._database.transact(
                lambda query: chain(query, place, request.entries, None), write=True
            )
        except Exception as error:
            request.error = error

    def _append(self, query: Query, batch: Sequence[Request]) -> tuple[list[AuditRow], list[Row]]:
        entries = [entry for request in batch for entry in request.entries]
        seq, prev = query(HEAD["postgres"], (self._project,))[0]
        rows: list[AuditRow] = []
        for entry in entries:
            rows.append(seal(entry, seq + 1, prev))
            seq, prev = rows[-1].seq, rows[-1].hash
        used = query(
            _APPEND,
            (
                *(self._project, encode(rows).decode(), seq, prev, self._project),
                *self._costs(entries),
            ),
        )
        if not used or used[0][0] != len(rows):
            # A retry after a lost reply: some rows exist, and the numbers of the others are wrong.
            raise RepeatedError("a row of this call exists already")
        for request in batch:
            add_seen(query, self._project, request.versions, request.facts, self.recent)
        batch[0].attest(rows)
        return rows, [row[1:] for row in used]

    def _costs(self, entries: Sequence[AuditEntry]) -> tuple[Value, ...]:
        """Return the costs by session, and by person and day, as columns of two tables."""
        sessions: dict[tuple[str, str], list[int]] = {}
        days: dict[tuple[str, str], list[int]] = {}
        for entry in entries:
            cost = charge(entry)
            costs = (cost.reads, cost.writes, cost.bytes, cost.tokens)
            _add(sessions, (entry.caller, entry.session), costs)
            person = entry.person if isinstance(entry.person, str) else ""
            for name in {person, ""}:
                _add(days, (name, entry.at[:10]), (1, cost.bytes, cost.tokens))
        return (self._project, _table(sessions, _SESSION), self._tenant, _table(days, _DAY))


class RepeatedError(Exception):
    """A batch holds a row that the ledger has already."""


def _add(
    sums: dict[tuple[str, str], list[int]], key: tuple[str, str], costs: tuple[int, ...]
) -> None:
    old = sums.get(key)
    sums[key] = list(costs) if old is None else [a + b for a, b in zip(old, costs, strict=True)]


def _table(sums: dict[tuple[str, str], list[int]], columns: tuple[str, ...]) -> str:
    # Sorted, so that two transactions lock rows in the same order.
    rows = [dict(zip(columns, (*key, *sums[key]), strict=True)) for key in sorted(sums)]
    return encode(rows).decode()
