"""Our counters agree with the reference implementation, text by text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sutler.tokens.counter import token_counter

FIXTURE = json.loads((Path(__file__).parent / "tokens.json").read_text())


@pytest.mark.parametrize("vocabulary", ["o200k_base", "cl100k_base"])
def test_counts_equal_those_of_the_reference(vocabulary: str) -> None:
    """Code, scripts of the world, odd white space, long runs, control tokens spelled out in
    text.
    """
    count = token_counter(vocabulary)
    column = FIXTURE["columns"].index(vocabulary)
    wrong = [
        (row[0][:40], count(row[0]), row[column])
        for row in FIXTURE["rows"]
        if count(row[0]) != row[column]
    ]
    assert len(FIXTURE["rows"]) >= 300
    assert wrong == []
