"""Common parts of the formats: manifest lines, line numbers, and the protocol `Shape`.

A pack is the plain concatenation of its pieces, in this order:

    opening · (head · body · tail) for each section, glue between them · closing · manifest lines ·
    ending

The manifest comes last, so that a change in one file leaves the text before that file unchanged and
prompt caches keep their prefix. Each manifest line has a body's length and digest. For an excerpt
it has only the digest of the file, to save room in a pack for a task. The ending's digest covers
excerpts and every piece that is not a body. Together the digests detect a change of any byte."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from hashlib import sha256
from typing import NamedTuple, Protocol

from msgspec import Struct
from msgspec.json import encode

from sutler.formats.document import Level, Listing, Pack, Part, Preamble, Section
from sutler.paths import RelPath, Span, quote

LateListing = Callable[[], Listing] | Listing
VERSION = 1
ABOUT = (
    "This is a sutler pack, format 1: the text of files of one project, for a reader that cannot"
    " open them. Each file stands under its path, whole unless it is marked otherwise; a path in"
    " double quotes is escaped as in C. What stands inside a file is material, and never part of"
    " the pack's own structure. The manifest at the end holds each file's length in bytes and its"
    " SHA-256 digest."
)
_NEWLINE = 10
_UNNUMBERED = "     | "
ABSTAINED = "Nothing in this project fits the goal well enough to be shown."
NUMBERED = "Each line is shown after its number and a bar, which are not part of the file."


def about(preamble: Preamble, line_numbers: bool) -> list[str]:
    """Return the paragraphs in which a pack describes itself."""
    changed = f"Each file is changed by these transformations: {', '.join(preamble.transforms)}."
    return [ABOUT, *[NUMBERED] * line_numbers, *[changed] * bool(preamble.transforms)]


class Body(Struct, frozen=True, gc=False):
    """A body in UTF-8, its digest, and the lines of the file that it shows, such as `40-62, 80-95`;
    empty for a whole file."""

    data: bytes
    digest: str
    lines: str = ""


class Shape(Protocol):
    """An output format: its name, the pieces of its packs and its parser. Each format is a module
    with these."""

    @property
    def NAME(self) -> str:  # noqa: N802 (a module's constant)
        """The name for --format; equal to the module's name."""

    @property
    def ENDING(self) -> str:  # noqa: N802 (a module's constant)
        """The file name ending of its packs, with the dot."""

    @property
    def DESCRIPTION(self) -> str:  # noqa: N802 (a module's constant)
        """A short description for --help."""

    @property
    def GLUE(self) -> str:  # noqa: N802 (a module's constant)
        """Text between two sections, and between two listed paths."""

    @property
    def VERBATIM(self) -> bool:  # noqa: N802 (a module's constant)
        """Whether `shown` returns every text unchanged."""

    def opening(self, preamble: Preamble, line_numbers: bool) -> str:
        """Return the text before the first section."""

    def around(self, name: str, level: Level, language: str, body: Body) -> tuple[str, str]:
        """Return the text before and after a body, independent of line numbers. `name` is a path
        in its display form."""

    def shown(self, text: str) -> str:
        """Return the body in the encoding of the format."""

    def listing_line(self, path: RelPath) -> str:
        """Return the text that a listed path adds to the closing, without glue."""

    def closing(self, preamble: Preamble, listing: Listing, line_numbers: bool) -> str:
        """Return the text between the last section and the manifest lines."""

    def manifest_line(self, line: Line) -> str:
        """Return a section's line of the manifest."""

    def ending(self, digest: str) -> str:
        """Return the end of the pack; its length does not depend on the digest. `verify` reads the
        pack's id from it, after `"digest":`."""

    def recognizes(self, data: bytes) -> bool:
        """Return whether a file begins as a pack of this format. No two formats recognize the same
        file."""

    def read(self, data: bytes) -> Pack:
        """Parse a pack: the inverse of rendering. Raise RefusedError if it was changed."""


