"""The seam to persistent state: what the store needs of a database, which SQLite and PostgreSQL
implement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, Protocol, TypeVar

Value = str | int | bytes
Row = tuple[Any, ...]
"""A row from the driver; `sql.py` converts it to a value at once."""
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
