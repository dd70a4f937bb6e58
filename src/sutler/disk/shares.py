"""A walk by two processes: its folders are shared out, and what the other found is put to what was found here.

Whoever takes part is forked from the walk as it stands, with its rules and its open folders: nothing has to be told but
the outcome.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import msgspec

from sutler.values.pack import Octets
from sutler.values.snapshot import Excluded, FileEntry, Problem

if TYPE_CHECKING:
    from sutler.disk.walk import Frame, Walk

UPPER: Final = range(16, 32)
"""Folders with others in them that are opened before the rest is shared out: the largest are most likely among them."""
ENOUGH: Final = 128
"""So many folders must wait then, or a second process is not worth its start."""
PARTS: Final = 512

Share = Callable[[int, Callable[[int], None], Callable[[], bytes], Callable[[Octets], None]], None]
"""Does pieces of work by their number, at most `PARTS`, here and elsewhere. What came of it elsewhere is asked there,
and told here."""

_Told = tuple[list[FileEntry], list[Excluded], list[Problem], int]


def spread(walk: Walk, share: Share) -> None:
    """Visit everything. The uppermost folders are opened first; those below them are shared out."""
    opened = [walk.top()]
    waiting: deque[tuple[Frame, str, str]] = deque()
    if walk.fill(opened[0], ""):
        waiting.extend((opened[0], "", name) for name in reversed(opened[0].todo))
    while waiting and (len(opened) < UPPER.start or (len(waiting) < ENOUGH and len(opened) < UPPER.stop)):
        frame, prefix, name = waiting.popleft()
        child, below = walk.enter(frame, name, prefix), f"{prefix}{name}/"
        if child is None:
            continue
        if not walk.fill(child, below) or not child.todo:
            child.close()
            continue
        opened.append(child)
        waiting.extend((child, below, name) for name in reversed(child.todo))
    parts = [list(waiting)[number::PARTS] for number in range(min(len(waiting), PARTS))]

    def visit(number: int) -> None:
        for frame, prefix, name in parts[number]:
            if (child := walk.enter(frame, name, prefix)) is not None:
                walk.descend(child, f"{prefix}{name}/")

    if len(waiting) < ENOUGH:
        for number in range(len(parts)):
            visit(number)
    else:
        share(len(parts), visit, _outcome(walk), lambda told: _add(walk, told))
    for frame in opened:
        os.close(frame.fd)


def _outcome(walk: Walk) -> Callable[[], bytes]:
    """What the walk finds from now on, for `_add`. Names that are no Unicode cannot be told."""
    found, directories = walk.found, walk.directories
    entries, excluded = len(found.entries), len(found.excluded)

    def told() -> bytes:
        part: _Told = (
            found.entries[entries:],
            found.excluded[excluded:],
            walk.problems(),
            walk.directories - directories,
        )
        return msgspec.msgpack.encode(part)

    return told


def _add(walk: Walk, told: Octets) -> None:
    entries, excluded, problems, directories = msgspec.msgpack.decode(told, type=_Told)
    walk.found.entries += entries
    walk.found.excluded += excluded
    walk.found.problems += problems
    walk.directories += directories
