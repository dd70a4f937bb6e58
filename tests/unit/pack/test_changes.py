"""Which lines a diff touches."""

from __future__ import annotations

import pytest

from sutler.edits.difference import unified
from sutler.pack.changes import touched_lines

OLD = [f"line {i}\n" for i in range(1, 31)]


@pytest.mark.parametrize(
    ("new", "lines"),
    [
        ([*OLD[:9], "new\n", *OLD[10:]], {10}),
        ([*OLD[:9], "new\n", "newer\n", *OLD[9:]], {10, 11}),
        ([*OLD[:9], *OLD[10:]], {9, 10}),
        (OLD[1:], {1}),
        (OLD[:-1], {29, 30}),
        (["first\n", *OLD[1:-1], "last\n"], {1, 30}),
        ([*OLD, "--- a\n", "+++ b\n"], {31, 32}),
        (["a\n", "b"], {1, 2}),
    ],
)
def test_lines_are_those_of_the_new_text(new: list[str], lines: set[int]) -> None:
    assert set(touched_lines(unified(OLD, new, "a/x", "b/x"))) == lines
