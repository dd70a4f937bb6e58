"""The schema, as numbered migrations. A migration that has run is never edited: its digest is
checked at every start.

Both databases support the types; only `{blob}` differs. PostgreSQL adds row-level security: a table
shows only rows of the project that the connection names, and only to members of its tenant
(`fences.py`). Only `sutler store init` changes the schema of a PostgreSQL store; clients check it.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from msgspec import Struct

from sutler.errors import SutlerError
from sutler.store.base import Database, Query
from sutler.store.fences import FENCES
from sutler.store.tables import INDEXES, TABLES

Dialect = Literal["sqlite", "postgres"]


class Migration(Struct, frozen=True):
    number: int
    name: str
    statements: tuple[str, ...]
    postgres: tuple[str, ...] = ()  # statements for PostgreSQL alone


MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        1,
        "first tables",
        (
            *(table.create(name) for name, table in TABLES.items()),
            *(f"CREATE INDEX {name} ON {columns}" for name, columns in INDEXES.items()),
        ),
        FENCES,
    ),
)


def statements(migration: Migration, dialect: Dialect) -> tuple[str, ...]:
    """Return the statements of a migration for this database."""
    if dialect == "postgres":
        plain = tuple(sql.replace("{blob}", "BYTEA") for sql in migration.statements)
        return (*plain, *migration.postgres)
    # STRICT: without it a column silently accepts values of other types.
    return tuple(
        sql.replace("{blob}", "BLOB").replace("BIGINT", "INTEGER") + " STRICT"
        if sql.startswith("CREATE TABLE")
        else sql
        for sql in migration.statements
    )


def digest(migration: Migration, dialect: Dialect) -> str:
    return hashlib.sha256("\n".join(statements(migration, dialect)).encode()).hexdigest()


def migrate(database: Database, migrations: tuple[Migration, ...] = MIGRATIONS) -> int:
    """Bring the schema up to date in one transaction and verify every step that had already run."""
    return database.transact(
        lambda query: _migrate(query, database.dialect, migrations), write=True
    )


def _migrate(query: Query, dialect: Dialect, migrations: tuple[Migration, ...]) -> int:
    if dialect == "postgres":
        # Two processes that start at once must not both migrate.
        query("SELECT 1 FROM pg_advisory_xact_lock(7811285)")
    query(
        "CREATE TABLE IF NOT EXISTS sutler_migrations "
        "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, digest TEXT NOT NULL)"
    )
    _adopt(query, dialect, migrations[0])
    for migration in missing(query, dialect, migrations):
        for sql in statements(migration, dialect):
            query(sql)
        _record(query, dialect, migration)
    return max(migration.number for migration in migrations)


def _record(query: Query, dialect: Dialect, migration: Migration) -> None:
    query(
        "INSERT INTO sutler_migrations VALUES (?, ?, ?)",
        (migration.number, migration.name, digest(migration, dialect)),
    )


_LAST_OF_SEVEN = "6c153ad47ce6aec262ebc5890fe764edae196d5530591740ed3b82018fe71e8a"


def _adopt(query: Query, dialect: Dialect, first: Migration) -> None:
    """Keep an SQLite store of the development versions, whose ledger and history would be lost:
    their seven steps made the tables of the first one, with defaults for columns now unused."""
    last = "SELECT 1 FROM sutler_migrations WHERE number = 7 AND digest = ?"
    if dialect == "sqlite" and list(query(last, (_LAST_OF_SEVEN,))):
        query("DELETE FROM sutler_migrations")
        _record(query, dialect, first)


def missing(
    query: Query, dialect: Dialect, migrations: tuple[Migration, ...] = MIGRATIONS
) -> tuple[Migration, ...]:
    """Return the steps that the store lacks; raise SutlerError if it has others than ours."""
    done = {
        row[0]: row[1]
        for row in query("SELECT number, digest FROM sutler_migrations ORDER BY number")
    }
    numbers = {migration.number for migration in migrations}
    if unknown := sorted(str(number) for number in done if number not in numbers):
        raise SutlerError(
            f"the store holds schema step {unknown[0]}, which this sutler does not know",
            rule="a store is never read by an older sutler",
            next_step="update sutler, or point it at another state directory",
        )
    for migration in migrations:
        if done.get(migration.number) not in (None, digest(migration, dialect)):
            raise SutlerError(
                f"schema step {migration.number} in the store differs from the one this sutler"
                " carries",
                rule="a migration that has run is never edited",
                next_step="restore the store from a backup, or start with an empty state directory",
            )
    return tuple(migration for migration in migrations if migration.number not in done)
