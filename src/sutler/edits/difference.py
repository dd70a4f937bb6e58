"""Line differences in bounded time, with the same hunks as git.

A difference is a list of hunks. A hunk that fits in several positions takes git's: at a change of
the other side, else as far down as possible. `alignment` pairs the lines; the work is counted, so
that no pair of texts, however hostile, takes more than a second or two."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from sutler.edits.alignment import MAX_STEPS, Side, common_lines


class Hunk(NamedTuple):
    """Lines `a0` to `a1` of the old text become lines `b0` to `b1` of the new one; half-open, from
    0."""

    a0: int
    a1: int
    b0: int
    b1: int


def hunks(old: Sequence[Hashable], new: Sequence[Hashable], steps: int = MAX_STEPS) -> list[Hunk]:
    """Return the changes between two lists of lines, in order; between two hunks lies at least one
    common line."""
    a, b = _numbered(old, new)
    removed, added = changed_lines(a, b, steps)
    left, right = _groups(removed), _groups(added)
    left = _slid(a, left, {group.above for group in right})
    right = _slid(b, right, {group.above for group in left})
    return _paired(left, right)


def _numbered(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Replace equal lines by equal numbers, which compare faster."""
    numbers: dict[Hashable, int] = {}
    first = [numbers.setdefault(line, len(numbers)) for line in old]
    return first, [numbers.setdefault(line, len(numbers)) for line in new]


Runs = list[tuple[int, int]]
"""Ranges of changed lines, half-open, in order and apart."""


def changed_lines(a: list[int], b: list[int], steps: int = MAX_STEPS) -> tuple[Runs, Runs]:
    """Return the lines of each side that have no partner on the other."""
    head, tail = _equal_ends(a, b)
    left, right = Side(a, head, len(a) - tail), Side(b, head, len(b) - tail)
    stay_a, stay_b = list[int](), list[int]()
    # Most edits replace some neighbouring lines by others: the rest has nothing in common.
    if not set(a[left.low : left.high]).isdisjoint(b[right.low : right.high]):
        stay_a, stay_b = common_lines(left, right, steps)
    return _runs(left.low, left.high, stay_a), _runs(right.low, right.high, stay_b)


def _equal_ends(a: list[int], b: list[int]) -> tuple[int, int]:
    """Count the lines that are equal at the beginning and, of the rest, at the end."""
    head, room = 0, min(len(a), len(b))
    while head < room and a[head] == b[head]:
        head += 1
    tail, room = 0, room - head
    while tail < room and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    return head, tail


def _runs(low: int, high: int, stay: list[int]) -> Runs:
    """Return the runs in `low` to `high` that are not in `stay`."""
    runs, at = list[tuple[int, int]](), low
    for line in (*stay, high):
        if line > at:
            runs.append((at, line))
        at = line + 1
    return runs


class _Group(NamedTuple):
    """Neighbouring changed lines of one side, and the number of common lines above them, by which
    the sides are paired."""

    above: int
    start: int
    end: int


def _groups(changed: list[tuple[int, int]]) -> list[_Group]:
    groups, lines = list[_Group](), 0
    for start, end in changed:
        groups.append(_Group(start - lines, start, end))
        lines += end - start
    return groups


def _slid(lines: list[int], groups: list[_Group], others: set[int]) -> list[_Group]:
    """Move groups that fit in several positions: to a change of the other side within reach, else
    down. Groups that meet are joined."""
    done: list[_Group] = []
    todo = groups[::-1]
    while todo:
        group = todo.pop()
        _, start, end = group
        if not (start and lines[start - 1] == lines[end - 1]) and not (
            end < len(lines) and lines[start] == lines[end]
        ):
            done.append(group)  # like most of them: no other position fits
            continue
        while True:
            size = group.end - group.start
            group = _raised(lines, group, done)
            top, match = group.above, group.above if group.above in others else -1
            group, match = _lowered(lines, group, todo, others, match)
            if group.end - group.start == size:
                break
        if group.above != top and match >= 0:
            back = group.above - match
            group = _Group(match, group.start - back, group.end - back)
        done.append(group)
    return done


def _raised(lines: list[int], group: _Group, done: list[_Group]) -> _Group:
    above, start, end = group
    while start > 0 and lines[start - 1] == lines[end - 1]:
        above, start, end = above - 1, start - 1, end - 1
        if done and done[-1].end == start:
            start = done.pop().start
    return _Group(above, start, end)


def _lowered(
    lines: list[int], group: _Group, todo: list[_Group], others: set[int], match: int
) -> tuple[_Group, int]:
    above, start, end = group
    while end < len(lines) and lines[start] == lines[end]:
        above, start, end = above + 1, start + 1, end + 1
        if todo and todo[-1].start == end:
            end = todo.pop().end
        if above in others:
            match = above
    return _Group(above, start, end), match


def _paired(left: list[_Group], right: list[_Group]) -> list[Hunk]:
    """Pair groups of both sides below the same common line to one hunk."""
    paired, i, j = list[Hunk](), 0, 0
    gone = added = 0  # changed lines so far
    while i < len(left) or j < len(right):
        mine = left[i].above if i < len(left) else right[j].above
        above = min(mine, right[j].above) if j < len(right) else mine
        a0, b0 = above + gone, above + added
        if i < len(left) and left[i].above == above:
            gone, i = gone + left[i].end - left[i].start, i + 1
        if j < len(right) and right[j].above == above:
            added, j = added + right[j].end - right[j].start, j + 1
        paired.append(Hunk(a0, above + gone, b0, above + added))
    return paired


# as text


def unified(old: list[str], new: list[str], old_name: str, new_name: str, context: int = 3) -> str:
    """Return a unified diff of two lists of lines with their ends; empty if they are equal."""
    changes = hunks(old, new)
    if not changes:
        return ""
    parts = [f"--- {old_name}\n", f"+++ {new_name}\n"]
    for group in _near(changes, context):
        start, end = max(0, group[0].a0 - context), min(len(old), group[-1].a1 + context)
        shift = group[0].b0 - group[0].a0
        below = group[-1].b1 - group[-1].a1
        parts.append(f"@@ -{_span(start, end)} +{_span(start + shift, end + below)} @@\n")
        at = start
        for change in group:
            parts += _marked(" ", old[at : change.a0])
            parts += _marked("-", old[change.a0 : change.a1])
            parts += _marked("+", new[change.b0 : change.b1])
            at = change.a1
        parts += _marked(" ", old[at:end])
    return "".join(parts)


def _near(changes: list[Hunk], context: int) -> list[list[Hunk]]:
    """Group hunks whose contexts touch under one header."""
    groups = [[changes[0]]]
    for change in changes[1:]:
        if change.a0 - groups[-1][-1].a1 <= 2 * context:
            groups[-1].append(change)
        else:
            groups.append([change])
    return groups


def _span(start: int, end: int) -> str:
    """Format a range for a diff: one line needs no count, and an empty range names the line before
    it."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + (count > 0)},{count}"


def _marked(mark: str, lines: list[str]) -> list[str]:
    """Return lines with a diff's mark. Only the last line of a text can lack its end."""
    marked = [mark + line for line in lines]
    if marked and not marked[-1].endswith("\n"):
        marked[-1] += "\n\\ No newline at end of file\n"
    return marked
