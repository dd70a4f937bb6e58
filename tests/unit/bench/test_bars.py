import pytest

from bench.bars import derive, judge
from bench.figures import Row


def row(work: str, tool: str, wall: float, state: str = "-", tier: str = "medium") -> Row:
    return Row(tier, tier, work, tool, state, "1.0", 5, wall, wall, 100.0, 3.0)


def test_judged_against_the_peer_of_the_same_class_and_state() -> None:
    rows = [
        row("full", "sutler", 1.0, "cold"),
        row("full", "repomix", 10.0, "cold"),
        row("full", "repomix", 2.0, "warm"),
    ]
    found = [v for v in judge(rows) if v.metric == "wall ratio"]
    assert [(v.value, v.word) for v in found] == [(0.1, "met")]


def test_a_row_without_good_runs_is_not_judged() -> None:
    rows = [row("raw", "sutler", 1.0, "cold"), row("raw", "yek", 1.0)._replace(runs=0)]
    assert judge(rows) == []


@pytest.mark.parametrize(
    ("tier", "word"), [("small", "NOT met"), ("medium", "goal met"), ("large", "goal met")]
)
def test_memory_of_a_full_pack(tier: str, word: str) -> None:
    (found,) = judge([row("full", "sutler", 1.0, "cold", tier)])
    assert (found.metric, found.word) == ("peak MB", word)


def test_absent_yek_is_derived_from_the_floor_and_says_so() -> None:
    """yek took 0.77 s where the floor took 0.14 s: 5.5 times the floor on the medium tree."""
    (found,) = derive([row("raw", "sutler", 0.44, "cold"), row("raw", "floor", 0.10)])
    assert found.value == pytest.approx(0.8)
    assert "DERIVED as 5.5 x floor" in found.against


def test_large_tree_has_its_own_factor() -> None:
    (found,) = derive(
        [row("raw", "sutler", 4.0, "cold", "large"), row("raw", "floor", 1.0, tier="large")]
    )
    assert found.value == pytest.approx(4.0 / (10.5 / 2.6))


def test_nothing_is_derived_for_a_peer_that_ran() -> None:
    rows = [row("raw", "sutler", 1.0, "cold"), row("raw", "floor", 0.1), row("raw", "yek", 0.5)]
    assert derive(rows) == []
    assert [v.value for v in judge(rows)] == [2.0]


def test_both_token_peers_are_derived_from_each_measured_base() -> None:
    rows = [
        row("tokens", "sutler", 1.0, "cold"),
        row("tokens", "floor", 0.1),
        row("tokens", "gitingest", 30.0),
    ]
    assert [v.against.split(",")[0] for v in derive(rows)] == [
        "yek",
        "yek",
        "code2prompt",
        "code2prompt",
    ]
