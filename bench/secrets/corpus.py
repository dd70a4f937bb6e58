"""Scores on a labelled corpus: a folder of files, and CSV labels of file, lines and
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


class Count(NamedTuple):
    """Recall is `found` of `true`, precision `right` of `flagged`."""

    true: int = 0
    found: int = 0
    flagged: int = 0
    right: int = 0

    def __add__(self, other: Count) -> Count:  # type: ignore[override]  # sums, not chains
        return Count(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def line(self) -> str:
        recall, precision = ratio(self.found, self.true), ratio(self.right, self.flagged)
        return f"recall {recall}  precision {precision}"


class Score(NamedTuple):
    """The same result counted three ways, without the categories that are not core.

    A finding is a run of adjacent flagged lines; it is right if a line in it is labelled true, and
    a run of adjacent true lines is found if one of them is flagged. Units are the labels
    themselves. `values` are those on one line, and `left` of them can still be read.
    """

    findings: Count = Count()
    lines: Count = Count()
    units: Count = Count()
    values: int = 0
    left: int = 0

    def __add__(self, other: Score) -> Score:  # type: ignore[override]  # sums, not chains
        return Score(
            self.findings + other.findings,
            self.lines + other.lines,
            self.units + other.units,
            self.values + other.values,
            self.left + other.left,
        )

    def report(self) -> list[str]:
        return [
            f"findings (quoted)  {self.findings.line()}",
            f"lines              {self.lines.line()}",
            f"units              {self.units.line()}",
            f"values still readable {ratio(self.left, self.values)}",
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
    """The score of a detector on these labels; what it missed or flagged in vain is appended."""
    total = Score()
    for path, rows in by_file(labels):
        text = (root / path).read_text(encoding="utf-8")
        after = detect(text, path)
        total += _score_file(text, after, rows, misses, extras)
    return total


def _score_file(
    text: str,
    after: str | set[int],
    rows: list[Label],
    misses: list[Miss] | None,
    extras: list[Miss] | None,
) -> Score:
    lines = text.split("\n")
    true = [row for row in rows if row.truth == "T"]
    core = [row for row in true if is_core(row)]
    true_lines, core_lines = _lines_of(true), _lines_of(core)
    unclear = _lines_of([row for row in rows if row.truth == "X"])
    # A line that is true but not core, or of which nothing is certain, counts for neither.
    flagged = flagged_lines(text, after) - (true_lines - core_lines) - (unclear - core_lines)
    groups, targets = _runs(flagged), _runs(core_lines)
    units = {row.start: range(row.start, row.end + 1) for row in core}
    missed = sorted(start for start, span in units.items() if not flagged & set(span))
    if misses is not None:
        category = {row.start: row.category for row in core}
        misses += [Miss(rows[0].path, n, category[n], lines[n - 1]) for n in missed]
    if extras is not None:
        wrong = [run for run in groups if not run & core_lines]
        extras += [Miss(rows[0].path, min(run), "", lines[min(run) - 1]) for run in wrong]
    right = sum(bool(run & core_lines) for run in groups)
    return Score(
        Count(len(targets), sum(bool(run & flagged) for run in targets), len(groups), right),
        Count(
            len(core_lines),
            len(core_lines & flagged),
            len(flagged),
            len(flagged & core_lines),
        ),
        Count(len(units), len(units) - len(missed), len(flagged), len(flagged & core_lines)),
        *_values(lines, after, core),
    )


def _lines_of(rows: list[Label]) -> set[int]:
    return {number for row in rows for number in range(row.start, row.end + 1)}


def _runs(numbers: set[int]) -> list[set[int]]:
    """The runs of adjacent numbers."""
    runs: list[set[int]] = []
    for number in sorted(numbers):
        if runs and number - 1 in runs[-1]:
            runs[-1].add(number)
        else:
            runs.append({number})
    return runs


def _values(lines: list[str], after: str | set[int], rows: list[Label]) -> tuple[int, int]:
    """Values on one line, and how many of them can still be read on that line of the output."""
    total = left = 0
    shown = after.split("\n") if isinstance(after, str) else lines
    for row in rows:
        if row.start != row.end or row.value_start < 0:
            continue
        value = lines[row.start - 1][row.value_start : row.value_end].strip()
        if len(value) < 3:
            continue
        total += 1
        hidden = isinstance(after, set) and row.start in after
        left += value in shown[row.start - 1] and not hidden
    return total, left
