"""Align the lines of two texts by Myers' shortest path, with git's shortcuts.

git drops lines that the other side lacks, and very common lines among those, before it compares.
Once a search has grown wide it splits at a long run of equal lines; once it has grown too wide, at
the furthest point reached. A merge equals git's only if all of that is the same. If even this takes
too long (the steps are counted), lines that occur once on both sides are the anchors, and the lines
between count as changed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import NamedTuple

MAX_STEPS = 1_000_000
"""Limit of positions in one comparison; well below a second in CPython."""

_WINDOW = 100  # lines around a common one that decide whether it is noise
_COMMON = 1_024  # occurrences from which a line may be noise, at most
_WIDE = 256  # a search this wide may be cut short
_SNAKE = 20  # equal lines in a row at which a search may split
_FAR = 1 << 60  # beyond any diagonal, so that comparisons need no special case


class Side(NamedTuple):
    """One text, and its range of lines between the equal beginning and the equal end."""

    lines: list[int]
    low: int
    high: int


def common_lines(a: Side, b: Side, steps: int = MAX_STEPS) -> tuple[list[int], list[int]]:
    """Return the line numbers, on each side, of the lines that have a partner on the other."""
    left, right = _worth_comparing(a, b.lines), _worth_comparing(b, a.lines)
    search = _Search([a.lines[at] for at in left], [b.lines[at] for at in right], steps)
    stay_a, stay_b = list[int](), list[int]()
    for x, y, count in sorted(search.run()):
        stay_a += left[x : x + count]
        stay_b += right[y : y + count]
    return stay_a, stay_b


def _root(number: int) -> int:
    """Return a power of two near the square root."""
    root = 1
    while number > 0:
        root, number = root << 1, number >> 2
    return root


# dropped lines


def _worth_comparing(side: Side, other: list[int]) -> list[int]:
    """Return the lines that the other side has, without very common ones among lines that it
    lacks."""
    count, limit = Counter(other).get, min(_root(len(side.lines)), _COMMON)
    counts = [count(line, 0) for line in side.lines[side.low : side.high]]
    if max(counts, default=0) < limit:
        return [at for at, count in enumerate(counts, side.low) if count]
    kinds = [0 if not count else 2 if count >= limit else 1 for count in counts]
    noise = _noise(kinds)
    return [
        at
        for at, kind in enumerate(kinds, side.low)
        if kind == 1 or (kind == 2 and at - side.low not in noise)
    ]


def _noise(kinds: list[int]) -> set[int]:
    """Return the very common lines among mostly missing ones: some of these are on both sides, and
    no other line between."""
    missing, plain = (
        [0],
        [-1],
    )  # before each line: how many are missing, and the last that is neither
    for n, kind in enumerate(kinds):
        missing.append(missing[-1] + (kind == 0))
        plain.append(n if kind == 1 else plain[-1])
    noise, after = set[int](), len(kinds)
    for n in range(len(kinds) - 1, -1, -1):
        if kinds[n] == 1:
            after = n
        elif kinds[n] == 2:
            first, last = max(plain[n] + 1, n - _WINDOW), min(after, n + _WINDOW + 1)
            before, behind = missing[n] - missing[first], missing[last] - missing[n + 1]
            common = last - first + 1 - before - behind
            if before and behind and common * 4 < common + before + behind:
                noise.add(n)
    return noise


# the search


class _Box(NamedTuple):
    """Lines `a0` to `a1` against `b0` to `b1`; `exact`: no shortcut may be taken."""

    a0: int
    a1: int
    b0: int
    b1: int
    exact: bool = False


class _Search:
    """State of one comparison for all its boxes: the steps left, and the furthest points of each
    diagonal."""

    __slots__ = ("a", "b", "cost", "far", "left", "near", "shift")

    def __init__(self, a: list[int], b: list[int], steps: int) -> None:
        self.a, self.b, self.left = a, b, steps
        self.shift = len(b) + 1
        self.far = [0] * (len(a) + len(b) + 3)
        self.near = [0] * (len(a) + len(b) + 3)
        self.cost = max(_root(len(a) + len(b) + 3), _WIDE)

    def run(self) -> list[tuple[int, int, int]]:
        """Return the runs of equal lines: their start on both sides and their length."""
        a, b, pairs = self.a, self.b, list[tuple[int, int, int]]()
        todo = [_Box(0, len(a), 0, len(b))]
        while todo:
            a0, a1, b0, b1, exact = todo.pop()
            start, end = a0, a1
            while a0 < a1 and b0 < b1 and a[a0] == b[b0]:
                a0, b0 = a0 + 1, b0 + 1
            while a0 < a1 and b0 < b1 and a[a1 - 1] == b[b1 - 1]:
                a1, b1 = a1 - 1, b1 - 1
            pairs += [(start, b0 - (a0 - start), a0 - start), (a1, b1, end - a1)]
            if a0 == a1 or b0 == b1:
                continue
            box = _Box(a0, a1, b0, b1, exact)
            if self.left > 0 and (parts := self._split(box)):
                todo += parts[::-1]
            else:
                pairs += _anchored(a, b, box)
        return pairs

    def _split(self, box: _Box) -> tuple[_Box, _Box] | None:
        """Split the box at a point on a shortest path, or near one; None if the steps run out."""
        a0, a1, b0, b1, exact = box
        shift, far, near = self.shift, self.far, self.near
        low, high = a0 - b1 + shift, a1 - b0 + shift
        middles = a0 - b0 + shift, a1 - b1 + shift
        f_low = f_high = middles[0]
        n_low = n_high = middles[1]
        far[f_low], near[n_low] = a0, a1
        odd, cost = (f_low - n_low) & 1, 0
        while self.left > 0:
            cost += 1
            f_low, f_high = _widened(f_low, f_high, low, high, (far, -1))
            met, f_snake = self._forward(box, (f_low, f_high), (n_low, n_high) if odd else (1, 0))
            if met:
                return _cut(box, met, True, True)
            n_low, n_high = _widened(n_low, n_high, low, high, (near, _FAR))
            met, n_snake = self._backward(box, (n_low, n_high), (1, 0) if odd else (f_low, f_high))
            if met:
                return _cut(box, met, True, True)
            if exact or cost < _WIDE:
                continue
            reach = (f_low, f_high), (n_low, n_high)
            if (
                cost > _WIDE
                and (f_snake or n_snake)
                and (parts := self._at_a_snake(box, reach, middles, cost))
            ):
                return parts
            if cost >= self.cost:
                return self._furthest(box, reach)
        return None

    def _forward(
        self, box: _Box, reach: tuple[int, int], other: tuple[int, int]
    ) -> tuple[tuple[int, int] | None, bool]:
        """Take one step on each diagonal from the beginning; return where it meets the way back,
        and whether it followed equal lines."""
        a, b, far, near, shift = self.a, self.b, self.far, self.near, self.shift
        a1, b1, ran, steps = box.a1, box.b1, False, 0
        for k in range(reach[1], reach[0] - 1, -2):
            x = start = far[k - 1] + 1 if far[k - 1] >= far[k + 1] else far[k + 1]
            y = x - k + shift
            while x < a1 and y < b1 and a[x] == b[y]:
                x, y = x + 1, y + 1
            far[k] = x
            steps += 1 + x - start
            ran = ran or x - start > _SNAKE
            if other[0] <= k <= other[1] and near[k] <= x:
                self.left -= steps
                return (x, y), ran
        self.left -= steps
        return None, ran

    def _backward(
        self, box: _Box, reach: tuple[int, int], other: tuple[int, int]
    ) -> tuple[tuple[int, int] | None, bool]:
        a, b, far, near, shift = self.a, self.b, self.far, self.near, self.shift
        a0, b0, ran, steps = box.a0, box.b0, False, 0
        for k in range(reach[1], reach[0] - 1, -2):
            x = start = near[k - 1] if near[k - 1] < near[k + 1] else near[k + 1] - 1
            y = x - k + shift
            while x > a0 and y > b0 and a[x - 1] == b[y - 1]:
                x, y = x - 1, y - 1
            near[k] = x
            steps += 1 + start - x
            ran = ran or start - x > _SNAKE
            if other[0] <= k <= other[1] and x <= far[k]:
                self.left -= steps
                return (x, y), ran
        self.left -= steps
        return None, ran

    def _at_a_snake(
        self,
        box: _Box,
        reach: tuple[tuple[int, int], tuple[int, int]],
        middles: tuple[int, int],
        cost: int,
    ) -> tuple[_Box, _Box] | None:
        """Split at the end of a long run of equal lines that is far along its way, from the
        beginning or else from the end."""
        a, b, shift = self.a, self.b, self.shift
        best: tuple[int, int] | None = None
        most = 4 * cost
        for k in range(reach[0][1], reach[0][0] - 1, -2):
            x, y = self.far[k], self.far[k] - k + shift
            value = (x - box.a0) + (y - box.b0) - abs(k - middles[0])
            inside = box.a0 + _SNAKE <= x < box.a1 and box.b0 + _SNAKE <= y < box.b1
            if value > most and inside and a[x - _SNAKE : x] == b[y - _SNAKE : y]:
                best, most = (x, y), value
        if best:
            return _cut(box, best, True, False)
        for k in range(reach[1][1], reach[1][0] - 1, -2):
            x, y = self.near[k], self.near[k] - k + shift
            value = (box.a1 - x) + (box.b1 - y) - abs(k - middles[1])
            inside = box.a0 < x <= box.a1 - _SNAKE and box.b0 < y <= box.b1 - _SNAKE
            if value > most and inside and a[x : x + _SNAKE] == b[y : y + _SNAKE]:
                best, most = (x, y), value
        return _cut(box, best, False, True) if best else None

    def _furthest(
        self, box: _Box, reach: tuple[tuple[int, int], tuple[int, int]]
    ) -> tuple[_Box, _Box]:
        """Split at the furthest point, from the end that advanced further."""
        shift, first, last = self.shift, (-1, -1), (_FAR, _FAR)
        for k in range(reach[0][1], reach[0][0] - 1, -2):
            x = min(self.far[k], box.a1)
            x = min(x, box.b1 + k - shift)
            if 2 * x - k + shift > first[0]:
                first = 2 * x - k + shift, x
        for k in range(reach[1][1], reach[1][0] - 1, -2):
            x = max(self.near[k], box.a0)
            x = max(x, box.b0 + k - shift)
            if 2 * x - k + shift < last[0]:
                last = 2 * x - k + shift, x
        if box.a1 + box.b1 - last[0] < first[0] - (box.a0 + box.b0):
            return _cut(box, (first[1], first[0] - first[1]), True, False)
        return _cut(box, (last[1], last[0] - last[1]), False, True)


def _cut(box: _Box, at: tuple[int, int], low: bool, high: bool) -> tuple[_Box, _Box]:
    return _Box(box.a0, at[0], box.b0, at[1], low), _Box(at[0], box.a1, at[1], box.b1, high)


def _widened(
    low: int, high: int, least: int, most: int, edge: tuple[list[int], int]
) -> tuple[int, int]:
    """Add one diagonal on each side inside the box; positions beyond hold a value that cannot
    win."""
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


# fallback when the steps run out


def _anchored(a: list[int], b: list[int], box: _Box) -> list[tuple[int, int, int]]:
    """Return lines that occur once on each side, as many as can keep their order (their longest
    increasing sequence)."""
    once_a, once_b = _once(a, box.a0, box.a1), _once(b, box.b0, box.b1)
    both = [(once_a[line], once_b[line]) for line in once_a if line in once_b]
    tops: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for index, (_, y) in enumerate(both):
        place = bisect_left(tops, y)
        before.append(at[place - 1] if place else -1)
        tops[place : place + 1] = [y]
        at[place : place + 1] = [index]
    chain, index = list[tuple[int, int, int]](), at[-1] if at else -1
    while index >= 0:
        chain.append((*both[index], 1))
        index = before[index]
    return chain[::-1]


def _once(lines: list[int], start: int, end: int) -> dict[int, int]:
    """Return the position of each line that occurs once, in order."""
    seen: dict[int, int] = {}
    for at in range(start, end):
        seen[lines[at]] = -1 if lines[at] in seen else at
    return {line: at for line, at in seen.items() if at >= 0}
