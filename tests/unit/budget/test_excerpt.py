from __future__ import annotations

import pytest

from sutler.budget.allocate import Offer, allocate
from sutler.budget.excerpt import Parts, apart, cut, lens_for, look, widened
from sutler.languages.extract import extract
from sutler.paths import Span
from sutler.ranking import Reader, build, rank
from sutler.ranking.index import bag_of
from sutler.ranking.region_worth import lexical, owners_of, passage, scores_of
from tests.facts import extracted

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


def reader_over(tree: dict[str, str]) -> Reader:
    index = build((path, path, bag_of(path, text)) for path, text in tree.items())
    return Reader(index, extracted(tree))


READER = reader_over(TREE)


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
    scores = scores_of(regions, lens_for(READER, task), pointed)
    return regions[scores.index(max(scores))].name


def test_methods_belong_to_the_class_they_are_indented_below() -> None:
    regions = extract("shop.py", TEXT).regions
    assert owners_of(regions, TEXT.split("\n")) == (-1, -1, -1, 2, 2, -1)


def test_a_method_gains_by_the_name_of_its_class() -> None:
    regions = extract("shop.py", TEXT).regions
    lens = lens_for(READER, "`Cart` is broken")
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
    scores = scores_of(regions, lens_for(READER, "it fails"), (13,))
    assert [i for i, score in enumerate(scores) if score] == [2, 3, 4]
    assert scores[3] > scores[2] == scores[4]


def test_a_passage_is_worth_more_where_words_stand_together() -> None:
    lens = lens_for(READER, "open the door of the shop")
    facts = {path: extract(path, text) for path, text in TREE.items()}
    assert passage(facts["shop.py"].regions, lens) > passage(facts["other.py"].regions, lens)


def test_regions_of_another_text_are_ignored() -> None:
    (ranked, *_) = rank(READER, "total of a cart")
    lens = lens_for(READER, "total")
    assert look(ranked, extract("shop.py", TEXT).regions, ["short"], lens).scores == ()


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


PAGE = "\n".join(f"    Line {i} of the page." for i in range(9))
FUNCTION = f'''def total(
    cart,
):  # sums
    """Add up a cart.

{PAGE}
    """

    return sum(cart.items)
'''
CLASS = f'''class Cart:
    """A cart.

{PAGE}
    """

    size = 1

    def empty(self):
        return not self.items
'''
JAVA = """class Cart {
    /**
     * Adds up
     * the cart
     *
     * @param one
     * @param two
     * @param three
     * @return the sum
     */
    int total(int one) {
        return one;
    }
}
"""


def parts_of(path: str, text: str, task: str = "total") -> Parts:
    facts = extract(path, text)
    lens = lens_for(reader_over({path: text}), task)
    return apart(facts.regions, text.split("\n"), lens)


def shape(parts: Parts) -> list[tuple[int, int, str, str]]:
    return [(r.start, r.end, r.kind, r.name) for r in parts.regions]


def test_a_long_docstring_stands_apart_and_the_body_keeps_its_signature() -> None:
    parts = parts_of("cart.py", FUNCTION)
    assert shape(parts) == [(1, 16, "doc", "total"), (17, 17, "function", "total")]
    assert parts.leads == (None, Span(1, 3))


def test_a_class_keeps_its_docstring_and_its_attributes_stand_apart() -> None:
    parts = parts_of("cart.py", CLASS)
    assert shape(parts) == [
        (1, 14, "class", "Cart"),
        (15, 16, "gap", ""),
        (17, 18, "function", "empty"),
    ]
    assert parts.leads == (None, None, None)


def test_a_page_longer_than_a_region_is_one_part() -> None:
    page = "\n".join(f"    Line {i} of the page." for i in range(80))
    text = (
        f'def total(cart):\n    """Add up.\n\n{page}\n    """\n    cart.open()\n    return cart\n'
    )
    assert len(extract("cart.py", text).regions) > 1
    parts = parts_of("cart.py", text)
    assert shape(parts) == [(1, 84, "doc", "total"), (85, 86, "function", "total")]
    assert parts.leads == (None, Span(1, 1))


