"""A file without a name, made before it is needed.

To make a file is the dearest step on the way of a write: where many came and went the file system looks long for a free
number. So whoever writes again and again has the next one made while the disk is busy with this one, in the same
directory. Nobody sees it, and it is gone with the process. It is for one thread: calls that come one after the other.
"""

from __future__ import annotations

import os
import time

UNNAMED = getattr(os, "O_TMPFILE", 0) and os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC


class Spare:
    FRESH = 1.0
    """Seconds; what a directory gives to its new files may change."""

    def __init__(self) -> None:
        self._place = 0, 0
        self._directory = self._ready = -1
        self._made = 0.0

    def take(self, directory: int) -> int:
        """The file that was made for this directory; -1 when there is none. Another one is wanted from now on."""
        state = os.fstat(directory)
        place, ready = (state.st_dev, state.st_ino), self._ready
        self._ready = -1
        if place == self._place:
            if ready < 0 or time.monotonic() - self._made <= self.FRESH:
                return ready
        else:
            self.close()
            self._place, self._directory = place, os.dup(directory)
        if ready >= 0:
            os.close(ready)
        return -1

    def refill(self) -> None:
        """Make the next one, if the last was taken."""
        if self._ready < 0 and self._directory >= 0:
            try:
                self._ready = os.open(".", UNNAMED, 0o600, dir_fd=self._directory)
                self._made = time.monotonic()
            except OSError:  # whoever needs one finds out why
                self.close()

    def close(self) -> None:
        for fd in (self._directory, self._ready):
            if fd >= 0:
                os.close(fd)
        self._place, self._directory, self._ready = (0, 0), -1, -1
