"""Unified diffs in bounded time: equal ends are trimmed, and a middle too large to compare is shown as replaced."""

from __future__ import annotations

from difflib import unified_diff

MAX_WORK = 4_000_000
"""Lines times lines that difflib may compare; it is quadratic, and 5,000 changed lines took 7.6 s."""


def unified(old: list[str], new: list[str], old_name: str, new_name: str, context: int = 3) -> str:
    """A unified diff of two lists of lines with their ends."""
    if old == new:
        return ""
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(before) * len(after) > MAX_WORK:
        return "".join(_replaced(old, new, (head, tail), (old_name, new_name), context))
    return "".join(map(_ended, _near(old, new, (head, tail), (old_name, new_name), context)))


def _common(one: list[str], other: list[str]) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _near(old: list[str], new: list[str], ends: tuple[int, int], names: tuple[str, str], context: int) -> list[str]:
    """difflib over the changed middle and its context, with the line numbers put back."""
    head, tail = ends
    skip, drop = max(0, head - context), max(0, tail - context)
    pieces = unified_diff(old[skip : len(old) - drop], new[skip : len(new) - drop], *names, n=context)
    return [_shift(piece, skip) if piece.startswith("@@ ") and skip else piece for piece in pieces]


def _shift(header: str, by: int) -> str:
    _, old, new, rest = header.split(" ", 3)
    return f"@@ -{_moved(old[1:], by)} +{_moved(new[1:], by)} {rest}"


def _moved(span: str, by: int) -> str:
    start, comma, count = span.partition(",")
    return f"{int(start) + by}{comma}{count}"


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _replaced(old: list[str], new: list[str], ends: tuple[int, int], names: tuple[str, str], context: int) -> list[str]:
    head, tail = ends
    start, below = max(0, head - context), min(tail, context)
    before, after = old[head : len(old) - tail], new[head : len(new) - tail]
    around = head - start + below
    shown = f"@@ -{start + 1},{len(before) + around} +{start + 1},{len(after) + around} @@\n"
    body = [f" {line}" for line in old[start:head]] + [f"-{line}" for line in before] + [f"+{line}" for line in after]
    body += [f" {line}" for line in old[len(old) - tail : len(old) - tail + below]]
    return [f"--- {names[0]}\n", f"+++ {names[1]}\n", shown, *map(_ended, body)]
