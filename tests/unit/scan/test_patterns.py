from __future__ import annotations

from sutler.scan.patterns import PatternList, parse_pattern


def test_the_last_line_wins() -> None:
    found = PatternList([parse_pattern("*.c"), parse_pattern("!a.c"), parse_pattern("d/")])
    assert [
        one.text if (one := found.match(*ask)) else None
        for ask in [("b.c", False), ("a.c", False), ("d", False)]
    ] == [
        "*.c",
        "!a.c",
        None,
    ]
