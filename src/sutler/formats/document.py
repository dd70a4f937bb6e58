"""Types of a pack: clean text, sections, the preamble, and the listing of files not shown."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from sutler.paths import RelPath, Span

Format = str
"""Name of an output format: a key of `sutler.formats.FORMATS`; settings are checked against it."""

Level = Literal["full", "condensed", "outline", "excerpt", "head_tail", "listed"]
"""How much of a file a section shows, best first: the shrink ladder."""


PROCESSED = "processed"
"""Value of `encoding` if the text is the output of a processor."""


class Finding(Struct, frozen=True, gc=False):
    """A redacted secret: rule, line and confidence, but never the value."""

    rule: str
    line: int
    confidence: float
    tag: str = ""


class CleanText(Struct, frozen=True, gc=False):
    """Text that passed the redaction stage; the renderer accepts no other text. Only `secrets`
    creates it."""

    text: str
    findings: tuple[Finding, ...] = ()
    hidden: tuple[tuple[str, int], ...] = ()  # invisible characters spelled out, counted by kind
    condensed: str = ""  # how the text was shortened by its kind of file, if it was
    moved: bool = False  # whether lines of the text are not the file's lines


class Section(Struct, frozen=True, gc=False):
    """The section of one file. `sha256` and `length` are of `body.text` as UTF-8, `source` is
    the raw file's digest; `encoding` is how the raw file was encoded."""

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
    data: bytes = b""  # the body in UTF-8, if already encoded
    spans: tuple[Span, ...] = ()  # lines of the file that a cut body shows, in order


class Listing(Struct, frozen=True):
    """Files that are named but not shown, and the number of files not named. A pack for a task also
    states the `expected` precision and recall of its lines, the `next` regions after the cut, as
    `path:start-end`, and `companions` of its best file, as `path: reason`. `abstained`: no file
    fits the task."""

    paths: tuple[RelPath, ...] = ()
    unnamed: int = 0
    expected: tuple[float, float] | None = None
    next: tuple[str, ...] = ()
    abstained: bool = False
    companions: tuple[str, ...] = ()


class Part(Struct, frozen=True):
    """Which part of a split pack this is, from 1."""

    number: int = 1
    total: int = 1


class Preamble(Struct, frozen=True):
    """Texts around the files: the project's name and tree, the goal, the user's header and
    instructions, and the names of the transformations applied to every file."""

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
