import json
from pathlib import Path

import pytest

from bench.figures import Row
from bench.many import FILES, WORK, judge, main, project


def row(tool: str, peak: float, state: str) -> Row:
    return Row("many", "", WORK, tool, state, "1.0", 1, 1.0, 1.0, peak, 0.1)


def test_the_project_has_so_many_files_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = project(str(tmp_path / "1"), 90), project(str(tmp_path / "2"), 90)
    assert len(first.census.files) == 90
    assert first.census.size == second.census.size


def test_the_bar_is_one_for_a_hundred_thousand_files() -> None:
    rows = [
        row("sutler pack --max-tokens", 145.0, "cold"),
        row("sutler pack --goal", 401.0, "cold"),
    ]
    assert [v.word == "NOT met" for v in judge(rows, FILES)] == [False, True]
    assert judge(rows, 1_000) == []


def test_a_small_run_shows_every_pack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["--files", "60", "--scratch", str(tmp_path), "--json", str(tmp_path / "rows.json")])
        == 0
    )
    rows = [Row(**one) for one in json.loads((tmp_path / "rows.json").read_text())]
    labels = [
        "sutler pack --max-tokens (cold)",
        "sutler pack --goal (cold)",
        "sutler pack --goal (warm)",
    ]
    assert [(one.label, one.runs) for one in rows] == [(label, 1) for label in labels]
    assert all(label in capsys.readouterr().out for label in labels[:1])