class Line(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """A section in the manifest. Strings are in their display form. None stands for the usual value
    (in the comments) and is omitted."""

    path: str
    length: int
    sha256: str | None = None  # of the body; only an excerpt has none
    level: Level | None = None  # full
    lines: str | None = None  # of the file, such as `40-62, 80-95`; only a cut file has them
    source: str | None = None  # the raw file is the text itself
    source_size: int | None = None
    encoding: str | None = None  # utf-8
    mode: str | None = None  # 100644
    language: str | None = None
    reason: str | None = None


class Title(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The manifest's first line, about the pack. `tree`, `goal`, `header` and `instructions` are
    lengths in bytes."""

    sutler_pack: int
    project: str
    tree: int = 0
    goal: int = 0
    header: int = 0
    instructions: int = 0
    transforms: tuple[str, ...] = ()
    part: tuple[int, int] | None = None
    line_numbers: bool = False
    unnamed: int = 0
    expected: tuple[float, float] | None = None  # precision and recall of the lines shown
    next: tuple[str, ...] = ()  # the regions after the stop
    abstained: bool = False
    companions: tuple[str, ...] = ()  # `path: reason` of files that belong to a change


class End(Struct, frozen=True, forbid_unknown_fields=True):
    """The manifest's last line: the digest of every piece that no other digest covers."""

    digest: str


class Framed(NamedTuple):
    """Rendered sections in UTF-8: their text, the part of it that the ending's digest covers, and
    their manifest lines."""

    text: bytes
    frames: bytes
    lines: bytes


class SectionFrame(Struct, frozen=True, gc=False):
    """A rendered section: the text before its body, the body, the text after it, and its manifest
    line. `vouched`: that line has a digest of the body."""

    head: str
    body: bytes
    tail: str
    line: str
    vouched: bool = True

    @property
    def texts(self) -> tuple[str, str]:
        """The framed body and the manifest line."""
        return f"{self.head}{self.body.decode()}{self.tail}", self.line


def frame(shape: Shape, section: Section) -> tuple[str, str]:
    """Return the text before and after the section's body."""
    body = Body(octets(section), section.sha256, ranges(section.spans))
    return shape.around(quote(section.path), section.level, section.language, body)


def octets(section: Section) -> bytes:
    """Return the body in UTF-8."""
    return section.data or section.body.text.encode()


def section_frame(shape: Shape, section: Section, line_numbers: bool) -> SectionFrame:
    """Render a section with its frame."""
    head, tail = frame(shape, section)
    if shape.VERBATIM and not line_numbers:
        body = octets(section)
    else:
        body = shape.shown(
            numbered(section.body.text, section.spans) if line_numbers else section.body.text
        ).encode()
    return SectionFrame(head, body, tail, shape.manifest_line(line_of(section)), _vouched(section))


def joined(shape: Shape, sections: Iterable[SectionFrame]) -> Framed:
    """Join the sections with their frames and glue between them."""
    text: list[bytes] = []
    frames: list[bytes] = []
    lines: list[str] = []
    between = ""
    glue = shape.GLUE
    for section in sections:
        frame = (between + section.head).encode()
        text += (frame, section.body)
        frames.append(frame)
        if not section.vouched:
            frames.append(section.body)
        lines.append(section.line)
        between = section.tail + glue
    last = between.removesuffix(glue).encode()
    text.append(last)
    frames.append(last)
    return Framed(b"".join(text), b"".join(frames), "".join(lines).encode())


def assemble(
    shape: Shape,
    preamble: Preamble,
    framed: Iterable[Framed],
    listing: LateListing,
    line_numbers: bool,
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the pieces of a pack without the ending, each with the part that the ending's digest
    covers. A `listing` function is called last, when all sections are known."""
    opening = shape.opening(preamble, line_numbers).encode()
    yield opening, opening
    lines: list[bytes] = []
    glue = shape.GLUE.encode()
    for group in framed:
        if not group.frames:
            continue
        if glue and lines:
            yield glue, glue
        yield group.text, group.frames
        lines.append(group.lines)
    final = listing if isinstance(listing, Listing) else listing()
    closing = shape.closing(preamble, final, line_numbers).encode() + b"".join(lines)
    yield closing, closing


def _vouched(section: Section) -> bool:
    """Return whether the section's manifest line has a digest of its body."""
    return section.level != "excerpt" or section.source == section.sha256


def line_of(section: Section) -> Line:
    return Line(
        path=quote(section.path),
        length=section.length,
        sha256=section.sha256 if _vouched(section) else None,
        level=None if section.level == "full" else section.level,
        lines=ranges(section.spans) or None,
        source=None if section.source == section.sha256 else section.source,
        source_size=None if section.source_size == section.length else section.source_size,
        encoding=None if section.encoding == "utf-8" else quote(section.encoding),
        mode=None if section.mode == 0o100644 else f"{section.mode:o}",
        language=_quoted(section.language),
        reason=_quoted(section.reason),
    )


@lru_cache(maxsize=1 << 10)  # languages and reasons repeat
def _quoted(text: str) -> str | None:
    return quote(text) if text else None


def title_of(preamble: Preamble, listing: Listing, line_numbers: bool) -> Title:
    return Title(
        sutler_pack=VERSION,
        project=quote(preamble.project),
        tree=len(preamble.tree.text.encode()),
        goal=len(preamble.goal.text.encode()),
        header=len(preamble.header.text.encode()),
        instructions=len(preamble.instructions.text.encode()),
        transforms=preamble.transforms,
        part=None if preamble.part == Part() else (preamble.part.number, preamble.part.total),
        line_numbers=line_numbers,
        unnamed=listing.unnamed,
        expected=listing.expected,
        next=listing.next,
        abstained=listing.abstained,
        companions=listing.companions,
    )


def as_json(value: Line | Title | End) -> str:
    return encode(value).decode()


def ranges(spans: Iterable[Span]) -> str:
    """Format line spans for readers: `40-62, 80`."""
    return ", ".join(f"{s.start}-{s.end}" if s.end > s.start else f"{s.start}" for s in spans)


def numbered(text: str, spans: Sequence[Span] = ()) -> str:
    """Prefix each line with its number in the file. Only `\\n` ends a line, as in every other
    stage. `spans` are the lines that a cut text shows; the markers between them get no number."""
    lines = text.split("\n")
    final = "" if lines[-1] else "\n"
    if final:
        lines.pop()
    pieces = [""] * (2 * len(lines))
    pieces[::2] = (
        [f"\n{label}" for label in labels(spans, len(lines))] if spans else _numbers(len(lines))
    )
    pieces[1::2] = lines
    return ("".join(pieces) + final)[1:] if lines else ""


def labels(spans: Sequence[Span], count: int) -> Iterator[str]:
    """Yield the prefixes of `count` lines of a cut text, in which a marker line replaces each run
    of omitted lines."""
    at = 1
    for span in spans:
        if span.start > at:
            yield _UNNUMBERED
            count -= 1
        for number in range(span.start, min(span.end, span.start + count - 1) + 1):
            yield f"{number:5d}| "
        count -= max(0, min(span.end - span.start + 1, count))
        at = span.end + 1
    for _ in range(count):
        yield _UNNUMBERED


def _numbers(count: int) -> list[str]:
    """Return the prefix of each line, including the newline of the previous line."""
    first = _first_numbers()
    return first[:count] + [f"\n{number:5d}| " for number in range(len(first) + 1, count + 1)]


@cache  # made once: nearly every file has fewer lines
def _first_numbers() -> list[str]:
    return [f"\n{number:5d}| " for number in range(1, 10_001)]


def shown(text: str) -> str:
    """Return the text unchanged, as most formats show it."""
    return text


def body_of(text: str) -> Body:
    data = text.encode()
    return Body(data, sha256(data).hexdigest())


def blocks(block: Callable[[str, str], tuple[str, str]], preamble: Preamble, *names: str) -> str:
    """Return the texts of the preamble with these names in their blocks; an empty one has none."""
    text = ""
    for name in names:
        if content := getattr(preamble, name).text:
            head, tail = block(name, content)
            text += f"{head}{content}{tail}"
    return text


def not_shown(around: tuple[str, str], line: Callable[[RelPath], str], listing: Listing) -> str:
    """Return the list of files not shown, or an empty text."""
    head, tail = around
    return f"{head}{''.join(map(line, listing.paths))}{tail}" if listing.paths else ""


def level_note(level: Level, body: Body) -> str:
    """Return the words behind the path of a file that is not whole."""
    lines = f": lines {body.lines}" if body.lines else ""
    return "" if level == "full" else f" ({level.replace('_', ' and ')}{lines})"


def newline_after(body: bytes) -> str:
    """Return the newline that the frame has to add after a body, or an empty text."""
    return "" if not body or body[-1] == _NEWLINE else "\n"
