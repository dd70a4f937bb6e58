"""Plain text: each file between two lines of marks, for tools that show no markup.

The marks contain digits of the body's digest, changed until the body does not contain them, so that
no content can end its section."""

from __future__ import annotations

from sutler.formats import assembly
from sutler.formats.assembly import shown as shown
from sutler.formats.document import Level, Listing, Pack, Preamble
from sutler.formats.markdown import listed_path as listed_path
from sutler.formats.markdown import part_line
from sutler.formats.markdown import remainder as remainder
from sutler.formats.xml import boundary
from sutler.paths import RelPath, quote

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
    paragraphs = "\n".join(assembly.about(preamble, line_numbers))
    project = f"Project: {quote(preamble.project)}\n{part_line(preamble)}"
    return f"{SIGNATURE}\n{paragraphs}\n\n{project}"


def block(name: str, text: str) -> tuple[str, str]:
    return _block(f"({name})", assembly.body_of(text))


def around(name: str, level: Level, language: str, body: assembly.Body) -> tuple[str, str]:
    del language
    return _block(f"{name}{assembly.level_note(level, body)}", body)


def opening(preamble: Preamble, line_numbers: bool) -> str:
    return intro(preamble, line_numbers) + assembly.blocks(block, preamble, "header", "tree")


def listing_line(path: RelPath) -> str:
    """One line; a name that could end the list is put in quotes."""
    name = quote(path)
    return f'"{name}"\n' if name.startswith("=") else f"{name}\n"


def closing(preamble: Preamble, listing: Listing, line_numbers: bool) -> str:
    names = assembly.not_shown(LISTING, listing_line, listing)
    goal = assembly.blocks(block, preamble, "goal", "instructions")
    title = manifest_line(assembly.title_of(preamble, listing, line_numbers))
    return f"{names}{remainder(listing)}{goal}{MANIFEST}{title}"


def manifest_line(line: assembly.Line | assembly.Title) -> str:
    return assembly.as_json(line) + "\n"


def ending(digest: str) -> str:
    return f"{assembly.as_json(assembly.End(digest))}\n"


def recognizes(data: bytes) -> bool:
    return data.startswith(SIGNATURE.rstrip().encode())


def read(data: bytes) -> Pack:
    from sutler.formats import parser, plain  # only commands that read packs load the parser

    return parser.read_text(data, plain)


def _block(name: str, body: assembly.Body) -> tuple[str, str]:
    mark = boundary(body, _SHORT)
    return f"\n==== {name} [{mark}]\n", f"{assembly.newline_after(body.data)}==== end [{mark}]\n"
