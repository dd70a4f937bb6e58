"""The survey's bench: labels are complete, and a fact that is wrong counts as wrong."""

from __future__ import annotations

import msgspec

from bench.survey.__main__ import LABELS, checks
from sutler.survey.wire import Dependency, Manifest

LABEL = {
    "name": "shop",
    "type": "node",
    "build": ["npm"],
    "test": ["jest", "mocha"],
    "purpose": "sells",
    "entries": ["index.js"],
    "dependencies": {"left": "dev"},
}
RIGHT = Manifest(
    "shop",
    "node",
    "It sells things.",
    dependencies=(Dependency("left", "dev"),),
    entry_points=("index.js",),
    build_system="npm",
    test_framework="mocha, jest",
)


def test_every_label_has_every_fact() -> None:
    labels = msgspec.json.decode(LABELS.read_bytes())
    assert len(labels) >= 30
    assert {tuple(sorted(label)) for label in labels.values()} == {tuple(sorted(LABEL))}


def test_facts_are_compared_one_by_one() -> None:
    assert all(right for _, right, _ in checks(LABEL, RIGHT))
    wrong = {name for name, right, _ in checks(LABEL, Manifest("x", "python")) if not right}
    assert wrong == {"name", "type", "purpose", "build", "test", "entries", "dependencies"}
