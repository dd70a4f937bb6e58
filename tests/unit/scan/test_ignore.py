from __future__ import annotations

import os
from pathlib import Path

import pytest

from sutler.scan.ignore import Node, load, no_rules, parse_source
from sutler.scan.snapshot import Problem, Rule
from sutler.system import fs


def node(**files: str) -> Node:
    names = {
        "sutler": ".sutlerignore",
        "plain": ".ignore",
        "git": ".gitignore",
        "cursor": ".cursorignore",
    }
    return no_rules().with_sources(
        [(names[key], parse_source(text.encode(), names[key])) for key, text in files.items()]
    )


def test_lines_are_read_as_git_reads_them() -> None:
    data = b"\xef\xbb\xbf# note\n\na  \r\nb\\ \nc\0d\n!e\n   \n\\#f"
    source = parse_source(data, ".gitignore")
    assert [
        (line, one.text) for line, one in zip(source.lines, source.patterns.patterns, strict=True)
    ] == [
        (3, "a"),
        (4, "b\\ "),
        (5, "c"),
        (6, "!e"),
        (8, "\\#f"),
    ]


def test_the_stronger_family_keeps_what_the_weaker_ignores() -> None:
    rules = node(sutler="!a\n", git="a\n")
    own = rules.own("a", False)
    assert own is not None
    assert not own.ignored
    found = rules.git("a", False)
    assert found is not None
    assert found.ignored


def test_sutlerignore_before_ignore() -> None:
    own = node(sutler="!a\n", plain="a\nb\n").own("a", False)
    assert own is not None
    assert own.rule.source == ".sutlerignore"


def test_a_denial_names_its_line() -> None:
    rules = node(cursor="# private\nnotes/\n")
    assert rules.denial("notes", True) == Rule(".cursorignore", "notes/", 2)
    assert rules.denial("notes", False) is None


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("private", "PRIVATE"),
        ("s\u00e9cret", "se\u0301cret"),
        ("se\u0301cret", "s\u00e9cret"),
        ("plan", "\uff50lan"),
        ("*.md", "A.MD"),
    ],
)
def test_a_denial_holds_in_every_spelling(line: str, name: str) -> None:
    """T15, T16."""
    assert node(cursor=line).denial(name, False) is not None


def test_negation_in_one_ai_file_lifts_nothing_of_another() -> None:
    rules = no_rules().with_sources(
        [
            (".cursorignore", parse_source(b"*.key\n", ".cursorignore")),
            (".aiignore", parse_source(b"!a.key\n", ".aiignore")),
        ]
    )
    assert rules.denial("a.key", False) is not None


@pytest.mark.parametrize(
    ("text", "denied"), [("", True), ("\n \n", True), ("b\n", False), ("*\n!a\n", True)]
)
def test_aiexclude(tmp_path: Path, text: str, denied: bool) -> None:
    (tmp_path / ".aiexclude").write_text(text)
    fd = fs.open(str(tmp_path), fs.O_RDONLY | fs.O_DIRECTORY)
    source = load(fd, ".aiexclude", ".aiexclude", False)
    fs.close(fd)
    assert not isinstance(source, Problem)
    assert (
        no_rules().with_sources([(".aiexclude", source)]).denial("a", False) is not None
    ) == denied


@pytest.mark.parametrize(
    ("target", "denied"), [(".gitignore", "a"), ("/etc/hostname", "anything"), ("..", "anything")]
)
def test_an_ai_file_that_is_a_link(tmp_path: Path, target: str, denied: str) -> None:
    """A neighbour is read; anything else cannot be, and a denial that cannot be read denies all."""
    (tmp_path / ".gitignore").write_text("a\n")
    os.symlink(target, tmp_path / ".cursorignore")
    fd = fs.open(str(tmp_path), fs.O_RDONLY | fs.O_DIRECTORY)
    source = load(fd, ".cursorignore", ".cursorignore", False)
    plain = load(fd, ".cursorignore".replace("cursor", "git"), ".gitignore", False)
    fs.close(fd)
    assert not isinstance(source, Problem)
    assert not isinstance(plain, Problem)
    assert no_rules().with_sources([(".cursorignore", source)]).denial(denied, False) is not None


def test_a_linked_gitignore_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "rules").write_text("a\n")
    os.symlink("rules", tmp_path / ".gitignore")
    fd = fs.open(str(tmp_path), fs.O_RDONLY | fs.O_DIRECTORY)
    assert isinstance(load(fd, ".gitignore", ".gitignore", False), Problem)
    fs.close(fd)


def test_directories_without_rules_share_their_parents_node() -> None:
    rules = node(git="*.o\ndocs/_build/\n")
    quiet = rules.child("src")
    assert not quiet.live
    assert quiet.child("x") is quiet
    assert rules.child("lib") is quiet
    assert rules.child("docs").live
