"""Levels of a file's text: full, its header with the regions of interest, or its first lines."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sutler.tasks.wire import FileLevel, LineRange

HEADER_LINES = 20  # imports and the first docstring: what the shown lines refer to
AROUND = (192, 96, 48, 24, 12)
"""Lines shown on either side of a line of interest, most first."""
HEADS = (2_560, 1_280, 640, 320, 160, 80, 40)
"""Lines of a head, most first. Each is half of the previous one, so at least half of the room is
used."""
MAX_REGIONS = 20  # a linter reports hundreds of lines of one file, which would show all of it
CHARS_A_LINE = 100
"""Characters per line at which a rung is clipped: minified files have few but very long lines."""


class Rung(Struct, frozen=True):
    """A file's text at one level; `ranges` are its lines, if the prompt numbers them."""

    level: FileLevel
    text: str
    ranges: tuple[LineRange, ...] = ()


def rungs_of(text: str, lines: Sequence[int] = (), numbers: bool = False) -> list[Rung]:
    """Return the rungs, longest first, without those that save nothing. `lines` are the 1-based
    lines that issues point at: a file with such lines is numbered, and as a whole it can go without
    numbers where these would cost it lines. With `numbers` every rung is numbered."""
    rungs = [whole_rung(text, lines, numbers)]
    if lines and not numbers:
        rungs.append(Rung("full", text))
    rows = text.split("\n")
    numbered = numbers or bool(lines)
    for around in AROUND if lines else ():
        limit = (HEADER_LINES + 2 * around * min(len(lines), MAX_REGIONS)) * CHARS_A_LINE
        _offer(rungs, _clip(_excerpt(rows, lines, around), limit), numbered)
    for count in HEADS[-1:] if lines else HEADS:
        _offer(rungs, _clip(_head(rows, count), count * CHARS_A_LINE), numbered)
    return rungs


def whole_rung(text: str, lines: Sequence[int] = (), numbers: bool = False) -> Rung:
    """Return all of a file, numbered where its lines are cited."""
    last = text.count("\n") + (not text.endswith("\n"))
    return Rung("full", text, ((1, last),) if text and (lines or numbers) else ())


def _offer(rungs: list[Rung], rung: Rung, numbered: bool) -> None:
    if len(rung.text) < len(rungs[-1].text):
        rungs.append(rung if numbered else Rung(rung.level, rung.text))


def _clip(rung: Rung, limit: int) -> Rung:
    if len(rung.text) <= limit:
        return rung
    text = rung.text[:limit]
    ranges: list[LineRange] = []
    left, after = text.count("\n") + 1, 1
    for start, end in rung.ranges:
        left -= start > after
        if left <= 0:
            break
        ranges.append((start, min(end, start + left - 1)))
        left, after = left - (end - start + 1), end + 1
    return Rung(rung.level, text + "\n... [truncated] ...", tuple(ranges))


def _head(rows: list[str], count: int) -> Rung:
    total = len(rows)
    if total <= count:
        return Rung("head", "\n".join(rows), ((1, total),))
    text = "\n".join(rows[:count]) + f"\n{_gap(count + 1, total, total)}"
    return Rung("head", text, ((1, count),))


def _gap(start: int, end: int, total: int) -> str:
    return f"... [lines {start}-{end} of {total} not shown] ..."


def _excerpt(rows: list[str], lines: Sequence[int], around: int) -> Rung:
    """Return the header and each region of interest, with a line for every gap."""
    total = len(rows)
    spans = [(1, min(HEADER_LINES, total))]
    for line in sorted(set(lines))[:MAX_REGIONS]:
        if line <= total:
            spans.append((max(1, line - around), min(total, line + around)))
    out: list[str] = []
    ranges: list[LineRange] = []
    covered = 0
    for start, end in sorted(spans):
        start = max(start, covered + 1)
        if start > end:
            continue
        if start > covered + 1:
            out.append(_gap(covered + 1, start - 1, total))
        out += rows[start - 1 : end]
        ranges.append((start, end))
        covered = end
    if covered < total:
        out.append(_gap(covered + 1, total, total))
    return Rung("excerpt", "\n".join(out), tuple(ranges))
