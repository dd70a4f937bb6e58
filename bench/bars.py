"""The bars to reach, as data, and their judgement. Ratios hold inside one run and nowhere else."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from bench.figures import Metric, Row, Verdict, metric_of, ratio


class Bar(NamedTuple):
    """sutler's figure over a peer's, for one class and state, on trees of the named sizes."""

    work: str
    tiers: tuple[str, ...]
    state: str
    metric: Metric
    peer: str
    peer_state: str
    must: float
    goal: float


BARS = (
    Bar("default", ("medium",), "cold", "wall", "repomix", "cold", 0.15, 0.08),
    Bar("default", ("medium",), "warm", "wall", "repomix", "warm", 0.10, 0.04),
    # No user packs without counts and redaction by default: these two need only not be slow.
    Bar("raw", ("medium", "large"), "cold", "wall", "yek", "-", 2.0, 2.0),
    Bar("raw", ("small",), "cold", "wall", "files-to-prompt", "-", 1.5, 1.5),
    Bar("tokens", ("medium",), "cold", "wall", "yek", "-", 0.33, 0.15),
    Bar("tokens", ("medium",), "cold", "wall", "code2prompt", "-", 0.33, 0.15),
    Bar("tokens", ("large",), "cold", "wall", "yek", "-", 0.4, 0.2),
    Bar("tokens", ("large",), "cold", "wall", "code2prompt", "-", 0.4, 0.2),
    Bar("full", ("medium",), "cold", "wall", "repomix", "cold", 0.15, 0.07),
    Bar("full", ("medium",), "warm", "wall", "repomix", "warm", 0.12, 0.05),
    Bar("budgeted", ("medium",), "warm", "cpu", "python -c pass", "-", 40.0, 20.0),
)

# Peak megabytes of a full pack, (must, goal) by size of the tree.
MEMORY = {"small": (80.0, 50.0), "medium": (250.0, 120.0), "large": (700.0, 400.0)}

# 1x -> 8x of the same tree, as a multiple of the time at 1x: (must, goal).
GROWTH = (9.0, 8.2)

# Peak megabytes of a pack within a budget, of 100,000 files. There is one figure, so must and goal
# are the same.
MANY_FILES = (400.0, 400.0)

# CPU of `sutler --version` over `python -c pass`, and wall of a 20-file pack over files-to-prompt.
START_UP = (2.5, 1.6)
TINY_PACK = (2.0, 1.0)

# Median wall seconds that every tool took in one earlier run on one machine. Used for nothing but
# the
# ratio between two of its own columns, when a peer that has a bar is not installed.
REFERENCE = {
    ("raw", "medium"): {"yek": 0.77, "floor": 0.14, "plain Python": 0.42, "files-to-prompt": 2.3},
    ("raw", "large"): {"yek": 10.5, "floor": 2.6, "plain Python": 6.2, "files-to-prompt": 166.0},
    ("tokens", "medium"): {"yek": 9.1, "code2prompt": 10.5, "floor": 0.14, "gitingest": 37.6},
    ("tokens", "large"): {"yek": 247.0, "code2prompt": 185.0, "floor": 2.6},
}


def judge(rows: Sequence[Row]) -> list[Verdict]:
    """Every bar that both sides of this run can answer, peers first, memory last."""
    good = [row for row in rows if row.runs]
    ours = [row for row in good if row.tool == "sutler"]
    return [
        *(v for row in ours for v in _against_peers(row, good)),
        *(v for row in ours for v in _memory(row)),
    ]


def derive(rows: Sequence[Row]) -> list[Verdict]:
    """Bars against absent peers, by way of a tool that was measured both here and in REFERENCE.

    peer here ≈ base here x (peer then / base then). An estimate: it carries the other machine's
    ratio between processor, disk and interpreter, and is no measurement of the peer.
    """
    good = [row for row in rows if row.runs]
    return [v for row in good if row.tool == "sutler" for v in _derived(row, good)]


def _bars_of(row: Row) -> Iterator[Bar]:
    for bar in BARS:
        if (bar.work, bar.state) == (row.work, row.state) and row.tier in bar.tiers:
            yield bar


def _peer(bar: Bar, row: Row, rows: Sequence[Row]) -> Row | None:
    key = (row.tree, bar.work, bar.peer, bar.peer_state)
    return next((r for r in rows if (r.tree, r.work, r.tool, r.state) == key), None)


def _name(row: Row) -> str:
    return f"{row.tree} {row.work} {row.state}"


def _against_peers(row: Row, rows: Sequence[Row]) -> Iterator[Verdict]:
    for bar in _bars_of(row):
        peer = _peer(bar, row, rows)
        if peer is not None:
            value = ratio(metric_of(row, bar.metric), metric_of(peer, bar.metric))
            yield Verdict(
                _name(row),
                f"{peer.label} {peer.version}",
                f"{bar.metric} ratio",
                value,
                bar.must,
                bar.goal,
            )


def _memory(row: Row) -> Iterator[Verdict]:
    if row.work == "full" and row.tier in MEMORY:
        must, goal = MEMORY[row.tier]
        yield Verdict(_name(row), "-", "peak MB", row.peak_mb, must, goal)


def _derived(row: Row, rows: Sequence[Row]) -> Iterator[Verdict]:
    for bar in _bars_of(row):
        if _peer(bar, row, rows) is not None:
            continue
        then = REFERENCE.get((row.work, row.tier), {})
        for base in rows:
            if (
                base.tree != row.tree
                or base.work != row.work
                or base.tool not in then
                or bar.peer not in then
            ):
                continue
            factor = then[bar.peer] / then[base.tool]
            against = f"{bar.peer}, DERIVED as {factor:.3g} x {base.tool}"
            value = ratio(row.wall, base.wall * factor)
            yield Verdict(_name(row), against, "wall ratio", value, bar.must, bar.goal)
