"""What a replacement that ended in the middle leaves beside a file, and how it is found and removed."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256

from sutler.disk.root import DIRECTORY, TEMPORARY, Root
from sutler.values.paths import RelPath, dirname
from sutler.values.snapshot import Problem

_PREFIX = 18


@lru_cache(maxsize=4_096)
def prefix_of(name: str) -> str:
    """How the temporary names for `name` begin: a digest, since the name itself may be as long as names can be."""
    return f".{sha256(os.fsencode(name)).hexdigest()[: _PREFIX - 2]}."


def sweep(root: Root, path: RelPath) -> tuple[bytes, ...]:
    """Remove what a writer of `path` that ended in the middle left behind, and return it. The caller holds the path."""
    name, left = path.rpartition("/")[2], list[bytes]()
    try:
        fd = open_directory(root, dirname(path))
    except OSError:
        return ()
    root.swept.get(dirname(path), set()).discard(prefix_of(name))
    try:
        prefix = prefix_of(name)
        for found in sorted(one for one in os.listdir(fd) if one.startswith(prefix)):
            if found.endswith(TEMPORARY):
                blob = root.read(RelPath(f"{dirname(path)}/{found}".lstrip("/")))
                if not isinstance(blob, Problem):
                    left.append(blob.data)
                with suppress(OSError):
                    os.unlink(found, dir_fd=fd)
                    os.fsync(fd)
    finally:
        os.close(fd)
    return tuple(left)


def littered(root: Root, path: RelPath) -> bool:
    """Whether a replacement of `path` that ended in the middle may lie beside it. One listing for each directory: what
    this process leaves it notes, and what another one leaves has an intent that says so."""
    directory = dirname(path)
    if directory not in root.swept:
        root.swept[directory] = _litter(root, directory)
    return prefix_of(path.rpartition("/")[2]) in root.swept[directory]


def _litter(root: Root, directory: str) -> set[str]:
    try:
        fd = open_directory(root, directory)
    except OSError:
        return set()
    try:
        return {name[:_PREFIX] for name in os.listdir(fd) if name.endswith(TEMPORARY)}
    finally:
        os.close(fd)


def open_directory(root: Root, directory: str) -> int:
    return root.open(RelPath(directory), DIRECTORY) if directory else os.open(".", DIRECTORY, dir_fd=root.fd)


def sync_parent(root: Root, path: RelPath) -> None:
    """The directory of `path` is on the disk; none is needed where there is no directory any more."""
    with suppress(FileNotFoundError):
        fd = open_directory(root, dirname(path))
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
