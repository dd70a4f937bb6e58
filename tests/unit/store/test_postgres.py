from __future__ import annotations

import uuid
from typing import Any

import msgspec
import pytest

from sutler.store.identity import Identity
from sutler.store.postgres import open_postgres
from sutler.store.records import Caller
from sutler.store.rows import chain
from sutler.store.sql import Store
from sutler.tools import open_door
from tests.conftest import FUZZ, Plant
from tests.stores import entry


@pytest.fixture
def admin(postgres_admin: str) -> Any:
    import psycopg

    with psycopg.connect(postgres_admin, autocommit=True) as connection:
        yield connection


def _kill(admin: Any, store: Store) -> None:
    admin.execute(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = %s AND"
        " backend_type = 'client backend'",
        (store.person,),
    )


def test_a_killed_backend_is_survived(postgres_url: str, admin: Any) -> None:
    """Between calls and in the middle of a transaction: the row is there, and there once."""
    store = open_postgres(postgres_url, Identity(uuid.uuid4().hex))
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
        store.database.transact(work, write=True)
    assert store.head()[0] == 2 * count
    assert len({row.call for row in store.audit()}) == 2 * count
    store.close()


def test_a_backend_killed_in_the_middle_of_a_call_is_survived(
    postgres_url: str, admin: Any, plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Through the door: the call is answered, its row is there once, and the next call works."""
    monkeypatch.setenv("SUTLER_STORE", postgres_url)
    root = plant({"a.py": "x = 1\n"})
    with open_door(str(root), Caller("c", "s")) as door:
        plain, store = door.setup, door.gate.store

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
