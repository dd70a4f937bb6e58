from __future__ import annotations

from sutler.budget.excerpt import cut, lens_for, offers_for, widened
from sutler.languages.extract import extract
from sutler.paths import Span
from sutler.ranking import build, rank
from sutler.ranking.region_worth import owners_of, passage, scores_of

TEXT = '''import os


def open_shop(door):
    """Open the door."""
    return door.open()


class Cart:
    size = 1

    def total(self):
        return sum(self.items)

    def empty(self):
        return not self.items


LIMIT = 3
'''
TREE = {"shop.py": TEXT, "other.py": "def nothing():\n    pass\n"}
INDEX = build((path, path, extract(path, text)) for path, text in TREE.items())


def test_regions_cover_every_line_once() -> None:
    regions = extract("shop.py", TEXT).regions
    covered = [line for region in regions for line in range(region.start, region.end + 1)]
    assert covered == list(range(1, 20))


def test_regions_are_heads_functions_classes_and_gaps() -> None:
    found = [(r.start, r.end, r.kind, r.name) for r in extract("shop.py", TEXT).regions]
    assert found == [
        (1, 3, "head", ""),
        (4, 8, "function", "open_shop"),
        (9, 11, "class", "Cart"),
        (12, 14, "function", "total"),
        (15, 18, "function", "empty"),
        (19, 19, "gap", ""),
    ]


def best(task: str, pointed: tuple[int, ...] = ()) -> str:
    regions = extract("shop.py", TEXT).regions
    scores = scores_of(regions, lens_for(INDEX, task), pointed)
    return regions[scores.index(max(scores))].name


def test_methods_belong_to_the_class_they_are_indented_below() -> None:
    regions = extract("shop.py", TEXT).regions
    assert owners_of(regions, TEXT.split("\n")) == (-1, -1, -1, 2, 2, -1)


def test_a_method_gains_by_the_name_of_its_class() -> None:
    regions = extract("shop.py", TEXT).regions
    lens = lens_for(INDEX, "`Cart` is broken")
    alone, owned = (
        scores_of(regions, lens),
        scores_of(regions, lens, (), owners_of(regions, TEXT.split("\n"))),
    )
    gains = [more - less for more, less in zip(owned, alone, strict=True)]
    assert min(gains[3:5]) > max(gains[:3] + gains[5:])


def test_the_named_function_is_the_best_region() -> None:
    assert best("The total of a cart sums items") == "total"
    assert best("`open_shop` leaves the door open") == "open_shop"


def test_lines_of_a_trace_lift_their_region() -> None:
    assert best("it fails", (16,)) == "empty"


def test_neighbours_of_a_good_region_gain() -> None:
    regions = extract("shop.py", TEXT).regions
    scores = scores_of(regions, lens_for(INDEX, "it fails"), (13,))
    assert [i for i, score in enumerate(scores) if score] == [2, 3, 4]
    assert scores[3] > scores[2] == scores[4]


def test_a_passage_is_worth_more_where_words_stand_together() -> None:
    lens = lens_for(INDEX, "open the door of the shop")
    facts = {path: extract(path, text) for path, text in TREE.items()}
    assert passage(facts["shop.py"].regions, lens) > passage(facts["other.py"].regions, lens)


def test_offers_price_regions_in_the_given_unit() -> None:
    ranked = rank(INDEX, "total of a cart")
    (offer,) = offers_for(INDEX, "total of a cart", [(ranked[0], extract("shop.py", TEXT), TEXT)])
    assert sum(offer.prices) == offer.full == len(TEXT)
    assert len(offer.regions) == len(offer.prices) == len(offer.scores)


def test_offers_ignore_regions_of_another_text() -> None:
    ranked = rank(INDEX, "total of a cart")
    (offer,) = offers_for(INDEX, "total", [(ranked[0], extract("shop.py", TEXT), "short\n")])
    assert offer.regions == ()


def test_a_cut_says_what_it_left_out() -> None:
    assert cut("a\nb\nc\nd\ne\n", [Span(2, 2), Span(4, 4)]) == "[… 1]\nb\n[… 3]\nd\n[… 5]\n"
    assert cut("a\nb\nc\n", [Span(1, 1)]) == "a\n[… 2-3]\n"
    assert cut("a\nb\n", [Span(1, 2)]) == "a\nb\n"


def test_spans_show_a_line_around_and_swallow_single_lines() -> None:
    assert widened((Span(4, 8),), 20) == (Span(3, 9),)
    assert widened((Span(1, 8), Span(12, 20)), 20) == (Span(1, 20),)
    assert widened((Span(1, 8), Span(13, 20)), 30) == (Span(1, 9), Span(12, 21))


def test_a_long_function_is_cut_into_blocks_between_statements() -> None:
    body = "".join(f"    if x > {i}:\n        y = {i}\n\n        z = {i}\n\n" for i in range(40))
    regions = extract("long.py", f"def long(x):\n{body}").regions
    assert len(regions) > 3
    assert all(region.end - region.start < 60 and region.name == "long" for region in regions)
    lines = f"def long(x):\n{body}".split("\n")
    assert all(lines[region.start - 1].startswith("    if") for region in regions[1:])
