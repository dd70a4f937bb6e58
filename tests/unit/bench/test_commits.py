"""Instances from a project's own history."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.selection import commits
from bench.selection.data import load_instances
from tests.limits import LIMIT

MESSAGE = (
    "Fix the cart's wheels\n\n"
    + "They fell off whenever the road was long, and no test noticed it. " * 4
)


def commit(root: Path, message: str, **files: str) -> str:
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "add", "-A"], check=True, timeout=LIMIT)
    subprocess.run([*git, "commit", "-qm", message], check=True, timeout=LIMIT)
    return subprocess.run(
        [*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True, timeout=LIMIT
    ).stdout.strip()


def test_a_commit_that_mends_something_is_a_task(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    root = tmp_path / "work"
    subprocess.run(["git", "init", "-q", str(root)], check=True, timeout=LIMIT)
    base = commit(root, "Begin", wheels="a = 1\nb = 2\nc = 3\n", test_wheels="x = 1\n")
    mended = commit(
        root,
        f"{MESSAGE}\nSigned-off-by: a",
        wheels="a = 1\nb = 3\nc = 3\nd = 4\n",
        test_wheels="x = 2\n",
    )
    commit(root, "Fix", wheels="a = 2\n")  # says nothing
    subprocess.run(
        ["git", "clone", "-q", "--bare", str(root), str(tmp_path / "a+cart" / "repo")],
        check=True,
        timeout=LIMIT,
    )
    assert commits.main(["--repos", str(tmp_path), "a/cart"]) == 0
    kept = tmp_path / "kept.jsonl"
    kept.write_bytes(capfdbinary.readouterr().out)
    (stored,) = load_instances(str(kept))
    assert stored.query == ""
    (one,) = commits.filled([stored], str(tmp_path))
    assert (one.id, one.repo, one.base_commit) == (f"a__cart-{mended[:12]}", "a/cart", base)
    assert one.query.startswith("Fix the cart's wheels")
    assert "Signed-off-by" not in one.query
    assert [(gold.path, gold.old) for gold in one.gold] == [("wheels.py", [[2, 2], [3, 4]])]


def test_the_stored_tasks_are_those_of_the_listed_projects() -> None:
    """At least 450 tasks; a project is for tuning or for measuring, never both; no task text."""
    tasks = load_instances(commits.TASKS)
    assert len(tasks) >= 450
    assert {task.repo: task.split for task in tasks} == commits.listed()
    assert all(task.gold and all(gold.old for gold in task.gold) for task in tasks)
    assert not any(task.query for task in tasks)
    assert len({task.id for task in tasks}) == len(tasks)
