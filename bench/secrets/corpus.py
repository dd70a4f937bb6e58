"""Line-level scores on a labelled corpus: a folder of files, and CSV labels of file, lines and
truth.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

NOT_CORE = {
    "UUID",
    "Nonce",
    "Salt",
    "AWS S3 Bucket",
    "Firebase Domain",
    "WeChat app id",
    "WeChat App ID",
}

Detect = Callable[[str, str], str | set[int]]
"""(text, path) -> the cleaned text, or the numbers of the flagged lines."""


class Label(NamedTuple):
    repo: str
    path: str
    start: int
    end: int
    truth: str
    category: str
    value_start: int
    value_end: int


class Score(NamedTuple):
    true_units: int
    found_units: int
    flagged: int
    flagged_true: int
    core_units: int
    core_found: int
    core_flagged: int
    core_flagged_true: int
    values: int
    values_left: int

    def lines(self) -> list[str]:
        return [
            f"recall all    {ratio(self.found_units, self.true_units)}",
            f"precision all {ratio(self.flagged_true, self.flagged)}",
            f"recall core    {ratio(self.core_found, self.core_units)}",
            f"precision core {ratio(self.core_flagged_true, self.core_flagged)}",
            f"values still present (core) {ratio(self.values_left, self.values)}",
        ]


def ratio(part: int, whole: int) -> str:
    return f"{part / whole if whole else 0:.4f}  ({part}/{whole})"


def read_labels(folder: Path) -> list[Label]:
    labels = []
    for file in sorted(folder.glob("*.csv")):
        with file.open(newline="") as handle:
            for row in csv.DictReader(handle):
                labels.append(
                    Label(
                        row["RepoName"],
                        row["FilePath"],
                        int(row["LineStart"]),
                        int(row["LineEnd"]),
                        row["GroundTruth"],
                        row["Category"],
                        int(row["ValueStart"] or -1),
                        int(row["ValueEnd"] or -1),
                    )
                )
    return labels


def is_core(label: Label) -> bool:
    return not set(label.category.split(":")) <= NOT_CORE


def by_file(labels: list[Label]) -> Iterator[tuple[str, list[Label]]]:
    files: dict[str, list[Label]] = {}
    for label in labels:
        files.setdefault(label.path, []).append(label)
    yield from sorted(files.items())


def flagged_lines(before: str, after: str | set[int]) -> set[int]:
    if isinstance(after, set):
        return after
    old, new = before.split("\n"), after.split("\n")
    assert len(old) == len(new), "redaction changed the number of lines"
    return {
        number
        for number, (left, right) in enumerate(zip(old, new, strict=True), 1)
        if left != right
    }


class Miss(NamedTuple):
    path: str
    line: int
    category: str
    text: str


def score(
    root: Path,
    labels: list[Label],
    detect: Detect,
    misses: list[Miss] | None = None,
    extras: list[Miss] | None = None,
) -> Score:
    totals = [0] * 10
    for path, rows in by_file(labels):
        text = (root / path).read_text(encoding="utf-8")
        after = detect(text, path)
        for index, part in enumerate(_score_file(text, after, rows, misses, extras)):
            totals[index] += part
    return Score(*totals)


def _score_file(
    text: str,
    after: str | set[int],
    rows: list[Label],
    misses: list[Miss] | None,
    extras: list[Miss] | None,
) -> Iterator[int]:
    flagged = flagged_lines(text, after)
    lines = text.split("\n")
    units: dict[int, list[Label]] = {}
    true_lines: dict[int, bool] = {}
    unclear: set[int] = set()
    for row in rows:
        span = range(row.start, row.end + 1)
        if row.truth == "T":
            units.setdefault(row.start, []).append(row)
            for number in span:
                true_lines[number] = true_lines.get(number, False) or is_core(row)
        elif row.truth == "X":
            unclear.update(span)
    found = {
        start
        for start, group in units.items()
        if any(flagged & set(range(r.start, r.end + 1)) for r in group)
    }
    core = {start for start, group in units.items() if any(map(is_core, group))}
    if misses is not None:
        misses += [
            Miss(rows[0].path, n, units[n][0].category, lines[n - 1]) for n in sorted(core - found)
        ]
    counted = {number for number in flagged if number in true_lines or number not in unclear}
    right = {number for number in counted if number in true_lines}
    core_counted = {number for number in counted if true_lines.get(number, True)}
    core_right = {number for number in core_counted if number in true_lines}
    if extras is not None:
        extras += [Miss(rows[0].path, n, "", lines[n - 1]) for n in sorted(counted - right)]
    yield from (len(units), len(found), len(counted), len(right), len(core), len(core & found))
    yield from (len(core_counted), len(core_right))
    yield from _values(lines, after, rows)


def _values(lines: list[str], after: str | set[int], rows: list[Label]) -> Iterator[int]:
    """Core values on one line, and how many of them can still be read on that line of the
    output.
    """
    total = left = 0
    for row in rows:
        if row.truth != "T" or not is_core(row) or row.start != row.end or row.value_start < 0:
            continue
        value = lines[row.start - 1][row.value_start : row.value_end].strip()
        if len(value) < 3:
            continue
        total += 1
        kept = lines[row.start - 1] if isinstance(after, set) else after.split("\n")[row.start - 1]
        left += value in kept and not (isinstance(after, set) and row.start in after)
    yield total
    yield left
