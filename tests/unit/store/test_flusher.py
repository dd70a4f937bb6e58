"""Commits that do not wait for the disk: seen at once, synced soon, and never trusted after a failed sync."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.stores import entry

from sutler.store.flusher import Flusher
from sutler.store.sql import SqlStore
from sutler.store.sqlite import open_sqlite
from sutler.values.errors import SutlerError


def test_what_did_not_wait_is_seen_by_others_at_once(tmp_path: Path) -> None:
    """Another connection, as another process would have, finds the row; flush comes back when it is synced."""
    path = str(tmp_path / "state.db")
    store, other = open_sqlite(path, "p"), open_sqlite(path, "p")
    store.record((entry("1"),), wait=False)
    assert [row.call for row in other.audit()] == ["1"]
    store.flush()
    store.record((entry("2"),))
    store.record((entry("3"),), wait=False)
    assert [row.call for row in other.audit()] == ["1", "2", "3"]
    store.close()
    other.close()


def test_a_failed_sync_is_not_tried_again(tmp_path: Path) -> None:
    """The log is gone from under the flusher: nothing is recorded any more, and the error says so."""
    store = open_sqlite(str(tmp_path / "state.db"), "p")
    database = store._database
    broken = Flusher(str(tmp_path / "nothing"))
    database._flusher = broken  # type: ignore[attr-defined]  # the only way to have a disk fail here
    store.record((entry("1"),), wait=False)
    with pytest.raises(SutlerError, match="did not reach the disk"):
        store.flush()
    with pytest.raises(SutlerError, match="did not reach the disk"):
        store.record((entry("2"),), wait=False)
    store.close()


def test_the_flusher_waits_for_nobody_when_nothing_is_new(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"x")
    flusher = Flusher(str(tmp_path / "log"))
    assert flusher.start()()
    for _ in range(50):
        flusher.committed()
        assert flusher.start()()
    flusher.close()
    assert not [name for name in os.listdir("/proc/self/fd") if _leads_to(name, str(tmp_path / "log"))]


def test_a_sync_is_begun_once_for_what_is_new_and_its_failure_is_final(tmp_path: Path) -> None:
    begun: list[int] = []

    def failing(fd: int) -> Callable[[], None]:
        begun.append(fd)

        def wait() -> None:
            raise OSError(5, "injected")

        return wait

    (tmp_path / "log").write_bytes(b"x")
    flusher = Flusher(str(tmp_path / "log"))
    flusher.sync = failing
    assert flusher.start()()
    flusher.committed(wake=False)
    first, second = flusher.start(), flusher.start()
    assert (first(), second(), flusher.start()()) == (False, False, False)
    assert (len(begun), flusher.broken) == (2, True)
    flusher.close()


def _leads_to(name: str, path: str) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{name}") == path
    except FileNotFoundError:
        return False


def test_the_log_begins_anew_while_calls_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is moved into the database behind the calls' backs; it does not grow with their number."""
    monkeypatch.setattr("sutler.store.sqlite._FULL", 50)
    store = open_sqlite(str(tmp_path / "state.db"), "p")
    sizes = []
    for n in range(400):
        store.record((entry(str(n)),), wait=False)
        sizes.append((tmp_path / "state.db-wal").stat().st_size)
        if n % 40 == 39:  # time for the thread, however busy the machine is
            store.flush()
            _settle(store)
    assert sizes[-1] < 400 * 4_096 * 4
    store.close()
    again = open_sqlite(str(tmp_path / "state.db"), "p")
    assert again.head()[0] == 400
    again.close()


def _settle(store: SqlStore) -> None:
    backfill = store._database._backfill  # type: ignore[attr-defined]  # to wait for what nobody has to wait for
    with backfill._state:
        backfill._state.wait_for(lambda: not backfill._wanted, 10)
