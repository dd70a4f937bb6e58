"""Symbolic links below a folder given with `--context`, for `symlinks: follow`.

A link is followed as far as the project goes and no further: its target must lie below the folder
that was given or below the current one, and is held to the same filters as a file found there.
Decided by where a link really leads; the reading itself goes through a descriptor of the target's
own folder and follows nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from sutler.scan.snapshot import Snapshot

Leads = Literal["file", "folder", "nowhere", "outside", "loop", "special"]


class Link(Struct, frozen=True):
    """Where the link at `path` (below the scanned folder) really leads."""

    path: str
    real: str
    leads: Leads


def links_in(host: str, snapshot: Snapshot, bounds: Sequence[str]) -> Iterator[Link]:
    """The links that a scan of `host` left out, each with where it leads; `bounds` are real
    folders.
    """
    for one in snapshot.excluded:
        if one.reason == "symlink":
            path = one.path.rstrip("/")
            link = os.path.join(host, path)
            real = os.path.realpath(link)
            yield Link(path, real, _leads(link, real, bounds))


def _leads(link: str, real: str, bounds: Sequence[str]) -> Leads:
    if not any(_below(real, bound) for bound in bounds):
        return "outside"  # first of all: what lies outside is not even looked for
    if not os.path.exists(link):
        return "nowhere"
    if os.path.isdir(real):
        return "loop" if _below(os.path.realpath(os.path.dirname(link)), real) else "folder"
    return "file" if os.path.isfile(real) else "special"


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
