"""XML-like tags, for models: each file is raw text between tags that its content cannot close.

A tag's name ends in sixteen hexadecimal digits of the body's digest, changed until the body does
not contain them. Bodies are not escaped, so that a model reads the original code; names and
attributes are escaped."""

from __future__ import annotations

from hashlib import sha256

from sutler.formats import assembly
from sutler.formats.assembly import shown as shown
from sutler.formats.document import Level, Listing, Pack, Part, Preamble
from sutler.paths import RelPath, quote, unquote

NAME = "xml"
ENDING = ".xml"
DESCRIPTION = "tags around raw text, for models"
GLUE = ""
VERBATIM = True
SIGNATURE = '<sutler-pack version="1">\n'
HEAD_LINES = 1
LISTING = ("<not-shown>\n", "</not-shown>\n")
MANIFEST = "<manifest>\n"

ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}
TABLE = str.maketrans(ESCAPES)
# In a manifest line the escapes of JSON: no name in it can close the manifest.
JSON_TABLE = str.maketrans({"&": "\\u0026", "<": "\\u003c", ">": "\\u003e"})

_BRIEF = 16  # digits of the digest in a boundary


def intro(preamble: Preamble, line_numbers: bool) -> str:
    return SIGNATURE + introduction(preamble, line_numbers)


def introduction(preamble: Preamble, line_numbers: bool) -> str:
    """Return the description of the pack and its project, in tags."""
    part = preamble.part
    of = "" if part == Part() else f' part="{part.number}" parts="{part.total}"'
    paragraphs = "\n".join(assembly.about(preamble, line_numbers))
    name = escaped(preamble.project)
    return f'<about>\n{paragraphs}\n</about>\n<project name="{name}"{of} />\n'


def block(name: str, text: str) -> tuple[str, str]:
    return _block(name, "", assembly.body_of(text))


def around(name: str, level: Level, language: str, body: assembly.Body) -> tuple[str, str]:
    del language
    attributes = f' path="{name.translate(TABLE)}"'
    if level != "full":
        attributes += f' level="{level}"'
    if body.lines:
        attributes += f' lines="{body.lines}"'
    return _block("file", attributes, body)


def opening(preamble: Preamble, line_numbers: bool) -> str:
    return intro(preamble, line_numbers) + assembly.blocks(block, preamble, "header", "tree")


def listing_line(path: RelPath) -> str:
    return f"{escaped(path)}\n"


def listed_path(line: str) -> str:
    """Parse a path: the inverse of `listing_line`."""
    for char, entity in reversed(ESCAPES.items()):
        line = line.replace(entity, char)
    return unquote(line)


def remainder(listing: Listing) -> str:
    """Return the text after the list of files not shown."""
    count = listing.unnamed
    unnamed = f'<not-named files="{count}" />\n' if count else ""
    return unnamed + (f"<abstained>{assembly.ABSTAINED}</abstained>\n" if listing.abstained else "")


def closing(preamble: Preamble, listing: Listing, line_numbers: bool) -> str:
    names = assembly.not_shown(LISTING, listing_line, listing)
    goal = assembly.blocks(block, preamble, "goal", "instructions")
    title = manifest_line(assembly.title_of(preamble, listing, line_numbers))
    return f"{names}{remainder(listing)}{goal}{MANIFEST}{title}"


def manifest_line(line: assembly.Line | assembly.Title) -> str:
    return assembly.as_json(line).translate(JSON_TABLE) + "\n"


def ending(digest: str) -> str:
    return f"{assembly.as_json(assembly.End(digest))}\n</manifest>\n</sutler-pack>\n"


def recognizes(data: bytes) -> bool:
    return data.startswith(SIGNATURE.rstrip().encode())


def read(data: bytes) -> Pack:
    from sutler.formats import parser, xml  # only commands that read packs load the parser

    return parser.read_text(data, xml)


def _block(name: str, attributes: str, body: assembly.Body) -> tuple[str, str]:
    tag = f"{name}-{boundary(body)}"
    return f"<{tag}{attributes}>\n", f"{assembly.newline_after(body.data)}</{tag}>\n"


def boundary(body: assembly.Body, length: int = _BRIEF) -> str:
    """Return digits that the body does not contain; deterministic."""
    digits, bumps = body.digest[:length], 0
    while digits.encode() in body.data:
        bumps += 1
        digits = sha256(f"{body.digest} {bumps}".encode()).hexdigest()[:length]
    return digits


def escaped(text: str) -> str:
    return quote(text).translate(TABLE)
