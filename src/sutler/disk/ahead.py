"""Work that a thread does before it is asked for. It pays where most of it is native and needs no lock of Python's, so
that the thread goes on beside whoever asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Semaphore, Thread
from typing import Final, Generic, TypeVar

WAITING: Final = 16
"""Pieces of work that may wait to be asked for."""

T = TypeVar("T")


class Ahead(Generic[T]):
    """Does pieces of work, by their number, in order; ask for `next` that often. What goes wrong with a piece is raised
    there. `close` it, whatever happened."""

    def __init__(self, work: Callable[[int], T], count: int) -> None:
        self._work = work
        self._todo = deque(range(count))
        self._asked = 0
        self._ready: dict[int, T | Exception] = {}
        self._came: deque[tuple[int, T | Exception]] = deque()  # from the thread
        self._arrivals = Semaphore(0)
        self._room = Semaphore(WAITING)
        self._thread = Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def next(self) -> T:
        """What came of the next piece. Who would have to wait for it does another one meanwhile."""
        number, self._asked = self._asked, self._asked + 1
        while number not in self._ready:
            mine = self._done() if not self._came and len(self._ready) < WAITING else None
            if mine is None:
                self._arrivals.acquire()
                mine = self._came.popleft()
                self._room.release()
            self._ready[mine[0]] = mine[1]
        found = self._ready.pop(number)
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        self._todo.clear()
        self._room.release()
        self._thread.join()

    def _go_on(self) -> None:
        while self._room.acquire() and (mine := self._done()) is not None:
            self._came.append(mine)
            self._arrivals.release()

    def _done(self) -> tuple[int, T | Exception] | None:
        """A piece that nobody has taken yet, done; None where there is none left."""
        try:
            number = self._todo.popleft()
        except IndexError:
            return None
        try:
            return number, self._work(number)
        except Exception as error:  # for whoever asks, and would wait for ever otherwise
            return number, error
