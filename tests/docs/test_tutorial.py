"""The five-minute tour, walked in a fresh clone of this repository, in five minutes."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

import pytest

from tests.docs.blocks import REPOSITORY, opens_screen, steps
from tests.docs.test_docs import environment
from tests.limits import LIMIT
from tests.terminals import on_terminal

TOUR = REPOSITORY / "docs/tutorial.md"
SECONDS = 300
_PAINT = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def as_pattern(line: str) -> str:
    """A line of an `output` block: blanks may be more, `…` may be anything."""
    return ".*?".join(r"\s+".join(map(re.escape, part.split())) for part in line.split("…"))


def walk(command: str, folder: Path, seconds: float) -> str:
    if opens_screen(command):
        code, seen = on_terminal(
            ["bash", "-c", command],
            folder,
            env=environment(),
            seconds=seconds,
            keys=(b"files", b"q"),
        )
        assert code == 0, seen.decode(errors="replace")
        return _PAINT.sub("", seen.decode(errors="replace"))
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=max(seconds, 1),
        check=False,
    )
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout.decode()


@pytest.mark.skipif(
    not (REPOSITORY / ".git").exists(),
    reason="there is no repository to clone in an unpacked archive",
)
def test_the_tour_takes_five_minutes_and_shows_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(
        ["git", "clone", "-q", str(REPOSITORY), str(tmp_path / "clone")], check=True, timeout=LIMIT
    )
    began = time.monotonic()
    for body, expected in steps(TOUR):
        left = SECONDS - (
            time.monotonic() - began
        )  # the promise itself, and what keeps a hang from hanging us
        shown = "\n".join(walk(line, tmp_path / "clone", left) for line in body.splitlines())
        rest = shown
        for line in filter(None, expected.splitlines()):
            found = re.search(as_pattern(line), rest)
            assert found, f"{line!r} is not in what came:\n{shown}"
            rest = rest[found.end() :]
    with capsys.disabled():
        print(f"\nthe tour took {time.monotonic() - began:.1f} s")


def test_steps_are_there() -> None:
    assert len(steps(TOUR)) >= 8
    assert sum(bool(expected) for _, expected in steps(TOUR)) >= 6
