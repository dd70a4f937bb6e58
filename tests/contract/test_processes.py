"""Many processes on one store, each through its own door: no row is lost and nobody sees a lock.

The long run is SUTLER_FUZZ=40: 8 processes with 500 mixed calls each.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sutler.errors import SutlerError
from sutler.store.home import private_file
from sutler.store.records import Caller, unseal
from sutler.store.sqlite import open_sqlite
from sutler.tools import call, open_door, open_ledger
from tests.conftest import FUZZ, Plant
from tests.limits import joined

PROCESSES = 8
CALLS = max(12, int(12.5 * FUZZ))
MIXED: list[tuple[str, dict[str, object]]] = [
    ("read_file", {"path": "a.py"}),
    ("read_lines", {"path": "a.py", "start": 1, "end": 2}),
    ("read_file", {"path": ".env"}),
    ("list_files", {}),
    ("summarize_file", {"path": "a.py", "max_tokens": 50}),
    ("search", {"query": "def"}),
    ("read_file", {"path": "../outside"}),
    ("get_file_history", {"path": "a.py"}),
]


def work(root: str, number: int, environ: dict[str, str], answers: Any) -> None:
    os.environ.clear()
    os.environ.update(environ)
    trouble = []
    try:
        with open_door(root, Caller(f"c{number}", f"s{number}")) as door:
            for n in range(CALLS):
                name, arguments = MIXED[(n + number) % len(MIXED)]
                try:
                    call(door, name, arguments)
                except SutlerError as refusal:
                    if refusal.exit_code not in (3, 5):
                        trouble.append(str(refusal))
    except BaseException as fault:
        trouble.append(f"{type(fault).__name__}: {fault}")
    answers.put((number, trouble))


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_processes_share_one_store(
    kind: str,
    plant: Plant,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every call of every process has its row, and the chain holds."""
    root = str(plant({"a.py": "def f():\n    pass\n"}))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if kind == "postgres":
        monkeypatch.setenv("SUTLER_STORE", request.getfixturevalue("postgres_url"))
    context = multiprocessing.get_context("spawn")
    answers: Any = context.Queue()
    workers = [
        context.Process(target=work, args=(root, number, dict(os.environ), answers))
        for number in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    found = dict(answers.get(timeout=600) for _ in workers)
    joined(*workers)
    assert found == {number: [] for number in range(PROCESSES)}
    with open_ledger(root, os.environ) as ledger:
        rows = ledger.store.audit(0, 1_000_000)
        assert Counter(unseal(row).session for row in rows) == {
            f"s{n}": CALLS for n in range(PROCESSES)
        }
        checked = ledger.verify()
        assert checked.ok, checked


def test_a_store_that_another_process_is_making_is_waited_for(tmp_path: Path) -> None:
    """SQLite does not wait for a file to be turned into WAL, it says busy at once; whoever comes
    second waits here.
    """
    import apsw

    place = tmp_path / "state"
    place.mkdir(mode=0o700)
    path = str(place / "store.db")
    private_file(path)
    maker = apsw.Connection(path)
    maker.execute("CREATE TABLE making (x)")
    maker.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.5, lambda: maker.execute("COMMIT"))
    done.start()
    try:
        open_sqlite(path, "p").close()
    finally:
        joined(done)
        maker.close()
