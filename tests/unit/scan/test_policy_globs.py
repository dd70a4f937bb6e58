from __future__ import annotations

import pytest

from sutler.errors import UsageError
from sutler.scan.globs import allows, denies, fold

ROWS = [
    ("*.py", "a.py", True),
    ("*.py", "src/deep/a.py", True),
    ("*.py", "a.pyc", False),
    ("src/*.py", "src/a.py", True),
    ("src/*.py", "src/b/a.py", False),
    ("src/**/a.py", "src/a.py", True),
    ("src/**/a.py", "src/x/y/a.py", True),
    ("/a", "a", True),
    ("/a", "b/a", False),
    ("src", "src/x/y", True),
    ("src/", "src/x", True),
    ("src/**", "src", True),
    ("**", "", True),
    ("*", "", False),
    ("[a-c]x", "bx", True),
    ("[!a-c]x", "bx", False),
    ("[]]", "]", True),
    ("\\*", "*", True),
    ("\\*", "a", False),
    ("{a,b}", "a", True),
    ("{a,b}", "c", False),
    (".git", ".github/x", False),
    (".env", "src/.environment", False),
    ("*é*", "é", True),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), ROWS)
def test_a_rule_matches(pattern: str, path: str, expected: bool) -> None:
    assert denies(pattern, path) is expected
    # A policy does not know what is at a path: only a rule that closes takes a directory's glob for
    # it.
    assert allows(pattern, path) is (expected and (pattern, path) != ("src/**", "src"))


@pytest.mark.parametrize("pattern", ["../**", "a/../b", "x" * 5_000, "[x", "a\\", "!a"])
def test_a_glob_that_can_match_nothing_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError):
        denies(pattern, "a")
    with pytest.raises(UsageError):
        allows(pattern, "a")


@pytest.mark.parametrize(
    "pattern", ["*a" * 200, "**/" * 200 + "b", "/".join(["*a*a*a*"] * 100), "[!-~]" * 150]
)
def test_hostile_globs_end(pattern: str) -> None:
    """The work is bounded by the product of the lengths; a backtracking matcher would not finish
    these.
    """
    assert not denies(pattern, "/".join(["a" * 60] * 60) + "/c")


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("docs/", "docs"),
        ("{a,b}", "{a,b}"),
        ("?.py", "é.py"),
        ("[!a]", "é"),
        ("[é]", "é"),
        ("[[:alpha:]]", "a]"),
        ("[a\\b]", "\\"),
        ("a\\/b", "a\\/b"),
    ],
)
def test_a_denial_holds_in_every_reading(glob: str, path: str) -> None:
    """What the glob may have meant is closed too: braces and classes as plain characters, a
    directory's glob for a file, a wildcard for a character of several bytes."""
    assert denies(glob, path)


SKEWED = [".ENV", ".env.", ".env ", ".env::$DATA", ".en\u200bv", ".\uff45nv", "x/.EnV", "x\\.env"]


@pytest.mark.parametrize("path", SKEWED)
def test_a_denial_holds_in_every_spelling(path: str) -> None:
    assert denies(".env", path)
    assert not allows(".env", path) or path == "x/.env"


@pytest.mark.parametrize(
    ("pattern", "path"), [("s\u00e9cret", "se\u0301cret/x"), ("se\u0301cret", "s\u00e9cret/x")]
)
def test_composed_and_decomposed_are_the_same_to_a_denial(pattern: str, path: str) -> None:
    assert denies(pattern, path)
    assert not allows(pattern, path)


def test_fold_keeps_the_components() -> None:
    assert fold("A/..b/C.") == "a/..b/c"
