from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sutler.scan.commits import head_of, plumbing, read_history
from sutler.scan.git import find_repository
from tests.limits import LIMIT


def git(folder: Path, *words: str) -> None:
    clean = {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "PATH": os.environ["PATH"],
    }
    who = {
        f"GIT_{role}_{part}": "x@y"
        for role in ("AUTHOR", "COMMITTER")
        for part in ("NAME", "EMAIL")
    }
    subprocess.run(
        ["git", "-C", str(folder), *words],
        check=True,
        capture_output=True,
        env=clean | who,
        timeout=LIMIT,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    for number, (name, text) in enumerate([("a.py", "1"), ("b é\n.py", "2"), ("a.py", "3")]):
        (tmp_path / name).write_text(text)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", f"Change {number}\n\nWith a body.")
    return tmp_path


def test_commits_newest_first_with_messages_and_paths(repository: Path) -> None:
    commits = read_history(str(repository / ".git"))
    assert [(c.message, c.paths) for c in commits] == [
        ("Change 2\n\nWith a body.", ("a.py",)),
        ("Change 1\n\nWith a body.", ("b é\n.py",)),
        ("Change 0\n\nWith a body.", ("a.py",)),
    ]


def test_the_limit_holds(repository: Path) -> None:
    assert len(read_history(str(repository / ".git"), limit=2)) == 2


def test_no_repository_gives_no_history(tmp_path: Path) -> None:
    assert read_history(str(tmp_path / "nothing")) == ()


def test_a_hostile_configuration_runs_nothing(repository: Path) -> None:
    """Every setting that can start a program points at one that leaves a mark; reading history
    leaves none.
    """
    mark = repository.parent / f"{repository.name}-mark"
    trap = repository / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho run >> '{mark}'\ncat\n")
    trap.chmod(0o755)
    keys = (
        *(
            "core.fsmonitor",
            "core.pager",
            "core.sshCommand",
            "core.editor",
            "diff.external",
            "diff.t.textconv",
        ),
        *(
            "diff.t.command",
            "filter.f.clean",
            "filter.f.smudge",
            "filter.f.process",
            "gpg.program",
            "pager.log",
        ),
        *(
            "core.askPass",
            "credential.helper",
            "pager.diff-tree",
            "pager.rev-list",
            "core.alternateRefsCommand",
        ),
        "uploadpack.packObjectsHook",
    )
    for key in keys:
        git(repository, "config", key, str(trap))
    for key, value in (
        ("log.showSignature", "true"),
        ("core.hooksPath", str(repository)),
        ("diff.renames", "copies"),
    ):
        git(repository, "config", key, value)
    attributes = "* diff=t filter=f\n"
    (repository / ".gitattributes").write_text(attributes)
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/attributes").write_text(attributes)
    assert len(read_history(str(repository / ".git"))) == 3
    assert not mark.exists()


def head(folder: Path) -> str:
    repository = find_repository(str(folder))
    assert repository is not None
    return head_of(repository)


def by_git(folder: Path) -> str:
    return (
        plumbing(str(folder / ".git"), ["rev-list", "--max-count=1", "HEAD", "--"]).decode().strip()
    )


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("checkout", "-q", "-b", "topic/new"),
        ("checkout", "-q", "HEAD~1"),
        ("pack-refs", "--all"),
    ],
    ids=["branch", "branch in a folder", "detached", "packed"],
)
def test_the_head_is_gits(repository: Path, words: tuple[str, ...]) -> None:
    git(repository, *words)
    assert head(repository) == by_git(repository) != ""


def test_the_head_of_a_second_work_tree(repository: Path) -> None:
    git(repository, "worktree", "add", "-q", "-b", "side", str(repository / "side"), "HEAD~2")
    assert head(repository / "side") not in ("", head(repository))


def test_a_branch_without_a_commit_has_no_head(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert head(tmp_path) == by_git(tmp_path) == ""


@pytest.mark.parametrize(
    "text", ["ref: refs/heads/../../outside\n", "ref: refs/heads/main\n\n", "ref: refs/heads/\0\n"]
)
def test_a_hostile_head_names_nothing(repository: Path, text: str) -> None:
    (repository / "outside").write_text("a" * 40 + "\n")
    (repository / ".git" / "HEAD").write_text(text)
    assert head(repository) == by_git(repository)
