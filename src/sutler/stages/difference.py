"""Line differences in bounded time: Myers between trimmed ends, unique lines as anchors where that grows too long.

A difference is a list of hunks, and hunks that could stand in several places stand where git puts them: as far down as
they go. The work is counted, so that no pair of texts, however hostile, takes more than a second or two; what is beyond
the bound is shown as replaced, which is coarse and still true.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Sequence
from typing import NamedTuple

MAX_STEPS = 800_000
"""Positions that one comparison may look at; well below a second in CPython."""
_PIECE = 250_000  # steps for one region before it is cut at its unique lines


class Hunk(NamedTuple):
    """Lines `a0` to `a1` of the old text become lines `b0` to `b1` of the new one; half-open, from 0."""

    a0: int
    a1: int
    b0: int
    b1: int


class _Search:
    """What the regions of one comparison share: the steps left, and room for the furthest points of each diagonal."""

    __slots__ = ("far", "left", "near", "shift")

    def __init__(self, steps: int, old: int, new: int) -> None:
        self.left = steps
        self.shift = new + 1
        self.far = [0] * (old + new + 3)
        self.near = [0] * (old + new + 3)


def hunks(old: Sequence[Hashable], new: Sequence[Hashable], steps: int = MAX_STEPS) -> list[Hunk]:
    """What changed between two lists of lines, in order; between two hunks lies at least one common line."""
    head, tail = _ends(old, new)
    a, b = _numbered(old[head : len(old) - tail], new[head : len(new) - tail])
    gone, came = [False] * len(a), [False] * len(b)
    _mark_changed(a, b, gone, came, steps)
    found = [Hunk(one.a0 + head, one.a1 + head, one.b0 + head, one.b1 + head) for one in _groups(gone, came)]
    return _settled(found, old, new)


def _ends(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[int, int]:
    """How many lines are equal at the beginning and, of the rest, at the end."""
    head, room = 0, min(len(old), len(new))
    while head < room and old[head] == new[head]:
        head += 1
    tail, room = 0, room - head
    while tail < room and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return head, tail


def _numbered(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    """Equal lines become equal numbers, which compare faster."""
    numbers: dict[Hashable, int] = {}
    first = [numbers.setdefault(line, len(numbers)) for line in old]
    return first, [numbers.setdefault(line, len(numbers)) for line in new]


def _mark_changed(a: list[int], b: list[int], gone: list[bool], came: list[bool], steps: int) -> None:
    """Lines that the other side lacks are changed whatever the alignment; only the rest is compared."""
    in_a, in_b = set(a), set(b)
    keep_a = [at for at, line in enumerate(a) if line in in_b]
    keep_b = [at for at, line in enumerate(b) if line in in_a]
    for at, line in enumerate(a):
        gone[at] = line not in in_b
    for at, line in enumerate(b):
        came[at] = line not in in_a
    lost, won = [True] * len(keep_a), [True] * len(keep_b)
    for x, y, count in _runs([a[at] for at in keep_a], [b[at] for at in keep_b], steps):
        lost[x : x + count] = won[y : y + count] = [False] * count
    for at, changed in zip(keep_a, lost, strict=True):
        gone[at] = gone[at] or changed
    for at, changed in zip(keep_b, won, strict=True):
        came[at] = came[at] or changed


def _runs(a: list[int], b: list[int], steps: int) -> list[tuple[int, int, int]]:
    """Runs of lines that belong together: where they begin on both sides and how long they are."""
    search, found = _Search(steps, len(a), len(b)), list[tuple[int, int, int]]()
    todo = [(0, len(a), 0, len(b))]
    while todo:
        a0, a1, b0, b1 = todo.pop()
        start, end = a0, a1
        while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
            a0, b0 = a0 + 1, b0 + 1
        while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
            a1, b1 = a1 - 1, b1 - 1
        found += [(start, b0 - (a0 - start), a0 - start), (a1, b1, end - a1)]
        if a0 == a1 or b0 == b1 or search.left <= 0:
            continue
        middle = _middle(a, b, (a0, a1, b0, b1), search)
        if middle is not None:
            x, y = middle
            todo += [(x, a1, y, b1), (a0, x, b0, y)]
            continue
        at_a, at_b = a0, b0
        for x, y in _anchors(a, b, (a0, a1, b0, b1)):
            todo.append((at_a, x, at_b, y))
            found.append((x, y, 1))
            at_a, at_b = x + 1, y + 1
        if at_a > a0:
            todo.append((at_a, a1, at_b, b1))
    return found


def _middle(a: list[int], b: list[int], box: tuple[int, int, int, int], search: _Search) -> tuple[int, int] | None:
    """A point on a shortest path through the box, from both corners at once; None when the steps end first."""
    a0, a1, b0, b1 = box
    shift, far, near = search.shift, search.far, search.near
    low, high = a0 - b1 + shift, a1 - b0 + shift
    f_low = f_high = a0 - b0 + shift
    n_low = n_high = a1 - b1 + shift
    far[f_low], near[n_low] = a0, a1
    odd = (f_low - n_low) & 1
    limit = search.left - min(search.left, _PIECE)
    while search.left > limit:
        f_low, f_high = _widened(f_low, f_high, low, high, (far, -1))
        for k in range(f_high, f_low - 1, -2):
            x = start = far[k - 1] + 1 if far[k - 1] >= far[k + 1] else far[k + 1]
            y = x - k + shift
            while x < a1 and y < b1 and a[x] == b[y]:
                x, y = x + 1, y + 1
            far[k] = x
            search.left -= 1 + x - start
            if odd and n_low <= k <= n_high and near[k] <= x:
                return x, y
        n_low, n_high = _widened(n_low, n_high, low, high, (near, a1 + 1))
        for k in range(n_high, n_low - 1, -2):
            x = start = near[k - 1] if near[k - 1] < near[k + 1] else near[k + 1] - 1
            y = x - k + shift
            while x > a0 and y > b0 and a[x - 1] == b[y - 1]:
                x, y = x - 1, y - 1
            near[k] = x
            search.left -= 1 + start - x
            if not odd and f_low <= k <= f_high and x <= far[k]:
                return x, y
    return None


def _widened(low: int, high: int, least: int, most: int, edge: tuple[list[int], int]) -> tuple[int, int]:
    """One more diagonal on each side, as far as the box goes; the places beyond hold what cannot win."""
    points, lost = edge
    if low > least:
        low -= 1
        points[low - 1] = lost
    else:
        low += 1
    if high < most:
        high += 1
        points[high + 1] = lost
    else:
        high -= 1
    return low, high


def _anchors(a: list[int], b: list[int], box: tuple[int, int, int, int]) -> list[tuple[int, int]]:
    """Lines that occur once on each side, as many as can keep their order (the longest increasing run of them)."""
    a0, a1, b0, b1 = box
    once_a, once_b = _once(a, a0, a1), _once(b, b0, b1)
    both = [(once_a[line], once_b[line]) for line in once_a if line in once_b]
    tops: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for index, (_, y) in enumerate(both):
        place = bisect_left(tops, y)
        before.append(at[place - 1] if place else -1)
        tops[place : place + 1] = [y]
        at[place : place + 1] = [index]
    chain, index = list[tuple[int, int]](), at[-1] if at else -1
    while index >= 0:
        chain.append(both[index])
        index = before[index]
    return chain[::-1]


def _once(lines: list[int], start: int, end: int) -> dict[int, int]:
    """Where each line that occurs once stands, in order."""
    seen: dict[int, int] = {}
    for at in range(start, end):
        seen[lines[at]] = -1 if lines[at] in seen else at
    return {line: at for line, at in seen.items() if at >= 0}


def _groups(gone: list[bool], came: list[bool]) -> list[Hunk]:
    found, x, y = list[Hunk](), 0, 0
    while x < len(gone) or y < len(came):
        a0, b0 = x, y
        while x < len(gone) and gone[x]:
            x += 1
        while y < len(came) and came[y]:
            y += 1
        if (a0, b0) != (x, y):
            found.append(Hunk(a0, x, b0, y))
        x, y = x + 1, y + 1
    return found


def _settled(found: list[Hunk], old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Hunk]:
    """Hunks that only add or only remove, moved down as far as the same text allows; what then touches is one."""
    done: list[Hunk] = []
    todo = found[::-1]
    while todo:
        one = _lifted(todo.pop(), done, old, new)
        stop = todo[-1] if todo else None
        one = _lowered(one, stop, old, new)
        if stop is not None and one.a1 == stop.a0 and one.b1 == stop.b0:
            todo[-1] = Hunk(one.a0, stop.a1, one.b0, stop.b1)
            continue
        done.append(one)
    return done


def _lowered(one: Hunk, stop: Hunk | None, old: Sequence[Hashable], new: Sequence[Hashable]) -> Hunk:
    a0, a1, b0, b1 = one
    while stop is None or a1 < stop.a0:
        if (a0 == a1 and b1 < len(new) and new[b0] == new[b1]) or (b0 == b1 and a1 < len(old) and old[a0] == old[a1]):
            pass
        else:
            break
        a0, a1, b0, b1 = a0 + 1, a1 + 1, b0 + 1, b1 + 1
    return Hunk(a0, a1, b0, b1)


def _lifted(one: Hunk, done: list[Hunk], old: Sequence[Hashable], new: Sequence[Hashable]) -> Hunk:
    """Moved up, but only to join the hunk above where that one has lines on the same side."""
    if not done or (one.a0 < one.a1 and one.b0 < one.b1):
        return one
    above = done[-1]
    side, first, last = (new, one.b0, one.b1) if one.a0 == one.a1 else (old, one.a0, one.a1)
    same = above.b0 < above.b1 if one.a0 == one.a1 else above.a0 < above.a1
    gap = one.a0 - above.a1
    if not same or any(side[first - 1 - up] != side[last - 1 - up] for up in range(gap)):
        return one
    done.pop()
    return Hunk(above.a0, one.a1 - gap, above.b0, one.b1 - gap)


# as text


def unified(old: list[str], new: list[str], old_name: str, new_name: str, context: int = 3) -> str:
    """A unified diff of two lists of lines with their ends; empty when they are equal."""
    found = hunks(old, new)
    if not found:
        return ""
    parts = [f"--- {old_name}\n", f"+++ {new_name}\n"]
    for group in _near(found, context):
        start, end = max(0, group[0].a0 - context), min(len(old), group[-1].a1 + context)
        shift = group[0].b0 - group[0].a0
        below = group[-1].b1 - group[-1].a1
        parts.append(f"@@ -{_span(start, end)} +{_span(start + shift, end + below)} @@\n")
        at = start
        for one in group:
            parts += [_ended(f" {line}") for line in old[at : one.a0]]
            parts += [_ended(f"-{line}") for line in old[one.a0 : one.a1]]
            parts += [_ended(f"+{line}") for line in new[one.b0 : one.b1]]
            at = one.a1
        parts += [_ended(f" {line}") for line in old[at:end]]
    return "".join(parts)


def _near(found: list[Hunk], context: int) -> list[list[Hunk]]:
    """Hunks whose contexts touch belong under one header."""
    groups = [[found[0]]]
    for one in found[1:]:
        if one.a0 - groups[-1][-1].a1 <= 2 * context:
            groups[-1].append(one)
        else:
            groups.append([one])
    return groups


def _span(start: int, end: int) -> str:
    """A range as diffs spell it: one line needs no count, and an empty range names the line before it."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + (count > 0)},{count}"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
