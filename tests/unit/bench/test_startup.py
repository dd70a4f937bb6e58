from pathlib import Path

from bench.figures import Row
from bench.startup import BASE, WORK, judge, project


def row(tool: str, cost: float, state: str = "-") -> Row:
    return Row("tiny", "", WORK, tool, state, "1.0", 5, cost, cost, 20.0, 0.1)


def test_the_project_has_twenty_files_and_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = project(str(tmp_path / "1")), project(str(tmp_path / "2"))
    assert len(first.census.files) == 20
    assert first.census.size == second.census.size


def test_start_up_bars() -> None:
    rows = [
        row(BASE, 0.01),
        row("sutler --version", 0.02),
        row("sutler pack", 0.3, "cold"),
        row("files-to-prompt", 0.1),
    ]
    assert [v.word for v in judge(rows)] == ["met", "NOT met"]
    assert judge(rows[:1]) == []
