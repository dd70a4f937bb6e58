from __future__ import annotations

from sutler.languages.extract import extract
from sutler.ranking.query import analyse
from sutler.ranking.region_worth import lens_of, traits_of

CART = """\
import math


def total(items):
    return math.fsum(item.price for item in items)


def empty(items):
    items.clear()
"""


def test_a_region_is_pointed_at_by_any_of_its_lines() -> None:
    regions = extract("cart.py", CART).regions
    traits = traits_of(regions, lens_of(analyse("It fails"), {}), pointed=(5,))
    pointed = [region.name for region, trait in zip(regions, traits, strict=True) if trait.pointed]
    assert pointed == ["total"]
