from __future__ import annotations

from sutler.budget.allocate import Grant, Offer, allocate, fit_exactly
from sutler.languages.facts import Region
from sutler.paths import Span

REGIONS = (Region(1, 5, "head"), Region(6, 20, "function", "f"), Region(21, 40, "function", "g"))


def offer(path: str, score: float, *scores: float, price: int = 300) -> Offer:
    return Offer(path, score, 3 * price, REGIONS, scores, (price,) * 3, outline=50, listed=5)


def test_the_best_file_is_whole_when_it_is_small() -> None:
    assert allocate([offer("a", 1.0, 1, 1, 1)], 10_000) == (Grant("a", "full"),)


def test_the_best_regions_come_first() -> None:
    grants = allocate([offer("a", 1.0, 0, 9, 1)], 400)
    assert grants == (Grant("a", "excerpt", (Span(6, 20),)),)


def test_neighbours_are_joined() -> None:
    grants = allocate([offer("a", 1.0, 0, 9, 8)], 700)
    assert grants == (Grant("a", "excerpt", (Span(6, 40),)),)


def test_better_files_win_equal_regions() -> None:
    grants = allocate([offer("a", 1.0, 1, 1, 1), offer("b", 0.2, 1, 1, 1)], 700)
    assert [(grant.path, grant.level) for grant in grants] == [("a", "excerpt"), ("b", "listed")]


def test_what_is_left_goes_to_outlines_then_names() -> None:
    grants = allocate(
        [offer("a", 1.0, 1, 1, 1, price=900), offer("b", 0.5, 1, 1, 1), offer("c", 0.1, 0, 0, 0)],
        120,
    )
    assert [(grant.path, grant.level) for grant in grants] == [
        ("a", "outline"),
        ("b", "listed"),
        ("c", "listed"),
    ]


def test_a_pinned_file_is_taken_whole_first() -> None:
    pinned = Offer("z", 0.0, 500, REGIONS, (0.0, 0.0, 0.0), (200, 200, 100), whole=True)
    assert Grant("z", "full") in allocate([offer("a", 1.0, 9, 9, 9), pinned], 700)


def test_no_offers_no_grants() -> None:
    assert allocate([], 100) == ()
    assert fit_exactly([], 100, lambda grants: len(grants)) == ()


def test_an_exact_fit_grows_when_prices_were_too_high() -> None:
    offers = [offer(f"{i}", 1.0, 1, 1, 1) for i in range(20)]
    rough = allocate(offers, 3_000)
    exact = fit_exactly(offers, 3_000, lambda grants: 100 * len(grants))
    assert 100 * len(exact) <= 3_000
    assert len(exact) >= len(rough)
