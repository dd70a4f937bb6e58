"""Divide a file's text into ranges that make sense alone.

Regions cover every line once: functions and methods whole, the head of a class, the top of the
file, and the gaps between. Blank lines belong to the region above them, so that a change just after
a function belongs to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sutler.languages.facts import Region, RegionKind, Symbol

_COMMENT = re.compile(r"^\s*(?://|/\*|\*|#|--|@|\[)")
_MAX_GAP = 60  # lines: a longer gap is cut at blank lines
_MAX_FUNCTION = 60  # a longer function is shown in blocks, or it would eat a small budget alone


def cut_regions(symbols: Sequence[Symbol], lines: Sequence[str]) -> list[Region]:
    """Return the regions of a text in order, with every line in exactly one; empty for an empty
    text."""
    starts = _starts(symbols, lines)
    regions: list[Region] = []
    for i, (start, kind, name) in enumerate(starts):
        end = starts[i + 1][0] - 1 if i + 1 < len(starts) else len(lines)
        regions += _cut(start, end, kind, name, lines)
    return regions


def _starts(symbols: Sequence[Symbol], lines: Sequence[str]) -> list[tuple[int, RegionKind, str]]:
    """Return the start of each region, from line 1 on, so that the regions cover all lines."""
    total = len(lines)
    if not total:
        return []
    starts: dict[int, tuple[RegionKind, str]] = {1: ("head", "")}
    inside: set[int] = set()  # symbols that lie in a function
    for i, symbol in enumerate(symbols):
        if symbol.parent in inside or (
            symbol.parent >= 0 and symbols[symbol.parent].kind in ("function", "method")
        ):
            inside.add(i)
        elif symbol.start <= total and symbol.kind in ("function", "method", "class"):
            start = _with_comment(symbol.start, lines)
            starts[start] = ("class" if symbol.kind == "class" else "function", symbol.name)
            after = symbol.end + 1
            while after <= total and not lines[after - 1].strip():
                after += 1
            if after <= total:
                starts.setdefault(after, ("gap", ""))
    return [(line, *starts[line]) for line in sorted(starts)]


def _with_comment(start: int, lines: Sequence[str]) -> int:
    """Return the first line of the comment or attributes right above a definition."""
    line = start
    # A licence is no comment of it.
    while line > 1 and start - line < 40 and _COMMENT.match(lines[line - 2]):
        line -= 1
    return line


def _cut(start: int, end: int, kind: RegionKind, name: str, lines: Sequence[str]) -> list[Region]:
    """Return one region, or several if it is too long."""
    limit = _MAX_FUNCTION if kind == "function" else _MAX_GAP
    regions: list[Region] = []
    while end - start + 1 > limit:
        cut = (
            _block_end(start, limit, lines)
            if kind == "function"
            else _last_blank(start, limit, lines)
        )
        regions.append(Region(start, cut, kind, name))
        start = cut + 1
        kind = "function" if kind == "function" else "gap"
    return [*regions, Region(start, end, kind, name)]


def _last_blank(start: int, limit: int, lines: Sequence[str]) -> int:
    cut = start + limit - 1
    while cut > start + limit // 2 and lines[cut - 1].strip():
        cut -= 1
    return cut


def _block_end(start: int, limit: int, lines: Sequence[str]) -> int:
    """Return where to cut a function: at the last blank line before the least indented line."""
    best, depth = start + limit - 1, 1_000
    for line in range(start + limit - 1, start + limit // 2, -1):
        if not lines[line - 1].strip() and line < len(lines) and lines[line].strip():
            indent = len(lines[line]) - len(lines[line].lstrip())
            if indent < depth:
                best, depth = line, indent
    return best
