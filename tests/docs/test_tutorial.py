"""The five-minute tour, walked in a fresh clone of this repository, in five minutes."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.blocks import REPOSITORY, sets_up, steps
from tests.docs.player import Shell
from tests.limits import LIMIT

TOUR = REPOSITORY / "docs/tutorial.md"
SECONDS = 300


def as_pattern(line: str) -> str:
    """A line of an `output` block: blanks may be more, `…` may be anything."""
    return ".*?".join(r"\s+".join(map(re.escape, part.split())) for part in line.split("…"))


def walk(shell: Shell, left: Callable[[], float], *, install: bool = False) -> None:
    """Take every step of the tour and compare what it shows; `left` is the time that remains."""
    for body, expected in steps(TOUR):
        shown = ""
        for line in body.splitlines():
            if sets_up(line) and not install:
                continue
            code, output = shell.run(line, keys=b"q", seconds=max(left(), 1))
            assert code == 0, f"{line}\n{output}"
            shown += output + "\n"
        rest = shown
        for line in filter(None, expected.splitlines()):
            match = re.search(as_pattern(line), rest)
            assert match, f"{line!r} is not in the output:\n{shown}"
            rest = rest[match.end() :]


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
    (tmp_path / "home").mkdir()
    shell = Shell(tmp_path / "home", tmp_path / "clone", str(Path(sys.executable).parent))
    began = time.monotonic()
    walk(shell, lambda: SECONDS - (time.monotonic() - began))
    with capsys.disabled():
        print(f"\nthe tour took {time.monotonic() - began:.1f} s")


def test_steps_are_there() -> None:
    assert len(steps(TOUR)) >= 8
    assert sum(bool(expected) for _, expected in steps(TOUR)) >= 6
