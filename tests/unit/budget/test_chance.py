from __future__ import annotations

import pytest
from msgspec.structs import replace

from sutler.budget.chance import Candidate, chances, stop_at
from sutler.languages.facts import Region
from sutler.ranking.region_worth import Traits

NOTHING = Traits(0.0, named=False, inside=False)
NAMED = Traits(0.5, named=True, inside=False)


def candidate(score: float, *regions: tuple[float, Traits]) -> Candidate:
    spans = [Region(1 + 10 * i, 10 + 10 * i, "function", f"f{i}") for i, _ in enumerate(regions)]
    return Candidate(score, spans, [one for one, _ in regions], [two for _, two in regions])


FILES = [
    candidate(2.0, (9.0, NAMED), (1.0, NOTHING), (0.0, NOTHING)),
    candidate(0.5, (1.0, NOTHING), (0.0, NOTHING)),
]


def test_probabilities_lie_between_0_and_1() -> None:
    assert all(0 < chance < 1 for some in chances(FILES) for chance in some)


def test_the_region_with_the_evidence_is_the_most_probable() -> None:
    odds = chances(FILES)
    assert odds[0][0] == max(chance for some in odds for chance in some)
    assert odds[0][1] > odds[1][1]


@pytest.mark.parametrize("evidence", ["pointed", "named"])
def test_evidence_makes_a_region_more_probable(evidence: str) -> None:
    seen, other = chances(
        [candidate(1.0, (1.0, replace(NOTHING, **{evidence: True})), (1.0, NOTHING))]
    )[0]
    alike = chances([candidate(1.0, (1.0, NOTHING), (1.0, NOTHING))])[0]
    assert seen > alike[0]
    assert other == alike[1]


def test_regions_enter_in_the_order_of_their_probability() -> None:
    odds = [(0.1, 0.9), (0.5,)]
    files = [candidate(1.0, (1.0, NAMED), (1.0, NAMED)), candidate(1.0, (1.0, NAMED))]
    stop = stop_at(files, odds, least=0.0)
    assert (stop.regions, stop.rest) == (((0, 1), (1, 0), (0, 0)), ())


def test_the_stop_is_where_more_lines_would_be_noise() -> None:
    """Sure regions enter, hopeless ones do not, and what is expected is stated."""
    odds = [(0.9, 0.001, 0.001), (0.8, 0.001)]
    stop = stop_at(FILES, odds)
    assert stop.regions == ((0, 0), (1, 0))
    assert stop.precision == pytest.approx(0.85)
    assert stop.recall == pytest.approx(1.7 / 1.703)


def test_a_pack_without_a_sure_region_does_not_end_with_one() -> None:
    """However few useful lines are expected in all, a task needs some dozens of them."""
    files = [candidate(1.0, *[(1.0, NOTHING)] * 30)]
    assert len(stop_at(files, [(0.12, *[0.03] * 29)]).regions) > 5


def test_a_further_file_enters_only_for_more_than_a_few_lines() -> None:
    """What one file shows in two places, two files do not: each file costs its header."""
    odds = [(0.9, 0.45)]
    together = [candidate(1.0, (1.0, NAMED), (1.0, NAMED))]
    apart = [candidate(1.0, (1.0, NAMED)), candidate(1.0, (1.0, NAMED))]
    assert len(stop_at(together, odds).regions) == 2
    assert len(stop_at(apart, [(0.9,), (0.09,)]).regions) == 1


def test_the_blocks_of_one_long_function_support_each_other() -> None:
    """A block without evidence is more probable beside one with evidence."""
    alone = candidate(1.0, (9.0, NAMED), (1.0, NOTHING))
    names = [replace(region, name="long") for region in alone.regions]
    odds = chances([alone])[0]
    assert chances([replace(alone, regions=names)])[0][1] > odds[1]


def test_a_short_goal_gets_more_regions() -> None:
    """A title says less about its lines than a description, so recall counts more."""
    files = [candidate(1.0, *[(1.0, NOTHING)] * 30)]
    odds = [(0.9, 0.12, *[0.02] * 28)]
    assert len(stop_at(files, odds, short=True).regions) > len(stop_at(files, odds).regions)


ALIKE = [(0.15, 0.15, *[0.005] * 18), (0.001,)]


def flat(ahead: float, start: int = 0) -> list[Candidate]:
    best = candidate(1.0, *[(1.0, NOTHING)] * 20)
    regions = [replace(one, start=start + one.start, end=start + one.end) for one in best.regions]
    return [replace(best, regions=regions), candidate(1.0 - ahead, (1.0, NOTHING))]


def test_a_best_file_without_a_region_that_stands_out_is_whole_for_a_short_goal() -> None:
    """Of regions that are alike the first would enter for their place alone."""
    whole = {(0, j) for j in range(20)}
    assert set(stop_at(flat(0.5), ALIKE, short=True).regions) == whole
    assert set(stop_at(flat(0.5), ALIKE).regions) < whole


@pytest.mark.parametrize(
    ("files", "odds"),
    [
        pytest.param(flat(0.1), ALIKE, id="the second file is as good"),
        pytest.param(flat(0.5, 1_000), ALIKE, id="the file is long"),
        pytest.param(flat(0.5), [(0.9, *[0.01] * 19), (0.01,)], id="a region stands out"),
    ],
)
def test_a_best_file_is_not_whole_if(files: list[Candidate], odds: list[tuple[float, ...]]) -> None:
    assert len(stop_at(files, odds, short=True).regions) < 20


@pytest.mark.parametrize(("least", "count"), [(0.0, 5), (0.5, 2), (0.85, 1), (1.0, 0)])
def test_a_least_probability_replaces_the_rule(least: float, count: int) -> None:
    odds = [(0.9, 0.001, 0.001), (0.8, 0.001)]
    stop = stop_at(FILES, odds, least)
    assert (len(stop.regions), len(stop.rest)) == (count, 5 - count)


def test_no_regions_stop_at_once() -> None:
    assert stop_at([], []).regions == ()
