"""Figures of lines: which share of the gold lines a pack shows, and which share of its lines is gold.

Gold lines of a development task are the lines that the accepted change touched, with the innermost
function around each of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.selection.data import Gold
from sutler.languages.extract import structure_of

FIXED = (2_000, 4_000, 8_000, 16_000)
"""Tokens of the packs that are filled, beside the one that stops by itself."""
STOP = "stop"
NAMES = ("R", "P", "F", "files", "half", "most")
"""Line recall, precision and F1, file F1, tasks with at least 50 % and 75 % of their gold lines."""


def gold_lines(wanted: Sequence[Gold], texts: Mapping[str, str]) -> dict[str, set[int]]:
    """Gold lines by path, of the files whose text there is."""
    return {item.path: _lines_of(item, texts[item.path]) for item in wanted if item.path in texts}


def _lines_of(item: Gold, text: str) -> set[int]:
    last = text.count("\n") + 1
    functions = [
        symbol
        for symbol in structure_of(item.path, text).symbols
        if symbol.kind in ("function", "method")
    ]
    found: set[int] = set()
    for start, end in item.old:
        start, end = min(start, last), min(end, last)
        found.update(range(start, end + 1))
        around = [one for one in functions if one.start <= start and end <= one.end]
        if around:
            inner = min(around, key=lambda one: one.end - one.start)
            found.update(range(inner.start, inner.end + 1))
    return found


def line_figures(
    shown: Mapping[str, set[int]], gold: Mapping[str, set[int]], name: str
) -> dict[str, float]:
    """Figures of one pack of one task, each in [0, 1], with `name` behind."""
    hits = sum(len(shown.get(path, set()) & lines) for path, lines in gold.items())
    recall = hits / max(1, sum(map(len, gold.values())))
    precision = hits / max(1, sum(map(len, shown.values())))
    files = {path for path, lines in shown.items() if lines}
    both = len(files & gold.keys())
    values = (
        recall,
        precision,
        _harmonic(recall, precision),
        _harmonic(both / max(1, len(gold)), both / max(1, len(files))),
        float(recall >= 0.5),
        float(recall >= 0.75),
    )
    return {f"{figure}@{name}": value for figure, value in zip(NAMES, values, strict=True)}


def _harmonic(one: float, other: float) -> float:
    return 2 * one * other / (one + other) if one + other else 0.0
