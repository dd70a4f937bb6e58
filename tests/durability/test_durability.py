"""Short runs of the durability commands; docs/durability.md has the long ones with their
figures.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.durability.linear import Op, judge, run
from tests.limits import LONG
from tests.stores import FUZZ


def command(name: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", f"tests.durability.{name}", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


@pytest.mark.skipif(
    not shutil.which("cc"), reason="needs a C compiler for the library that lets calls fail"
)
def test_calls_to_the_disk_fail_and_nothing_is_lost(tmp_path: Path) -> None:
    assert "0 violations" in command("faults", str(tmp_path), str(max(1, int(90 / FUZZ))))


@pytest.mark.skipif(
    os.getuid() != 0 or not os.path.exists("/dev/loop-control") or not shutil.which("mkfs.ext4"),
    reason="needs root, a loop device and ext4 to cut the power of",
)
def test_the_power_goes(tmp_path: Path) -> None:
    assert "0 lost, 0 torn" in command("power", str(tmp_path), str(int(3 * FUZZ)), "1")


def test_operations_on_a_file_are_linearizable(tmp_path: Path) -> None:
    assert run(tmp_path / "sqlite", "", 4, int(15 * FUZZ), 1)[2] == []


def test_operations_on_a_file_are_linearizable_on_postgres(
    tmp_path: Path, postgres_url: str
) -> None:
    assert run(tmp_path / "postgres", postgres_url, 3, int(8 * FUZZ), 1)[2] == []


# the judge must be able to say no


def op(kind: str, text: str, began: int, ended: int, saw: str = "", state: str = "ok") -> Op:
    return Op("f", kind, saw, text, state, began, ended)


@pytest.mark.parametrize(
    ("versions", "operations", "what"),
    [
        (["0", "a"], [op("blind", "a", 1, 2), op("blind", "b", 3, 4)], "lost"),
        (["0", "a"], [op("blind", "a", 1, 2, state="refused")], "refused and done"),
        (
            ["0", "a", "b"],
            [op("blind", "a", 1, 2), op("over", "b", 3, 4, saw="0")],
            "update was lost",
        ),
        (["0", "a"], [op("blind", "a", 1, 2), op("read", "0", 3, 4)], "when it had ended"),
        (["0", "a", "b"], [op("blind", "b", 1, 2), op("blind", "a", 3, 4)], "when it had ended"),
        (["0", "a", "b"], [op("blind", "a", 1, 2)], "nobody wrote version 2"),
        (["0", "a"], [op("blind", "a", 1, 2), op("read", "x", 3, 4)], "lost"),
    ],
)
def test_the_judge_finds_anomalies(versions: list[str], operations: list[Op], what: str) -> None:
    assert what in " ".join(judge("f", versions, operations))


def test_the_judge_lets_overlapping_operations_pass() -> None:
    operations = [
        op("blind", "b", 1, 9),
        op("append", "c", 2, 8),
        op("read", "bc", 3, 7),
        op("read", "0", 1, 5),
    ]
    assert judge("f", ["0", "b", "bc"], operations) == []
