"""The figures of a run as one HTML page: a table for each split, no script, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import msgspec

from bench.selection import lines, measure

Row = dict[str, float]


class Record(msgspec.Struct, frozen=True):
    """The figures of one task under one variant."""

    id: str
    split: str
    variant: str
    row: Row


_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 2rem } caption { text-align: left; color: #666 }
th, td { padding: .25rem .6rem; text-align: right; font-variant-numeric: tabular-nums }
th:first-child { text-align: left } tr + tr { border-top: 1px solid #8884 }
td.best { font-weight: 700 } :root { color-scheme: light dark }
"""
_MEANING = (
    "acc@k: share of tasks whose gold files are all among the first k. r@10: share of gold files in "
    "the first ten. MRR: of the first gold file. bN: share of gold files in N thousand characters of "
    "whole files. hN: share of gold line ranges visible in the pack of N thousand characters. "
    "R, P, F: recall, precision and F1 of gold lines. files: F1 of files. half, most: tasks with at "
    "least 50 % and 75 % of their gold lines. All in per cent."
)


def page_of(records: Sequence[Record]) -> str:
    """The page of these records."""
    splits = [
        split for split in ("tune", "dev") if any(record.split == split for record in records)
    ]
    parts = [
        f"<!doctype html><html lang=en><meta charset=utf-8><title>Selection</title><style>{_STYLE}"
    ]
    parts.append(f"</style><h1>Selection</h1><p>{_MEANING}</p>")
    for split in splits:
        mine = [record for record in records if record.split == split]
        tasks = len({record.id for record in mine})
        parts.append(f"<h2>{split}: {tasks} tasks</h2>")
        parts.append(_table("Files", mine, (*measure.RANKING, *measure.VISIBLE)))
        for place in (lines.STOP, *(f"{limit // 1000}k" for limit in lines.FIXED)):
            title = (
                "Lines where the tool stops" if place == lines.STOP else f"Lines in {place} tokens"
            )
            names = [f"{name}@{place}" for name in lines.NAMES]
            parts.append(_table(title, mine, names))
        parts.append(_times(mine))
    return "\n".join(parts) + "\n"


def _table(title: str, records: Sequence[Record], names: Sequence[str]) -> str:
    """Variants by figures; the best of a column is bold."""
    rows = []
    for variant in dict.fromkeys(record.variant for record in records):
        mine = [record.row for record in records if record.variant == variant]
        if any(name in row for row in mine for name in names):
            rows.append((variant, len(mine), [measure.mean(mine, name) for name in names]))
    if not rows:
        return ""
    best = [max((v[i] for *_, v in rows if v[i] == v[i]), default=0.0) for i in range(len(names))]
    heads = "".join(f"<th>{escape(_head(name))}" for name in names)
    body = "".join(
        f"<tr><th>{escape(variant)} ({count}){_cells(values, best)}"
        for variant, count, values in rows
    )
    return f"<table><caption>{escape(title)}</caption><tr><th>{heads}{body}</table>"


def _head(name: str) -> str:
    """The head of a column; the caption says at which budget."""
    figure = name.partition("@")[0]
    return figure if figure in lines.NAMES else name


def _cells(values: Iterable[float], best: Iterable[float]) -> str:
    return "".join(
        "<td>–" if value != value else f"<td{' class=best' if value == top else ''}>{value:.1f}"
        for value, top in zip(values, best, strict=True)
    )


def _times(records: Sequence[Record]) -> str:
    """Medians of what is no share: tokens at the stop, abstention, CPU seconds."""
    rows = []
    for variant in dict.fromkeys(record.variant for record in records):
        mine = [record.row for record in records if record.variant == variant]
        cells = []
        for name in ("tokens", "abstained", "index s", "query ms", "pack ms", "cold s"):
            values = sorted(row[name] for row in mine if name in row)
            middle = values[len(values) // 2] if values else None
            if name == "abstained" and values:
                middle = 100 * sum(values) / len(values)
            cells.append("<td>–" if middle is None else f"<td>{middle:,.1f}")
        rows.append(f"<tr><th>{escape(variant)}{''.join(cells)}")
    heads = "<th>tokens at the stop<th>abstain %<th>index s<th>query ms<th>pack ms<th>cold CPU s"
    return f"<table><caption>Medians</caption><tr><th>{heads}{''.join(rows)}</table>"
