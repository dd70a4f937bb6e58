"""PostgreSQL through psycopg 3, for a store that several machines share.

After a lost connection, a serialization failure or a deadlock the transaction is retried a bounded
number of times. This is safe because every write of the store is idempotent: a write whose reply
was lost is detected, not repeated.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from sutler.errors import RefusedError, SutlerError, UsageError
from sutler.store.base import Query, Row, Value
from sutler.store.migrations import migrate
from sutler.store.sql import SqlStore

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

_TRIES = 6
_PAUSE = 0.02  # doubles: about 0.6 s in all before giving up


def open_postgres(url: str, project: str) -> SqlStore:
    """Connect, bring the schema up to date, and claim the project for the connecting role."""
    database = PostgresDatabase(url, project)
    try:
        migrate(database)
        database.claim()
        return SqlStore(database, project)
    except BaseException:
        database.close()
        raise


class PostgresDatabase:
    dialect: Literal["sqlite", "postgres"] = "postgres"
    person = ""

    def __init__(self, url: str, project: str) -> None:
        try:
            import psycopg
        except ImportError:
            raise UsageError(
                "a PostgreSQL store needs psycopg",
                next_step="install sutler with its postgres extra",
            ) from None
        again = psycopg.errors
        self._url = url
        self._project = project
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._lost = (psycopg.OperationalError, psycopg.InterfaceError)
        self._again = (again.SerializationFailure, again.DeadlockDetected, again.UniqueViolation)
        self._failed = psycopg.Error
        self._connection: psycopg.Connection[Any] | None = None

    def _connect(self) -> psycopg.Connection[Any]:
        import psycopg

        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(self._url, autocommit=True, connect_timeout=5)
            self._connection.execute("SET synchronous_commit = on")
            self._connection.execute(
                "SELECT set_config('sutler.project', %s, false)", (self._project,)
            )
        return self._connection

    def claim(self) -> None:
        """Claim the project for this role; raise RefusedError if another role owns it."""

        def work(query: Query) -> list[Row]:
            query(
                "INSERT INTO tenants (project) VALUES (?) ON CONFLICT DO NOTHING", (self._project,)
            )
            return query(
                "SELECT 1 FROM tenants WHERE project = ? AND owner = current_user", (self._project,)
            )

        if not self.transact(work, write=True):
            raise RefusedError(
                "this project belongs to another role in this database",
                rule="a project has one owner",
                next_step="connect as that role, or give the project another name",
            )

    def select(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        return self.transact(lambda query: query(sql, params), write=False)

    def flush(self) -> None:
        """Do nothing: every commit is on the disk when it returns."""

    def transact(self, work: Callable[[Query], T], *, write: bool, wait: bool = True) -> T:
        if os.getpid() != self._pid:
            raise SutlerError(
                "a store was carried into another process",
                next_step="open the store after the fork",
            )
        with self._lock:
            for turn in range(_TRIES):
                try:
                    return self._once(work)
                except self._again as fault:
                    last: Exception = fault
                except self._lost as fault:
                    self._drop()
                    last = fault
                except self._failed as fault:
                    raise self._error(fault) from fault
                time.sleep(_PAUSE * 2**turn)
            raise self._error(last) from last

    def _error(self, fault: Exception) -> SutlerError:
        # The driver's message can contain the host and the user, so only its type is shown.
        return SutlerError(
            f"the PostgreSQL store cannot be used ({type(fault).__name__})",
            rule="what is not recorded does not happen",
            next_step="check that the server is up and that the URL and the role are right",
        )

    def _once(self, work: Callable[[Query], T]) -> T:
        connection = self._connect()
        with connection.transaction():
            return work(_Statements(connection))

    def compact(self) -> None:
        """Do nothing: the server runs autovacuum."""

    @contextmanager
    def hold(self, slot: str, wait: float) -> Iterator[None]:
        """Take an advisory lock on a separate connection; the server releases it when the
        connection ends.
        """
        import psycopg

        try:
            connection = psycopg.connect(self._url, autocommit=True, connect_timeout=5)
        except psycopg.Error as fault:
            raise self._error(fault) from fault
        try:
            key = int(sha256(f"sutler {self._project} {slot}".encode()).hexdigest()[:15], 16)
            try:
                connection.execute(
                    "SELECT set_config('lock_timeout', %s, false)",
                    (f"{max(1, int(wait * 1000))}ms",),
                )
                connection.execute("SELECT pg_advisory_lock(%s)", (key,))
            except psycopg.errors.LockNotAvailable:
                raise SutlerError(
                    "another process holds this file",
                    rule="a file is written by one call at a time",
                    next_step="try again in a moment",
                ) from None
            except psycopg.Error as fault:
                raise self._error(fault) from fault
            yield
            # Closing releases the lock too, but with a delay.
            with suppress(psycopg.Error):
                connection.execute("SELECT pg_advisory_unlock_all()")
        finally:
            connection.close()

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def close(self) -> None:
        with self._lock:
            if os.getpid() == self._pid:
                self._drop()


class _Statements:
    """Runs statements inside a transaction."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self._changes = 0

    def __call__(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        cursor = self._connection.execute(sql.replace("?", "%s").encode(), tuple(params))
        self._changes = cursor.rowcount
        return cursor.fetchall() if cursor.description else []

    def changes(self) -> int:
        return self._changes
