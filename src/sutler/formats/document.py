"""A pack as a document: clean text, sections, what stands before them, and what is only listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from sutler.paths import RelPath, Span

Octets = bytes | memoryview
Run = Sequence[Octets]
"""Text in UTF-8, in separate pieces: a writer need not copy them together first."""

Format = str
"""The name of an output format: a key of `sutler.formats.FORMATS`, which settings are checked
against.
"""

Level = Literal["full", "outline", "excerpt", "head_tail", "listed"]
"""How much of a file a section shows, best first: the shrink ladder."""


PROCESSED = "processed"
"""In place of an encoding: the text is what a processor made of the file."""


class Finding(Struct, frozen=True, gc=False):
    """A secret found and replaced: which rule, where, how sure. Never the value."""

    rule: str
    line: int
    confidence: float
    tag: str = ""


class CleanText(Struct, frozen=True, gc=False):
    """Text that passed the redaction stage; the renderer accepts nothing else. Only `secrets` makes
    it.
    """

    text: str
    findings: tuple[Finding, ...] = ()
    hidden: tuple[tuple[str, int], ...] = ()  # invisible characters spelled out, counted by kind


class Section(Struct, frozen=True, gc=False):
    """One file's part of the pack. `sha256` and `length` are of `body.text` as UTF-8, `source` is
    the raw file's digest; `encoding` is how the raw file was encoded.
    """

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
    spans: tuple[Span, ...] = ()  # lines of the file that a cut body shows, in order


class Listing(Struct, frozen=True):
    """Files that are named but not shown, and how many were not even named. A pack for a task also
    states the `expected` precision and recall of its lines, and the regions that would have been
    `next`, as `path:start-end`. `abstained`: nothing fits the task.
    """

    paths: tuple[RelPath, ...] = ()
    unnamed: int = 0
    expected: tuple[float, float] | None = None
    next: tuple[str, ...] = ()
    abstained: bool = False


class Part(Struct, frozen=True):
    """Which part of a split pack this is, from 1."""

    number: int = 1
    total: int = 1


class Preamble(Struct, frozen=True):
    """What stands around the files: the project's name and tree, the goal, the user's own header
    and instructions, and the transformations that every file went through.
    """

    project: str
    goal: CleanText = CleanText("")
    tree: CleanText = CleanText("")
    part: Part = Part()
    header: CleanText = CleanText("")
    instructions: CleanText = CleanText("")
    transforms: tuple[str, ...] = ()


class Pack(Struct, frozen=True):
    """The finished pack in display order."""

    preamble: Preamble
    sections: tuple[Section, ...]
    listing: Listing = Listing()
    line_numbers: bool = False
