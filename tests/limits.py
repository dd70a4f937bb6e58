"""Waits for other processes and threads; every one of them ends.

The limits are for faults, not for speed. They are far above what a busy machine needs, so a test
that reaches one has found a process that hangs. pytest-timeout ends a test that waits in any other
way.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable
from typing import IO, AnyStr, Protocol

LIMIT = 120.0
"""Seconds for one wait, and for one short child process."""
LONG = 280.0 * max(1.0, float(os.environ.get("SUTLER_FUZZ", "1")))
"""Seconds for a child process that does the work of many, an installation or a long fuzz run."""


class Joinable(Protocol):
    """A thread, or a process of multiprocessing."""

    name: str

    def join(self, timeout: float | None = None) -> None: ...

    def is_alive(self) -> bool: ...


def until(holds: Callable[[], bool], what: str = "", seconds: float = LIMIT) -> None:
    """Poll for an effect of another process or thread."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds:.0f} s: {what or holds}"
        time.sleep(0.02)


def joined(*workers: Joinable, seconds: float = LIMIT) -> None:
    """Wait for threads or processes to end."""
    for worker in workers:
        worker.join(seconds)
        assert not worker.is_alive(), f"{worker.name} did not end within {seconds:.0f} s"


def exit_code(child: int, seconds: float = LIMIT) -> int:
    """Wait for a forked child, and kill one that does not end."""
    deadline = time.monotonic() + seconds
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() >= deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            raise AssertionError(f"a child did not end within {seconds:.0f} s")
        time.sleep(0.002)
    return os.waitstatus_to_exitcode(ended[1])


class Lines:
    """Lines of a pipe, read with a limit: `readline` of a buffered stream has none."""

    def __init__(self, stream: IO[AnyStr] | None) -> None:
        assert stream is not None
        self._fd = stream.fileno()
        self._held = b""

    def line(self, seconds: float = LIMIT) -> bytes:
        """The next line with its end; without an end it is the last one, and empty after that."""
        deadline = time.monotonic() + seconds
        pieces, piece = [], self._held
        while b"\n" not in piece:
            pieces.append(piece)
            piece = self._piece(deadline)
            if not piece:
                break
        last, end, self._held = piece.partition(b"\n")
        return b"".join((*pieces, last, end))

    def until(self, words: str) -> str:
        """Skip to the first line that holds these words."""
        deadline = time.monotonic() + LIMIT
        seen: list[str] = []
        while not seen or words not in seen[-1]:
            line = self.line(max(0.0, deadline - time.monotonic())).decode()
            assert line, f"the pipe ended before {words!r}: {''.join(seen)}"
            seen.append(line)
        return seen[-1]

    def take(self, count: int, seconds: float = LIMIT) -> bytes:
        """So many bytes, or fewer at the end of the pipe."""
        deadline = time.monotonic() + seconds
        pieces, wanted = [self._held], count - len(self._held)
        while wanted > 0 and (piece := self._piece(deadline)):
            pieces.append(piece)
            wanted -= len(piece)
        data = b"".join(pieces)
        self._held = data[count:]
        return data[:count]

    def rest(self, seconds: float = LIMIT) -> bytes:
        """All bytes up to the end of the pipe."""
        deadline = time.monotonic() + seconds
        pieces = [self._held]
        while piece := self._piece(deadline):
            pieces.append(piece)
        self._held = b""
        return b"".join(pieces)

    def _piece(self, deadline: float) -> bytes:
        ready, _, _ = select.select([self._fd], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, "nothing was written to the pipe within the limit"
        return os.read(self._fd, 1 << 16)
