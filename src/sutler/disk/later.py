"""Directories that are synced a moment after the answer.

A write whose new bytes and intent are on the disk can be done again, should its change of names be lost with the
power. So nobody waits for the directory: it is synced in the background, with all that changed in it meanwhile, and
only then is the write settled: by the next write's own transaction, or after another moment by one of ours, for which
a call might have to wait.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from itertools import islice

_MANY = 200  # descriptors of files that are gone; a process may not have many


class Later:
    SOON = 0.2

    def __init__(self, tell: Callable[[Iterable[str]], None]) -> None:
        """`tell` is called with the calls whose directories are on the disk."""
        self._tell = tell
        self._lock = threading.RLock()
        self._state = threading.Condition(self._lock)
        self._places: dict[tuple[int, int], int] = {}
        self._calls: dict[str, None] = {}
        self._synced: dict[str, None] = {}  # calls whose directories are on the disk, and nobody was told
        self._gone: list[int] = []
        self._idle = self._ended = False
        self._thread: threading.Thread | None = None
        self.broken = False

    def owe(self, calls: Iterable[str], fds: Iterable[tuple[int, int]]) -> None:
        """Take over descriptors of the directories that these calls changed, and of the files that are gone from them
        (-1: none), whose room is given back when they are closed."""
        with self._lock:
            for fd, old in fds:
                if old >= 0:
                    self._gone.append(old)
                state = os.fstat(fd)
                place = state.st_dev, state.st_ino
                if place in self._places:
                    os.close(fd)
                else:
                    self._places[place] = fd
            self._calls |= dict.fromkeys(calls)
            while len(self._gone) > _MANY:
                os.close(self._gone.pop())
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sutler-later", daemon=True)
                self._thread.start()
            elif self._idle:  # else it comes by itself: a thread that wakes takes the interpreter away from a call
                self._state.notify_all()

    def count(self) -> int:
        """How many `calls` there are: asked before every write."""
        with self._lock:
            return len(self._calls) + len(self._synced)

    def calls(self) -> frozenset[str]:
        """What is not settled yet and will be by this process."""
        with self._lock:
            return frozenset(self._calls | self._synced)

    def due(self, most: int) -> tuple[str, ...]:
        """Some calls whose directories are on the disk, for whoever can tell of them now; `told` says that it was."""
        with self._lock:
            return tuple(islice(self._synced, most))

    def told(self, calls: Iterable[str]) -> None:
        with self._lock:
            for call in calls:
                self._synced.pop(call, None)

    def _run(self) -> None:
        while True:
            with self._lock:
                self._idle = True
                self._state.wait_for(lambda: bool(self._calls or self._synced) or self._ended)
                self._idle = False
                self._state.wait_for(lambda: self._ended, self.SOON)
                if not self._calls and not self._synced and self._ended:
                    return
                calls, old, places, gone = list(self._calls), list(self._synced), self._places, self._gone
                self._places, self._gone = {}, []
            try:
                for fd in places.values():
                    os.fsync(fd)
                if old:
                    self._tell(old)
            except Exception:  # they stay unsettled, and the next start looks at them
                self.broken = True
                return
            finally:
                with self._lock:
                    for call in calls:
                        del self._calls[call]
                    for call in old:
                        self._synced.pop(call, None)
                    if not self.broken:
                        self._synced |= dict.fromkeys(calls)
                for fd in (*places.values(), *gone):
                    os.close(fd)

    def close(self) -> None:
        """Come back when nothing is owed any more."""
        with self._lock:
            self._ended = True
            self._state.notify_all()
        if self._thread is not None:
            self._thread.join()
        for fd in (*self._places.values(), *self._gone):  # of a thread that gave up
            os.close(fd)
        self._places, self._gone = {}, []
