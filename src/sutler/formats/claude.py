"""Anthropic's `<documents>`: each file as a `<document>` with its `<source>`.

A body that holds an end tag of this format gets tags that end in digits of its own digest, changed
until the body does not hold them. `index` is left out: a section does not depend on the sections
before it, so that prompt caches keep their prefix."""

from __future__ import annotations

from sutler.formats import assembly
from sutler.formats.assembly import shown as shown
from sutler.formats.document import Level, Listing, Pack, Preamble
from sutler.formats.xml import TABLE, boundary, introduction
from sutler.formats.xml import listed_path as listed_path
from sutler.formats.xml import listing_line as listing_line
from sutler.formats.xml import manifest_line as manifest_line
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
    return SIGNATURE + introduction(preamble, line_numbers)


def block(name: str, text: str) -> tuple[str, str]:
    return _block(f"({name})", assembly.body_of(text))


def around(name: str, level: Level, language: str, body: assembly.Body) -> tuple[str, str]:
    del language
    return _block(f"{name.translate(TABLE)}{assembly.level_note(level, body)}", body)


def opening(preamble: Preamble, line_numbers: bool) -> str:
    return intro(preamble, line_numbers) + assembly.blocks(block, preamble, "header", "tree")


def closing(preamble: Preamble, listing: Listing, line_numbers: bool) -> str:
    names = assembly.not_shown(LISTING, listing_line, listing)
    goal = assembly.blocks(block, preamble, "goal", "instructions")
    title = manifest_line(assembly.title_of(preamble, listing, line_numbers))
    return f"{names}{remainder(listing)}{goal}{MANIFEST}{title}"


def ending(digest: str) -> str:
    return f"{assembly.as_json(assembly.End(digest))}\n</manifest>\n</documents>\n"


def recognizes(data: bytes) -> bool:
    return data.startswith(SIGNATURE.rstrip().encode())


def read(data: bytes) -> Pack:
    from sutler.formats import claude, parser  # only commands that read packs load the parser

    return parser.read_text(data, claude)


def _block(source: str, body: assembly.Body) -> tuple[str, str]:
    own = f"-{boundary(body, _SHORT)}" if b"</document" in body.data else ""
    head = f"<document{own}>\n<source>{source}</source>\n<document_contents{own}>\n"
    tail = f"{assembly.newline_after(body.data)}</document_contents{own}>\n</document{own}>\n"
    return head, tail
