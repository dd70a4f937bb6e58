"""Three-way merge by lines: changes of either side are kept, and changes of the same place are a
conflict.

Changes that touch are a conflict too, unless they are the same: two adjacent edits often mean one
thing, and git decides the same. Nothing is guessed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sutler.edits.difference import Hunk, hunks


class Clash(NamedTuple):
    """A place that both sides changed differently, and its first line in each text, from 1."""

    lines: tuple[int, int, int]
    base: tuple[bytes, ...]
    ours: tuple[bytes, ...]
    theirs: tuple[bytes, ...]


Settle = Callable[[Clash], Sequence[bytes] | None]


class Merged(NamedTuple):
    """The merged text, or the clashes that prevent one (then `data` is empty)."""

    data: bytes
    clashes: tuple[Clash, ...] = ()


def lines_of(data: bytes) -> list[bytes]:
    """Return lines with their ends; only `\\n` ends one, so every other byte stays with its
    line."""
    lines = data.split(b"\n")
    tail = lines.pop()
    ended = [line + b"\n" for line in lines]
    return [*ended, tail] if tail else ended


def merge(base: bytes, ours: bytes, theirs: bytes, settle: Settle | None = None) -> Merged:
    """Merge both sides' changes to the base into one text. `settle` may resolve a clash with lines
    of its own."""
    if theirs in (base, ours):
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    root, left, right = lines_of(base), lines_of(ours), lines_of(theirs)
    parts: list[bytes] = []
    clashes: list[Clash] = []
    at = 0
    for mine, other in _regions(hunks(root, left), hunks(root, right)):
        start, end = _reach(mine, other)
        parts += root[at:start]
        a, b = _side(mine, left, start, end, root), _side(other, right, start, end, root)
        if not other or (mine and a == b):
            parts += a
        elif not mine:
            parts += b
        else:
            where = start + 1, _at(mine, start) + 1, _at(other, start) + 1
            clash = Clash(where, tuple(root[start:end]), tuple(a), tuple(b))
            settled = settle(clash) if settle else None
            if settled is None:
                clashes.append(clash)
            else:
                parts += settled
        at = end
    return Merged(b"", tuple(clashes)) if clashes else Merged(b"".join((*parts, *root[at:])))


def _regions(left: list[Hunk], right: list[Hunk]) -> list[tuple[list[Hunk], list[Hunk]]]:
    """Group hunks of both sides in base order; those that overlap or touch form one region."""
    groups: list[tuple[list[Hunk], list[Hunk]]] = []
    i = j = 0
    end = -1
    while i < len(left) or j < len(right):
        from_left = j == len(right) or (i < len(left) and left[i].a0 <= right[j].a0)
        change = left[i] if from_left else right[j]
        if not groups or change.a0 > end:
            groups.append(([], []))
        groups[-1][0 if from_left else 1].append(change)
        end = max(end, change.a1)
        i, j = (i + 1, j) if from_left else (i, j + 1)
    return groups


def _reach(mine: Sequence[Hunk], other: Sequence[Hunk]) -> tuple[int, int]:
    both = (*mine, *other)
    return min(change.a0 for change in both), max(change.a1 for change in both)


def _side(
    mine: Sequence[Hunk], lines: list[bytes], start: int, end: int, root: list[bytes]
) -> list[bytes]:
    """Return the lines of one side in place of the base's lines `start` to `end`."""
    if not mine:
        return root[start:end]
    return lines[_at(mine, start) : mine[-1].b1 + (end - mine[-1].a1)]


def _at(mine: Sequence[Hunk], start: int) -> int:
    return mine[0].b0 - (mine[0].a0 - start)
