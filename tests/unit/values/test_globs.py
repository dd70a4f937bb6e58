from __future__ import annotations

import re

import pytest

from sutler.values.errors import UsageError
from sutler.values.globs import GLOB_COUNT, GlobSet, PatternList, expand_braces, parse_pattern
from sutler.values.wildmatch import translate, unview, view


@pytest.mark.parametrize(
    ("glob", "path", "hit"),
    [
        ("*.py", "a.py", True),
        ("*.py", "x/y/a.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "x/src/a.py", False),
        ("src/*.py", "src/x/a.py", False),
        ("src/**/*.py", "src/x/y/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("/a.py", "a.py", True),
        ("/a.py", "x/a.py", False),
        ("docs/", "docs/x/y.md", True),
        ("docs/", "x/docs/y.md", True),
        ("docs/", "docs", False),
        ("docs", "docs/y.md", True),
        ("src/**", "src/a", True),
        ("./src/*", "src/a", True),
        ("**/test_*", "a/b/test_x", True),
        ("{a,b}/*.{c,h}", "b/x.h", True),
        ("{a,b}/*.{c,h}", "c/x.h", False),
        ("x{a}", "x{a}", True),
        ("a{,b}", "ab", True),
        ("é*", "élan", True),
        ("?", "é", False),  # two bytes, as git counts
        ("??", "é", True),
        ("[!-~]", "a", True),
        ("a[", "a[", False),
        ("*\udcff", "x\udcff", True),
    ],
)
def test_a_users_glob(glob: str, path: str, hit: bool) -> None:
    assert GlobSet([glob]).match(path) == (glob if hit else None)


def test_the_glob_is_named_as_written() -> None:
    assert GlobSet(["*.md", "src/{a,b}/"]).match("src/b/deep/x") == "src/{a,b}/"


def test_an_empty_set_is_false() -> None:
    assert not GlobSet([])
    assert GlobSet(["x"]).patterns == ("x",)


@pytest.mark.parametrize(
    "glob", ["", "/", "../**", "a/../b", "!x", "a\0", "{a,b}" * 12, "x" * 5000, "{" * 3000 + "a,b"]
)
def test_refused_or_harmless(glob: str) -> None:
    """T19: a clear error, or a glob that simply does not match."""
    if glob.startswith("{{"):
        assert GlobSet([glob]).match("a") is None
        return
    with pytest.raises(UsageError):
        GlobSet([glob])


def test_braces_in_order() -> None:
    assert expand_braces("{a,b{c,d}}x") == ["ax", "bcx", "bdx"]
    assert expand_braces("\\{a,b}") == ["\\{a,b}"]
    assert len(expand_braces("{a,b}" * 9)) == 512 <= GLOB_COUNT


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
    """T19: measured in the number of ways the engine may try, not in time: no group can give back what it took."""
    source = translate(view(pattern))
    assert re.compile(source, re.DOTALL).match(view(name)) is None
    # Backtracking lives only inside atomic groups; outside of them nothing repeats but a possessive `[^/]*+`.
    outside = _strip_atomic(source)
    assert not re.search(r"[*+?](?![+])", outside.replace("*+", "").replace("(?!", "").removesuffix(".*"))


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


def test_the_last_line_wins() -> None:
    found = PatternList([parse_pattern("*.c"), parse_pattern("!a.c"), parse_pattern("d/")])
    assert [
        one.text if (one := found.match(*ask)) else None for ask in [("b.c", False), ("a.c", False), ("d", False)]
    ] == [
        "*.c",
        "!a.c",
        None,
    ]
