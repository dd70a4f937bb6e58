"""The store: all queries, in the dialect that SQLite and PostgreSQL share. Each names its project.

Every method is one transaction. A store belongs to one project, and no method can name another.
Writes are idempotent: a retry after a lost reply changes nothing and returns the result of the
first try."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal

import msgspec

from sutler.paths import RelPath, quote
from sutler.store import records
from sutler.store.base import Database, Query, Row, Value
from sutler.store.records import ReceiptRow
from sutler.store.rows import (
    APPROVAL,
    AUDIT,
    HEAD,
    PENDING,
    SPENT,
    UNLIMITED,
    VERSION,
    Place,
    Recent,
    add_seen,
    add_version,
    approval_of,
    chain,
    put_receipt,
    registry_row_of,
    says_the_same,
    slot_of,
    update_registry,
    version_of,
)

if TYPE_CHECKING:
    from sutler.store.group_commit import GroupCommit


Witness = Callable[[int, str, str], None]
"""Receives the number, the hash and the time of a ledger's head."""


class Store:
    """The store of a project, over any `Database`; consists of queries only."""

    def __init__(self, database: Database, project: str, group: GroupCommit | None = None) -> None:
        self.project = project
        self._group = group
        self.database = database
        self._place = Place(project, HEAD[database.dialect])
        self._witness: tuple[int, Witness] | None = None
        self._recent = group.recent if group else Recent()
        self._write(
            "INSERT INTO heads VALUES (?, 'audit', 0, ?) ON CONFLICT DO NOTHING",
            (project, records.GENESIS),
        )

    @property
    def person(self) -> str:
        """Name of the member that the database authenticated; empty for a database of one user."""
        return self.database.person

    def close(self) -> None:
        self.database.close()

    def _read(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        return self.database.select(sql, params)

    def _write(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        return self.database.transact(lambda query: query(sql, params), write=True)

    # registry

    def registry(self) -> tuple[records.RegistryRow, ...]:
        rows = self._read(
            "SELECT path, size, digest, mtime_ns, version, tags, sensitivity, language FROM"
            " registry WHERE project = ?",
            (self.project,),
        )
        return tuple(sorted((registry_row_of(row) for row in rows), key=lambda row: row.path))

    def update_registry(
        self, rows: Iterable[records.RegistryRow], gone: Iterable[str] = ()
    ) -> None:
        fresh, stale = tuple(rows), tuple(gone)

        if fresh or stale:
            self.database.transact(
                lambda query: update_registry(query, self.project, fresh, stale), write=True
            )

    # facts

    def fact(self, digest: str, kind: str, tool: str) -> bytes | None:
        rows = self._read(
            "SELECT body FROM facts WHERE project = ? AND digest = ? AND kind = ? AND tool = ?",
            (self.project, digest, kind, tool),
        )
        return bytes(rows[0][0]) if rows else None

    def put_fact(self, digest: str, kind: str, tool: str, body: bytes) -> None:
        if self.fact(digest, kind, tool) is not None:  # a read is cheap, a durable write is not
            return
        self._write(
            "INSERT INTO facts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (self.project, digest, kind, tool, body),
        )

    def forget_facts(self) -> int:
        self._recent.clear()
        return len(self._write("DELETE FROM facts WHERE project = ? RETURNING 1", (self.project,)))

    # packs that left

    def put_receipt(self, receipt: ReceiptRow) -> None:
        """Store a receipt, and the list of the pack's files unless an earlier receipt of the same
        pack stored it."""
        self.database.transact(lambda query: put_receipt(query, self.project, receipt), write=True)

    def receipts(self, limit: int = 100, start: str = "") -> list[tuple[str, str]]:
        """Return ids and receipts of packs whose id begins with `start`, newest first."""
        rows = self._read(
            "SELECT pack, body FROM receipts WHERE project = ? AND substr(pack, 1, ?) = ? "
            "ORDER BY at DESC, pack LIMIT ?",
            (self.project, len(start), start, limit),
        )
        return [(pack, body) for pack, body in rows]

    def sent(self, pack: str) -> bytes:
        rows = self._read(
            "SELECT files FROM sent WHERE project = ? AND pack = ?", (self.project, pack)
        )
        return bytes(rows[0][0]) if rows else b""

    # contents and versions

    def put_blob(self, digest: str, data: bytes) -> None:
        if not self._read(
            "SELECT 1 FROM blobs WHERE project = ? AND digest = ?", (self.project, digest)
        ):
            self._write(
                "INSERT INTO blobs VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                (self.project, digest, data),
            )

    def blob(self, digest: str) -> bytes | None:
        rows = self._read(
            "SELECT data FROM blobs WHERE project = ? AND digest = ?", (self.project, digest)
        )
        return bytes(rows[0][0]) if rows else None

    def add_version(self, version: records.Version) -> None:
        """Append to a path's history, unless the newest version is the same."""
        newest = self.versions(version.path, 1)
        if not (newest and says_the_same(newest[0].digest, newest[0].call, version)):
            self.database.transact(
                lambda query: add_version(query, self.project, version, {}), write=True
            )

    def versions(self, path: str, limit: int = 100) -> tuple[records.Version, ...]:
        rows = self._read(f"{VERSION} ORDER BY n DESC LIMIT ?", (self.project, quote(path), limit))
        return tuple(version_of(row) for row in rows)

    def keep_versions(self, newest: int) -> int:
        """Delete all but the newest versions of each path, and contents without a version."""

        def work(query: Query) -> int:
            dropped = query(
                "DELETE FROM versions WHERE project = ? AND n <= (SELECT MAX(v.n) FROM versions v "
                "WHERE v.project = versions.project AND v.path = versions.path) - ? RETURNING 1",
                (self.project, newest),
            )
            query(
                "DELETE FROM blobs WHERE project = ? "
                "AND digest NOT IN (SELECT v.digest FROM versions v WHERE v.project = ?) "
                "AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.project = ?)",
                (self.project, self.project, self.project),
            )
            return len(dropped)

        return self.database.transact(work, write=True)

    def compact(self) -> None:
        """Return the space of deleted rows to the file system."""
        self.database.compact()

    def hold(self, paths: Iterable[str], wait: float = 30.0) -> AbstractContextManager[None]:
        """Lock these paths. Slots are taken in sorted order, so that two calls cannot deadlock."""
        slots = sorted({slot_of(self.project, path) for path in paths})
        return (
            self.database.hold(slots[0], wait) if len(slots) == 1 else self._hold_all(slots, wait)
        )

    @contextmanager
    def _hold_all(self, slots: Sequence[str], wait: float) -> Iterator[None]:
        with ExitStack() as held:
            for slot in slots:
                held.enter_context(self.database.hold(slot, wait))
            yield

    # approvals

    def add_approval(self, approval: records.Approval) -> None:
        body = records.canonical(
            msgspec.structs.replace(approval, path=RelPath(quote(approval.path)))
        )
        self._write(
            "INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (
                self.project,
                approval.id,
                approval.created,
                approval.state,
                approval.settled_by,
                approval.used_by,
                body,
            ),
        )

    def approval(self, id: str) -> records.Approval | None:
        rows = self._read(f"{APPROVAL} AND id = ?", (self.project, id))
        return approval_of(rows[0]) if rows else None

    def approvals(self, state: str, limit: int = 100) -> tuple[records.Approval, ...]:
        rows = self._read(
            f"{APPROVAL} AND state = ? ORDER BY created DESC, id LIMIT ?",
            (self.project, state, limit),
        )
        return tuple(approval_of(row) for row in rows)

    def settle(self, id: str, state: Literal["approved", "denied"], by: str) -> bool:
        """Answer a pending approval. The first answer is final; return whether it equals this
        one."""
        self._write(
            "UPDATE approvals SET state = ?, settled_by = ? WHERE project = ? AND id = ? AND state"
            " = 'pending'",
            (state, by, self.project, id),
        )
        approval = self.approval(id)
        return approval is not None and (approval.state, approval.settled_by) == (state, by)

    def use(self, id: str, call: str) -> bool:
        """Use up an approval for a call. Return True only for the call that used it, also on a
        retry."""
        self._write(
            "UPDATE approvals SET state = 'used', used_by = ? WHERE project = ? AND id = ? AND"
            " state = 'approved'",
            (call, self.project, id),
        )
        approval = self.approval(id)
        return approval is not None and (approval.state, approval.used_by) == ("used", call)

    # the ledger

    def append(
        self, entry: records.AuditEntry, caller: records.Caller | None = None
    ) -> records.AuditRow:
        """Append an entry and charge its cost. With a `caller`, append nothing and raise
        DeniedError if a budget is exceeded."""
        return self.record((entry,), caller)[0]

    def record(
        self,
        entries: Sequence[records.AuditEntry],
        caller: records.Caller | None = None,
        *,
        blobs: Iterable[tuple[str, bytes]] = (),
        versions: Iterable[records.Version] = (),
        facts: Iterable[records.Fact] = (),
        wait: bool = True,
    ) -> tuple[records.AuditRow, ...]:
        """Append entries with their contents, versions and facts, in one transaction. Without
        `wait` the commit does not wait for the disk."""
        contents, fresh, fresh_facts = tuple(blobs), tuple(versions), tuple(facts)
        reads = not wait and all(entry.effect != "write" for entry in entries)
        if self._group is not None and reads and (caller is None or caller.limits == UNLIMITED):
            return self._group.record(entries, fresh, fresh_facts, self._attest)

        def work(query: Query) -> tuple[records.AuditRow, ...]:
            for digest, data in contents:
                query(
                    "INSERT INTO blobs VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (self.project, digest, data),
                )
            rows = self.extend(query, entries, caller)
            add_seen(query, self.project, fresh, fresh_facts, self._recent)
            self._attest(rows)
            return rows

        appended = self.database.transact(work, write=True, wait=wait)
        self._recent.remember(fresh, fresh_facts)
        return appended

    def extend(
        self,
        query: Query,
        entries: Sequence[records.AuditEntry],
        caller: records.Caller | None = None,
    ) -> tuple[records.AuditRow, ...]:
        """Append entries inside a transaction of the caller."""
        return chain(query, self._place, entries, caller)

    def flush(self) -> None:
        self.database.flush()

    def witness(self, every: int, sign: Witness) -> None:
        """Register `sign` as a callback with the ledger's head (number, hash, time). Each
        transaction that appends a row whose number is a multiple of `every` calls it before the
        commit, with the head before the transaction. That head is durable already, so a crash
        before the commit leaves no signature that contradicts the ledger."""
        self._witness = every, sign

    def _attest(self, rows: Sequence[records.AuditRow]) -> None:
        if self._witness is None or not rows:
            return
        every, sign = self._witness
        before = rows[0].seq - 1
        if before and rows[-1].seq // every > before // every:
            first = records.unseal(rows[0])
            sign(before, first.prev, first.at)

    def pending(self) -> tuple[records.AuditRow, ...]:
        """Return the intents of writes that have no outcome yet, oldest first."""
        return tuple(records.AuditRow(*row) for row in self._read(PENDING, (self.project,)))

    def pending_count(self) -> int:
        """Return the number of pending intents; cheap, because every write checks it."""
        return int(
            self._read("SELECT COUNT(*) FROM pending WHERE project = ?", (self.project,))[0][0]
        )

    def audit(self, after: int = 0, limit: int = 1_000) -> tuple[records.AuditRow, ...]:
        rows = self._read(f"{AUDIT} AND seq > ? ORDER BY seq LIMIT ?", (self.project, after, limit))
        return tuple(records.AuditRow(*row) for row in rows)

    def audit_of(
        self, session: str, path: str | None = None, limit: int = 1_000
    ) -> tuple[records.AuditRow, ...]:
        """Return the newest entries of a session, or of one path in it, in ascending order."""
        if path is None:
            rows = self._read(
                f"{AUDIT} AND session = ? ORDER BY seq DESC LIMIT ?", (self.project, session, limit)
            )
        else:
            sql = f"{AUDIT} AND session = ? AND path = ? ORDER BY seq DESC LIMIT ?"
            rows = self._read(sql, (self.project, session, quote(path), limit))
        return tuple(records.AuditRow(*row) for row in reversed(rows))

    def audit_of_call(self, call: str) -> tuple[records.AuditRow, ...]:
        """Return the rows of a call and of its parts (`CALL.0`, `CALL.1` …), oldest first."""
        sql = f"{AUDIT} AND (call = ? OR (call >= ? AND call < ?)) ORDER BY seq"
        return tuple(
            records.AuditRow(*row)
            for row in self._read(sql, (self.project, call, f"{call}.", f"{call}/"))
        )

    def head(self) -> tuple[int, str]:
        rows = self._read(
            "SELECT seq, hash FROM heads WHERE project = ? AND name = 'audit'", (self.project,)
        )
        return (rows[0][0], rows[0][1]) if rows else (0, records.GENESIS)

    def drop_audit(self, through: int) -> int:
        return len(
            self._write(
                "DELETE FROM audit WHERE project = ? AND seq <= ? RETURNING 1",
                (self.project, through),
            )
        )

    def spent(self, caller: str, session: str) -> records.Spent:
        rows = self._read(SPENT, (self.project, caller, session))
        return records.Spent(*rows[0]) if rows else records.Spent()

    def tally(self) -> tuple[tuple[str, str, records.Spent], ...]:
        rows = self._read(
            "SELECT caller, session, reads, writes, bytes, tokens FROM spending WHERE project = ? "
            "ORDER BY caller, session",
            (self.project,),
        )
        return tuple((row[0], row[1], records.Spent(*row[2:])) for row in rows)
