from __future__ import annotations

import pytest

from sutler.budget.allocate import Offer, allocate
from sutler.budget.excerpt import lens_for
from sutler.languages.extract import extract
from sutler.paths import Span
from sutler.ranking import build
from sutler.ranking.region_parts import Parts, apart
from sutler.ranking.region_worth import lexical

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
    index = build([(path, "1", facts)])
    return apart(facts.regions, text.split("\n"), lens_for(index, task))


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
    lens = lens_for(
        build([("cart.py", "1", facts), ("b.py", "2", extract("b.py", "x = 1\n"))]), "page items"
    )
    doc, body = (lexical(region, lens) for region in parts.regions)
    assert doc > 0
    assert body > 0
    assert doc + body == pytest.approx(lexical(facts.regions[0], lens))


def test_a_body_is_granted_with_its_signature() -> None:
    parts = parts_of("cart.py", FUNCTION)
    offer = Offer("cart.py", 1.0, 1_000, parts.regions, (0.1, 1.0), (900, 90), leads=parts.leads)
    (grant,) = allocate([offer], 300)
    assert grant.spans == (Span(1, 3), Span(17, 17))
