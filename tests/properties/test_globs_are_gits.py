"""The user's globs are gitignore's patterns wherever the two dialects coincide."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.errors import UsageError
from sutler.scan.globs import GlobSet, allows, denies, literal
from tests.properties.gitworld import NAMES, git, git_answers, init, near, pattern, variant, write

FUZZ = int(os.environ.get("SUTLER_FUZZ", "1"))

# Ours alone: `!`, braces, `./`, repeated slashes. An ignore file's alone: comments, trimmed spaces.
_OTHER_DIALECT = re.compile(r"^[!#]|[{}]|//|(?:^|/)\.{1,2}(?:/|$)| $|^/?$")


def some_paths(rng: random.Random, count: int) -> list[str]:
    paths = {"/".join(rng.choice(NAMES) for _ in range(rng.randint(1, 5))) for _ in range(count)}
    return sorted(paths | {variant(rng, path) for path in sorted(paths)})


def some_globs(rng: random.Random, paths: list[str], count: int) -> list[str]:
    globs = [rng.choice([pattern(rng), near(rng, rng.choice(paths))]) for _ in range(count)]
    return [glob for glob in globs if not _OTHER_DIALECT.search(glob)]


def selected(glob: str, paths: list[str]) -> set[str]:
    """A malformed glob is our error; git takes it for one that matches nothing."""
    try:
        globs = GlobSet([glob])
    except UsageError:
        return set()
    return {path for path in paths if globs.match(path)}


@pytest.mark.parametrize("seed", range(12 * FUZZ))
def test_a_glob_selects_what_gitignore_ignores(seed: int, tmp_path: Path) -> None:
    """One folder for each glob, whose ignore file holds nothing else: git is asked once."""
    rng = random.Random(seed)
    init(str(tmp_path))
    paths = some_paths(rng, 30)
    globs = some_globs(rng, paths, 90)
    for number, glob in enumerate(globs):
        write(str(tmp_path), f"{number}/.gitignore", os.fsencode(glob + "\n"))
    asked = [f"{number}/{path}" for number in range(len(globs)) for path in paths]
    answers = git_answers(str(tmp_path), asked)
    for number, glob in enumerate(globs):
        theirs = {path for path in paths if answers[f"{number}/{path}"].ignored}
        assert selected(glob, paths) == theirs, glob


@pytest.mark.parametrize("seed", range(12 * FUZZ))
def test_an_anchored_glob_selects_what_a_pathspec_lists(seed: int, tmp_path: Path) -> None:
    """`:(glob)` must match the whole path, which is a file contract's reading; a glob that only a
    file's name can end means the same to every door."""
    rng = random.Random(seed)
    git(str(tmp_path), "init", "-q")
    # A contract's `?` is a character and git's a byte, so the names are ASCII.
    paths = [path + ".zz" for path in some_paths(rng, 40) if path.isascii()]
    blob = git(str(tmp_path), "hash-object", "-w", "--stdin", stdin=b"x\n").decode().strip()
    rows = b"".join(f"100644 {blob}\t".encode() + os.fsencode(path) + b"\0" for path in paths)
    git(str(tmp_path), "update-index", "--add", "-z", "--index-info", stdin=rows)
    for _ in range(25):
        middle = rng.choice(["*", "**", "?", "a*", "[!a]*", "*b", "[a-f]?"])
        glob = f"{rng.choice(['*', '**', 'a', '?', '[ab]', 'foo'])}/{middle}/*.zz"
        listed = git(str(tmp_path), "ls-files", "-z", "--", f":(glob){glob}").split(b"\0")[:-1]
        theirs = {os.fsdecode(path) for path in listed}
        for whole in (False, True):
            globs = GlobSet([glob], whole=whole)
            assert {path for path in paths if globs.match(path)} == theirs, glob


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_glob_on_any_path(glob: str, path: str) -> None:
    """A glob is matched or refused, whatever it holds; a denial covers what an allowance opens."""
    try:
        hit = GlobSet([glob]).match(path)
    except UsageError:
        with pytest.raises(UsageError):
            denies(glob, path)
        return
    assert not hit or (denies(glob, path) and hit == glob)
    assert denies(glob, path) or not allows(glob, path)


@given(st.text(min_size=1, max_size=40), st.booleans())
def test_a_plain_path_matches_itself(path: str, whole: bool) -> None:
    if "\0" not in path and not {"", ".", ".."} & set(path.split("/")):
        assert GlobSet([f"/{literal(path)}"], whole=whole).match(path)
