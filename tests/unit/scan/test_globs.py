from __future__ import annotations

import pytest

from sutler.errors import UsageError
from sutler.scan.globs import CALL_GLOBS, GLOB_COUNT, GlobSet, expand_braces, literal, require_globs


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
        ("src/**", "x/src/a", False),  # the slash in the middle anchors, as in git
        ("src/*", "src/x/a.py", True),  # src/x is a directory that matches
        ("./a.py", "a.py", True),
        ("./a.py", "x/a.py", False),
        ("src//x/./y", "src/x/y", True),
        ("cart*/", "src/cart.py", False),
        ("cart*/", "src/cart/x.py", True),
        ("**/", "a", False),
        ("**/", "x/a", True),
        ("a/**/", "a/b", False),
        ("a/**/", "a/b/c", True),
        ("a/b**/c", "a/bx/y/c", True),  # git matches what follows the literal head by itself
        ("a/b**", "a/b", True),
        ("**/**", "a", True),
        ("[[:digit:]]x", "7x", True),
        ("[a\\]b]", "]", True),
        ("\\*", "*", True),
        ("\\*", "a", False),
        ("{a,b", "{a,b", True),
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
    "glob",
    [
        "",
        "/",
        ".",
        "../**",
        "a/../b",
        "{..,a}/b",
        "!x",
        "{!x,y}",
        "{,x}",
        "a\0",
        "{a,b}" * 12,
        "x" * 5000,
        "{" * 3000 + "a,b",
        "a[",
        "[!",
        "[]",
        "[a-",
        "[[:nope:]]",
        "[[:alpha:]",
        "x/[/]",
        "a\\",
        "*.{py,[}",
    ],
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
    ("glob", "fault"),
    [
        ("a[", "class that does not end"),
        ("[[:nope:]]", "no class of characters"),
        ("a\\", "escapes nothing"),
        ("!a", "starts with '!'"),
        ("../a", "nothing below the root"),
        ("{a,b}" * 10, "more than 1000 alternatives"),
    ],
)
def test_an_error_names_the_fault_the_rule_and_the_next_step(glob: str, fault: str) -> None:
    with pytest.raises(UsageError, match=fault) as caught:
        require_globs([glob])
    assert caught.value.rule
    assert caught.value.next_step


def test_a_call_has_a_limit() -> None:
    with pytest.raises(UsageError, match="51 globs"):
        require_globs(["*"] * (CALL_GLOBS + 1), CALL_GLOBS)
    require_globs(["*"] * CALL_GLOBS, CALL_GLOBS)


def test_a_directory_is_entered_for_its_content() -> None:
    globs = GlobSet(["a/**", "/b/"])
    assert [globs.match(path, directory=True) for path in ("a", "b", "x/a")] == [
        "a/**",
        "/b/",
        None,
    ]
    assert globs.match("a") is globs.match("b") is globs.match("") is None


def test_a_literal_matches_itself_alone() -> None:
    for path in ("a*[b]{c,d}\\e", "!x", "# y", "é?"):
        assert GlobSet([f"/{literal(path)}"]).match(path)
        assert not GlobSet([f"/{literal(path)}"]).match(f"x/{path}")
