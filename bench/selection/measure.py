"""The figures: are all gold files near the top, how much of them fits, which gold lines are
visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.selection.data import Gold

BUDGETS = (25_000, 60_000, 120_000)
RANKING = ("acc@1", "acc@5", "acc@10", "r@10", "MRR", "b25", "b60", "b120")
VISIBLE = ("h25", "h60", "h120")
FILLED = ("f25", "f60", "f120")


def ranking_figures(
    ranked: Sequence[str], wanted: Sequence[Gold], sizes: Mapping[str, int]
) -> dict[str, float]:
    """Figures of one instance, each in [0, 1]."""
    gold = {item.path for item in wanted}
    places = [i for i, path in enumerate(ranked) if path in gold]
    figures = {
        f"acc@{k}": float(sum(place < k for place in places) == len(gold)) for k in (1, 5, 10)
    }
    figures["r@10"] = sum(place < 10 for place in places) / len(gold)
    figures["MRR"] = 1 / (places[0] + 1) if places else 0.0
    for name, budget in zip(("b25", "b60", "b120"), BUDGETS, strict=True):
        figures[name] = len(gold & _whole_files(ranked, sizes, budget)) / len(gold)
    return figures


def _whole_files(ranked: Sequence[str], sizes: Mapping[str, int], budget: int) -> set[str]:
    """Whole files in rank order, skipping what does not fit."""
    taken: set[str] = set()
    for path in ranked:
        if sizes[path] <= budget:
            taken.add(path)
            budget -= sizes[path]
    return taken


def visible_share(shown: Mapping[str, set[int]], wanted: Sequence[Gold]) -> float:
    """The share of gold line ranges that are shown in full, over the files that have any."""
    ranges = [(item.path, old[0], old[1]) for item in wanted for old in item.old]
    if not ranges:
        return 0.0
    seen = sum(
        shown.get(path, set()).issuperset(range(start, end + 1)) for path, start, end in ranges
    )
    return seen / len(ranges)


def mean(rows: Sequence[Mapping[str, float]], name: str) -> float:
    values = [row[name] for row in rows if name in row]
    return 100 * sum(values) / len(values) if values else float("nan")


def table(rows: Sequence[Mapping[str, float]], names: Sequence[str]) -> str:
    return "  ".join(f"{mean(rows, name):6.1f}" for name in names)
