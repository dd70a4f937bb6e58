from __future__ import annotations

import pytest

from sutler.access.globs import MAX_GLOBS, allows, denies, fold, matches, require_globs
from sutler.values.errors import UsageError

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
    ("[x", "[x", True),
    ("[]]", "]", True),
    ("\\*", "*", True),
    ("\\*", "a", False),
    ("{a,b}", "a", False),
    (".git", ".github/x", False),
    (".env", "src/.environment", False),
    ("*é*", "é", True),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), ROWS)
def test_matches(pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, path) is expected


@pytest.mark.parametrize("pattern", ["../**", "a/../b", "x" * 2_000])
def test_a_glob_that_reaches_out_is_refused(pattern: str) -> None:
    with pytest.raises(UsageError):
        matches(pattern, "a")


def test_a_glob_is_refused_where_there_is_nothing_to_match() -> None:
    with pytest.raises(UsageError, match="holds"):
        require_globs(["*.py", "../x"])
    with pytest.raises(UsageError, match="51 globs"):
        require_globs(["*"] * (MAX_GLOBS + 1))
    require_globs(["*"] * MAX_GLOBS)


@pytest.mark.parametrize("pattern", ["*a" * 200, "**/" * 200 + "b", "/".join(["*a*a*a*"] * 100), "[!-~]" * 150])
def test_hostile_globs_end(pattern: str) -> None:
    """The work is bounded by the product of the lengths; a backtracking matcher would not finish these."""
    assert not matches(pattern, "/".join(["a" * 60] * 60) + "/c")


SKEWED = [".ENV", ".env.", ".env ", ".env::$DATA", ".en\u200bv", ".\uff45nv", "x/.EnV", "x\\.env"]


@pytest.mark.parametrize("path", SKEWED)
def test_a_denial_holds_in_every_spelling(path: str) -> None:
    assert denies(".env", path)
    assert not allows(".env", path) or path == "x/.env"


@pytest.mark.parametrize(("pattern", "path"), [("s\u00e9cret", "se\u0301cret/x"), ("se\u0301cret", "s\u00e9cret/x")])
def test_composed_and_decomposed_are_the_same_to_a_denial(pattern: str, path: str) -> None:
    assert denies(pattern, path)
    assert not allows(pattern, path)


def test_fold_keeps_the_components() -> None:
    assert fold("A/..b/C.") == "a/..b/c"
