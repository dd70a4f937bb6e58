from __future__ import annotations

import pytest

from sutler.survey.evidence import ASIDE, DEV_WORDS, beside, one_line, tame, tree_of


@pytest.mark.parametrize(
    ("folder", "relative", "path"),
    [
        ("a/b", "c", "a/b/c"),
        ("a/b", "./c//d", "a/b/c/d"),
        ("a/b", "../c", "a/c"),
        ("a", "../../../c", "c"),
        ("", "x\\y", "x/y"),
        ("", ".", ""),
    ],
)
def test_beside_never_leaves_the_root(folder: str, relative: str, path: str) -> None:
    assert beside(folder, relative) == path


def test_one_line_cuts_at_a_word() -> None:
    assert one_line(" a \n b ") == "a b"
    assert one_line("word " * 100, 12) == "word word …"


def test_tame_bounds_blank_runs_and_length() -> None:
    assert tame("a" + " " * 50 + "b" + " \n" * 50 + "c") == "a b\nc"
    assert len(tame("x" * 10**6)) == 150_000


def test_tree_matches_workspace_globs() -> None:
    tree = tree_of(["a/package.json", "b/c/package.json", "package.json", "b/x.js"])
    assert tree.matching("", ["*"], "package.json") == ("a/package.json",)
    assert tree.matching("", ["**", "!a"], "package.json") == ("b/c/package.json",)
    assert tree.matching("b", ["c/"], "package.json") == ("b/c/package.json",)
    assert tree.first(["no", "b/x.js", "package.json"]) == ("b/x.js",)
    assert tree.first([]) == ()


@pytest.mark.parametrize(
    ("word", "yes"),
    [("dev", True), ("requirements-test", True), ("latest", False), ("redis", False)],
)
def test_developer_groups(word: str, yes: bool) -> None:
    assert bool(DEV_WORDS.search(word)) is yes


@pytest.mark.parametrize(
    ("path", "yes"),
    [("examples/a/x", True), ("src/docs/x", True), ("latest/x", False), ("src/x", False)],
)
def test_folders_aside(path: str, yes: bool) -> None:
    assert bool(ASIDE.search(path)) is yes
