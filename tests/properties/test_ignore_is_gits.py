"""Our ignore rules are git's: no difference in the verdict, nor in the file, line and pattern that
decided.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sutler.scan.ignore import Source, parse_source
from tests.properties.gitworld import (
    NAMES,
    WITH_CREDENTIALS,
    Answer,
    git,
    git_answers,
    git_files,
    ignore_file,
    init,
    near,
    our_answers,
    our_files,
    our_scan,
    pattern,
    tree,
    variant,
    write,
)

FUZZ = int(os.environ.get("SUTLER_FUZZ", "1"))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user with global excludes, the same for git and for us."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_DIR"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.mark.parametrize("seed", range(160 * FUZZ))
def test_every_decision_names_gits_rule(seed: int, tmp_path: Path, home: Path) -> None:
    rng = random.Random(seed)
    top = str(tmp_path / "work")
    excludes = str(home / ".config/git/ignore")
    write(str(home), ".config/git/ignore", ignore_file(rng, 3))
    init(top, "\tignorecase = true\n" if seed % 5 == 0 else "")
    paths = tree(rng, top, 60)
    theirs, ours = git_answers(top, paths), our_answers(our_scan(top), paths, excludes)
    assert {path: (ours[path], theirs[path]) for path in paths if ours[path] != theirs[path]} == {}


def _populate(rng: random.Random, top: str) -> None:
    """Tracked files, some of them ignored, other repositories inside, links."""
    init(top)
    paths = tree(rng, top, 40)
    files = [path for path in paths if os.path.isfile(os.path.join(top, path))]
    chosen = rng.sample(files, min(len(files), rng.randint(0, 12)))
    if chosen:
        stdin = b"".join(os.fsencode(path) + b"\0" for path in chosen)
        git(top, "update-index", "--add", "-z", "--stdin", stdin=stdin)
    folders = [path for path in paths if os.path.isdir(os.path.join(top, path))]
    for folder in rng.sample(folders, min(len(folders), 2)):
        if rng.random() < 0.5:
            init(os.path.join(top, folder))
        else:
            os.makedirs(os.path.join(top, folder, ".git"))
    os.symlink(rng.choice(["a", "nowhere", "/"]), os.path.join(top, "link"))
    git(top, "update-index", f"--index-version={rng.choice([2, 3, 4])}")


@pytest.mark.parametrize("seed", range(60 * FUZZ))
def test_the_files_are_those_git_lists(seed: int, tmp_path: Path) -> None:
    top = str(tmp_path / "work")
    _populate(random.Random(seed), top)
    theirs, ours = git_files(top), our_files(our_scan(top))
    # Git lists another repository with a final slash and says nothing of one that holds no file of
    # its own.
    assert ours - theirs == set()
    assert theirs - ours == set()


@pytest.mark.parametrize("seed", range(20 * FUZZ))
def test_a_folder_of_a_repository_as_the_root(seed: int, tmp_path: Path) -> None:
    """Rules from above the root reach into it; a root that git would ignore is the user's own
    wish.
    """
    rng = random.Random(5000 + seed)
    top = str(tmp_path / "work")
    _populate(rng, top)
    for folder in sorted({path.rpartition("/")[0] for path in git_files(top)} - {""}):
        place = os.path.join(top, folder)
        if (
            not os.path.isdir(os.path.join(place, ".git"))
            and not git_answers(top, [folder])[folder].ignored
        ):
            assert our_files(our_scan(place)) == git_files(place), folder


def _first(source: Source, path: str) -> Answer:
    """The verdict of one source alone on a path that is a file, its parents asked first."""
    parts = os.fsencode(path).decode("latin-1").split("/")
    for n in range(1, len(parts) + 1):
        found = source.patterns.match("/".join(parts[:n]), n < len(parts))
        if found is not None and not found.negated:
            rule = source.rule(source.patterns.patterns.index(found))
            return Answer(True, rule.source, rule.line, rule.pattern)
    return Answer(False, "", 0, "")


@pytest.mark.parametrize("seed", range(4 * FUZZ))
def test_one_line_at_a_time(seed: int, tmp_path: Path) -> None:
    """Each line alone in a folder of its own, against thirty like paths: nothing hides behind
    another line.
    """
    rng = random.Random(1000 + seed)
    fold = seed % 2 == 1
    init(str(tmp_path), "\tignorecase = true\n" if fold else "")
    wanted = {}
    for number in range(150):
        base = "/".join(rng.choice(NAMES) for _ in range(rng.randint(1, 4)))
        paths = [base, *(variant(rng, base) for _ in range(29))]
        line = near(rng, base) if rng.random() < 0.8 else pattern(rng)
        write(str(tmp_path), f"d{number}/.gitignore", os.fsencode(line))
        source = parse_source(os.fsencode(line), f"d{number}/.gitignore", fold=fold)
        wanted.update({f"d{number}/{path}": _first(source, path) for path in paths})
    theirs = git_answers(str(tmp_path), wanted)
    assert {
        path: (ours, theirs[path]) for path, ours in wanted.items() if ours != theirs[path]
    } == {}
    assert sum(answer.ignored for answer in theirs.values()) > 50


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    top = str(tmp_path_factory.mktemp("plain"))
    init(top)
    return top


_lines = st.text(st.sampled_from("ab/*?[]!-^\\ .#:é"), min_size=1, max_size=12)
_paths = st.text(st.sampled_from("ab/*?[]!-^\\ .#é"), min_size=1, max_size=12)


@settings(
    max_examples=60 * FUZZ,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(_lines, min_size=1, max_size=20), st.lists(_paths, min_size=1, max_size=20))
def test_generated_lines_against_generated_names(
    plain: str, lines: list[str], names: list[str]
) -> None:
    """Without a tree: git decides names that need not exist, as files."""
    paths = sorted({"/".join(p for p in name.split("/") if p.strip(".")) for name in names} - {""})
    data = "\n".join(lines).encode()
    write(plain, ".gitignore", data)
    source = parse_source(data, ".gitignore")
    theirs = git_answers(plain, paths)
    for path in paths:
        # Equal lines are equal patterns; git names the last of them.
        assert _first(source, path)._replace(line=0) == theirs[path]._replace(line=0), (path, lines)


@pytest.mark.skipif(
    "SUTLER_REAL_REPOS" not in os.environ,
    reason="name checked-out repositories in SUTLER_REAL_REPOS",
)
def test_real_repositories() -> None:
    for top in os.environ["SUTLER_REAL_REPOS"].split(os.pathsep):
        assert our_files(our_scan(top, WITH_CREDENTIALS)) == git_files(top)
