"""Small facts about open directories: identity, kind, how much lies below."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Sequence
from typing import Final

from sutler.disk.root import DIRECTORY

COUNT_LIMIT: Final = 1000
FEW: Final = 250
_DEPTH: Final = 32
_OCTAL: Final = r"\\([0-7]{3})"  # how the kernel spells a space in a mount point

Key = tuple[int, int]


def key_of(fd: int) -> Key:
    """Device and inode: which directory this is, whatever its name."""
    state = os.fstat(fd)
    return state.st_dev, state.st_ino


def reopened(below: int, key: Key, root: int, names: Sequence[str]) -> int:
    """The directory `key` again, from one directly below it or else down from the root by its names; -1 when neither
    way leads there any more."""
    try:
        above = os.open("..", DIRECTORY, dir_fd=below)
        if key_of(above) == key:
            return above
        os.close(above)
        above = os.dup(root)
    except OSError:
        return -1
    try:
        for name in names:
            above, old = os.open(name, DIRECTORY, dir_fd=above), above
            os.close(old)
    except OSError:
        os.close(above)
        return -1
    if key_of(above) == key:
        return above
    os.close(above)
    return -1


def kind_of(mode: int) -> str:
    """A word for what is neither file, folder nor link."""
    if stat.S_ISFIFO(mode):
        return "FIFO"
    if stat.S_ISSOCK(mode):
        return "socket"
    return "device"


def count_below(fd: int) -> tuple[int, bool]:
    """How many files lie below an open directory: exact up to a limit, else the limit and True."""
    count = visited = 0
    more = False
    levels: list[tuple[int, list[str]]] = []
    current = os.dup(fd)
    try:
        while True:
            files, folders = _listed(current)
            count += files
            visited += 1
            if count >= COUNT_LIMIT or visited >= COUNT_LIMIT:
                return min(count, COUNT_LIMIT), count > COUNT_LIMIT or bool(folders) or _pending(levels)
            if folders and len(levels) >= _DEPTH:
                more, folders = True, []
            levels.append((current, folders))
            current = -1
            while levels and current < 0:
                current = _next(levels)
            if current < 0:
                return count, more
    finally:
        for opened, _ in levels:
            os.close(opened)
        if current >= 0:
            os.close(current)


def little_below(fd: int, most: int) -> bool:
    """Whether at most `most` bytes in a few files lie below an open directory. A look, not a scan: it stops as soon as
    it has seen more, and does not count what a repository keeps for itself."""
    todo, files = [os.dup(fd)], 0
    try:
        while todo:
            here = todo.pop()
            try:
                with os.scandir(here) as listing:
                    for entry in listing:
                        files += 1
                        if files > FEW or most < 0:
                            return False
                        if not entry.is_dir(follow_symlinks=False):
                            most -= entry.stat(follow_symlinks=False).st_size
                        elif entry.name != ".git":
                            todo.append(os.open(entry.name, DIRECTORY, dir_fd=here))
            except OSError:  # it changes while we look, or is not ours: the scan will say so
                pass
            finally:
                os.close(here)
        return most >= 0
    finally:
        for left in todo:
            os.close(left)


def _pending(levels: list[tuple[int, list[str]]]) -> bool:
    return any(folders for _, folders in levels)


def _next(levels: list[tuple[int, list[str]]]) -> int:
    """Open the next folder of the deepest level, or leave that level."""
    fd, folders = levels[-1]
    while folders:
        try:
            return os.open(folders.pop(), DIRECTORY, dir_fd=fd)
        except OSError:
            continue
    levels.pop()
    os.close(fd)
    return -1


def _listed(fd: int) -> tuple[int, list[str]]:
    folders: list[str] = []
    count = 0
    try:
        with os.scandir(fd) as listing:
            for entry in listing:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    count += 1
                if count > COUNT_LIMIT:
                    break
    except OSError:
        pass
    folders.sort(reverse=True)
    return count, folders


def mounts_below(folder: str) -> frozenset[str]:
    """Paths below a folder where something else is mounted, a file or a bind mount of the same device included."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
            places = [line.split(" ", 5)[4] for line in stream]
    except (OSError, IndexError):
        return frozenset()
    start = os.path.realpath(folder).rstrip("/") + "/"
    plain = (re.sub(_OCTAL, _byte, place) if "\\" in place else place for place in places)
    return frozenset(place[len(start) :] for place in plain if place.startswith(start) and place != start)


def _byte(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))
