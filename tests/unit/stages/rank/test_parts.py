from __future__ import annotations

import pytest

from sutler.stages.allocate import Offer, allocate
from sutler.stages.excerpt import lens_for
from sutler.stages.facts import extract
from sutler.stages.rank import build
from sutler.stages.rank.parts import Parts, apart
from sutler.stages.rank.regions import lexical
from sutler.values.paths import Span

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
    assert shape(parts) == [(1, 14, "class", "Cart"), (15, 16, "gap", ""), (17, 18, "function", "empty")]
    assert parts.leads == (None, None, None)


def test_a_page_longer_than_a_region_is_one_part() -> None:
    page = "\n".join(f"    Line {i} of the page." for i in range(80))
    text = f'def total(cart):\n    """Add up.\n\n{page}\n    """\n    cart.open()\n    return cart\n'
    assert len(extract("cart.py", text).regions) > 1
    parts = parts_of("cart.py", text)
    assert shape(parts) == [(1, 84, "doc", "total"), (85, 86, "function", "total")]
    assert parts.leads == (None, Span(1, 1))


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
    covered = [line for r in parts_of("cart.py", text).regions for line in range(r.start, r.end + 1)]
    assert covered == list(range(1, text.count("\n") + 1))


def test_each_part_holds_the_terms_of_its_own_lines() -> None:
    parts = parts_of("cart.py", FUNCTION, "page items")
    facts = extract("cart.py", FUNCTION)
    lens = lens_for(build([("cart.py", "1", facts), ("b.py", "2", extract("b.py", "x = 1\n"))]), "page items")
    doc, body = (lexical(region, lens) for region in parts.regions)
    assert doc > 0
    assert body > 0
    assert doc + body == pytest.approx(lexical(facts.regions[0], lens))


def test_a_body_is_granted_with_its_signature() -> None:
    parts = parts_of("cart.py", FUNCTION)
    offer = Offer("cart.py", 1.0, 1_000, parts.regions, (0.1, 1.0), (900, 90), leads=parts.leads)
    (grant,) = allocate([offer], 300)
    assert grant.spans == (Span(1, 3), Span(17, 17))
