from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from sutler.scan import git
from sutler.scan.git import Tracked, parse_config
from sutler.scan.git_index import read_tracked
from sutler.scan.snapshot import Problem


@pytest.fixture(autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


def run(top: Path, *words: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    done = subprocess.run(
        ["git", *settings, *words], cwd=top, capture_output=True, timeout=60, check=True
    )
    return done.stdout.decode("utf-8", "surrogateescape")


def made(top: Path, *init: str) -> Path:
    run(top, "init", "-q", *init, "work")
    work = top / "work"
    for name in ("a", "b/c", "b/d/e", "long" * 40 + "/x", "é", "b\nl"):
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_text(name)
    run(work, "add", "-A")
    return work


def tracked(work: Path) -> Tracked:
    found = git.find_repository(str(work))
    assert found is not None
    result = read_tracked(found, git.repository_config(found))
    assert isinstance(result, Tracked), result
    return result


def listed(work: Path) -> list[str]:
    return sorted(path for path in run(work, "ls-files", "-z").split("\0") if path)


def names(found: Tracked) -> list[str]:
    return sorted(found._paths)


@pytest.mark.parametrize("version", [2, 3, 4])
def test_index_versions(tmp_path: Path, version: int) -> None:
    work = made(tmp_path)
    run(work, "update-index", f"--index-version={version}")
    if version == 3:
        (work / "later").touch()
        run(work, "add", "-N", "later")  # an extended flag, which makes version 3 real
    assert names(tracked(work)) == listed(work)


def test_sha256(tmp_path: Path) -> None:
    work = made(tmp_path, "--object-format=sha256")
    assert names(tracked(work)) == listed(work)


def test_a_split_index(tmp_path: Path) -> None:
    work = made(tmp_path)
    run(work, "update-index", "--split-index")
    run(work, "rm", "-q", "--cached", "b/c", "a")
    (work / "b/d/e").write_text("changed")
    (work / "new").touch()
    run(work, "add", "b/d/e", "new")
    assert any(name.startswith("sharedindex") for name in os.listdir(work / ".git"))
    assert names(tracked(work)) == listed(work)


def test_a_sparse_index(tmp_path: Path) -> None:
    work = made(tmp_path)
    run(work, "commit", "-qm", "x")
    run(work, "sparse-checkout", "set", "--cone", "--sparse-index", "b")
    found = tracked(work)
    assert found.file("a")
    assert found.file("long" * 40 + "/x")
    assert found.below("long" * 40)
    assert not found.below("nothing")


def test_submodules_and_work_trees(tmp_path: Path) -> None:
    inner = made(tmp_path)
    run(inner, "commit", "-qm", "x")
    run(tmp_path, "init", "-q", "outer")
    outer = tmp_path / "outer"
    run(outer, "submodule", "--quiet", "add", str(inner), "sub")
    assert tracked(outer).link("sub")
    assert not tracked(outer).file("sub")
    assert names(tracked(outer / "sub")) == listed(inner)
    run(inner, "worktree", "add", "-q", "../side")
    found = git.find_repository(str(tmp_path / "side/b"))
    assert found is not None
    assert os.path.samefile(found.common, inner / ".git")
    assert names(tracked(tmp_path / "side")) == listed(inner)


def test_no_index_means_nothing_tracked(tmp_path: Path) -> None:
    run(tmp_path, "init", "-q", "work")
    assert names(tracked(tmp_path / "work")) == []


@pytest.mark.parametrize("version", [2, 4])
def test_a_broken_index_is_a_problem_and_never_a_crash(tmp_path: Path, version: int) -> None:
    work = made(tmp_path)
    run(work, "update-index", f"--index-version={version}")
    good = (work / ".git/index").read_bytes()
    found = git.find_repository(str(work))
    assert found is not None
    rng = random.Random(version)
    for _ in range(300):
        data = bytearray(good[: rng.randint(0, len(good))] if rng.random() < 0.3 else good)
        for _ in range(rng.randint(0, 5) if data else 0):
            data[rng.randrange(len(data))] = rng.randrange(256)
        (work / ".git/index").write_bytes(data)
        assert isinstance(read_tracked(found, {}), Tracked | Problem)
    (work / ".git/index").write_bytes(b"DIRC\0\0\0\4\xff\xff\xff\xff")
    assert isinstance(read_tracked(found, {}), Problem)
    (work / ".git/index").unlink()
    os.mkfifo(work / ".git/index")
    assert isinstance(read_tracked(found, {}), Problem)


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"HEAD": "nonsense", "objects/x": "", "refs/x": ""},
        {"HEAD": "ref: refs/heads/x", "objects/x": ""},
        {"HEAD": "ref: elsewhere", "objects/x": "", "refs/x": ""},
    ],
)
def test_what_git_would_not_take_for_a_repository(tmp_path: Path, shape: dict[str, str]) -> None:
    for name, text in {"config": "", **shape}.items():
        path = tmp_path / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert git.repository_at(str(tmp_path)) is None


def test_a_bare_repository_is_a_plain_folder(tmp_path: Path) -> None:
    """T27."""
    run(tmp_path, "init", "-q", "--bare", "trap")
    assert git.repository_at(str(tmp_path / "trap")) is None


@pytest.mark.parametrize("text", ["gitdir: ../nowhere\n", "gitdir:", "nonsense", "gitdir: a\0b"])
def test_a_gitfile_that_leads_nowhere(tmp_path: Path, text: str) -> None:
    (tmp_path / ".git").write_text(text)
    assert git.repository_at(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("[core]\n\texcludesFile = ~/x\n", [("core.excludesfile", "~/x")]),
        ("[core] a=1\n b = two words  ; note\n", [("core.a", "1"), ("core.b", "two words")]),
        ('[a "S b"]\nkey\n', [("a.S b.key", "true")]),
        ('[a]\nb = " x " y "#" # c\n', [("a.b", " x  y #")]),
        ("[a]\nb = x\\\ny\\t\n", [("a.b", "xy\t")]),
        ("\ufeff# c\n[a]\r\nb = c\r\n", [("a.b", "c")]),
        ("nonsense\n[a]\nb=c\n", []),
        ("[a]\nb = \n", [("a.b", "")]),
    ],
)
def test_configuration(text: str, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    assert parse_config(text.encode(), whole=True) == pairs


def test_configuration_reads_as_git_reads_it(tmp_path: Path) -> None:
    rng = random.Random(5)
    # No tabs: older versions of git turn a tab between words into a space, newer ones keep it.
    pieces = ["a", " ", '"', "\\n", '\\"', "#", ";", "b c", "\\\\", "é", "\\\n", "=", "["]
    checked = 0
    for _ in range(150):
        value = "".join(rng.choice(pieces) for _ in range(rng.randint(0, 6)))
        file = tmp_path / "config"
        file.write_text(f"[x]\n\tk = {value}\n")
        done = subprocess.run(
            ["git", "config", "-f", str(file), "-z", "x.k"], capture_output=True, timeout=20
        )
        if done.returncode:
            continue
        checked += 1
        assert (
            dict(parse_config(file.read_bytes(), whole=True))["x.k"] == done.stdout.decode()[:-1]
        ), value
    assert checked > 60
