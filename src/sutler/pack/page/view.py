"""Data of the report page: one pack as rows, beside another pack, with its receipt. All text is in
display form."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Why = Literal[
    "named",
    "changed",
    "issue",
    "ranked",
    "neighbour",
    "entry",
    "key",
    "source",
    "documentation",
    "config",
    "test",
    "derived",
    "other",
]
"""Reasons why a file is in, as few as colours can distinguish."""

ChangeKind = Literal["entered", "left", "level", "content"]


class Measure(Struct, frozen=True):
    """One measure of the pack's size. The rows' costs and `frame` (the part of no file) add up to
    `total`."""

    name: str
    total: int
    frame: int


class Detail(Struct, frozen=True, omit_defaults=True):
    """Details of a file: structural lines as (line, level, text), and its first lines as packed.
    Line numbers are the file's."""

    outline: tuple[tuple[int, int, str], ...] = ()
    excerpt: str = ""
    lines: int = 0  # of the text in the pack
    more: int = 0  # outline lines that were left out
    matches: tuple[tuple[int, str], ...] = ()  # lines with a word of the goal


class FileRow(Struct, frozen=True, omit_defaults=True):
    """A file in the pack. `costs` follow the order of the measures; `score` is unknown without a
    ranking."""

    path: str
    costs: tuple[int, ...]
    level: str
    why: Why
    reason: str
    cut: bool = False
    score: float | None = None
    words: tuple[str, ...] = ()  # of the goal that the file matches
    reasons: tuple[str, ...] = ()  # of the ranking
    signals: tuple[tuple[str, float], ...] = ()  # shares of the score, the strongest first
    language: str = ""
    redacted: int = 0
    hidden: int = 0
    sha256: str = ""
    detail: Detail | None = None


class LeftRow(Struct, frozen=True, omit_defaults=True):
    """An omitted file, and the rule that decided. A folder counts the files below it. The fields
    from `score` on are set for files that might have entered: `cost` estimates the file in the
    first measure, `ceiling` is the limit at which it would enter. No ceiling helps a file that the
    stop rule omitted."""

    path: str
    reason: str
    rule: str = ""
    count: int = 1
    more: bool = False
    score: float | None = None
    bytes: int = 0
    cost: int = 0
    ceiling: int = 0
    reasons: tuple[str, ...] = ()
    signals: tuple[tuple[str, float], ...] = ()


class ChangeRow(Struct, frozen=True, omit_defaults=True):
    """One file between two packs; without a level and with cost 0 in a pack that does not show
    it."""

    path: str
    kind: ChangeKind
    why: str
    before: str = ""
    after: str = ""
    cost_before: int = 0
    cost_after: int = 0


class Against(Struct, frozen=True):
    """The other pack: its id, its total in the first measure, and the differences."""

    pack_id: str
    total: int
    files: int
    rows: tuple[ChangeRow, ...] = ()


class Limit(Struct, frozen=True):
    """The budget and its used part, in its own unit. `limit` None means no limit."""

    used: int
    unit: str
    limit: int | None = None


class View(Struct, frozen=True, kw_only=True):
    """All data of the page. `receipt` holds (name, value) pairs in reading order; `notes` are
    sentences."""

    project: str
    pack_id: str
    format: str
    goal: str = ""
    budget: Limit
    measures: tuple[Measure, ...]
    files: tuple[FileRow, ...] = ()
    left: tuple[LeftRow, ...] = ()
    left_note: str = ""
    unnamed: int = 0  # files left out that are not even named
    against: Against | None = None
    receipt: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    version: str = ""
