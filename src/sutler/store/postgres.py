"""PostgreSQL through psycopg 3, for a store that several machines share.

After a lost connection, a serialization failure or a deadlock the transaction is retried for a
bounded time. This is safe because every write of the store is idempotent: a write whose reply
was lost is detected, not repeated."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Literal, TypeVar

from sutler.errors import SutlerError, UsageError
from sutler.store.base import Query, Row, Value
from sutler.store.connection import Pool, connect, explain, no_store, refuse_superuser
from sutler.store.identity import Identity, Membership, bind, project_in
from sutler.store.migrations import missing
from sutler.store.sql import Store

if TYPE_CHECKING:
    from sutler.store.connection import Connection

T = TypeVar("T")

_PATIENCE = 5.0  # seconds in which a server can restart; serialization failures pass far sooner
_PAUSE, _LONGEST = 0.02, 1.0  # the pause between two tries doubles up to a limit


def open_postgres(url: str, identity: Identity) -> Store:
    """Connect as a member, check the schema, and open the project: `TENANT/NAME`, or a name in the
    only tenant of this member."""
    database = PostgresDatabase(Pool(url), identity.name)
    try:
        database.admit()
        bind(database, database.project, identity)
        return Store(database, database.project)
    except BaseException:
        database.close()
        raise


def member_database(url: str, tenant: str) -> tuple[PostgresDatabase, str]:
    """Connect as a member of a tenant, for data of no project; return the tenant too: the given
    one, or the only one of this login."""
    database = PostgresDatabase(Pool(url), "")
    try:
        rows = database.memberships()
        member = next((row for row in rows if row.tenant == tenant), None)
        if member is None and len(rows) == 1:
            member = rows[0]
        if member is None:
            raise UsageError(
                f"this login is not a member of the tenant {tenant!r}",
                next_step=f"its tenants: {', '.join(row.tenant for row in rows) or 'none'}",
            )
        # Rights are those in a project; a member of few projects has them in the first.
        first = "" if member.projects == "*" else member.projects.split()[0]
        database.project = f"{member.tenant}/{first}"
        return database, member.tenant
    except BaseException:
        database.close()
        raise


class PostgresDatabase:
    """A project in PostgreSQL, over a pool that several projects and people may share. A login of a
    server acts for the member `person`."""

    dialect: Literal["sqlite", "postgres"] = "postgres"

    def __init__(
        self, pool: Pool, project: str, person: str = "", *, patience: float = _PATIENCE
    ) -> None:
        import psycopg

        again = psycopg.errors
        self._pool = pool
        self.project = project
        self.person = person
        self._pid = os.getpid()
        self._patience = patience
        self._start: tuple[tuple[str, str], bytes] | None = None  # the text of `_begin`
        lost = (psycopg.OperationalError, psycopg.InterfaceError)
        clashed = (again.SerializationFailure, again.DeadlockDetected, again.UniqueViolation)
        self._passing = (*lost, *clashed)
        self._failed = psycopg.Error

    def admit(self, *, wait: bool = False) -> None:
        """Check login, schema and membership, and complete the project's name with its tenant.
        `wait` for a server that restarts; without it a wrong URL is an error at once."""
        self.project = project_in(self.project, self.memberships(wait=wait))

    def memberships(self, *, wait: bool = False) -> list[Membership]:
        """Check login and schema; return the tenants of this login."""
        return self._tried(self._memberships, self._patience if wait else 0.0)

    def _memberships(self) -> list[Membership]:
        with self._pool.connection() as connection:
            refuse_superuser(connection)
            if missing(_Statements(connection), "postgres"):
                raise no_store()
            rows = connection.execute("SELECT * FROM sutler_memberships()").fetchall()
            self.person = self.person or connection.info.user
        return [Membership(*row) for row in rows]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self._failed as fault:
            raise explain(fault) from fault

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
        return self._tried(lambda: self._once(work), self._patience)

    def _tried(self, once: Callable[[], T], patience: float) -> T:
        """Call `once`, and again after a fault that may pass, for so many seconds."""
        end, pause = time.monotonic() + patience, _PAUSE
        while True:
            try:
                return once()
            except self._passing as fault:
                if time.monotonic() >= end:
                    raise explain(fault) from fault
            except self._failed as fault:
                raise explain(fault) from fault
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST)

    def _once(self, work: Callable[[Query], T]) -> T:
        with self._pool.connection() as connection:
            connection.execute(self._begin(connection))
            try:
                answer = work(_Statements(connection))
            except BaseException:
                with suppress(self._failed):
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")
            return answer

    def _begin(self, connection: Connection) -> bytes:
        """Return the start of a transaction and its settings, as one message: each message waits
        for an answer. The settings end with the transaction, because the next one on this
        connection may be of another member."""
        names = self.project, self.person
        if self._start is None or self._start[0] != names:
            from psycopg.sql import SQL, Literal

            text = SQL(
                "BEGIN; SELECT set_config('sutler.project', {}, true),"
                " set_config('sutler.person', {}, true)"
            )
            self._start = names, text.format(*map(Literal, names)).as_bytes(connection)
        return self._start[1]

    def compact(self) -> None:
        """Do nothing: the server runs autovacuum."""

    @contextmanager
    def hold(self, slot: str, wait: float) -> Iterator[None]:
        """Take an advisory lock on a separate connection; the server releases it when the
        connection ends."""
        import psycopg

        with self._explained():
            connection = connect(self._pool.url)
        try:
            key = int(sha256(f"sutler {self.project} {slot}".encode()).hexdigest()[:15], 16)
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
                raise explain(fault) from fault
            yield
            # Closing releases the lock too, but with a delay.
            with suppress(psycopg.Error):
                connection.execute("SELECT pg_advisory_unlock_all()")
        finally:
            connection.close()

    def close(self) -> None:
        if os.getpid() == self._pid:
            self._pool.close()


class _Statements:
    """Runs statements inside a transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._changes = 0

    def __call__(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        cursor = self._connection.execute(sql.replace("?", "%s").encode(), tuple(params))
        self._changes = cursor.rowcount
        return cursor.fetchall() if cursor.description else []

    def changes(self) -> int:
        return self._changes
