"""Files that a thread reads before they are asked for. All it does is native and needs no lock of Python's, so it goes
on beside whoever works with the files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import Semaphore, Thread
from typing import Final

from sutler.disk.calls import Contents

BATCH: Final = 1 << 20
"""Bytes that are read at once."""
BATCH_FILES: Final = 256
WAITING: Final = 4
"""Batches that may wait to be asked for."""

Found = dict[str, Contents | None]
Read = Callable[[int, list[str], list[int]], list[Contents | None]]


class Ahead:
    """Reads files in their order, each of which should have the size that is said; ask for them in that order too.
    `close` it, whatever happened."""

    def __init__(self, read: Read, fd: int, paths: list[str], sizes: list[int]) -> None:
        self._read = read
        self._fd = fd
        self._todo = deque(enumerate(_batches(paths, sizes)))
        self._batch: dict[str, int] = {}
        for number, (some, _) in self._todo:
            self._batch.update(dict.fromkeys(some, number))
        self._asked = 0  # batches that somebody has asked for
        self._now: Found = {}
        self._ready: dict[int, Found] = {}
        self._came: deque[tuple[int, Found]] = deque()  # from the thread
        self._arrivals = Semaphore(0)
        self._room = Semaphore(WAITING)
        self._thread = Thread(target=self._work, daemon=True)
        self._thread.start()

    def take(self, path: str) -> Contents | None:
        """The file as it was read, or nothing: it is out of the ordinary, or was not expected now."""
        number = self._batch.get(path, -1)
        while number >= self._asked:
            self._now = self._next()
        return self._now.pop(path, None)

    def close(self) -> None:
        self._todo.clear()
        self._room.release()
        self._thread.join()

    def _next(self) -> Found:
        """The next batch. Who would have to wait for it reads another one meanwhile."""
        number, self._asked = self._asked, self._asked + 1
        while number not in self._ready:
            mine = self._taken() if not self._came and len(self._ready) < WAITING else None
            if mine is None:
                self._arrivals.acquire()
                mine = self._came.popleft()
                self._room.release()
            self._ready[mine[0]] = mine[1]
        return self._ready.pop(number)

    def _work(self) -> None:
        while self._room.acquire() and (mine := self._taken()) is not None:
            self._came.append(mine)
            self._arrivals.release()

    def _taken(self) -> tuple[int, Found] | None:
        """A batch that nobody has taken yet, read; None where there is none left."""
        try:
            number, (paths, sizes) = self._todo.popleft()
        except IndexError:
            return None
        try:
            found = self._read(self._fd, paths, sizes)
        except MemoryError:  # whoever asks goes the long way, and meets it where it can be told
            found = [None] * len(paths)
        return number, dict(zip(paths, found, strict=True))


def _batches(paths: list[str], sizes: list[int]) -> Iterator[tuple[list[str], list[int]]]:
    start = size = 0
    for number, more in enumerate(sizes):
        if size >= BATCH or number - start >= BATCH_FILES:
            yield paths[start:number], sizes[start:number]
            start, size = number, 0
        size += more
    if start < len(paths):
        yield paths[start:], sizes[start:]
