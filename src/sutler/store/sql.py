"""Every query, once, in the dialect that SQLite and PostgreSQL share. Each names the project it
belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import lru_cache
from typing import Literal

import msgspec

from sutler.paths import RelPath, quote
from sutler.store.base import Database, Query, Row, Value, Witness
from sutler.store.records import (
    GENESIS,
    Approval,
    AuditEntry,
    AuditRow,
    Caller,
    Fact,
    Receipt,
    RegistryRow,
    Spent,
    Version,
    canonical,
    sha256,
    unseal,
)
from sutler.store.rows import (
    APPROVAL,
    AUDIT,
    HEAD,
    KNOWN,
    PENDING,
    SPENT,
    VERSION,
    Newest,
    Place,
    add_version,
    approval_of,
    chain,
    registry_row_of,
    says_the_same,
    version_of,
)

_REMEMBERED = 4_096


class SqlStore:
    """The store over any `Database`. It adds nothing but queries."""

    def __init__(self, database: Database, project: str) -> None:
        self.project = project
        self._database = database
        self._place = Place(project, HEAD[database.dialect])
        self._witness: tuple[int, Witness] | None = None
        self._facts: set[tuple[str, str, str, str]] = set()  # some that are there for sure
        self._write(
            "INSERT INTO heads VALUES (?, 'audit', 0, ?) ON CONFLICT DO NOTHING", (project, GENESIS)
        )

    def close(self) -> None:
        self._database.close()

    def _read(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        return self._database.select(sql, params)

    def _write(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        return self._database.transact(lambda query: query(sql, params), write=True)

    # registry

    def registry(self) -> tuple[RegistryRow, ...]:
        rows = self._read(
            "SELECT path, size, digest, mtime_ns, version, tags, sensitivity, language FROM"
            " registry WHERE project = ?",
            (self.project,),
        )
        return tuple(sorted((registry_row_of(row) for row in rows), key=lambda row: row.path))

    def update_registry(self, rows: Iterable[RegistryRow], gone: Iterable[str] = ()) -> None:
        fresh, stale = tuple(rows), tuple(gone)

        def work(query: Query) -> None:
            for path in (*stale, *(row.path for row in fresh)):
                query(
                    "DELETE FROM registry WHERE project = ? AND path = ?",
                    (self.project, quote(path)),
                )
            for row in fresh:
                tags = " ".join(row.tags)
                values = (
                    row.size,
                    row.digest,
                    row.mtime_ns,
                    row.version,
                    tags,
                    row.sensitivity,
                    row.language,
                )
                query(
                    "INSERT INTO registry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (self.project, quote(row.path), *values),
                )

        if fresh or stale:
            self._database.transact(work, write=True)

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
        self._facts.clear()
        return len(self._write("DELETE FROM facts WHERE project = ? RETURNING 1", (self.project,)))

    # packs that left

    def put_receipt(self, receipt: Receipt, files: bytes = b"") -> None:
        """Keep a receipt; and what the pack held, unless an earlier receipt of the same pack has
        brought that.
        """
        self._database.transact(lambda query: self._put_receipt(query, receipt, files), write=True)

    def _put_receipt(self, query: Query, receipt: Receipt, files: bytes) -> None:
        known = query(
            "SELECT 1 FROM sent WHERE project = ? AND pack = ?", (self.project, receipt.pack)
        )
        if files and not known:
            query("INSERT INTO sent VALUES (?, ?, ?)", (self.project, receipt.pack, files))
        query(
            "INSERT INTO receipts VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (self.project, receipt.pack, receipt.at, receipt.body),
        )

    def receipts(self, limit: int = 100, start: str = "") -> tuple[Receipt, ...]:
        """The newest receipts of packs whose id begins so, newest first."""
        rows = self._read(
            "SELECT pack, at, body FROM receipts WHERE project = ? AND substr(pack, 1, ?) = ? "
            "ORDER BY at DESC, pack LIMIT ?",
            (self.project, len(start), start, limit),
        )
        return tuple(Receipt(pack=pack, at=at, body=body) for pack, at, body in rows)

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

    def add_version(self, version: Version) -> None:
        """Append to a path's history, unless its newest version already says the same."""
        found = self.versions(version.path, 1)
        if not (found and says_the_same(found[0].digest, found[0].call, version)):
            self._database.transact(
                lambda query: add_version(query, self.project, version, {}), write=True
            )

    def versions(self, path: str, limit: int = 100) -> tuple[Version, ...]:
        rows = self._read(f"{VERSION} ORDER BY n DESC LIMIT ?", (self.project, quote(path), limit))
        return tuple(version_of(row) for row in rows)

    def keep_versions(self, newest: int) -> int:
        """Drop all but the newest versions of each path, and the contents that no version names any
        more.
        """

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

        return self._database.transact(work, write=True)

    def compact(self) -> None:
        """Give back the room of what was dropped."""
        self._database.compact()

    def hold(self, paths: Iterable[str], wait: float = 30.0) -> AbstractContextManager[None]:
        """Have these paths to oneself. Slots are taken in order, so that two calls never wait for
        each other.
        """
        slots = sorted({_slot(self.project, path) for path in paths})
        return (
            self._database.hold(slots[0], wait) if len(slots) == 1 else self._hold_all(slots, wait)
        )

    @contextmanager
    def _hold_all(self, slots: Sequence[str], wait: float) -> Iterator[None]:
        with ExitStack() as held:
            for slot in slots:
                held.enter_context(self._database.hold(slot, wait))
            yield

    # approvals

    def add_approval(self, approval: Approval) -> None:
        body = canonical(msgspec.structs.replace(approval, path=RelPath(quote(approval.path))))
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

    def approval(self, id: str) -> Approval | None:
        rows = self._read(f"{APPROVAL} AND id = ?", (self.project, id))
        return approval_of(rows[0]) if rows else None

    def approvals(self, state: str, limit: int = 100) -> tuple[Approval, ...]:
        rows = self._read(
            f"{APPROVAL} AND state = ? ORDER BY created DESC, id LIMIT ?",
            (self.project, state, limit),
        )
        return tuple(approval_of(row) for row in rows)

    def settle(self, id: str, state: Literal["approved", "denied"], by: str) -> bool:
        """Answer a pending approval; the first answer stands. True when this answer is the one that
        stands.
        """
        self._write(
            "UPDATE approvals SET state = ?, settled_by = ? WHERE project = ? AND id = ? AND state"
            " = 'pending'",
            (state, by, self.project, id),
        )
        found = self.approval(id)
        return found is not None and (found.state, found.settled_by) == (state, by)

    def use(self, id: str, call: str) -> bool:
        """Spend an approval on one call. True for the one call that spent it, however often that
        call asks.
        """
        self._write(
            "UPDATE approvals SET state = 'used', used_by = ? WHERE project = ? AND id = ? AND"
            " state = 'approved'",
            (call, self.project, id),
        )
        found = self.approval(id)
        return found is not None and (found.state, found.used_by) == ("used", call)

    # the ledger

    def append(self, entry: AuditEntry, caller: Caller | None = None) -> AuditRow:
        """Chain an entry and charge its cost. With a `caller`, refuse (and chain nothing) if a
        budget is overdrawn.
        """
        return self.record((entry,), caller)[0]

    def record(
        self,
        entries: Sequence[AuditEntry],
        caller: Caller | None = None,
        *,
        blobs: Iterable[tuple[str, bytes]] = (),
        versions: Iterable[Version] = (),
        facts: Iterable[Fact] = (),
        wait: bool = True,
    ) -> tuple[AuditRow, ...]:
        """Several entries with the contents, versions and facts they name: all of it or nothing.
        Without `wait` the commit does not wait for the disk.
        """
        contents, fresh, found = tuple(blobs), tuple(versions), tuple(facts)

        kept: list[tuple[str, str, str, str]] = []

        def work(query: Query) -> tuple[AuditRow, ...]:
            kept.clear()
            for digest, data in contents:
                query(
                    "INSERT INTO blobs VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    (self.project, digest, data),
                )
            rows = chain(query, self._place, entries, caller)
            newest: Newest = {}
            for version in fresh:
                add_version(query, self.project, version, newest)
            for digest, kind, tool, body in found:
                key = (self.project, digest, kind, tool)
                if key in self._facts:
                    continue
                kept.append(key)
                if not query(
                    KNOWN, key
                ):  # a look is cheaper than a large insert that changes nothing
                    query(
                        "INSERT INTO facts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                        (*key, body),
                    )
            self._attest(rows)
            return rows

        made = self._database.transact(work, write=True, wait=wait)
        if len(self._facts) > _REMEMBERED:
            self._facts.clear()
        self._facts.update(kept)
        return made

    def flush(self) -> None:
        self._database.flush()

    def witness(self, every: int, sign: Witness) -> None:
        """Have `sign` called with the ledger's head (number, hash, time) by each transaction that
        appends a row whose number is a multiple of `every`: before it commits, and with the head it
        found. That head is durable already and the transaction is not, so a process that ends in
        between leaves nothing that contradicts the ledger.
        """
        self._witness = every, sign

    def _attest(self, rows: Sequence[AuditRow]) -> None:
        if self._witness is None or not rows:
            return
        every, sign = self._witness
        before = rows[0].seq - 1
        if before and rows[-1].seq // every > before // every:
            first = unseal(rows[0])
            sign(before, first.prev, first.at)

    def pending(self) -> tuple[AuditRow, ...]:
        """The intents of writes that have no outcome yet, oldest first."""
        return tuple(AuditRow(*row) for row in self._read(PENDING, (self.project,)))

    def pending_count(self) -> int:
        """How many these are: asked before every write."""
        return int(
            self._read("SELECT COUNT(*) FROM pending WHERE project = ?", (self.project,))[0][0]
        )

    def audit(self, after: int = 0, limit: int = 1_000) -> tuple[AuditRow, ...]:
        rows = self._read(f"{AUDIT} AND seq > ? ORDER BY seq LIMIT ?", (self.project, after, limit))
        return tuple(AuditRow(*row) for row in rows)

    def audit_of(
        self, session: str, path: str | None = None, limit: int = 1_000
    ) -> tuple[AuditRow, ...]:
        """The newest entries of a session, or of one path in it, oldest first."""
        if path is None:
            rows = self._read(
                f"{AUDIT} AND session = ? ORDER BY seq DESC LIMIT ?", (self.project, session, limit)
            )
        else:
            sql = f"{AUDIT} AND session = ? AND path = ? ORDER BY seq DESC LIMIT ?"
            rows = self._read(sql, (self.project, session, quote(path), limit))
        return tuple(AuditRow(*row) for row in reversed(rows))

    def audit_of_call(self, call: str) -> tuple[AuditRow, ...]:
        """The rows of one call and of its parts (`CALL.0`, `CALL.1` …), oldest first."""
        sql = f"{AUDIT} AND (call = ? OR (call >= ? AND call < ?)) ORDER BY seq"
        return tuple(
            AuditRow(*row) for row in self._read(sql, (self.project, call, f"{call}.", f"{call}/"))
        )

    def head(self) -> tuple[int, str]:
        rows = self._read(
            "SELECT seq, hash FROM heads WHERE project = ? AND name = 'audit'", (self.project,)
        )
        return (rows[0][0], rows[0][1]) if rows else (0, GENESIS)

    def drop_audit(self, through: int) -> int:
        return len(
            self._write(
                "DELETE FROM audit WHERE project = ? AND seq <= ? RETURNING 1",
                (self.project, through),
            )
        )

    def spent(self, caller: str, session: str) -> Spent:
        rows = self._read(SPENT, (self.project, caller, session))
        return Spent(*rows[0]) if rows else Spent()

    def tally(self) -> tuple[tuple[str, str, Spent], ...]:
        rows = self._read(
            "SELECT caller, session, reads, writes, bytes, tokens FROM spending WHERE project = ? "
            "ORDER BY caller, session",
            (self.project,),
        )
        return tuple((row[0], row[1], Spent(*row[2:])) for row in rows)


@lru_cache(maxsize=_REMEMBERED)
def _slot(project: str, path: str) -> str:
    return sha256(f"{project} {quote(path)}")[:2]
