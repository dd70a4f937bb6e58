"""Programs as children: their input and output at once, and the limits that end them."""

from __future__ import annotations

import os
from pathlib import Path

from sutler.process import Bounds, capture


def test_capture_feeds_and_reads_at_once(tmp_path: Path) -> None:
    """A large stdin and a large stdout at the same time do not deadlock."""
    data = b"0123456789" * 300_000
    done = capture(["cat"], cwd=str(tmp_path), env=dict(os.environ), stdin=data)
    assert (done.out, done.code) == (data, 0)


def test_a_child_that_does_not_read_is_fine(tmp_path: Path) -> None:
    done = capture(["true"], cwd=str(tmp_path), env=dict(os.environ), stdin=b"x" * 1_000_000)
    assert done.code == 0


def test_a_child_that_leaves_its_pipe_open_is_ended(tmp_path: Path) -> None:
    done = capture(
        ["sh", "-c", "sleep 600 & echo x"],
        cwd=str(tmp_path),
        env=dict(os.environ),
        bounds=Bounds(seconds=0.5),
    )
    assert done.stopped == "time"


def test_a_descendant_is_not_waited_for_without_patience(tmp_path: Path) -> None:
    """The output of the program itself is complete."""
    done = capture(
        ["sh", "-c", "sleep 600 & head -c 300000 /dev/zero"],
        cwd=str(tmp_path),
        env=dict(os.environ),
        bounds=Bounds(patience=0.0),
    )
    assert (done.stopped, len(done.out)) == ("", 300_000)


def test_a_program_that_outgrows_its_room_is_ended(tmp_path: Path) -> None:
    grown = tmp_path / "grown"
    done = capture(
        ["sh", "-c", "echo x > grown; sleep 600"],
        cwd=str(tmp_path),
        env=dict(os.environ),
        bounds=Bounds(fits=lambda: not grown.exists()),
    )
    assert done.stopped == "room"
