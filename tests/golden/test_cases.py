"""Golden packs: any change of what leaves is a change of a file under `cases`, seen in review."""

from __future__ import annotations

from pathlib import Path

import pytest

import sutler
from tests.golden.cases import CASES, FORMATS, case_names, produced


@pytest.mark.parametrize("name", case_names())
def test_a_case_gives_its_golden_bytes(name: str, tmp_path: Path) -> None:
    """If the change is meant, run `python -m tests.golden.bless` and read the difference."""
    made = produced(CASES / name, tmp_path)
    for file, text in made.items():
        assert text == (CASES / name / file).read_bytes().decode(), f"{name}/{file}"


@pytest.mark.parametrize("name", case_names())
def test_a_golden_pack_can_still_be_read(name: str) -> None:
    """Packs of today must be readable by the readers of tomorrow: all three formats hold the same
    files.
    """
    packs = [sutler.parse((CASES / name / file).read_bytes()) for file in FORMATS]
    first = [(one.path, one.sha256, one.level) for one in packs[0].sections]
    if name != "budget":
        assert all(
            [(one.path, one.sha256, one.level) for one in pack.sections] == first for pack in packs
        )
    assert first


def test_there_are_cases() -> None:
    assert len(case_names()) >= 4
