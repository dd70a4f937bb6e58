"""`pack --watch` and `cache`, as a user meets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.limits import LIMIT, Lines, until

SOURCE = Path(__file__).parents[2] / "src"


def environment(home: Path) -> dict[str, str]:
    states = {"XDG_STATE_HOME": str(home / "state"), "XDG_CACHE_HOME": str(home / "cache")}
    return {**os.environ, **states, "PYTHONPATH": str(SOURCE), "PYTHONUNBUFFERED": "1"}


def sutler(*words: str, cwd: Path, home: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sutler", *words]
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment(home),
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )


@contextmanager
def watching(
    tree: Path, home: Path, *words: str
) -> Iterator[tuple[subprocess.Popen[bytes], Lines]]:
    command = [
        sys.executable,
        "-m",
        "sutler",
        "pack",
        "--watch",
        "-o",
        str(home / "out.md"),
        *words,
    ]
    child = subprocess.Popen(command, cwd=tree, env=environment(home), stderr=subprocess.PIPE)
    try:
        yield child, Lines(child.stderr)
    finally:
        child.kill()
        child.communicate(timeout=LIMIT)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "a.py").write_text("first = 1\n")
    (tree / ".gitignore").write_text("build/\n")
    return tree


def test_a_change_packs_again_and_an_interrupt_ends_it(tree: Path, tmp_path: Path) -> None:
    """What changed is in the pack soon after; Ctrl-C is the way out and no failure."""
    out = tmp_path / "out.md"
    with watching(tree, tmp_path) as (child, lines):
        lines.until("watching for changes")
        assert "first = 1" in out.read_text()
        (tree / "a.py").write_text("second = 2\n")
        until(lambda: "second = 2" in out.read_text())
        (tree / "b.py").write_text("third = 3\n")
        until(lambda: "third = 3" in out.read_text())
        child.send_signal(signal.SIGINT)
        errors = lines.rest().decode()
        child.wait(LIMIT)
    assert child.returncode == 0
    assert "Traceback" not in errors
    assert "changed: b.py" in errors


@pytest.mark.parametrize("attempt", range(6))
def test_a_change_right_after_the_message_is_packed(
    tree: Path, tmp_path: Path, attempt: int
) -> None:
    """ "watching" is printed when the watch exists: nothing that follows it is lost."""
    with watching(tree, tmp_path) as (_, lines):
        lines.until("watching for changes")
        (tree / "new").mkdir()
        (tree / "new" / "b.py").write_text(f"attempt = {attempt}\n")
        (tree / "a.py").write_text("second = 2\n")
        out = tmp_path / "out.md"
        until(lambda: all(mark in out.read_text() for mark in ("attempt =", "second = 2")))


def test_a_refused_first_pack_does_not_end_the_watch(tree: Path, tmp_path: Path) -> None:
    (tree / "a.py").unlink()
    with watching(tree, tmp_path, "-i", "*.py") as (_, lines):
        lines.until("would hold no file")
        lines.until("watching for changes")
        (tree / "a.py").write_text("again = 1\n")
        until(lambda: "again = 1" in _text(tmp_path / "out.md"))


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_what_is_ignored_packs_nothing(tree: Path, tmp_path: Path) -> None:
    """A change that no pack would show is no reason for one: of two changes the second is told
    first.
    """
    with watching(tree, tmp_path) as (_, lines):
        lines.until("watching for changes")
        (tree / "build").mkdir()
        (tree / "build" / "x.o").write_text("object")
        time.sleep(1.0)  # longer than one burst: the ignored change has been seen by now
        (tree / "a.py").write_text("second = 2\n")
        assert lines.line() == b"changed: a.py\n"


def test_a_refused_pack_does_not_end_the_watch(tree: Path, tmp_path: Path) -> None:
    with watching(tree, tmp_path, "--max-chars", "2500", "--mode", "strict") as (_, lines):
        lines.until("watching for changes")
        (tree / "latin.txt").write_bytes(b"Stra\xdfe\n")
        lines.until("sutler:")
        (tree / "latin.txt").unlink()
        (tree / "a.py").write_text("again = 1\n")
        until(lambda: "again = 1" in (tmp_path / "out.md").read_text())


@pytest.mark.parametrize(
    "words", [[], ["-o", "-"], ["--copy"], ["-o", "x.md", "--goal", "-"], ["-o", "x", "--stdin"]]
)
def test_what_cannot_be_repeated_is_refused(tree: Path, tmp_path: Path, words: list[str]) -> None:
    done = sutler("pack", "--watch", *words, cwd=tree, home=tmp_path)
    assert done.returncode == 2
    assert "--watch" in done.stderr


def test_the_cache_says_what_it_holds_and_can_be_cleared(tree: Path, tmp_path: Path) -> None:
    """`cache info` names kinds and sizes, `cache clear` leaves none, and the next pack is the
    same.
    """
    first = sutler("pack", "--no-budget", cwd=tree, home=tmp_path)
    about = json.loads(sutler("cache", "--json", cwd=tree, home=tmp_path).stdout)
    assert about["kinds"]["facts"]["files"] == 1
    assert about["bytes"] > 0
    cleared = sutler("cache", "clear", cwd=tree, home=tmp_path)
    held = sum(kind["files"] for kind in about["kinds"].values())
    assert cleared.stdout.startswith(f"cleared {held} files")
    about = json.loads(sutler("cache", "info", "--json", cwd=tree, home=tmp_path).stdout)
    assert about["bytes"] == 0
    assert sutler("pack", "--no-budget", cwd=tree, home=tmp_path).stdout == first.stdout
