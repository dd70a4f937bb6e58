"""Other names of a file below a root, by inode: a hard link is the file that it links to."""

from __future__ import annotations

from typing import Final

from sutler.paths import RelPath
from sutler.scan.root import DIRECTORY, Root
from sutler.system import fs

MOST_NAMES: Final = 1_000_000
UNKNOWN: Final = "its other names cannot be listed"
"""Why a file with several names is withheld if the tree cannot be read whole."""


def names_by_inode(root: Root, inodes: frozenset[int]) -> dict[int, list[str]] | None:
    """Every name below the root of files with these inodes, in whichever folder: closed, hidden and
    version control's folders too. None if a folder cannot be listed or there are too many names.
    """
    names: dict[int, list[str]] = {}
    device, seen, todo = fs.fstat(root.fd).st_dev, 0, [""]
    while todo:
        folder = todo.pop()
        try:
            fd = root.open(RelPath(folder), DIRECTORY)
        except FileNotFoundError:
            continue
        except OSError:
            return None
        try:
            if fs.fstat(fd).st_dev != device:
                continue  # a hard link cannot lead to another file system
            with fs.scandir(fd) as listing:
                for entry in listing:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(path)
                    elif entry.inode() in inodes:
                        names.setdefault(entry.inode(), []).append(path)
        except OSError:
            return None
        finally:
            fs.close(fd)
        if seen > MOST_NAMES:
            return None
    return names
