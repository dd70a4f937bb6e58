"""Receipts are kept, whether the store is opened for them or not, and it is told when they cannot
be.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from msgspec.structs import replace

from sutler.pack import receipts
from sutler.pack.project import Project
from sutler.pack.receipts import Receipt
from sutler.store import home
from tests.limits import joined


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.py").write_text("print(1)\n")
    return tmp_path / "tree"


def receipt(root: Path) -> Receipt:
    packing = Project(root).pack()
    packing.text()
    return receipts.receipt_of(packing.report, project="tree", destination="stdout", redacted=True)


def left(root: Path) -> list[str]:
    """Receipts that wait for the store."""
    folder = Path(home.project_folder(str(root), os.environ)[0]) / receipts.FOLDER
    return os.listdir(folder) if folder.exists() else []


def test_a_receipt_waits_for_the_store_and_is_in_it_when_somebody_looks(root: Path) -> None:
    stored, trouble = receipts.recorded(receipt(root), str(root), os.environ)
    assert (trouble, len(left(root))) == ("", 1)
    assert not (Path(home.project_folder(str(root), os.environ)[0]) / "state.db").exists()
    assert receipts.receipts(str(root), os.environ) == [stored]
    assert left(root) == []
    receipts.verify(stored, os.environ)
    assert receipts.find(str(root), os.environ, stored.pack_id[:8]) == stored


def test_many_receipts_do_not_wait_for_ever(root: Path) -> None:
    made = receipt(root)
    for _ in range(receipts.MOST + 1):
        assert receipts.recorded(made, str(root), os.environ)[1] == ""
    assert left(root) == []
    for _ in range(3):
        receipts.recorded(made, str(root), os.environ)
    assert len(left(root)) == 3


def test_receipts_that_are_left_by_many_at_once_all_arrive(root: Path) -> None:
    made = [replace(receipt(root), at=f"2026-01-01T00:00:00.{n:06d}Z") for n in range(60)]
    seen: list[tuple[Receipt, str]] = []

    def leave(some: list[Receipt]) -> None:
        for one in some:
            seen.append(receipts.recorded(one, str(root), os.environ))
            receipts.receipts(str(root), os.environ, 1)

    threads = [threading.Thread(target=leave, args=(made[n::4],)) for n in range(4)]
    for thread in threads:
        thread.start()
    joined(*threads)
    assert {trouble for _, trouble in seen} == {""}
    kept = receipts.receipts(str(root), os.environ, 100)
    assert sorted(one.at for one in kept) == sorted(one.at for one in made)
    assert all(one.files == made[0].files for one in kept)


def test_a_state_that_cannot_be_kept_is_a_note(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = receipt(root)
    (root / "blocked").write_text("not a folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "blocked"))
    stored, trouble = receipts.recorded(made, str(root), os.environ)
    assert stored == made
    assert trouble.startswith("the receipt was not stored: ")


def test_a_store_that_does_not_answer_is_a_note_and_the_receipt_waits(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A team's store is told at once; while it is away nothing is lost."""
    monkeypatch.setenv("SUTLER_STORE", "postgresql://nobody@127.0.0.1:1/nothing?connect_timeout=1")
    stored, trouble = receipts.recorded(receipt(root), str(root), os.environ)
    assert trouble.startswith("the receipt waits for the store: ")
    assert len(left(root)) == 1
    monkeypatch.delenv("SUTLER_STORE")
    assert receipts.receipts(str(root), os.environ) == [stored]


def test_a_teams_store_has_a_receipt_at_once(
    root: Path, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUTLER_STORE", postgres_url)
    stored, trouble = receipts.recorded(receipt(root), str(root), os.environ)
    assert (trouble, left(root)) == ("", [])
    assert receipts.receipts(str(root), os.environ) == [stored]


def test_a_damaged_receipt_is_set_aside_and_the_others_arrive(root: Path) -> None:
    stored, _ = receipts.recorded(receipt(root), str(root), os.environ)
    folder = Path(home.project_folder(str(root), os.environ)[0]) / receipts.FOLDER
    (folder / "0000-damaged").write_bytes(b"\x93half")
    assert receipts.receipts(str(root), os.environ) == [stored]
    assert left(root) == ["0000-damaged.damaged"]


def test_what_a_killed_process_left_unfinished_goes_after_an_hour(root: Path) -> None:
    receipts.recorded(receipt(root), str(root), os.environ)
    folder = Path(home.project_folder(str(root), os.environ)[0]) / receipts.FOLDER
    new, old = f"new.{bytes(8).hex()}", f"old.{bytes(8).hex()}"
    for name, age in ((new, 60), (old, 2 * home.UNFINISHED)):
        (folder / name).write_bytes(b"half")
        os.utime(folder / name, (folder.stat().st_mtime - age,) * 2)
    assert len(receipts.receipts(str(root), os.environ)) == 1
    assert left(root) == [new]


def test_a_receipt_that_waits_is_private(root: Path) -> None:
    before = os.umask(0)
    try:
        receipts.recorded(receipt(root), str(root), os.environ)
    finally:
        os.umask(before)
    folder = Path(home.project_folder(str(root), os.environ)[0]) / receipts.FOLDER
    (file,) = folder.iterdir()
    assert (folder.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
