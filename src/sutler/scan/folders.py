"""Folders by descriptor: their contents, the number of files below, mount points; the frame of a
folder during a walk, and the record of its findings."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Final

from sutler.languages.base import CONDENSED_BYTES
from sutler.paths import RelPath
from sutler.scan.ignore import Node
from sutler.scan.judge import Ground, Verdict
from sutler.scan.root import DIRECTORY, canonical, problem_of
from sutler.scan.snapshot import Excluded, FileEntry, Problem, Rule, ScanRules, Snapshot
from sutler.system import fs

Row = tuple[str, os.stat_result | OSError]
"""A file as a folder lists it: its name, and its state or the error of reading that."""

Listed = tuple[list[str], list[Row], list[str]]
"""Contents of a folder, unordered: names of folders, all other rows, and every name that begins
with a dot."""

Entered = tuple[int, int, int, Listed | None]
"""A folder's descriptor, its device and inode, and its contents, which are empty on another device.
A folder without subfolders and without names that begin with a dot is closed at once: its
descriptor is -1."""


def listed(fd: int) -> Listed:
    """List the folder `fd`."""
    folders: list[str] = []
    files: list[Row] = []
    with fs.scandir(fd) as listing:
        batch = list(listing)
    for entry in batch:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry.name)
            continue
        try:
            files.append((entry.name, entry.stat(follow_symlinks=False)))
        except OSError as error:
            files.append((entry.name, error))
    return folders, files, [entry.name for entry in batch if entry.name[0] == "."]


def entered(fd: int, name: str, device: int) -> Entered:
    """Open and list the folder `name` in the folder `fd`, if it is a folder and no link, on
    `device` (-1: any)."""
    below = fs.open(name, DIRECTORY, dir_fd=fd)
    try:
        state = fs.fstat(below)
        content = listed(below) if device in (state.st_dev, -1) else None
    except BaseException:
        fs.close(below)
        raise
    if content is None or not (content[0] or content[2]):
        fs.close(below)
        below = -1
    return below, state.st_dev, state.st_ino, content


# A closed folder is only counted for a message: node_modules may hold 10^5 files.
COUNT_LIMIT: Final = 1000
_DEPTH: Final = 32  # each level holds a descriptor
_OCTAL: Final = r"\\([0-7]{3})"  # how the kernel spells a space in a mount point

Key = tuple[int, int]


class Frame:
    """A directory on the way down: its descriptor (or -1 outside the window), and the folders left
    to visit. `listed`: its contents, until they are decided."""

    __slots__ = (
        "closed",
        "depth",
        "fd",
        "ground",
        "guarded",
        "key",
        "listed",
        "node",
        "prefix_length",
        "todo",
    )

    def __init__(self, fd: int, key: Key, node: Node, ground: Ground) -> None:
        self.fd = fd
        self.key = key
        self.node = node
        self.ground = ground
        self.closed: tuple[Verdict, ...] = ()  # of folders above; some files below pass them
        self.guarded = False  # below a folder whose name resembles a credential
        self.prefix_length = 0
        self.depth = 0
        self.listed: Listed | None = None
        self.todo: list[str] = []

    def close(self) -> None:
        if self.fd >= 0:
            fs.close(self.fd)


def key_of(fd: int) -> Key:
    """Return device and inode, which identify a directory whatever its name."""
    state = fs.fstat(fd)
    return state.st_dev, state.st_ino


def reopened(below: int, key: Key, root: int, names: Sequence[str]) -> int:
    """Open the directory `key` again, from one directly below it or down from the root by its
    names; -1 if neither leads there any more."""
    try:
        above = fs.open("..", DIRECTORY, dir_fd=below)
        if key_of(above) == key:
            return above
        fs.close(above)
        above = fs.dup(root)
    except OSError:  # no descriptor is left, or the tree is gone
        return -1
    try:
        for name in names:
            above, old = fs.open(name, DIRECTORY, dir_fd=above), above
            fs.close(old)
    except OSError:
        fs.close(above)
        return -1
    if key_of(above) == key:
        return above
    fs.close(above)
    return -1


def climb(stack: list[Frame], prefix: str, root: int) -> Problem | None:
    """Leave the top frame, and open its parent again if it was closed: by `..` or down from the
    root. Return a problem if neither leads to the same directory."""
    left, problem = stack.pop(), None
    if stack and stack[-1].fd < 0:
        parent = stack[-1]
        where = prefix[: parent.prefix_length].rstrip("/")
        parent.fd = reopened(left.fd, parent.key, root, where.split("/") if where else [])
        if parent.fd < 0:
            if parent.todo:
                problem = Problem(where, "vanished", "moved while it was scanned")
            parent.todo = []
            parent.fd = fs.dup(root)
    left.close()
    return problem


def kind_of(mode: int) -> str:
    """Return a word for an object that is neither file, folder nor link."""
    if stat.S_ISFIFO(mode):
        return "FIFO"
    if stat.S_ISSOCK(mode):
        return "socket"
    return "device"


def count_below(fd: int) -> tuple[int, bool]:
    """Count the files below an open directory: exactly up to a limit, else the limit and True."""
    count = visited = 0
    more = False
    levels: list[tuple[int, list[str]]] = []
    current = fs.dup(fd)
    try:
        while True:
            files, folders = _listed(current)
            count += files
            visited += 1
            if count >= COUNT_LIMIT or visited >= COUNT_LIMIT:
                return min(count, COUNT_LIMIT), count > COUNT_LIMIT or bool(folders) or _pending(
                    levels
                )
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
            fs.close(opened)
        if current >= 0:
            fs.close(current)


def _pending(levels: list[tuple[int, list[str]]]) -> bool:
    return any(folders for _, folders in levels)


def _next(levels: list[tuple[int, list[str]]]) -> int:
    """Open the next folder of the deepest level, or leave that level."""
    fd, folders = levels[-1]
    while folders:
        try:
            return fs.open(folders.pop(), DIRECTORY, dir_fd=fd)
        except OSError:  # unreadable or gone: count what can be listed
            continue
    levels.pop()
    fs.close(fd)
    return -1


def _listed(fd: int) -> tuple[int, list[str]]:
    folders: list[str] = []
    count = 0
    try:
        with fs.scandir(fd) as listing:
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
    """Return paths below a folder where something else is mounted, including a file or a bind mount
    of the same device."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as stream:
            places = [line.split(" ", 5)[4] for line in stream]
    except (OSError, IndexError):  # no /proc: device numbers alone tell file systems apart
        return frozenset()
    start = canonical(folder).rstrip("/") + "/"
    plain = (re.sub(_OCTAL, _byte, place) if "\\" in place else place for place in places)
    return frozenset(
        place[len(start) :] for place in plain if place.startswith(start) and place != start
    )


