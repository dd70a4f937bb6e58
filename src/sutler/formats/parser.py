"""Common parts of the formats' parsers: from untrusted text back to a pack.

The manifest is searched from the end, which no file's content can reach. The sections are then read
by the manifest's lengths, never by searching for fences or tags, and each piece is rendered again
and compared."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import count, pairwise
from typing import NoReturn, Protocol, TypeVar

from msgspec import DecodeError, Struct
from msgspec.json import decode
from msgspec.structs import replace

from sutler.errors import RefusedError, SutlerError
from sutler.formats.assembly import VERSION, End, Line, Shape, Title, frame, labels, line_of, ranges
from sutler.formats.document import CleanText, Listing, Pack, Part, Preamble, Section
from sutler.paths import RelPath, Span, parse_relpath, quote, unquote

_RULE = (
    "a pack must be exactly what was rendered, and each file must match its line in the manifest"
)
UNDER_SEAL = "the pack's frame, or a file of which it shows an excerpt"
_NEXT = (
    "make the pack anew, or look for a tool on the way that changes text"
    " (line endings, white space)"
)
_LONGEST_SPAN = 21  # characters: two numbers of ten digits
_Entry = TypeVar("_Entry", bound=Struct)


class TextShape(Shape, Protocol):
    """A format that `read_text` can parse: line by line, bodies verbatim."""

    @property
    def HEAD_LINES(self) -> int:  # noqa: N802  # a module's constant
        """Number of lines of a frame before the body."""

    @property
    def LISTING(self) -> tuple[str, str]:  # noqa: N802  # a module's constant
        """The frame of the files not shown."""

    @property
    def MANIFEST(self) -> str:  # noqa: N802  # a module's constant
        """The line or lines before the manifest; no manifest line can equal them."""

    def intro(self, preamble: Preamble, line_numbers: bool) -> str: ...

    def block(self, name: str, text: str) -> tuple[str, str]: ...

    def remainder(self, listing: Listing) -> str: ...

    def listed_path(self, line: str) -> str: ...


def damaged(what: str) -> NoReturn:
    raise RefusedError(f"the pack is damaged: {what}", rule=_RULE, next_step=_NEXT)


class Walk:
    """A position in the pack's bytes, and the running digest of all pieces that no manifest line
    covers."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.seal = sha256()

    def expect(self, text: str, name: str) -> None:
        piece = text.encode()
        if self.data[self.at : self.at + len(piece)] != piece:
            damaged(f"{name} does not stand where and as the manifest says (byte {self.at})")
        self.seal.update(piece)
        self.at += len(piece)

    def lines_end(self, count: int, name: str) -> int:
        """Return the position after the next `count` lines."""
        end = self.at
        for _ in range(count):
            end = self.data.find(b"\n", end) + 1
            if end == 0:
                damaged(f"it ends inside {name}")
        return end

    def body(self, start: int, length: int, name: str) -> bytes:
        if length < 0 or start + length > len(self.data):
            damaged(f"{name} should be {length} bytes long and the pack ends before that")
        return self.data[start : start + length]


def unnumbered(data: bytes, start: int, line: Line) -> tuple[bytes, int]:
    """Remove the line numbers of a body that begins at `start`; return its bytes and its end."""
    lines: list[bytes] = []
    length, name = line.length, line.path
    spans = spans_of(line)
    expected = labels(spans, data.count(b"\n", start) + 1) if spans else _plain_labels()
    while length > 0:
        prefix = next(expected, "").encode()
        if not data.startswith(prefix, start):
            damaged(f"line {len(lines) + 1} of {name} does not carry its number")
        start += len(prefix)
        newline = data.find(b"\n", start, start + length)
        stop = newline + 1 if newline >= 0 else min(start + length, len(data))
        if stop == start:
            damaged(f"it ends inside {name}")
        lines.append(data[start:stop])
        length -= stop - start
        start = stop
    return b"".join(lines), start


def _plain_labels() -> Iterator[str]:
    """Return the endless line numbers of a text that is not cut."""
    return (f"{number:5d}| " for number in count(1))


def spans_of(line: Line) -> tuple[Span, ...]:
    """Parse the lines of the file that a section shows from its manifest line."""
    spans: list[Span] = []
    for part in line.lines.split(", ") if line.lines else ():
        start, _, end = part.partition("-")
        if not (start.isdecimal() and (end or start).isdecimal() and len(part) <= _LONGEST_SPAN):
            damaged(f"the lines of {line.path} are not line ranges")
        spans.append(Span(int(start), int(end or start)))
    ordered = all(span.end + 1 < other.start for span, other in pairwise(spans))
    if ranges(spans) != (line.lines or "") or not ordered or any(s.end < s.start for s in spans):
        damaged(f"the lines of {line.path} are not line ranges in their order")
    return tuple(spans)


def read_text(data: bytes, shape: TextShape) -> Pack:
    """Parse a pack of a format that is read line by line."""
    title, lines, end = _manifest(data, shape)
    walk = Walk(data)
    preamble = _preamble(title)
    walk.expect(shape.intro(preamble, title.line_numbers), "the opening")
    header = CleanText(_block(walk, shape, "header", title.header))
    tree = CleanText(_block(walk, shape, "tree", title.tree))
    sections = tuple(_section(walk, shape, line, title.line_numbers) for line in lines)
    paths = tuple(_listing(walk, shape))
    listing = Listing(
        paths, title.unnamed, title.expected, title.next, title.abstained, title.companions
    )
    walk.expect(shape.remainder(listing), "the number of files not named")
    goal = CleanText(_block(walk, shape, "goal", title.goal))
    instructions = CleanText(_block(walk, shape, "instructions", title.instructions))
    preamble = replace(preamble, goal=goal, tree=tree, header=header, instructions=instructions)
    closing = shape.closing(preamble, listing, title.line_numbers)
    walk.expect(closing[closing.rindex(shape.MANIFEST) :], "the manifest's first line")
    for section in sections:
        walk.expect(
            shape.manifest_line(line_of(section)), f"the manifest's line for {quote(section.path)}"
        )
    compare(UNDER_SEAL, end.digest, walk.seal.hexdigest())
    walk.expect(shape.ending(end.digest).rstrip("\n"), "the ending")
    if data[walk.at :].strip():
        damaged("there is text after its end")
    return Pack(preamble, sections, listing, title.line_numbers)


