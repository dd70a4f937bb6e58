"""Saved results drawn again."""

import json
from pathlib import Path

import pytest

from bench import plot
from bench.figures import Row

ROWS = (
    Row("flask", "small", "raw", "sutler", "cold", "1", 3, 0.5, 0.2, 20.0, 1.0, ""),
    Row("flask", "small", "raw", "peer", "-", "2", 3, 0.4, 0.3, 30.0, 1.0, ""),
)


@pytest.mark.parametrize(("metric", "first"), [("wall", "peer"), ("cpu", "sutler")])
def test_saved_results_are_drawn_by_either_time(tmp_path: Path, metric: str, first: str) -> None:
    saved, drawn = tmp_path / "r.json", tmp_path / "r.svg"
    saved.write_text(json.dumps({"rows": [row._asdict() for row in ROWS]}))
    assert plot.main([str(saved), "-o", str(drawn), "--metric", metric]) == 0
    text = drawn.read_text()
    names = ("sutler", "peer")
    assert min(names, key=lambda name: text.index(f'text-anchor="end">{name}')) == first
    assert f"flask, raw: {'CPU' if metric == 'cpu' else 'wall'} time" in text


def test_nothing_measured_is_nothing_to_draw(tmp_path: Path) -> None:
    saved = tmp_path / "r.json"
    saved.write_text('{"rows": []}')
    assert plot.main([str(saved), "-o", str(tmp_path / "r.svg")]) == 1
