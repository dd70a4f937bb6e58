"""Levels of a file's text: full, its header with the regions of interest, or its first lines."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sutler.tasks.wire import FileLevel

HEADER_LINES = 20
AROUND = (192, 96, 48, 24, 12)
"""Lines shown on either side of a line of interest, most first."""
HEADS = (2_560, 1_280, 640, 320, 160, 80, 40)
"""Lines of a head, most first. Each is half of the previous one, so at least half of the room is
used.
"""
MAX_REGIONS = 20
CHARS_A_LINE = 100
"""Characters per line at which a rung is clipped: minified files have few but very long lines."""


class Rung(Struct, frozen=True):
    """A file's text at one level."""

    level: FileLevel
    text: str


def rungs_of(text: str, lines: Sequence[int] = ()) -> list[Rung]:
    """Return the rungs, longest first, without those that save nothing. `lines` are the 1-based
    lines that issues point at.
    """
    rungs = [Rung("full", text)]
    rows = text.split("\n")
    for around in AROUND if lines else ():
        limit = (HEADER_LINES + 2 * around * min(len(lines), MAX_REGIONS)) * CHARS_A_LINE
        _offer(rungs, "excerpt", _clip(_excerpt(rows, lines, around), limit))
    for count in HEADS[-1:] if lines else HEADS:
        _offer(rungs, "head", _clip(_head(rows, count), count * CHARS_A_LINE))
    return rungs


def _offer(rungs: list[Rung], level: FileLevel, text: str) -> None:
    if len(text) < len(rungs[-1].text):
        rungs.append(Rung(level, text))


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + "\n... [truncated] ..."


def _head(rows: list[str], count: int) -> str:
    if len(rows) <= count:
        return "\n".join(rows)
    return "\n".join(rows[:count]) + f"\n{_gap(count + 1, len(rows), len(rows))}"


def _gap(start: int, end: int, total: int) -> str:
    return f"... [lines {start}-{end} of {total} not shown] ..."


def _excerpt(rows: list[str], lines: Sequence[int], around: int) -> str:
    """Return the header and each region of interest, with a line for every gap."""
    total = len(rows)
    spans = [(1, min(HEADER_LINES, total))]
    for line in sorted(set(lines))[:MAX_REGIONS]:
        if line <= total:
            spans.append((max(1, line - around), min(total, line + around)))
    out: list[str] = []
    covered = 0
    for start, end in sorted(spans):
        start = max(start, covered + 1)
        if start > end:
            continue
        if start > covered + 1:
            out.append(_gap(covered + 1, start - 1, total))
        out += rows[start - 1 : end]
        covered = end
    if covered < total:
        out.append(_gap(covered + 1, total, total))
    return "\n".join(out)