LICENCE = "".join(f"# Line {i} of a licence\n" for i in range(5))
NOTES = '"' * 3 + "What this is.\n\nMore of it.\n" + '"' * 3 + "\n"
CODE = "import os\n\nLIMIT = 3\n\n\ndef total():\n    return os.name\n"


def test_what_a_file_starts_with_stands_apart_from_its_imports() -> None:
    parts = parts_of("cart.py", "#!/usr/bin/python\n" + LICENCE + "\n" + NOTES + "\n" + CODE)
    assert shape(parts) == [(1, 12, "doc", ""), (13, 17, "head", ""), (18, 19, "function", "total")]
    assert set(parts.leads) == {None}


def test_a_prologue_longer_than_a_region_is_one_part() -> None:
    page = '"' * 3 + "\n" + "A line of it.\n\n" * 50 + '"' * 3 + "\n"
    assert shape(parts_of("cart.py", page + CODE))[:2] == [
        (1, 102, "doc", ""),
        (103, 107, "head", ""),
    ]


def test_a_licence_in_a_block_of_remarks_stands_apart() -> None:
    text = (
        "/*\n"
        + "Of a licence\n" * 6
        + " */\n\n#include <stdio.h>\n#include <math.h>\n\nint total(void) { return 1; }\n"
    )
    assert shape(parts_of("cart.c", text))[:2] == [(1, 9, "doc", ""), (10, 12, "head", "")]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("cart.py", LICENCE + CODE),  # short
        ("cart.py", CODE),
        ("cart.c", "#include <stdio.h>\n" * 9 + "\nint total(void) { return 1; }\n"),
        ("cart.py", "x = 1\n" + LICENCE * 3 + CODE),
    ],
)
def test_other_heads_stay_whole(path: str, text: str) -> None:
    assert parts_of(path, text).regions == extract(path, text).regions


def test_a_long_comment_above_a_definition_stands_apart() -> None:
    parts = parts_of("Cart.java", JAVA)
    assert (2, 10, "doc", "total") in shape(parts)
    assert (11, 13, "function", "total") in shape(parts)
    assert set(parts.leads) == {None}


@pytest.mark.parametrize(
    "text",
    [
        'def f():\n    """Short."""\n    return 1\n',
        'def f():\n    """Two\n    lines."""\n    return 1\n',
        f'def f():\n    x = 1\n    """\n{PAGE}\n    """\n    return 1\n',
        f'def f():\n    """Only a page.\n{PAGE}\n    """\n',
        f'def f():\n    """Never closed.\n{PAGE}\n',
        "",
    ],
)
def test_other_regions_stay_whole(text: str) -> None:
    assert parts_of("f.py", text).regions == extract("f.py", text).regions


def test_every_line_stays_in_one_region() -> None:
    text = FUNCTION + "\n\n" + CLASS + FUNCTION
    covered = [
        line for r in parts_of("cart.py", text).regions for line in range(r.start, r.end + 1)
    ]
    assert covered == list(range(1, text.count("\n") + 1))


def test_each_part_holds_the_terms_of_its_own_lines() -> None:
    parts = parts_of("cart.py", FUNCTION, "page items")
    facts = extract("cart.py", FUNCTION)
    lens = lens_for(reader_over({"cart.py": FUNCTION, "b.py": "x = 1\n"}), "page items")
    doc, body = (lexical(region, lens) for region in parts.regions)
    assert doc > 0
    assert body > 0
    assert doc + body == pytest.approx(lexical(facts.regions[0], lens))


def test_a_body_is_granted_with_its_signature() -> None:
    parts = parts_of("cart.py", FUNCTION)
    offer = Offer("cart.py", 1.0, 1_000, parts.regions, (0.1, 1.0), (900, 90), leads=parts.leads)
    (grant,) = allocate([offer], 300)
    assert grant.spans == (Span(1, 3), Span(17, 17))
