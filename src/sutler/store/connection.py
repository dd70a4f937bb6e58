"""Connections to PostgreSQL: a pool, and errors that name the cause without the URL.

The driver's messages can contain host, user and database. Ours name the kind of failure: no server,
no database, a refused login, missing rights."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from sutler.errors import DeniedError, RefusedError, SutlerError, UsageError

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

_SECONDS = 5  # a command must not hang on a server that is down
_NOT_RECORDED = "what is not recorded does not happen"


def connect(url: str) -> Connection:
    """Open a connection whose commits are on the disk when they return. Raises psycopg.Error."""
    import psycopg

    connection = psycopg.connect(url, autocommit=True, connect_timeout=_SECONDS)
    connection.execute("SET synchronous_commit = on")
    return connection


def require_driver() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise UsageError(
            "a PostgreSQL store needs psycopg", next_step="run pip install 'psycopg[binary]'"
        ) from None


def explain(fault: Exception) -> SutlerError:
    """Translate an exception of the driver. Before a login the driver keeps no error code of the
    server, so its sentences are compared."""
    from psycopg import errors

    text = str(fault)
    if isinstance(fault, errors.InsufficientPrivilege):
        return DeniedError(
            "the PostgreSQL store refused: this member has no right to do that",
            rule="a member's role decides: reader, writer, approver, admin",
            next_step="ask an administrator of the store ('sutler store members')",
        )
    if isinstance(fault, errors.UndefinedTable | errors.UndefinedFunction):
        return no_store()
    if "password authentication failed" in text or "no password supplied" in text:
        what, then = "the login was refused: wrong user or password", "check both in the URL"
    elif "FATAL" in text and "role" in text and "does not exist" in text:
        what, then = "the login was refused: no such user", "check the user in the URL"
    elif "FATAL" in text and "database" in text and "does not exist" in text:
        what, then = "the server has no such database", "create it, or check the end of the URL"
    elif "pg_hba" in text or "permission denied for database" in text:
        what, then = "the server admits no such login", "ask the server's administrator"
    elif isinstance(fault, errors.OperationalError) and "FATAL" not in text:
        what, then = "there is no server at that address", "check that it runs, and the URL's host"
    else:
        what, then = f"the server failed ({type(fault).__name__})", "look into the server's log"
    return SutlerError(
        f"the PostgreSQL store cannot be used: {what}", rule=_NOT_RECORDED, next_step=then
    )


def no_store() -> UsageError:
    return UsageError(
        "this database holds no sutler store, or an older one",
        rule="clients do not change the schema",
        next_step="an administrator runs 'sutler store init URL' once, and after an update",
    )


def refuse_superuser(connection: Connection) -> None:
    """Raise RefusedError for a login that row-level security does not apply to."""
    row = connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = session_user"
    ).fetchone()
    if row is not None and row[0]:
        raise RefusedError(
            "this login is a superuser of the database",
            rule="a superuser passes every check of rows",
            next_step="make a login of your own: 'sutler store members add NAME --role writer'",
        )


class Pool:
    """At most `size` connections, opened when needed and used again, last used first."""

    def __init__(self, url: str, size: int = 1) -> None:
        require_driver()
        self.url = url
        self._free: list[Connection] = []
        self._room = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """Lend a connection. One that was closed meanwhile, or is inside a failed transaction, is
        not used again; if the server ended it, neither are the others: it has restarted."""
        from psycopg.pq import TransactionStatus

        with self._room:
            with self._lock:
                connection = self._free.pop() if self._free else None
            connection = connection or connect(self.url)
            try:
                yield connection
            finally:
                idle = connection.info.transaction_status == TransactionStatus.IDLE
                if not connection.closed and idle:
                    with self._lock:
                        self._free.append(connection)
                else:
                    if connection.broken:
                        self.close()
                    connection.close()

    def close(self) -> None:
        with self._lock:
            while self._free:
                self._free.pop().close()
