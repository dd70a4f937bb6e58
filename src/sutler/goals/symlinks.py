"""Symbolic links below a folder given with `--context`, for `symlinks: follow`.

A link is followed only inside the project: its target must lie below the named folder or below the
current one, and the same filters apply to it as to other files there. The decision uses the real
path. Reading goes through a descriptor of the target's folder and follows no link."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from sutler.scan.snapshot import Snapshot

Leads = Literal["file", "folder", "nowhere", "outside", "loop", "special"]


class Link(Struct, frozen=True):
    """A link at `path` (below the scanned folder), its real path, and the kind of its target."""

    path: str
    real: str
    leads: Leads


def links_in(host: str, snapshot: Snapshot, bounds: Sequence[str]) -> Iterator[Link]:
    """Yield the links that a scan of `host` excluded, with their targets. `bounds` are real folders
    that a target must be below."""
    for exclusion in snapshot.excluded:
        if exclusion.reason == "symlink":
            path = exclusion.path.rstrip("/")
            link = os.path.join(host, path)
            real = os.path.realpath(link)
            yield Link(path, real, _leads(link, real, bounds))


def _leads(link: str, real: str, bounds: Sequence[str]) -> Leads:
    if not any(_below(real, bound) for bound in bounds):
        return "outside"  # first check: do not reveal whether a file outside exists
    if not os.path.exists(link):
        return "nowhere"
    if os.path.isdir(real):
        return "loop" if _below(os.path.realpath(os.path.dirname(link)), real) else "folder"
    return "file" if os.path.isfile(real) else "special"


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
