from __future__ import annotations

import re

import pytest

from sutler.scan.wildmatch import covering, exact, translate, unview, view


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("*a" * 60 + "b", "a" * 255),
        ("*?" * 60 + "b", "a" * 255),
        ("**/" * 60 + "b", "a/" * 120 + "a"),
        ("**/*a*a*a*a*" * 12 + "/b", "aaaa/" * 50 + "a"),
        ("*[a-z]*[!b]" * 20 + "*q", "a" * 255),
        ("a/**/b/**/c/**/d/**/e*f*g*h", "a/b/c/d/" * 60 + "e"),
        ("x" + "*" * 250 + "y", "x" * 250),
    ],
)
def test_no_pattern_can_stall(pattern: str, name: str) -> None:
    """T19: measured in the number of ways the engine may try, not in time: no group can give back
    what it took.
    """
    sources = [translate(view(pattern)), exact(view(pattern))]
    sources += [covering(view(pattern), directory=directory) for directory in (False, True)]
    for source in sources:
        assert re.compile(source, re.DOTALL).match(view(name)) is None
        # Backtracking lives only inside atomic groups; outside of them only possessive repeats.
        outside = _strip_atomic(source)
        for harmless in ("*+", "++", "(?!", "(?=", "(?s:"):
            outside = outside.replace(harmless, "")
        assert not re.search(r"[*+?]", outside)


def _strip_atomic(source: str) -> str:
    depth, out, index, opened = 0, [], 0, []
    while index < len(source):
        char = source[index]
        if char == "\\":
            out.append("" if depth else source[index : index + 2])
            index += 2
            continue
        if char == "[":
            close = source.index("]", index + 2)
            out.append("" if depth else "X")
            index = close + 1
            continue
        if char == "(":
            opened.append(source.startswith("(?>", index))
            depth += opened[-1]
        if not depth:
            out.append(char)
        if char == ")":
            depth -= opened.pop()
        index += 1
    return "".join(out)


def test_byte_view_and_back() -> None:
    for name in ("a", "é", "\udcff", "日本"):
        assert unview(view(name)) == name
    assert len(view("é")) == 2
