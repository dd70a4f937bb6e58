"""From request to pack: one type for each step, so that the type says what has happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from sutler.values.paths import RelPath
from sutler.values.snapshot import Excluded, FileEntry, FileFacts, Problem

Octets = bytes | memoryview
Run = Sequence[Octets]
"""Text in UTF-8, in pieces that nobody has put together: whoever writes it need not copy it first."""

Format = str
"""The name of an output format: a key of `sutler.formats.FORMATS`, which settings are checked against."""
Unit = Literal["tokens", "chars", "bytes"]
PackType = Literal["full", "summary"]
Mode = Literal["strict", "flexible", "ignore"]

Level = Literal["full", "outline", "excerpt", "head_tail", "listed"]
"""How much of a file a section shows, best first: the shrink ladder."""


class Budget(Struct, frozen=True):
    """A hard limit on the very text that leaves; `limit` None means no limit."""

    limit: int | None = None
    unit: Unit = "tokens"
    counter: str = "o200k_base"


class Cut(Struct, frozen=True):
    """Seed 004's TruncationConfig: a file above `max_file_bytes` keeps its head and its tail."""

    max_file_bytes: int = 50_000
    head_lines: int = 100
    tail_lines: int = 50


class Request(Struct, frozen=True, kw_only=True):
    """Everything the stages may ask for; no stage looks anywhere else."""

    goal: str = ""
    since: str = ""  # files changed since this revision come first
    diff: bool = False  # the diff against `since`, or against HEAD
    log: int = 0  # the subjects of the last commits
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_files: int | None = None
    budget: Budget = Budget()
    cut: Cut = Cut()
    format: Format = "markdown"
    line_numbers: bool = False

    @property
    def asks_history(self) -> bool:
        return bool(self.since or self.diff or self.log)


class Choice(Struct, frozen=True, gc=False):
    """A file that may enter, where it stands in the queue, and why."""

    entry: FileEntry
    facts: FileFacts
    priority: int
    score: float
    reason: str

    @property
    def path(self) -> RelPath:
        return self.entry.path

    @property
    def pinned(self) -> bool:
        """Whether it comes before every other claim: named by the user, or changed since a revision they named."""
        return self.priority == 0


class Selection(Struct, frozen=True):
    """Choices in their total order (priority, -score, path), and what was left out on the way."""

    choices: tuple[Choice, ...]
    excluded: tuple[Excluded, ...] = ()


class Loaded(Struct, frozen=True, gc=False):
    """A file's text as read, once. `digest` is the sha256 of the raw bytes. Raw: not fit to leave."""

    path: RelPath
    text: str
    digest: str
    size: int
    encoding: str = "utf-8"
    problems: tuple[Problem, ...] = ()
    data: bytes = b""  # the raw bytes, where they are the text in UTF-8: nobody need encode it again
    stat_key: tuple[int, ...] = ()  # size, times and inode of the very file that was read


class Finding(Struct, frozen=True, gc=False):
    """A secret found and replaced: which rule, where, how sure. Never the value."""

    rule: str
    line: int
    confidence: float
    tag: str = ""


class CleanText(Struct, frozen=True, gc=False):
    """Text that passed the redaction stage; the renderer accepts nothing else. Only `stages.redact` makes it."""

    text: str
    findings: tuple[Finding, ...] = ()
    hidden: tuple[tuple[str, int], ...] = ()  # invisible characters spelled out, counted by kind


class Section(Struct, frozen=True, gc=False):
    """One file's part of the pack. `sha256` and `length` are of `body.text` as UTF-8, `source` is the raw file's
    digest; `encoding` is how the raw file was encoded."""

    path: RelPath
    level: Level
    body: CleanText
    sha256: str
    length: int
    source: str
    source_size: int
    encoding: str = "utf-8"
    mode: int = 0o100644
    language: str = ""
    reason: str = ""
    cost: int = 0
    data: bytes = b""  # the body in UTF-8, where it is at hand


class Listing(Struct, frozen=True):
    """Files that are named but not shown, and how many were not even named."""

    paths: tuple[RelPath, ...] = ()
    unnamed: int = 0


class Part(Struct, frozen=True):
    """Which part of a split pack this is, from 1."""

    number: int = 1
    total: int = 1


class Preamble(Struct, frozen=True):
    """What comes before the files: the goal, and the project's name and tree."""

    project: str
    goal: CleanText = CleanText("")
    tree: CleanText = CleanText("")
    part: Part = Part()


class Pack(Struct, frozen=True):
    """The finished pack in display order."""

    preamble: Preamble
    sections: tuple[Section, ...]
    listing: Listing = Listing()
    line_numbers: bool = False


def as_sent(pack: Pack) -> Pack:
    """The pack without what never leaves (costs, findings, raw bytes): what a reader of its text gets back."""
    preamble = replace(pack.preamble, goal=CleanText(pack.preamble.goal.text), tree=CleanText(pack.preamble.tree.text))
    sections = tuple(replace(one, body=CleanText(one.body.text), cost=0, data=b"") for one in pack.sections)
    return replace(pack, preamble=preamble, sections=sections)
