"""What a newcomer types first, and what a terminal of any width shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Plant
from tests.limits import LIMIT

TREE = {
    "README.md": "# Cart\n",
    "src": {
        "a_rather_long_folder_name": {
            "and_another_long_one": {"cart_with_wheels.py": "WHEELS = 4\n"}
        }
    },
}


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith("SUTLER_")}
    return subprocess.run(
        [sys.executable, "-m", "sutler", *words],
        cwd=folder,
        env={**env, **variables},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


@pytest.mark.parametrize("words", [["."], ["-q"], ["src/.."], ["--format", "markdown"]])
def test_without_a_command_a_path_or_an_option_is_packed(plant: Plant, words: list[str]) -> None:
    folder = plant(TREE)
    assert run(folder, *words).stdout == run(folder, "pack").stdout


def test_a_misspelt_command_is_answered_with_the_nearest(plant: Plant) -> None:
    done = run(plant(TREE), "pakc")
    assert done.returncode == 2
    assert "did you mean 'sutler pack'?" in done.stderr


def test_rank_takes_the_text_as_a_word(plant: Plant) -> None:
    folder = plant(TREE)
    assert "cart_with_wheels.py" in run(folder, "rank", "WHEELS of the cart").stdout
    assert run(folder, "rank", "WHEELS", "src").returncode == 0
    assert run(folder, "rank").returncode == run(folder, "rank", "src").returncode == 2


def test_an_empty_ranking_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, "rank", "wheels")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no file has to do with this text" in done.stderr


@pytest.mark.parametrize(
    "words", [[], ["--no-budget"], ["-f", "json"], ["-i", "*.nothing"], ["-o", "out.md"]]
)
def test_a_pack_of_nothing_is_refused_with_a_reason(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "raw.bin").write_bytes(bytes(range(256)))
    done = run(tmp_path, "pack", *words)
    assert (done.returncode, done.stdout) == (3, "")
    assert "would hold no file" in done.stderr
    assert "rule: " in done.stderr
    assert "next: " in done.stderr
    assert not (tmp_path / "out.md").exists()


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_the_summary_fits_the_width(plant: Plant, columns: int) -> None:
    folder = plant({**TREE, "latin.txt": b"Stra\xdfe\n"})
    done = run(folder, "pack", "--mode", "ignore", "-o", "/dev/null", COLUMNS=str(columns))
    lines = done.stderr.splitlines()
    assert max(map(len, lines)) <= columns, done.stderr
    assert "wheels.py" in done.stderr
    assert ("…" in done.stderr) == (columns < 160)


def test_problems_are_named(plant: Plant) -> None:
    folder = plant({**TREE, "latin.txt": b"\x81\x8d\x8f\xff\n" * 3})
    done = run(folder, "pack", "--mode", "ignore", "-o", "/dev/null")
    assert "problems  latin.txt undecodable" in done.stderr


def test_an_unknown_variable_is_named_with_the_nearest(plant: Plant) -> None:
    done = run(plant(TREE), "pack", SUTLER_MAX_TOKEN="5k")
    assert done.returncode == 0
    assert "SUTLER_MAX_TOKEN is not read; did you mean SUTLER_MAX_TOKENS?" in done.stderr
