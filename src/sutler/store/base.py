"""The seam: what the rest of sutler may ask of its memory, in domain values.

Every method is one transaction. A store belongs to one project, and no method can name another.
Writes are idempotent: a retry after a lost reply changes nothing and answers what the first try
would have answered.
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

Value = str | int | bytes
Row = tuple[Any, ...]
"""A row as the driver gives it; `sql.py` turns it into a value at once."""
Witness = Callable[[int, str, str], None]
"""Receives the number, the hash and the time of a ledger's head."""
T = TypeVar("T")


class Query(Protocol):
    """Run one statement with `?` placeholders inside the current transaction."""

    def __call__(self, sql: str, params: Sequence[Value] = ()) -> list[Row]: ...

    def changes(self) -> int:
        """How many rows the last of these statements added, changed or removed."""
        ...


class Database(Protocol):
    """What differs between SQLite and PostgreSQL: how a transaction begins, ends and is tried
    again.
    """

    dialect: Literal["sqlite", "postgres"]

    def transact(self, work: Callable[[Query], T], *, write: bool, wait: bool = True) -> T:
        """Run `work` in one transaction. It may run more than once, and only the last run counts.
        Without `wait` a commit outlives the process and reaches the disk with the next commit that
        waits, or with `flush`.
        """
        ...

    def select(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        """What one statement finds, in a transaction of its own."""
        ...

    def flush(self) -> None:
        """Return when everything that was committed is on the disk."""
        ...

    def hold(self, slot: str, wait: float) -> AbstractContextManager[None]:
        """Have `slot` (a short plain word) to oneself, among all processes; the end of a process
        frees it.
        """
        ...

    def compact(self) -> None:
        """Give unused room back to the disk, if the database does not do so by itself."""
        ...

    def close(self) -> None: ...


class Store(Protocol):
    project: str

    def close(self) -> None: ...

    # registry
    def registry(self) -> tuple[RegistryRow, ...]: ...
    def update_registry(self, rows: Iterable[RegistryRow], gone: Iterable[str] = ()) -> None: ...

    # facts by content digest, kind and the version of the tool that found them
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

    # one writer at a time for each path, whichever front it came through
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
