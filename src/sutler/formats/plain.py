"""Plain text: each file between two lines of marks, for tools that show no markup.

The marks contain digits of the body's digest, changed until the body does not contain them, so that
no content can end its section."""

from __future__ import annotations

from hashlib import sha256

from sutler.formats.assembly import (
    ABSTAINED,
    Body,
    End,
    Line,
    about,
    as_json,
    face,
    newline_after,
    title_of,
)
from sutler.formats.document import Level, Listing, Pack, Preamble, Section
from sutler.formats.xml import boundary
from sutler.paths import RelPath, quote, unquote

NAME = "plain"
ENDING = ".txt"
DESCRIPTION = "text between lines of marks"
GLUE = ""
VERBATIM = True
SIGNATURE = "sutler pack, plain text\n"
HEAD_LINES = 2  # a blank line and the marks
LISTING = ("\n==== not shown\n", "==== end of the list\n")
MANIFEST = "\n==== manifest\n"
_SHORT = 8  # digits in a mark


def intro(preamble: Preamble, line_numbers: bool) -> str:
    part = preamble.part
    whole = part.total == 1 and part.number == 1
    number = "" if whole else f"Part {part.number} of {part.total}.\n"
    paragraphs = "\n".join(about(preamble, line_numbers))
    return f"{SIGNATURE}\n{paragraphs}\n\nProject: {quote(preamble.project)}\n{number}"


def block(name: str, text: str) -> tuple[str, str]:
    data = text.encode()
    return _block(f"({name})", Body(data, sha256(data).hexdigest()))


def frame(section: Section) -> tuple[str, str]:
    return around(*face(section))


def around(name: str, level: Level, language: str, body: Body) -> tuple[str, str]:
    del language
    lines = f": lines {body.lines}" if body.lines else ""
    cut = "" if level == "full" else f" ({level.replace('_', ' and ')}{lines})"
    return _block(f"{name}{cut}", body)


def shown(text: str) -> str:
    return text


def opening(preamble: Preamble, line_numbers: bool) -> str:
    header = _whole("header", preamble.header.text)
    return intro(preamble, line_numbers) + header + _whole("tree", preamble.tree.text)


def listing_line(path: RelPath) -> str:
    """One line; a name that could end the list is put in quotes."""
    name = quote(path)
    return f'"{name}"\n' if name.startswith("=") else f"{name}\n"


def listed_path(line: str) -> str:
    """The inverse of `listing_line`."""
    return unquote(line)


def remainder(listing: Listing) -> str:
    """What follows the list of files not shown."""
    count = listing.unnamed
    unnamed = f"\nFiles neither shown nor named: {count}.\n" if count else ""
    return unnamed + (f"\n{ABSTAINED}\n" if listing.abstained else "")


def closing(preamble: Preamble, listing: Listing, line_numbers: bool) -> str:
    head, tail = LISTING
    names = f"{head}{''.join(map(listing_line, listing.paths))}{tail}" if listing.paths else ""
    goal = _whole("goal", preamble.goal.text)
    goal += _whole("instructions", preamble.instructions.text)
    title = as_json(title_of(preamble, listing, line_numbers))
    return f"{names}{remainder(listing)}{goal}{MANIFEST}{title}\n"


def manifest_line(line: Line) -> str:
    return as_json(line) + "\n"


def ending(digest: str) -> str:
    return f"{as_json(End(digest))}\n"


def recognizes(data: bytes) -> bool:
    return data.startswith(SIGNATURE.rstrip().encode())


def read(data: bytes) -> Pack:
    from sutler.formats import parser, plain  # only commands that read packs load the parser

    return parser.read_text(data, plain)


def _block(name: str, body: Body) -> tuple[str, str]:
    mark = boundary(body, _SHORT)
    return f"\n==== {name} [{mark}]\n", f"{newline_after(body.data)}==== end [{mark}]\n"


def _whole(name: str, text: str) -> str:
    head, tail = block(name, text)
    return f"{head}{text}{tail}" if text else ""
