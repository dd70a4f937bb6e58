"""A file without a name, made before it is needed.

To make a file is the dearest step on the way of a write: where many came and went the file system looks long for a free
number, and nothing else can run on that processor meanwhile. So whoever writes again and again has the kernel make the
next one beside the calls, from the moment on in which the disk is busy with this one; where the kernel does not, we
make it in that moment. Nobody sees it, and it is gone with the process. It is for one thread: calls that come one
after the other.
"""

from __future__ import annotations

import os
import time

from sutler.disk.ring import UNNAMED, Ring


class Spare:
    FRESH = 1.0
    """Seconds; what a directory gives to its new files may change."""

    def __init__(self, *, background: bool = True) -> None:
        self._place = 0, 0
        self._directory = self._ready = -1
        self._made = 0.0
        self._ring: Ring | None = None
        self._barred = not background

    def take(self, directory: int) -> int:
        """The file that was made for this directory; -1 when there is none. Another one is wanted from now on."""
        state = os.fstat(directory)
        place = state.st_dev, state.st_ino
        if place != self._place:
            self._leave()
            self._place, self._directory = place, os.dup(directory)
            return -1
        ready, self._ready = self._came(), -1
        if ready < 0 or time.monotonic() - self._made <= self.FRESH:
            return ready
        os.close(ready)
        return -1

    def refill(self) -> None:
        """Have the next one made, if the last was taken."""
        if self._directory < 0 or self._came() >= 0 or (self._ring is not None and self._ring.open):
            return
        self._made = time.monotonic()
        if not self._barred:
            try:
                self._ring = self._ring or Ring()
                self._ring.ask(self._directory)
                return
            except OSError:  # not to be had here
                self._barred = True
        try:
            self._ready = os.open(".", UNNAMED, 0o600, dir_fd=self._directory)
        except OSError:  # whoever needs one finds out why
            self._leave()

    def _came(self) -> int:
        """What is ready, if only since now."""
        if self._ready < 0 and self._ring is not None and self._ring.open and (made := self._ring.answer()) is not None:
            self._ready = max(made, -1)
            self._barred = made < 0
        return self._ready

    def _leave(self) -> None:
        if self._ring is not None:
            self._ring.drain()
        for fd in (self._directory, self._ready):
            if fd >= 0:
                os.close(fd)
        self._place, self._directory, self._ready = (0, 0), -1, -1

    def close(self) -> None:
        self._leave()
        if self._ring is not None:
            self._ring.close()
            self._ring = None
