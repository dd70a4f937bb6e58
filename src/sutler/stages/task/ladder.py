"""How much of a file to show: all of it, its header with the regions that matter, or its first lines."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from sutler.values.task import FileLevel

HEADER_LINES = 20
AROUND = 12
HEAD_LINES = 40
MAX_REGIONS = 20
HEAD_CHARS = 4_000
EXCERPT_CHARS = 16_000


class Rung(Struct, frozen=True):
    level: FileLevel
    text: str


def rungs_of(text: str, lines: Sequence[int] = ()) -> list[Rung]:
    """Best first; a rung that saves nothing is left out. `lines` are the 1-based lines an issue points at."""
    rungs = [Rung("full", text)]
    rows = text.split("\n")
    if lines:
        _offer(rungs, "excerpt", _clip(_excerpt(rows, lines), EXCERPT_CHARS))
    _offer(rungs, "head", _clip(_head(rows), HEAD_CHARS))
    return rungs


def _offer(rungs: list[Rung], level: FileLevel, text: str) -> None:
    if len(text) < len(rungs[-1].text):
        rungs.append(Rung(level, text))


def _clip(text: str, limit: int) -> str:
    """Long lines make a short head long; the limit holds all the same."""
    return text if len(text) <= limit else text[:limit] + "\n... [truncated] ..."


def _head(rows: list[str]) -> str:
    if len(rows) <= HEAD_LINES:
        return "\n".join(rows)
    return "\n".join(rows[:HEAD_LINES]) + f"\n{_gap(HEAD_LINES + 1, len(rows), len(rows))}"


def _gap(start: int, end: int, total: int) -> str:
    return f"... [lines {start}-{end} of {total} not shown] ..."


def _excerpt(rows: list[str], lines: Sequence[int]) -> str:
    """The header, then each region of interest, with a line for every gap."""
    total = len(rows)
    spans = [(1, min(HEADER_LINES, total))]
    for line in sorted(set(lines))[:MAX_REGIONS]:
        if line <= total:
            spans.append((max(1, line - AROUND), min(total, line + AROUND)))
    out: list[str] = []
    shown = 0
    for start, end in sorted(spans):
        start = max(start, shown + 1)
        if start > end:
            continue
        if start > shown + 1:
            out.append(_gap(shown + 1, start - 1, total))
        out += rows[start - 1 : end]
        shown = end
    if shown < total:
        out.append(_gap(shown + 1, total, total))
    return "\n".join(out)
