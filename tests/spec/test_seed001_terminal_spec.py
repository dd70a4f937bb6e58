"""Seed 001: the flexible question on a real terminal, and the manual checklist in tmux."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Plant
from tests.goalkit import Files, program, write_goal
from tests.limits import exit_code

QUESTION = "Do you want to continue with the available files? (y/n): "
LIMIT = 60.0

PROJECT: Files = {
    "file.txt": "FILE\n",
    "README.md": "# READ\n",
    "docs": {"d.md": "DOC\n"},
    "src": {
        "a.py": "A\n",
        "one": {"b.py": "B\n", "two": {"c.py": "C\n", "three": {"d.py": "D\n"}}},
    },
    "big.txt": "x" * 3000,
    "pic.bin": b"\0\1\2",
    ".sutler": {"claw.yaml": "max_file_size_kb: 2\n"},
}


@pytest.fixture
def folder(plant: Plant) -> Path:
    place = plant(PROJECT)
    write_goal(place, "my-goal")
    return place


def talk(folder: Path, words: list[str], answer: bytes) -> tuple[int, str]:
    """Run the command on a pseudo-terminal, answer the question once it stands there, and give what
    was shown.
    """
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execv(sys.executable, [sys.executable, "-m", "sutler", *words])  # noqa: S606  # ourselves
    shown = b""
    asked = False
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        if not select.select([fd], [], [], 1.0)[0]:
            continue
        try:
            data = os.read(fd, 65536)
        except OSError:  # the terminal is gone: the child has ended
            break
        if not data:
            break
        shown += data
        if not asked and QUESTION.encode() in shown:
            os.write(fd, answer)
            asked = True
    os.close(fd)
    return exit_code(pid), shown.decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("answer", "code"),
    [(b"y\n", 0), (b"YES\n", 0), (b"n\n", 3), (b"\n", 3), (b"maybe\n", 3), (b"\x04", 3)],
    ids=["y", "YES", "n", "empty", "other", "end of file"],
)
def test_flexible_asks_on_a_terminal(folder: Path, answer: bytes, code: int) -> None:
    """FR4.1, AC5: the report comes first, y or yes goes on, everything else stops."""
    got, shown = talk(
        folder, ["dry-run", "my-goal", "-c", "file.txt", "big.txt", "gone.txt"], answer
    )
    assert got == code, shown
    assert "Errors (2):" in shown
    assert "Successfully processed 1 file(s)." in shown
    assert ("### file.txt" in shown) == (code == 0)
    assert ("aborted by user" in shown) == (code != 0)


def test_interrupt_at_the_question(folder: Path) -> None:
    """Ctrl-C at the question ends with 130 and prints no prompt."""
    got, shown = talk(folder, ["dry-run", "my-goal", "-c", "gone.txt"], b"\x03")
    assert got == 130, shown
    assert "# Context Files" not in shown


# The manual checklist, typed into a shell inside tmux
# ------------------------------------------------------------


class Pane:
    """A tmux session of its own with a shell in the project; `type` waits for the command to
    end.
    """

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder.parent / "tmux")
        self.count = 0
        env = {**os.environ, "PS1": "$ ", "TERM": "xterm"}
        self._tmux(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "180",
            "-y",
            "200",
            "-c",
            str(folder),
            "sh",
            env=env,
        )

    def _tmux(self, *words: str, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-S", self.socket, *words],
            capture_output=True,
            text=True,
            timeout=LIMIT,
            check=True,
            env=env,
        )
        return done.stdout

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-S", "-2000", "-J")

    def until(self, text: str) -> str:
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            shown = self.screen()
            if text in shown:
                return shown
            select.select([], [], [], 0.1)
        raise AssertionError(f"{text!r} never appeared in:\n{self.screen()}")

    def type(self, line: str, answer: str = "") -> str:
        """Type a command; the marker with its exit code is what we wait for."""
        self.count += 1
        self._tmux("send-keys", "-l", f"clear; {line}; echo end-{self.count}=$?")
        self._tmux("send-keys", "Enter")
        if answer:
            self.until(QUESTION.strip())
            self._tmux("send-keys", "-l", answer)
            self._tmux("send-keys", "Enter")
        return self.until(f"\nend-{self.count}=")

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def pane(folder: Path) -> Iterator[Pane]:
    if not shutil.which("tmux"):
        pytest.skip("tmux is not installed")
    found = Pane(folder)
    yield found
    found.close()


def test_manual_checklist(folder: Path, pane: Pane, tmp_path: Path) -> None:
    """The checklist: one file, a directory, mixed, depth, missing, large, binary, each mode, an
    existing goal.
    """
    model = program(tmp_path / "bin", "model", "cat")
    goal = (
        f"{shlex.quote(sys.executable)} -m sutler run my-goal --command {shlex.quote(str(model))}"
    )
    one = pane.type(f"{goal} --context file.txt")
    assert "### file.txt" in one
    assert "end-1=0" in one
    assert "### src/one/two/three/d.py" in pane.type(f"{goal} --context ./src/")
    mixed = pane.type(f"{goal} --context file.txt ./docs/ README.md")
    assert all(f"### {path}" in mixed for path in ("file.txt", "docs/d.md", "README.md"))
    limited = pane.type(f"{goal} --context ./src/ --recurse_depth 2")
    assert "### src/one/two/c.py" in limited
    assert "three" not in limited
    missing = pane.type(f"{goal} --context nowhere.txt", answer="n")
    assert "Path does not exist: nowhere.txt" in missing
    assert "end-5=3" in missing
    large = pane.type(f"{goal} --context big.txt file.txt", answer="y")
    assert "File too large: big.txt (3 KB exceeds limit of 2 KB)" in large
    assert "### file.txt" in large
    binary = pane.type(f"{goal} --context pic.bin file.txt")
    assert "Skipped binary file: pic.bin" in binary
    assert "end-8=3" in pane.type(f"{goal} --mode strict --context big.txt")
    ignored = pane.type(f"{goal} --mode ignore --context big.txt file.txt")
    assert "ignored: File too large" in ignored
    assert "end-9=0" in ignored
    plain = pane.type(goal)
    assert "Say hello." in plain
    assert "# Context Files" not in plain