def _byte(match: re.Match[str]) -> str:
    return chr(int(match[1], 8))


_BY_PATH: Final = attrgetter("path")


class Findings:
    """Record of a scan: entries, exclusions with their rule, problems."""

    __slots__ = ("condensed", "entries", "excluded", "limit", "owner", "problems", "several")

    def __init__(self, rules: ScanRules, owner: int) -> None:
        self.limit = rules.skip_file_bytes
        self.condensed = rules.condensed
        # Of the root: a linked file of another owner is not the project's.
        self.owner = owner
        self.several = False
        self.entries: list[FileEntry] = []
        self.excluded: list[Excluded] = []
        self.problems: list[Problem] = []

    def snapshot(self, directories: int, more: Iterable[Problem]) -> Snapshot:
        problems = {*self.problems, *more}
        if self.several:  # a file named by itself and again by its folder: the stronger one applies
            entries = {entry.path: entry for entry in sorted(self.entries, key=attrgetter("named"))}
            self.entries = list(entries.values())
            excluded = {item.path: item for item in self.excluded if item.path not in entries}
            self.excluded = list(excluded.values())
        return Snapshot(
            entries=tuple(sorted(self.entries, key=_BY_PATH)),
            excluded=tuple(sorted(self.excluded, key=_BY_PATH)),
            problems=tuple(sorted(problems, key=lambda item: (item.path, item.kind, item.detail))),
            directories=directories,
        )

    def admit(self, path: str, state: os.stat_result, named: bool = False) -> None:
        """Record a regular file of acceptable size as an entry."""
        mode, size, links = state.st_mode, state.st_size, state.st_nlink
        large = self.limit is not None and size > self.limit and self.too_large(path, size)
        if large or mode & 0o170000 != stat.S_IFREG:
            self.unfit(path, mode, size)
        elif links > 1 and state.st_uid != self.owner:
            self.foreign_link(path)
        else:
            # A RelPath by construction; a call costs time here.
            place: RelPath = path  # type: ignore[assignment]
            times = state.st_mtime_ns, state.st_ctime_ns
            self.entries.append(
                FileEntry(place, size, times[0], state.st_ino, mode, links, named, times[1])
            )

    def too_large(self, path: str, size: int) -> bool:
        """Return whether a file above the size limit stays out: not if a pack shows a short form of
        it."""
        return not (path.lower().endswith(self.condensed) and size <= CONDENSED_BYTES)

    def unfit(self, path: str, mode: int, size: int) -> None:
        """Exclude an object that is no regular file, or is too large."""
        if stat.S_ISLNK(mode):
            item = Excluded(path, "symlink", Rule("symlink"))
        elif not stat.S_ISREG(mode):
            item = Excluded(path, "special", Rule(kind_of(mode)))
        else:
            item = Excluded(path, "size_limit", Rule("skip_file_bytes", f"{size} > {self.limit}"))
        self.excluded.append(item)

    def mounted(self, path: str, count: int = 1) -> None:
        """Exclude a file or folder of another file system."""
        self.excluded.append(Excluded(path, "mount_point", Rule("one_filesystem"), count))

    def foreign_link(self, path: str) -> None:
        """Exclude a file with several names that belongs to another owner: it may be any file of
        theirs."""
        self.excluded.append(
            Excluded(path, "hard_link", Rule("hard link", "owned by another user than the folder"))
        )

    def prune(self, fd: int, name: str, path: str, verdict: Verdict) -> None:
        """Record a directory that is not entered: one exclusion, with a count of the files below
        it."""
        count, more = 0, False
        try:
            below = fs.open(name, DIRECTORY, dir_fd=fd)
        except OSError:  # it cannot be listed, so nothing below it is counted
            pass
        else:
            count, more = count_below(below)
            fs.close(below)
        self.excluded.append(
            Excluded(path + "/", verdict.reason, verdict.rule, count, more, verdict.ignored)
        )

    def absent(self, path: str, error: OSError) -> None:
        """Record the error of a requested path: it was never seen, so it is missing and not
        vanished."""
        problem = problem_of(path, error)
        missing = Problem(path, "missing", "no such file")
        self.problems.append(missing if problem.kind == "vanished" else problem)
