"""The seam to persistent state: protocols of the store and its databases, in domain values.

Every method is one transaction. A store belongs to one project, and no method can name another.
Writes are idempotent: a retry after a lost reply changes nothing and returns the result of the
first try.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, TypeVar

from sutler.store.records import (
    Approval,
    AuditEntry,
    AuditRow,
    Caller,
    Fact,
    Receipt,
    RegistryRow,
    Spent,
    Version,
)

Value = str | int | bytes | list[str] | list[int]
"""A parameter of a statement; only PostgreSQL takes lists."""
Row = tuple[Any, ...]
"""A row from the driver; `sql.py` converts it to a value at once."""
Witness = Callable[[int, str, str], None]
"""Receives the number, the hash and the time of a ledger's head."""
T = TypeVar("T")


class Query(Protocol):
    """Run one statement with `?` placeholders inside the current transaction."""

    def __call__(self, sql: str, params: Sequence[Value] = ()) -> list[Row]: ...

    def changes(self) -> int:
        """Return how many rows the last statement inserted, updated or deleted."""
        ...


class Database(Protocol):
    """The differences between SQLite and PostgreSQL: how a transaction begins, ends and is
    retried."""

    dialect: Literal["sqlite", "postgres"]
    person: str

    def transact(self, work: Callable[[Query], T], *, write: bool, wait: bool = True) -> T:
        """Run `work` in one transaction. It may run more than once, and only the last run counts.
        Without `wait` the commit survives the end of the process; it is synced by the next commit
        that waits, or by `flush`."""
        ...

    def select(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        """Return the rows of one statement, in its own transaction."""
        ...

    def flush(self) -> None:
        """Return when all commits are on the disk."""
        ...

    def hold(self, slot: str, wait: float) -> AbstractContextManager[None]:
        """Lock `slot` (a short plain word) against all other processes; the end of a process
        releases it."""
        ...

    def compact(self) -> None:
        """Return unused space to the file system, if the database does not do so by itself."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    project: str

    @property
    def person(self) -> str:
        """Name of the member that the database authenticated; empty for a database of one user."""
        ...

    def close(self) -> None: ...

    # registry
    def registry(self) -> tuple[RegistryRow, ...]: ...
    def update_registry(self, rows: Iterable[RegistryRow], gone: Iterable[str] = ()) -> None: ...

    # facts by content digest, kind and version of the tool
    def fact(self, digest: str, kind: str, tool: str) -> bytes | None: ...
    def put_fact(self, digest: str, kind: str, tool: str, body: bytes) -> None: ...
    def forget_facts(self) -> int: ...

    # packs that left
    def put_receipt(self, receipt: Receipt, files: bytes = b"") -> None: ...
    def receipts(self, limit: int = 100, start: str = "") -> tuple[Receipt, ...]: ...
    def sent(self, pack: str) -> bytes: ...

    # contents by digest, and the versions that name them
    def put_blob(self, digest: str, data: bytes) -> None: ...
    def blob(self, digest: str) -> bytes | None: ...
    def add_version(self, version: Version) -> None: ...
    def versions(self, path: str, limit: int = 100) -> tuple[Version, ...]: ...
    def keep_versions(self, newest: int) -> int: ...
    def compact(self) -> None: ...

    # one writer at a time for each path, across all fronts
    def hold(self, paths: Iterable[str], wait: float = 30.0) -> AbstractContextManager[None]: ...

    # approvals
    def add_approval(self, approval: Approval) -> None: ...
    def approval(self, id: str) -> Approval | None: ...
    def approvals(self, state: str, limit: int = 100) -> tuple[Approval, ...]: ...
    def settle(self, id: str, state: Literal["approved", "denied"], by: str) -> bool: ...
    def use(self, id: str, call: str) -> bool: ...

    # the ledger
    def append(self, entry: AuditEntry, caller: Caller | None = None) -> AuditRow: ...
    def record(
        self,
        entries: Sequence[AuditEntry],
        caller: Caller | None = None,
        *,
        blobs: Iterable[tuple[str, bytes]] = (),
        versions: Iterable[Version] = (),
        facts: Iterable[Fact] = (),
        wait: bool = True,
    ) -> tuple[AuditRow, ...]: ...
    def witness(self, every: int, sign: Witness) -> None: ...
    def flush(self) -> None: ...
    def pending(self) -> tuple[AuditRow, ...]: ...
    def pending_count(self) -> int: ...
    def audit(self, after: int = 0, limit: int = 1_000) -> tuple[AuditRow, ...]: ...
    def audit_of(
        self, session: str, path: str | None = None, limit: int = 1_000
    ) -> tuple[AuditRow, ...]: ...
    def audit_of_call(self, call: str) -> tuple[AuditRow, ...]: ...
    def head(self) -> tuple[int, str]: ...
    def drop_audit(self, through: int) -> int: ...
    def spent(self, caller: str, session: str) -> Spent: ...
    def tally(self) -> tuple[tuple[str, str, Spent], ...]: ...
