"""What other tools show, and the page of the figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.selection import lines, measure
from bench.selection.page import Record, page_of
from bench.selection.peers import PEERS, installed, within

TEXT = "".join(f"word{i} word{i} word{i}\n" for i in range(100))


@pytest.fixture
def tree(tmp_path: Path) -> str:
    (tmp_path / "a.py").write_text(TEXT)
    (tmp_path / "b.py").write_text("x = 1\ny = 2\n")
    return str(tmp_path)


def test_chunks_are_shown_until_the_budget_ends(tree: str) -> None:
    shown = within([("b.py", 1, 1), ("a.py", 11, 90), ("b.py", 2, 2)], 200, tree)
    assert shown["b.py"] == {1}
    assert min(shown["a.py"]) == 11
    assert 5 < len(shown["a.py"]) < 60


def test_a_tool_with_a_budget_of_its_own_is_not_cut(tree: str) -> None:
    assert within([("a.py", 1, 100), ("gone.py", 1, 2)], None, tree) == {"a.py": {*range(1, 101)}}


def test_missing_peers_are_told_with_their_command(tmp_path: Path) -> None:
    (tmp_path / "semble" / "bin").mkdir(parents=True)
    (tmp_path / "semble" / "bin" / "python").touch()
    present, hints = installed(str(tmp_path))
    assert [peer.name for peer in present] == ["semble"]
    assert len(hints) == len(PEERS) - 1
    assert "pip install aider-chat" in hints[0]


def test_the_page_has_every_figure_and_marks_the_best() -> None:
    names = [*measure.RANKING, *(f"{name}@2k" for name in lines.NAMES)]
    rows = [
        Record("1", "tune", "sutler", dict.fromkeys(names, 0.5) | {"tokens": 2_000.0}),
        Record("1", "tune", "<b>", dict.fromkeys(names, 0.25)),
    ]
    page = page_of(rows)
    assert page.count("<td class=best>50.0") == len(names)
    assert "&lt;b&gt; (1)" in page
    assert "<h2>tune: 1 tasks</h2>" in page
    assert "<h2>dev" not in page
    assert "http" not in page
    assert "2,000.0" in page
