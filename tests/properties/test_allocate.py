"""A budget is never exceeded, hardly wasted, and shared out the same way every time."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.budget.allocate import Grant, Offer, Prices, allocate, fit_exactly
from sutler.languages.facts import Region

EXAMPLES = 100 * int(os.environ.get("SUTLER_FUZZ", "1"))
PRICES = Prices()


@st.composite
def offers(draw: st.DrawFn) -> list[Offer]:
    made: list[Offer] = []
    for i in range(draw(st.integers(0, 12))):
        sizes = draw(st.lists(st.integers(1, 400), min_size=0, max_size=12))
        regions = []
        line = 1
        for _ in sizes:
            length = draw(st.integers(1, 30))
            regions.append(Region(line, line + length - 1, "function", f"f{line}"))
            line += length
        scores = tuple(draw(st.floats(0, 9)) for _ in sizes)
        outline, listed = draw(st.integers(0, 60)), draw(st.integers(0, 9))
        score = draw(st.floats(0, 3))
        parts = (tuple(regions), scores, tuple(sizes))
        made.append(Offer(f"f{i}.py", score, sum(sizes), *parts, outline=outline, listed=listed))
    return made


def price_of(grants: tuple[Grant, ...], given_: list[Offer]) -> int:
    """What the grants cost by the offers' own prices."""
    by_path = {offer.path: offer for offer in given_}
    total = 0
    for grant in grants:
        offer = by_path[grant.path]
        if grant.level == "listed":
            total += offer.listed
        elif grant.level == "outline":
            total += PRICES.header + offer.outline
        elif grant.level == "full":
            total += PRICES.header + offer.full
        else:
            inside = [
                price
                for region, price in zip(offer.regions, offer.prices, strict=True)
                if any(
                    span.start <= region.start and region.end <= span.end for span in grant.spans
                )
            ]
            total += PRICES.header + PRICES.gap * len(grant.spans) + sum(inside)
    return total


@settings(max_examples=EXAMPLES, deadline=None)
@given(offers(), st.integers(0, 6_000))
def test_never_more_than_the_limit(given_: list[Offer], limit: int) -> None:
    assert price_of(allocate(given_, limit), given_) <= limit


@settings(max_examples=EXAMPLES, deadline=None)
@given(offers(), st.integers(0, 6_000))
def test_spans_are_ordered_apart_and_made_of_whole_regions(given_: list[Offer], limit: int) -> None:
    by_path = {offer.path: offer for offer in given_}
    for grant in allocate(given_, limit):
        edges = [edge for span in grant.spans for edge in (span.start, span.end + 1)]
        assert edges == sorted(set(edges))
        starts = {region.start for region in by_path[grant.path].regions}
        assert all(span.start in starts for span in grant.spans)


@settings(max_examples=EXAMPLES, deadline=None)
@given(offers(), st.integers(0, 6_000))
def test_the_same_offers_get_the_same_grants(given_: list[Offer], limit: int) -> None:
    assert allocate(given_, limit) == allocate(list(given_), limit)


@settings(max_examples=EXAMPLES, deadline=None)
@given(offers(), st.integers(1, 6_000), st.integers(70, 140))
def test_an_exact_measure_is_obeyed(given_: list[Offer], limit: int, percent: int) -> None:
    """The measure of the real thing may differ from the sum of the prices; it alone counts."""

    def measure(grants: tuple[Grant, ...]) -> int:
        return price_of(grants, given_) * percent // 100

    assert measure(fit_exactly(given_, limit, measure)) <= limit


def _material(files: int, regions: int, size: int) -> list[Offer]:
    spans = tuple(Region(1 + 10 * j, 10 + 10 * j, "function", f"f{j}") for j in range(regions))
    return [
        Offer(
            f"{i:03}.py",
            1 / (i + 1),
            size * regions,
            spans,
            tuple(float(j % 7) for j in range(regions)),
            (size,) * regions,
        )
        for i in range(files)
    ]


@settings(max_examples=30, deadline=None)
@given(st.integers(20_000, 60_000), st.integers(100, 600))
def test_at_least_97_percent_of_a_tight_budget_is_used(limit: int, size: int) -> None:
    material = _material(60, 20, size)
    assert price_of(allocate(material, limit), material) >= 0.97 * limit
