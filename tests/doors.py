"""A door into a planted tree, over a store that does not wait for the disk."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from sutler.access.audit import Clock, Ledger
from sutler.access.door import Door
from sutler.access.gate import Gate
from sutler.access.policy import Rules
from sutler.access.setup import Setup
from sutler.formats.document import CleanText, Finding
from sutler.scan.root import Root
from sutler.scan.snapshot import ScanRules
from sutler.store.home import private_dir
from sutler.store.records import CLOUD, BackendProfile, Caller, Limits
from sutler.store.sql import Store
from sutler.store.sqlite import SqliteDatabase, open_sqlite

SECRET = re.compile(r"canary-[0-9a-f]{12}|-----BEGIN KEY-----(?s:.*?)(?:-----END KEY-----|\Z)")


def fake_clean(text: str, path: str) -> CleanText:
    """A redactor with two rules. The real one is tested elsewhere; here it matters where a redactor
    stands.
    """
    found: list[Finding] = []

    def hide(match: re.Match[str]) -> str:
        found.append(Finding("fake", 1, 1.0))
        return "[REDACTED]" + "\n" * match.group().count("\n")

    return CleanText(SECRET.sub(hide, text), tuple(found))


def quick(store: Store) -> Store:
    """Durability is another test's subject."""
    database = store.database
    assert isinstance(database, SqliteDatabase)
    database._connection.execute("PRAGMA synchronous = OFF")
    return store


Tree = Mapping[str, Any]
OpenDoor = Callable[..., Door]


@pytest.fixture
def door_state(tmp_path: Path) -> str:
    return private_dir(str(tmp_path / "state"))


@pytest.fixture
def open_door(tmp_path: Path, plant: Callable[[Tree], Path], door_state: str) -> Iterator[OpenDoor]:
    """open_door({"a.py": "…"}, profile=LOCAL) plants the tree and opens a door into it."""
    roots: list[Root] = []
    store = quick(open_sqlite(f"{door_state}/state.db", "p"))
    ledger = Ledger(store, door_state, b"k" * 32)

    def open_one(
        tree: Tree,
        *,
        profile: BackendProfile = CLOUD,
        session: str = "s",
        rules: Rules | None = None,
        limits: Limits | None = None,
        clock: Clock = time.time,
    ) -> Door:
        roots.append(Root(str(plant(tree))))
        caller = Caller("c", session, profile, (), limits or Limits())
        gate = Gate(ledger, rules or Rules(), caller, fake_clean, clock=clock)
        return Door(
            roots[-1],
            gate,
            Setup(ScanRules(skip_file_bytes=None), lambda text: len(text) // 4, "1"),
        )

    yield open_one
    store.close()
    for root in roots:
        root.close()
