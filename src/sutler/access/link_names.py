"""The other names of a file with hard links, from a table of the tree that is cached while it is
valid.

A walk of the whole tree builds it, which is too much for each read of such a file. The kernel shows
whether the table is still valid for one file: its link count and its time of change move with every
link and unlink, and each of its names must still lead to it. Names outside the root are unknown;
then the table is valid for a moment only."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from sutler.paths import RelPath
from sutler.scan.root import Root
from sutler.scan.walk import names_by_inode
from sutler.system import fs

MOMENT = 1.0
"""Seconds for which a table is valid for a file of which some names are unknown."""
_TICK = 20_000_000  # nanoseconds; above the tick of clocks that stamp files
_PATH = fs.O_PATH | fs.O_NOFOLLOW | fs.O_CLOEXEC


class LinkNames:
    """Names by inode below one root."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._table: Mapping[int, list[str]] | None = None
        self._at = 0.0
        self._at_ns = 0

    def of(self, state: os.stat_result) -> tuple[str, ...] | None:
        """Return every name of this file below the root; None if they are unknown."""
        if not self._holds(state):
            self._at, self._at_ns = time.monotonic(), time.time_ns()
            self._table = names_by_inode(self._root)
        return None if self._table is None else tuple(self._table.get(state.st_ino, ()))

    def _holds(self, state: os.stat_result) -> bool:
        if self._table is None or state.st_ctime_ns > self._at_ns - _TICK:
            return False
        names = self._table.get(state.st_ino, ())
        complete = len(names) == state.st_nlink
        young = time.monotonic() - self._at < MOMENT
        return (complete or young) and all(self._leads(name, state) for name in names)

    def _leads(self, name: str, state: os.stat_result) -> bool:
        """Return whether a name still leads to that file: a folder on the way may have been
        renamed."""
        try:
            fd = self._root.open(RelPath(name), _PATH)
        except (OSError, ValueError):
            return False  # renamed, removed or behind a link since: the table no longer holds
        try:
            return os.path.samestat(fs.fstat(fd), state)
        finally:
            fs.close(fd)
