"""The size and shape of the source tree, as STYLE and DESIGN promise them.

Each row is a measure, its target and its ceiling. A ceiling above the target is today's figure: it
may only be lowered, and the test prints how far it is from the target.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests import house

LINE = 100
FILE = 400
FUNCTION = 60
PRAGMA = re.compile(r"  # (?:noqa|type: ignore)\b.*")  # ruff measures without them too
# Patterns of secrets read worse when they are broken; ruff leaves these tables out too.
PATTERNS = "secrets/"
# The commands are named after the packages that they open, the readers of manifests after their
# language, and every front has an app.
PARALLEL = {"app.py", "javascript.py", "python.py", "wire.py", "base.py", "table.py"}


def long_files() -> list[str]:
    return [
        f"{path} {lines}"
        for path, text in house.sources().items()
        if (lines := text.count("\n")) > FILE
    ]


def long_lines() -> list[str]:
    return [
        f"{path}:{number}"
        for path, text in house.sources().items()
        if not path.startswith(PATTERNS)
        for number, line in enumerate(text.split("\n"), 1)
        if len(PRAGMA.sub("", line)) > LINE
    ]


def long_functions() -> list[str]:
    return [
        f"{path}:{node.lineno} {node.name}"
        for path, node in house.functions()
        if (node.end_lineno or 0) - node.lineno >= FUNCTION
    ]


def repeated() -> list[str]:
    return [
        " ".join(paths)
        for name, paths in house.repeated_names().items()
        if name not in PARALLEL and not any(path.startswith("fronts/cli/") for path in paths)
    ]


class Measure(NamedTuple):
    """`offenders` are listed when there are more of them than the ceiling allows."""

    offenders: Callable[[], list[str]]
    ceiling: int
    target: int = 0


COUNTED = {
    "files over 400 lines": Measure(long_files, 0),
    "lines over 100 characters": Measure(long_lines, 0),
    "functions over 60 lines": Measure(long_functions, 0),
    "groups of modules that import each other": Measure(
        lambda: [" ".join(group) for group in house.cycles()], 0
    ),
    "module names that occur twice": Measure(repeated, 0),
    "functions without types": Measure(house.unannotated, 0),
    "refused words in docstrings and comments": Measure(house.forbidden_words, 0),
    "docstrings that begin with a riddle": Measure(house.riddles, 0),
    "functions described without a verb": Measure(house.verbless_functions, 0),
}


@pytest.mark.parametrize("name", COUNTED)
def test_no_more_offenders_than_allowed(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A measure that has met its target stays there; the others only get better."""
    measure = COUNTED[name]
    offenders = measure.offenders()
    report(capsys, name, len(offenders), measure.target)
    assert len(offenders) <= measure.ceiling, "\n".join(offenders)


# Room for the features that are under way; the target is the figure of the design.
TOTAL = {"ceiling": 67_500, "target": 40_000}
MEDIAN, P95 = 8, 30
COMMENTS = {"floor": 0.02, "target": 0.02}
VAGUE = {"ceiling": 0.02, "target": 0.02}


def test_the_tree_does_not_grow(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of Python below the package."""
    lines = sum(text.count("\n") for text in house.sources().values())
    report(capsys, "lines", lines, TOTAL["target"])
    assert lines <= TOTAL["ceiling"]


def test_functions_are_short(capsys: pytest.CaptureFixture[str]) -> None:
    lengths = house.function_lengths()
    report(capsys, "median of function lengths", house.median(lengths), MEDIAN)
    report(capsys, "95th percentile", house.percentile(lengths, 0.95), P95)
    assert house.median(lengths) <= MEDIAN
    assert house.percentile(lengths, 0.95) <= P95


def test_comments_give_reasons(capsys: pytest.CaptureFixture[str]) -> None:
    """Comments by lines of code, directives to tools not counted."""
    share = house.comment_share()
    report(capsys, "share of comments", round(share, 4), COMMENTS["target"])
    assert share >= COMMENTS["floor"]


def test_names_say_what_a_thing_is(capsys: pytest.CaptureFixture[str]) -> None:
    """`one`, `found`, `known` and their kin name nothing."""
    vague, share = house.vague_bindings()
    report(capsys, "share of vague bindings", round(share, 4), VAGUE["target"])
    assert share <= VAGUE["ceiling"], "\n".join(vague)


def report(capsys: pytest.CaptureFixture[str], name: str, figure: float, target: float) -> None:
    with capsys.disabled():
        print(f"\n{name}: {figure:,} (target {target:,})", end="")
