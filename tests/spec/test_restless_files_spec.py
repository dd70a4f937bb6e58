"""A file that another process is writing: refused while it keeps changing, answered once it
rests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sutler.access.door import Door
from sutler.access.pages import WHOLE
from sutler.errors import RefusedError, SutlerError
from sutler.tools import TOOLS, Tool, call
from tests.doors import OpenDoor
from tests.limits import Lines

CONTENT = [
    tool
    for tool in TOOLS
    if tool.name in ("read_file", "read_lines", "get_excerpt", "outline", "summarize_file")
]
REPLACE = """
import os, sys
print(flush=True)
while True:
    for letter in "ab":
        with open(sys.argv[1] + ".new", "w") as file:
            file.write(letter * 50_000)
        os.replace(sys.argv[1] + ".new", sys.argv[1])
"""


@pytest.fixture
def door(open_door: OpenDoor) -> Door:
    return open_door({"log": "a" * 50_000, "still": "needle\n"})


@pytest.fixture
def log(door: Door) -> Path:
    return Path(door.root.host_path, "log")


@pytest.fixture
def restless(log: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From then on the log gets a line whenever somebody waits for it, and never looks older than a
    millisecond.
    """

    def grow(_: float) -> None:
        with open(log, "a") as file:
            file.write("line\n")

    def begin() -> None:
        monkeypatch.setattr(time, "sleep", grow)
        monkeypatch.setattr(time, "time", lambda: os.stat(log).st_mtime + 0.001)

    return begin


@contextmanager
def process(program: str, path: Path) -> Iterator[None]:
    with subprocess.Popen([sys.executable, "-c", program, path], stdout=subprocess.PIPE) as child:
        Lines(child.stdout).line()
        try:
            yield
        finally:
            child.kill()


@pytest.mark.parametrize("tool", CONTENT, ids=lambda tool: tool.name)
def test_a_file_that_keeps_changing_is_refused(
    door: Door, tool: Tool, restless: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """T10: with the rule and what to do; and not for ever."""
    restless()
    with pytest.raises(RefusedError, match="log is being written just now") as refusal:
        call(door, tool.name, {**tool.example, "path": "log"})
    assert "rests for 20 ms" in refusal.value.rule
    assert "try again" in refusal.value.next_step
    monkeypatch.undo()
    assert call(door, tool.name, {**tool.example, "path": "log"}) is not None


def test_a_search_leaves_it_out_and_counts_it(
    door: Door, log: Path, restless: Callable[[], None]
) -> None:
    os.utime(log.with_name("still"), (1, 1))
    restless()
    found = door.search("e")
    assert [hit.path for hit in found.hits] == ["still"]
    assert found.skipped == 1


def test_history_tells_of_what_was_known(door: Door, restless: Callable[[], None]) -> None:
    door.read_file("log")
    restless()
    assert len(door.get_file_history("log")) == 1


def test_a_file_replaced_whole_again_and_again_is_answered(door: Door, log: Path) -> None:
    """What has been opened does not change any more when another file takes its name."""
    with process(REPLACE, log):
        for _ in range(10):
            assert door.pages.whole(door.admission.relpath("log")).text in (
                "a" * 50_000,
                "b" * 50_000,
            )


def test_a_large_log_that_grows_is_read_to_the_size_it_had(door: Door, log: Path) -> None:
    log.write_text("entry\n" * (WHOLE // 6 + 1))
    os.utime(log, (1, 1))

    before, pread = log.stat().st_size, os.pread

    def growing(fd: int, size: int, at: int) -> bytes:
        with open(log, "a") as file:
            file.write("more\n")
        return pread(fd, size, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", growing)
        found = door.read_lines("log", 1, 2)
    assert found.text == "entry\nentry\n"
    assert found.notes == (
        "the file grew while it was read: this is what it held when it was opened",
    )
    assert log.stat().st_size > before


def test_a_large_file_that_is_rewritten_meanwhile_is_refused(door: Door, log: Path) -> None:
    log.write_text("entry\n" * (WHOLE // 6 + 1))
    os.utime(log, (1, 1))
    pread = os.pread

    def meddling(fd: int, size: int, at: int) -> bytes:
        os.utime(log, (2, 2))
        return pread(fd, size, at)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "pread", meddling)
        with pytest.raises(SutlerError, match="being written"):
            door.read_lines("log", 1, 2)
