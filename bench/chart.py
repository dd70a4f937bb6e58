"""Horizontal bars as an SVG, written by hand: no dependency, readable on light and dark pages."""

from collections.abc import Sequence
from html import escape
from typing import Literal, NamedTuple

from bench.figures import Row, metric_of, seconds

_WIDTH, _LEFT, _RIGHT, _BAR, _STEP, _HEAD = 760, 210, 150, 16, 24, 34

# The reader's scheme decides; text holds a contrast of 4.5 or more on white and on near-black.
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 15px }
  .value { fill: #57606a }
  .bar { fill: #8c959f }
  .ours { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .value { fill: #9da7b3 } .bar { fill: #6e7681 } .ours { fill: #4493f8 }
  }
"""


class Bar(NamedTuple):
    label: str
    value: float
    text: str
    ours: bool


class Group(NamedTuple):
    """Bars that share a scale, under one title."""

    title: str
    bars: tuple[Bar, ...]


_NO_TOOLS = ("floor", "plain Python")


def groups(rows: Sequence[Row], metric: Literal["wall", "cpu"] = "wall") -> list[Group]:
    """One group for each tree and class, shortest time first. CPU time is the steadier one on a
    busy machine.

    The floor and the bare loop in Python are no tools and stay out; so does the budgeted class,
    which has no peer to be compared with.
    """
    keys = dict.fromkeys((row.tree, row.work) for row in rows if row.work != "budgeted")
    return [g for tree, work in keys if (g := _group(tree, work, rows, metric)).bars]


def _group(tree: str, work: str, rows: Sequence[Row], metric: Literal["wall", "cpu"]) -> Group:
    mine = [
        r for r in rows if (r.tree, r.work) == (tree, work) and r.runs and r.tool not in _NO_TOOLS
    ]
    timed = sorted(
        ((metric_of(r, metric), r) for r in mine), key=lambda pair: (pair[0], pair[1].label)
    )
    bars = [
        Bar(
            f"{r.label} {r.version}",
            time,
            f"{seconds(time)} s, {r.peak_mb:.0f} MB",
            r.tool == "sutler",
        )
        for time, r in timed
    ]
    return Group(f"{tree}, {work}: {metric if metric == 'wall' else 'CPU'} time", tuple(bars))


def draw(found: Sequence[Group]) -> str:
    """The whole picture. Each group has its own scale, from zero to its longest bar."""
    parts: list[str] = []
    y = 8
    for group in found:
        parts.append(f'<text class="title" x="8" y="{y + 16}">{escape(group.title)}</text>')
        y += _HEAD
        longest = max(bar.value for bar in group.bars)
        for bar in group.bars:
            parts.append(_bar(bar, longest, y))
            y += _STEP
        y += 12
    size = f'width="{_WIDTH}" height="{y}" viewBox="0 0 {_WIDTH} {y}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = f"<title>{escape('; '.join(group.title for group in found))}</title>"
    return "\n".join([head, title, f"<style>{_STYLE}</style>", *parts, "</svg>", ""])


def _bar(bar: Bar, longest: float, y: int) -> str:
    span = _WIDTH - _LEFT - _RIGHT
    width = max(1.0, span * bar.value / longest) if longest > 0 else 1.0
    kind = "bar ours" if bar.ours else "bar"
    return (
        f'<text x="{_LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(bar.label)}</text>'
        f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="2"/>'
        f'<text class="value" x="{_LEFT + width + 6:.1f}" y="{y + 13}">{escape(bar.text)}</text>'
    )
