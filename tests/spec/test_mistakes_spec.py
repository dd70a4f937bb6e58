"""Mistakes of newcomers: no traceback, and every refusal says what to do next."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.docs.mistakes import MISTAKES, prepared, wrong
from tests.docs.player import Shell
from tests.limits import LIMIT


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_answered(tmp_path: Path, line: str) -> None:
    prepared(tmp_path / "project")
    (tmp_path / "home").mkdir()
    shell = Shell(tmp_path / "home", tmp_path / "project", str(Path(sys.executable).parent))
    assert not (fault := wrong(line, *shell.run(line, seconds=LIMIT))), fault


def test_there_are_enough_mistakes() -> None:
    assert len(set(MISTAKES)) >= 60
