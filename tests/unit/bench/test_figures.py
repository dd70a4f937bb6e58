import pytest

from bench.figures import Row, Verdict, median, medians, ratio, results, seconds, subject, table
from bench.measure import Sample


def row(tool: str, wall: float = 1.0, *, work: str = "raw", state: str = "-", runs: int = 5) -> Row:
    return Row("medium", "medium", work, tool, state, "1.0", runs, wall, wall / 2, 20.0, 3.0)


@pytest.mark.parametrize(
    ("values", "middle"),
    [([3.0], 3.0), ([3.0, 1.0, 2.0], 2.0), ([4.0, 1.0, 2.0, 3.0], 2.5)],
    ids=str,
)
def test_median(values: list[float], middle: float) -> None:
    assert median(values) == middle


def test_median_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one run"):
        median([])


def test_ratio_over_nothing_meets_no_bar() -> None:
    assert ratio(1.0, 4.0) == 0.25
    assert Verdict("a", "b", "wall", ratio(1.0, 0.0), 1e9, 1e9).word == "NOT met"


def test_medians_leave_out_failed_and_late_runs() -> None:
    good, bad, late = (
        Sample(2, 1, 30, 0, False),
        Sample(9, 9, 9, 1, False),
        Sample(9, 9, 9, -9, True),
    )
    assert medians([bad, good, late]) == (1, 2, 1, 30)
    assert medians([bad]) == (0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("value", "word"), [(0.5, "goal met"), (0.8, "met"), (1.0, "met"), (1.01, "NOT met")]
)
def test_verdict(value: float, word: str) -> None:
    assert Verdict("a", "b", "wall", value, 1.0, 0.6).word == word


def test_table_is_padded_markdown() -> None:
    assert table(("a", "long head"), [("xxxx", "1")]).splitlines() == [
        "| a    | long head |",
        "| ---- | --------- |",
        "| xxxx | 1         |",
    ]


@pytest.mark.parametrize(("value", "text"), [(0.0123, "0.012"), (9.5, "9.500"), (123.456, "123.5")])
def test_seconds(value: float, text: str) -> None:
    assert seconds(value) == text


def test_subject_prefers_the_same_state() -> None:
    cold, warm = row("sutler", state="cold"), row("sutler", state="warm")
    assert subject([cold, warm], row("repomix", state="warm")) == warm
    assert subject([warm, cold], row("yek")) == cold
    assert subject([row("sutler", work="full")], row("yek")) is None


def test_results_show_the_ratio_for_peers_alone() -> None:
    lines = results([row("sutler", 1.0, state="cold"), row("yek", 4.0)]).splitlines()
    assert "0.25" not in lines[2]
    assert lines[3].count("0.25") == 2


def test_results_show_no_cost_for_a_tool_that_did_not_run() -> None:
    line = results([row("gitingest", runs=0)]).splitlines()[2]
    assert [cell.strip() for cell in line.split("|")[5:-1]] == ["0", "", "", "", "", "", ""]
