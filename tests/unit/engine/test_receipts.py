"""The book of receipts: opened ahead or when it is needed, with the same outcome, and told when it cannot be."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from sutler.engine import Project, receipts
from sutler.engine.forks import cores
from sutler.engine.receipts import Book, Receipt


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


IN_A_PROCESS_OF_ITS_OWN = """
import os, sys, threading
from contextlib import closing
from sutler.engine import Project, receipts

root, ahead = sys.argv[1], sys.argv[2] == "True"
packing = Project(root).pack()
packing.text()
made = receipts.receipt_of(packing.report, project="tree", destination="stdout", redacted=True)
with closing(receipts.Book(root, os.environ)) as book:
    if ahead:
        book.begin()
        assert threading.active_count() == 2
    stored, trouble = book.recorded(made)
assert threading.active_count() == 1
assert not trouble
print(stored.seal)
"""


@pytest.mark.parametrize("ahead", [True, False])
def test_opened_ahead_or_not_the_receipt_is_kept(root: Path, ahead: bool) -> None:
    """Where there are other threads, as in a test, nothing is opened ahead."""
    if ahead and not (cores() > 1 and sys.platform == "linux"):
        pytest.skip("nothing is opened ahead on one core, or where one cannot see one's own threads")
    seal = subprocess.run(
        [sys.executable, "-c", IN_A_PROCESS_OF_ITS_OWN, root, str(ahead)], check=True, capture_output=True, text=True
    ).stdout.strip()
    (stored,) = receipts.receipts(str(root), os.environ)
    assert stored.seal == seal
    receipts.verify(stored, os.environ)


def test_a_book_that_was_opened_for_nothing_is_closed_and_empty(root: Path) -> None:
    before = threading.active_count()
    with closing(Book(str(root), os.environ)) as book:
        book.begin()
    assert threading.active_count() == before
    assert receipts.receipts(str(root), os.environ) == []


@pytest.mark.parametrize("ahead", [True, False])
def test_a_book_that_cannot_be_opened_is_a_note(root: Path, monkeypatch: pytest.MonkeyPatch, ahead: bool) -> None:
    made = receipt(root)
    (root / "blocked").write_text("not a folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(root / "blocked"))
    with closing(Book(str(root), os.environ)) as book:
        if ahead:
            book.begin()
        stored, trouble = book.recorded(made)
    assert stored == made
    assert trouble.startswith("the receipt was not stored: ")
