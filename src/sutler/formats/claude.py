"""Anthropic's `<documents>`: each file as a `<document>` with its `<source>`.

A body that holds an end tag of this format gets tags that end in digits of its own digest, changed
until the body does not hold them. `index` is left out: a section does not depend on the sections
before it, so that prompt caches keep their prefix."""

from __future__ import annotations

from hashlib import sha256

from sutler.formats.assembly import Body, End, Line, about, as_json, face, newline_after, title_of
from sutler.formats.document import Level, Listing, Pack, Preamble, Section
from sutler.formats.xml import JSON_TABLE, TABLE, boundary, escaped
from sutler.formats.xml import listed_path as listed_path
from sutler.formats.xml import listing_line as listing_line
from sutler.formats.xml import remainder as remainder

NAME = "claude"
ENDING = ".claude.xml"
DESCRIPTION = "Anthropic's <documents>"
GLUE = ""
VERBATIM = True
SIGNATURE = "<documents>\n<!-- sutler pack 1 -->\n"
HEAD_LINES = 3  # document, source, document_contents
LISTING = ("<not_shown>\n", "</not_shown>\n")
MANIFEST = "<manifest>\n"
_SHORT = 8  # digits in a tag


def intro(preamble: Preamble, line_numbers: bool) -> str:
    part = preamble.part
    of = (
        f' part="{part.number}" parts="{part.total}"' if part.total != 1 or part.number != 1 else ""
    )
    paragraphs = "\n".join(about(preamble, line_numbers))
    name = escaped(preamble.project)
    return f'{SIGNATURE}<about>\n{paragraphs}\n</about>\n<project name="{name}"{of} />\n'


def block(name: str, text: str) -> tuple[str, str]:
    data = text.encode()
    return _block(f"({name})", Body(data, sha256(data).hexdigest()))


def frame(section: Section) -> tuple[str, str]:
    return around(*face(section))


def around(name: str, level: Level, language: str, body: Body) -> tuple[str, str]:
    del language
    lines = f": lines {body.lines}" if body.lines else ""
    cut = "" if level == "full" else f" ({level.replace('_', ' and ')}{lines})"
    return _block(f"{name.translate(TABLE)}{cut}", body)


def shown(text: str) -> str:
    return text


def opening(preamble: Preamble, line_numbers: bool) -> str:
    header = _whole("header", preamble.header.text)
    return intro(preamble, line_numbers) + header + _whole("tree", preamble.tree.text)


def closing(preamble: Preamble, listing: Listing, line_numbers: bool) -> str:
    head, tail = LISTING
    names = f"{head}{''.join(map(listing_line, listing.paths))}{tail}" if listing.paths else ""
    title = as_json(title_of(preamble, listing, line_numbers)).translate(JSON_TABLE)
    goal = _whole("goal", preamble.goal.text)
    goal += _whole("instructions", preamble.instructions.text)
    return f"{names}{remainder(listing)}{goal}{MANIFEST}{title}\n"


def manifest_line(line: Line) -> str:
    return as_json(line).translate(JSON_TABLE) + "\n"


def ending(digest: str) -> str:
    return f"{as_json(End(digest))}\n</manifest>\n</documents>\n"


def recognizes(data: bytes) -> bool:
    return data.startswith(SIGNATURE.rstrip().encode())


def read(data: bytes) -> Pack:
    from sutler.formats import claude, parser  # only commands that read packs load the parser

    return parser.read_text(data, claude)


def _block(source: str, body: Body) -> tuple[str, str]:
    own = f"-{boundary(body, _SHORT)}" if b"</document" in body.data else ""
    head = f"<document{own}>\n<source>{source}</source>\n<document_contents{own}>\n"
    tail = f"{newline_after(body.data)}</document_contents{own}>\n</document{own}>\n"
    return head, tail


def _whole(name: str, text: str) -> str:
    head, tail = block(name, text)
    return f"{head}{text}{tail}" if text else ""
