"""The same rows from every executor, and after kills in the middle of units.

`bench.fleet.executors` on 60 packages and 1,000 trees is the long run.
"""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.limits import LIMIT

KEY = "ghp_" + "a8Kq2Lm9" * 4 + "Zt7X"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Repositories of which two share files; one gives a secret away."""
    top = tmp_path / "sources"
    for number in range(4):
        tree = top / f"cart{number}"
        tree.mkdir(parents=True)
        (tree / "shared.py").write_text("def shared(items):\n    return sum(items)\n" * 40)
        (tree / "own.py").write_text(f"class Cart{number}:\n    limit = {number}\n")
        if number == 1:
            (tree / "deploy.sh").write_text(f"export GITHUB_TOKEN={KEY}\n")
        for words in (
            ("init", "-q", "-b", "main"),
            ("add", "-A"),
            ("-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "first"),
        ):
            subprocess.run(["git", "-C", str(tree), *words], check=True, timeout=LIMIT)
    return top


def run(sources: Path, *words: str) -> str:
    """The output of the bench, which ends with 1 if a dataset differs."""
    command = [sys.executable, "-m", "bench.fleet.executors", *words, "--sources", str(sources)]
    done = subprocess.run(command, capture_output=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
    return done.stdout.decode()


def test_workers_on_postgresql_give_the_rows_of_the_local_pool(sources: Path) -> None:
    assert "dataset equal, row for row" in run(sources, "workers")


def test_kills_of_a_worker_a_driver_and_the_server_change_no_row(sources: Path) -> None:
    output = run(sources, "kills", "--kills", "3")
    assert "kills so far: {'driver': 1, 'server': 1, 'worker': 1}" in output
    assert "DIFFERS" not in output


@pytest.mark.skipif(find_spec("ray") is None, reason="ray is an extra")
def test_two_nodes_of_ray_give_the_rows_of_the_local_pool(sources: Path) -> None:
    assert "Ray on two nodes: dataset equal, row for row" in run(sources, "ray")
