"""Several system calls in one step: everything in a folder, a file's bytes. By a small native module where it could be
built with the package, else by `os`, with the same outcome. Files between their frames are the module's alone: nobody
else would be faster than the long way.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from sutler.values.pack import Form

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Row = tuple[str, int, int, int, int, int, int, int]
"""A file as a folder lists it: name, mode, size, times of change of content and of state, inode, links, owner. One that
could not be looked at has the mode 0, and its error's number in place of the size."""

Listed = tuple[list[str], list[Row], list[str]]
"""What lies in a folder, in no order: the names of folders, everything else, and every name that begins with a dot."""

Entered = tuple[int, int, int, Listed | None]
"""A folder's descriptor, its device and inode, and what lies in it: nothing is said of one on another device. A folder
without others in it and without names that begin with a dot is closed at once, since nobody needs it any more: -1."""

Contents = tuple[bytes, int, int, int, int, int, int]
"""A file's bytes, its size, times of change of content and of state, inode, mode and links."""

Place = tuple[int, int, int]
Frames = tuple[bytes, bytes, bytes, list[str | Place]]
"""Files one after the other: between their frames, their frames alone, their lines. Then what came of each: its SHA-256
digest; "" for one that is no text; or where in the three texts it belongs, for whoever goes the long way with it."""


def listed_by_os(fd: int) -> Listed:
    """What lies in the folder `fd`."""
    folders: list[str] = []
    files: list[Row] = []
    dotted: list[str] = []
    with os.scandir(fd) as listing:
        batch = list(listing)
    for entry in batch:
        name = entry.name
        if name[0] == ".":
            dotted.append(name)
        if entry.is_dir(follow_symlinks=False):
            folders.append(name)
            continue
        try:
            state = entry.stat(follow_symlinks=False)
        except OSError as error:
            files.append((name, 0, error.errno or 0, 0, 0, 0, 0, 0))
            continue
        times = state.st_mtime_ns, state.st_ctime_ns
        files.append((name, state.st_mode, state.st_size, *times, state.st_ino, state.st_nlink, state.st_uid))
    return folders, files, dotted


def entered_by_os(fd: int, name: str, device: int) -> Entered:
    """The folder of this name in the folder `fd`, if it is a folder and no link. On this device, if one is named: -1 is
    any."""
    below = os.open(name, DIRECTORY, dir_fd=fd)
    try:
        state = os.fstat(below)
        found = listed(below) if device in (state.st_dev, -1) else None
    except BaseException:
        os.close(below)
        raise
    if found is None or not (found[0] or found[2]):
        os.close(below)
        below = -1
    return below, state.st_dev, state.st_ino, found


listed: Callable[[int], Listed] = listed_by_os
entered: Callable[[int, str, int], Entered] = entered_by_os

contents: Callable[[int, str, int], Contents | None] | None = None
"""A regular file beneath a directory, through no link, of at most so many bytes. Whoever gets nothing, or finds nobody
to ask, goes the long way, which knows what to say of a file."""

framed: Callable[[int, list[str], list[int], list[Form]], Frames] | None = None
"""Several such files, each of which should have the size that is said (less than 0: it is not to be read), framed as
its form says. Without Python's lock: a thread may do it beside others."""

try:
    from sutler.disk import _native
except ImportError:
    pass
else:
    listed, entered, contents, framed = _native.listed, _native.entered, _native.contents, _native.framed
