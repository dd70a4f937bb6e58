from __future__ import annotations

import uuid
from typing import Any

import msgspec
import pytest

from sutler.errors import RefusedError, SutlerError
from sutler.store.postgres import PostgresDatabase, open_postgres
from sutler.store.records import Caller
from sutler.store.rows import chain
from sutler.store.sql import SqlStore
from sutler.tools import open_door
from tests.conftest import FUZZ, Plant
from tests.stores import entry


@pytest.fixture
def admin(postgres_url: str) -> Any:
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


def _kill(admin: Any, store: SqlStore) -> None:
    database = store._database
    assert isinstance(database, PostgresDatabase)
    assert database._connection is not None
    admin.execute("SELECT pg_terminate_backend(%s, 5000)", (database._connection.info.backend_pid,))


def test_a_killed_backend_is_survived(postgres_url: str, admin: Any) -> None:
    """Between calls and in the middle of a transaction: the row is there, and there once."""
    store = open_postgres(postgres_url, uuid.uuid4().hex)
    count = int(10 * FUZZ)
    for n in range(count):
        killed = False

        def work(query: Any, n: int = n) -> Any:
            nonlocal killed
            row = chain(query, store._place, (entry(f"mid-{n}"),), None)
            if not killed:
                killed = True
                _kill(admin, store)
            return row

        _kill(admin, store)
        store.append(entry(f"between-{n}"))
        store._database.transact(work, write=True)
    assert store.head()[0] == 2 * count
    assert len({row.call for row in store.audit()}) == 2 * count
    store.close()


def test_a_server_that_is_away_is_a_plain_error() -> None:
    with pytest.raises(SutlerError, match="cannot be used") as caught:
        open_postgres("postgresql://someone:hunter2@localhost:1/x", "p")
    assert "hunter2" not in str(caught.value)


def test_two_roles_cannot_read_each_other(postgres_url: str, admin: Any) -> None:
    """Not even by naming the other's project: the database itself refuses."""
    open_postgres(postgres_url, uuid.uuid4().hex).close()  # the schema exists
    urls = {}
    for role in ("ann", "bob"):
        if not admin.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchall():
            admin.execute(f"CREATE ROLE {role} LOGIN")
            admin.execute(f"GRANT USAGE, CREATE ON SCHEMA public TO {role}")
            admin.execute(
                f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"
            )
        urls[role] = postgres_url.replace("postgres:@", f"{role}:@", 1)
    project = uuid.uuid4().hex
    store = open_postgres(urls["ann"], project)
    store.append(entry("c"))
    with pytest.raises(RefusedError, match="another role"):
        open_postgres(urls["bob"], project)
    database = PostgresDatabase(urls["bob"], project)
    for table in ("audit", "heads", "spending", "tenants"):
        count = f"SELECT 1 FROM {table}"  # noqa: S608  # the table's name is our own
        assert database.transact(lambda query, sql=count: query(sql), write=False) == []  # type: ignore[misc]  # bound now
    database.close()
    store.close()


def test_a_backend_killed_in_the_middle_of_a_call_is_survived(
    postgres_url: str, admin: Any, plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the door: the call is answered, its row is there once, and the next call works."""
    monkeypatch.setenv("SUTLER_STORE", postgres_url)
    root = plant({"a.py": "x = 1\n"})
    with open_door(str(root), Caller("c", "s")) as door:
        plain, store = door.setup, door.gate.store
        assert isinstance(store, SqlStore)

        def count(text: str) -> int:
            _kill(admin, store)
            return len(text)

        for n in range(int(5 * FUZZ)):
            door.setup = msgspec.structs.replace(plain, count=count)
            assert door.read_file("a.py").text == "x = 1\n"
            door.setup = plain
            assert door.read_lines("a.py", 1, 1).text == "x = 1\n"
            assert store.head()[0] == 2 * (n + 1)
        assert door.gate.ledger.verify().ok
