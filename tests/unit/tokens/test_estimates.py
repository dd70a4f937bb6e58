from __future__ import annotations

from math import ceil

import pytest

from sutler.tokens.counter import ESTIMATES, token_counter


@pytest.mark.parametrize("name", ESTIMATES)
def test_an_estimate_is_named_so_and_follows_the_usual_count(name: str) -> None:
    assert name.endswith("-estimate")
    usual, count = token_counter("o200k_base"), token_counter(name)
    text = "def provision(army): return [ration for ration in army]\n" * 50
    assert count("") == 0
    assert count(text) == ceil(ESTIMATES[name] * usual(text) / 100)
