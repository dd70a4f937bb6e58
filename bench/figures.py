"""Samples -> medians -> ratios -> verdicts -> text. Pure: no clock, no disk, no process."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from bench.measure import Sample

Metric = Literal["wall", "cpu", "peak_mb"]


class Row(NamedTuple):
    """One tool doing one class of work on one tree: medians over its good runs."""

    tree: str
    tier: str
    work: str
    tool: str
    state: str
    version: str
    runs: int
    wall: float
    cpu: float
    peak_mb: float
    out_mb: float
    note: str = ""

    @property
    def label(self) -> str:
        return f"{self.tool} ({self.state})" if self.state != "-" else self.tool


class Verdict(NamedTuple):
    """One bar against one row: the value reached, the two limits, and how the comparison was
    had.
    """

    subject: str
    against: str
    metric: str
    value: float
    must: float
    goal: float

    @property
    def word(self) -> str:
        if self.value <= self.goal:
            return "goal met"
        return "met" if self.value <= self.must else "NOT met"


def median(values: Sequence[float]) -> float:
    """The middle value; the mean of the two middle ones for an even count."""
    if not values:
        raise ValueError("no values: a median needs at least one run")
    ordered = sorted(values)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle - 1] + ordered[middle]) / 2


def ratio(value: float, base: float) -> float:
    """value over base; infinite over nothing, so that it can never meet a bar by accident."""
    return value / base if base > 0 else float("inf")


def medians(samples: Iterable[Sample]) -> tuple[int, float, float, float]:
    """(good runs, wall, CPU, peak) over the runs that ended well; zeros when none did."""
    good = [s for s in samples if s.status == 0 and not s.timed_out]
    if not good:
        return 0, 0.0, 0.0, 0.0
    return (
        len(good),
        median([s.wall for s in good]),
        median([s.cpu for s in good]),
        median([s.peak_mb for s in good]),
    )


def metric_of(row: Row, metric: Metric) -> float:
    return {"wall": row.wall, "cpu": row.cpu, "peak_mb": row.peak_mb}[metric]


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """A Markdown table, padded so that it also reads well in a terminal."""
    rows = [tuple(head), *(tuple(line) for line in lines)]
    widths = [max(3, *(len(row[i]) for row in rows)) for i in range(len(head))]
    dashes = tuple("-" * width for width in widths)
    body = (rows[0], dashes, *rows[1:])
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in body
    )


def seconds(value: float) -> str:
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def results(rows: Sequence[Row]) -> str:
    """The table of medians, with each row's wall and CPU as multiples of sutler's in the same
    state.
    """
    head = (
        "tree",
        "class",
        "tool",
        "version",
        "runs",
        "wall s",
        "CPU s",
        "peak MB",
        "out MB",
        "sutler/it wall",
        "CPU",
    )
    return table(head, (_result(row, rows) for row in rows))


def _result(row: Row, rows: Sequence[Row]) -> tuple[str, ...]:
    ours = subject(rows, row)
    if row.runs == 0:
        return (row.tree, row.work, row.label, row.version, "0", "", "", "", "", "", "")
    compare = ours is not None and row.tool != "sutler"
    return (
        row.tree,
        row.work,
        row.label,
        row.version,
        str(row.runs),
        seconds(row.wall),
        seconds(row.cpu),
        f"{row.peak_mb:.0f}",
        f"{row.out_mb:.1f}",
        f"{ratio(ours.wall, row.wall):.2f}" if compare and ours else "",
        f"{ratio(ours.cpu, row.cpu):.2f}" if compare and ours else "",
    )


def subject(rows: Sequence[Row], other: Row) -> Row | None:
    """sutler's row for the same tree and class: in the same state when there is one, else cold."""
    ours = [
        r for r in rows if (r.tree, r.work, r.tool) == (other.tree, other.work, "sutler") and r.runs
    ]
    same = [r for r in ours if r.state == other.state]
    cold = [r for r in ours if r.state == "cold"]
    return next(iter([*same, *cold, *ours]), None)


def verdicts(found: Sequence[Verdict]) -> str:
    head = ("row", "against", "metric", "value", "must", "goal", "")
    return table(head, (_verdict(v) for v in found))


def _verdict(v: Verdict) -> tuple[str, ...]:
    return (
        v.subject,
        v.against,
        v.metric,
        f"{v.value:.3g}",
        f"≤ {v.must:.3g}",
        f"≤ {v.goal:.3g}",
        v.word,
    )