def _manifest(data: bytes, shape: TextShape) -> tuple[Title, list[Line], End]:
    head = shape.MANIFEST.encode()
    at = data.rfind(head)
    stop = data.rfind(b'{"digest":"')
    if at < 0 or stop < at:
        damaged("it has no manifest, so its end is missing or changed")
    title, lines = entries(data[at + len(head) : stop].split(b"\n")[:-1])
    end = _entry(data[stop:].split(b"\n", 1)[0], End, "last line")
    return title, lines, end


def entries(raw: list[bytes]) -> tuple[Title, list[Line]]:
    if not raw:
        damaged("its manifest is empty")
    title = _entry(raw[0], Title, "first line")
    if title.sutler_pack != VERSION:
        damaged(
            f"its format is {title.sutler_pack} and this version of sutler reads format {VERSION}"
        )
    lines = [_entry(row, Line, f"line {number}") for number, row in enumerate(raw[1:], 2)]
    for line in lines:  # messages below may contain paths, so check them first
        if quote(unquote(line.path)) != line.path:
            damaged(f"the manifest names {quote(line.path)}, which is not how sutler writes a path")
    return title, lines


def _entry(raw: bytes, kind: type[_Entry], name: str) -> _Entry:
    try:
        return decode(raw, type=kind)
    except (DecodeError, ValueError, RecursionError) as error:
        damaged(f"the manifest's {name} cannot be read: {quote(str(error))}")


def _preamble(title: Title) -> Preamble:
    part = Part(*title.part) if title.part else Part()
    return Preamble(unquote(title.project), part=part, transforms=title.transforms)


def _block(walk: Walk, shape: TextShape, name: str, length: int) -> str:
    if length == 0:
        return ""
    start = walk.lines_end(shape.HEAD_LINES, f"the {name}")
    text = _decoded(walk.body(start, length, f"the {name}"), f"the {name}")
    head, tail = shape.block(name, text)
    walk.expect(f"{head}{text}{tail}", f"the {name}")
    return text


def _section(walk: Walk, shape: TextShape, line: Line, line_numbers: bool) -> Section:
    start = walk.lines_end(shape.HEAD_LINES, line.path)
    if line_numbers:
        raw, end = unnumbered(walk.data, start, line)
    else:
        raw, end = walk.body(start, line.length, line.path), start + line.length
    section = section_of(line, raw)
    head, tail = frame(shape, section)
    walk.expect(head, f"the heading of {line.path}")
    if line.sha256 is None:
        walk.seal.update(walk.data[start:end])
    walk.at = end
    walk.expect(tail, f"the end of {line.path}")
    return section


def section_of(line: Line, raw: bytes) -> Section:
    """Build a section from its manifest line and its bytes; raise RefusedError if they differ."""
    digest = sha256(raw).hexdigest()
    source = digest if line.source is None else line.source
    if line.sha256 is None and (line.source is None or line.level != "excerpt"):
        damaged(f"the manifest has no digest of {line.path}")
    if line.sha256 is not None:
        compare(line.path, line.sha256, digest)
    if len(raw) != line.length:
        damaged(f"{line.path} should be {line.length} bytes long and is {len(raw)}")
    return Section(
        path=_relpath(line.path),
        level=line.level or "full",
        body=CleanText(_decoded(raw, line.path)),  # redacted before it was sent
        sha256=digest,
        length=line.length,
        source=source,
        source_size=line.length if line.source_size is None else line.source_size,
        encoding="utf-8" if line.encoding is None else unquote(line.encoding),
        mode=0o100644 if line.mode is None else _octal(line.mode, line.path),
        language=unquote(line.language or ""),
        reason=unquote(line.reason or ""),
        spans=spans_of(line),
    )


def _listing(walk: Walk, shape: TextShape) -> Iterator[RelPath]:
    head, tail = shape.LISTING
    if not walk.data.startswith(head.encode(), walk.at):
        return
    walk.expect(head, "the list of files not shown")
    while not walk.data.startswith(tail.encode(), walk.at):
        raw = walk.data[walk.at : walk.lines_end(1, "the list of files not shown")]
        line = _decoded(raw, "the list of files not shown")
        path = RelPath(shape.listed_path(line[:-1]))
        walk.expect(shape.listing_line(path), f"the listed path {quote(path)}")
        yield path
    walk.expect(tail, "the end of the list of files not shown")


def compare(name: str, expected: str, actual: str) -> None:
    if expected != actual:
        damaged(f"{name}: expected sha256 {quote(expected)}, found {actual}")


def _decoded(raw: bytes, name: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        damaged(f"{name} is not UTF-8")


def _relpath(display: str) -> RelPath:
    path = unquote(display)
    try:
        legal = parse_relpath(path)
    except SutlerError as error:
        damaged(error.what)
    if legal != path or not path:
        damaged(f"{display} is not a relative path in its plain form")
    return legal


def _octal(mode: str, path: str) -> int:
    try:
        return int(mode, 8)
    except ValueError:
        damaged(f"the mode of {path} is not an octal number")
