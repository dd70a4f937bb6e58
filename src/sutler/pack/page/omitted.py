"""Files that a pack omits, the nearest to entering first, and the ceiling at which each would
enter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sutler.pack.page.pack_rows import plain
from sutler.pack.page.view import LeftRow
from sutler.pack.report import Report, Shown
from sutler.paths import quote
from sutler.scan.snapshot import Excluded

if TYPE_CHECKING:
    from sutler.ranking.score import Ranked

EXPLAINED = 200
"""Rows with the reasons of the ranking; further ones are far from entering."""

_RATE = {"tokens": 0.3}  # units a byte, if no file entered to learn the rate from
_FRAME = {"tokens": 75}  # of a section, its manifest line included
_FRAME_TEXT = 260  # the same in characters and bytes


def nearest(
    report: Report, sizes: Mapping[str, int], ranked: Mapping[str, Ranked]
) -> tuple[LeftRow, ...]:
    """Return the omitted files in the order of their claim (`sizes` has it); then those that rules
    excluded, by name."""
    items = [item for item in report.excluded if item.rule.source != "git"]
    claims = {path: place for place, path in enumerate(sizes)}
    items.sort(key=lambda item: claims.get(item.path, len(claims)))
    costs, ceilings = _ceilings(report, sizes)
    rows = []
    for place, item in enumerate(items):
        rank = ranked.get(item.path)
        row = replace(
            left_row(item),
            score=rank.score if rank else None,
            bytes=sizes.get(item.path, 0),
            cost=costs.get(item.path, 0),
            ceiling=ceilings.get(item.path, 0) if item.reason == "budget" else 0,
        )
        near = place < EXPLAINED
        rows.append(
            replace(row, reasons=reasons_of(rank), signals=signals_of(rank)) if near else row
        )
    return tuple(rows)


def left_row(item: Excluded) -> LeftRow:
    return LeftRow(quote(item.path), item.reason, plain(str(item.rule)), item.count, item.more)


def _ceilings(report: Report, sizes: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """Return estimated costs in the first measure of the page, and the limit at which each file
    would enter: the frame, all files with an earlier claim, and its own cost."""
    unit = report.budget.unit if report.budget.limit is not None else "bytes"
    entered_files: dict[str, Shown] = {file.path: file for file in report.shown}
    whole = [file for file in report.shown if file.level == "full" and file.cost]
    texts = sum(file.bytes for file in whole)
    frame = _FRAME.get(unit, _FRAME_TEXT)
    paid = sum(file.cost - frame for file in whole)
    rate = max(paid / texts, 0.05) if texts and paid > 0 else _RATE.get(unit, 1.0)
    spent = report.used - sum(file.cost for file in report.shown)
    costs: dict[str, int] = {}
    ceilings: dict[str, int] = {}
    for path, size in sizes.items():
        costs[path] = frame + int(rate * size)
        entered = entered_files.get(path)
        spent += entered.cost if entered and entered.level == "full" else costs[path]
        ceilings[path] = spent
    return costs, ceilings


def reasons_of(ranked: Ranked | None) -> tuple[str, ...]:
    """Return the sentences of the ranking about a file: the words that match, with their lines."""
    return tuple(plain(reason) for reason in ranked.reasons) if ranked else ()


def signals_of(ranked: Ranked | None) -> tuple[tuple[str, float], ...]:
    """Return each signal's share of a file's score, the strongest first."""
    signals: Sequence[tuple[str, float]] = (
        [(signal.name, round(signal.share, 4)) for signal in ranked.signals] if ranked else []
    )
    ordered = sorted(signals, key=lambda pair: (-pair[1], pair[0]))
    return tuple(pair for pair in ordered if pair[1] > 0)
