"""The write-ahead log between short-lived processes."""

from __future__ import annotations

from pathlib import Path

from sutler.store.sqlite import open_sqlite


def test_the_log_does_not_grow_for_ever(tmp_path: Path) -> None:
    """A command opens, writes and closes; however often that happens, the log stays short and
    nothing is lost.
    """
    path = tmp_path / "state.db"
    for number in range(40):
        store = open_sqlite(str(path), "p")
        store.put_blob(str(number), bytes([number]) * 300_000)
        store.close()
        assert sum(file.stat().st_size for file in tmp_path.glob("state.db-wal")) < 6_000_000
    store = open_sqlite(str(path), "p")
    assert all(store.blob(str(number)) == bytes([number]) * 300_000 for number in range(40))
    store.close()
