"""Files without a name, made before they are needed.

To make a file is the dearest step on the way of a write: where many came and went the file system looks long for a free
number. So while somebody writes again and again in one directory, the kernel makes a few ahead there, beside the calls;
or where it does not, we make one while the disk is busy with the last. Nobody sees them, and they are gone with the
process. They are for one thread: calls that come one after the other.
"""

from __future__ import annotations

import os
import time
from collections import deque

from sutler.disk.ring import ROOM, UNNAMED, Ring


class Spare:
    FRESH = 1_000_000_000
    """Nanoseconds; what a directory gives to its new files may change."""

    def __init__(self, *, background: bool = True) -> None:
        self._place = 0, 0
        self._directory = -1
        self._last = 0
        self._files: deque[tuple[int, int]] = deque()  # when each was asked for, and its descriptor
        self._ring: Ring | None = None
        self._barred = not background

    def take(self, directory: int) -> int:
        """A file that was made for this directory; -1 when there is none."""
        now, state = time.monotonic_ns(), os.fstat(directory)
        place, again = (state.st_dev, state.st_ino), now - self._last <= self.FRESH
        self._last = now
        if place != self._place:
            self._leave()
            self._place = place
            return -1
        found = self._ready(now)
        if again:
            self._ask(directory, now)
        return found

    def _ready(self, now: int) -> int:
        if self._ring is not None and self._ring.open:
            for asked, made in self._ring.answers():
                if made >= 0:
                    self._files.append((asked, made))
                else:  # whoever needs one finds out why
                    self._barred = True
        while self._files:
            asked, made = self._files.popleft()
            if now - asked <= self.FRESH:
                return made
            os.close(made)
        return -1

    def _ask(self, directory: int, now: int) -> None:
        if self._directory < 0:
            self._directory = os.dup(directory)
        if self._barred:
            return
        try:
            self._ring = self._ring or Ring()
        except OSError:
            self._barred = True
            return
        # Some at a time: for each time a worker has to wake.
        if (left := len(self._files) + self._ring.open) <= ROOM // 2:
            self._ring.ask(self._directory, now, ROOM - left)

    def refill(self) -> None:
        """Make the next one, where the kernel does not; the disk is busy just now."""
        if self._barred and self._directory >= 0 and not self._files:
            try:
                self._files.append((time.monotonic_ns(), os.open(".", UNNAMED, 0o600, dir_fd=self._directory)))
            except OSError:  # whoever needs one finds out why
                self._leave()

    def _leave(self) -> None:
        if self._ring is not None:
            self._ring.drain()
        while self._files:
            os.close(self._files.popleft()[1])
        if self._directory >= 0:
            os.close(self._directory)
            self._directory = -1

    def close(self) -> None:
        self._leave()
        self._place = 0, 0
        if self._ring is not None:
            self._ring.close()
            self._ring = None
