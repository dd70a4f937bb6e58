"""Files that another process is writing: wait a moment, then leave them out.

A log that grows every millisecond would be a new version for every answer, and a file that is
written in place may be read half old and half new. So a recently changed file gets time to come to
rest. Most do: they were written once, or replaced whole. One that keeps changing becomes a problem
within a fraction of a tenth of a second. A writer that pauses longer in the middle of a write in
place is indistinguishable from one that is done."""

from __future__ import annotations

import os
import time
from typing import Final

from sutler.scan.root import Blob, read_descriptor
from sutler.scan.snapshot import Problem

QUIET: Final = 0.020
"""Seconds without a change after which a file is at rest; longer than the tick of any clock that
stamps files."""
PATIENCE: Final = 0.050
"""Seconds that one call may wait, however many files it reads."""
_LEAST: Final = 0.001  # shorter sleeps only burn the processor
_LOOKS: Final = 4  # a file that changes between all looks is a log


class Patience:
    """Rest of the time that a call may wait."""

    __slots__ = ("left",)

    def __init__(self, seconds: float = PATIENCE) -> None:
        self.left = seconds


def fresh(mtime_ns: int) -> bool:
    """Return whether a file changed so recently that it may still be changing."""
    return 0 <= time.time() - mtime_ns / 1e9 < QUIET


def rest(fd: int, patience: Patience) -> os.stat_result | None:
    """Return the state of an open file at rest, or None if it does not come to rest in time."""
    state = os.fstat(fd)
    while fresh(state.st_mtime_ns):
        if patience.left <= 0:
            return None
        pause = max(_LEAST, QUIET - (time.time() - state.st_mtime))
        time.sleep(pause)
        patience.left -= pause
        before, state = state, os.fstat(fd)
        if mark(before) == mark(state):
            return state
    return state


def read_at_rest(fd: int, path: str, limit: int | None, patience: Patience) -> Blob | Problem:
    """Read like `read_descriptor`, from a file that did not change meanwhile nor shortly before."""
    for _ in range(_LOOKS):
        if rest(fd, patience) is None:
            break
        os.lseek(fd, 0, os.SEEK_SET)
        found = read_descriptor(fd, path, limit)
        if isinstance(found, Problem) or mark(os.fstat(fd)) == (found.size, found.mtime_ns):
            return found
    return changing(path)


def changing(path: str) -> Problem:
    return Problem(path, "changing", "it is being written just now")


def mark(state: os.stat_result) -> tuple[int, int]:
    """Return the stat fields that change with the content. The time of change (ctime) is not among
    them: it moves when a new file takes the name, and the open file is still whole."""
    return state.st_size, state.st_mtime_ns
