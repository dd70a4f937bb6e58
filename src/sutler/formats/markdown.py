"""Markdown: a heading and a fenced block for each file.

The fence is longer than any run of backticks in the body, so a CommonMark reader sees exactly one
block for each file, whatever the file holds. Names stand escaped in code spans on one line."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from sutler.formats import assembly
from sutler.formats.assembly import shown as shown
from sutler.formats.document import Level, Listing, Pack, Part, Preamble
from sutler.paths import RelPath, quote, unquote

NAME = "markdown"
ENDING = ".md"
DESCRIPTION = "headings and fenced blocks, for people and models"
GLUE = ""
VERBATIM = True
SIGNATURE = "# sutler pack\n"
HEAD_LINES = 4  # a blank line, the heading, a blank line, the fence
LISTING = ("\n## Not shown\n\n```text\n", "```\n")
MANIFEST = "\n## Manifest\n\n```json\n"

_LANGUAGE = r"[A-Za-z0-9_+#.-]+"


def intro(preamble: Preamble, line_numbers: bool) -> str:
    return (
        f"{SIGNATURE}\n"
        + "".join(f"{paragraph}\n" for paragraph in assembly.about(preamble, line_numbers))
        + f"\nProject: {_code(quote(preamble.project))}\n"
        + (f"\n{part}" if (part := part_line(preamble)) else "")
    )


def part_line(preamble: Preamble) -> str:
    part = preamble.part
    return "" if part == Part() else f"Part {part.number} of {part.total}.\n"


def block(name: str, text: str) -> tuple[str, str]:
    """Return the frame of the tree or the goal."""
    return _block(f"## {name.capitalize()}", assembly.Body(text.encode(), ""), "text")


def around(name: str, level: Level, language: str, body: assembly.Body) -> tuple[str, str]:
    return _block(
        f"## {_code(name)}{assembly.level_note(level, body)}", body, language and _info(language)
    )


def opening(preamble: Preamble, line_numbers: bool) -> str:
    return intro(preamble, line_numbers) + assembly.blocks(block, preamble, "header", "tree")


def listing_line(path: RelPath) -> str:
    """Return one line inside a plain fence; a name that could close the fence is quoted."""
    name = quote(path)
    return f'"{name}"\n' if name.startswith("`") else f"{name}\n"


def listed_path(line: str) -> str:
    """Parse a path: the inverse of `listing_line`."""
    return unquote(line)


def remainder(listing: Listing) -> str:
    """Return the text after the list of files not shown."""
    count = listing.unnamed
    unnamed = f"\nFiles neither shown nor named: {count}.\n" if count else ""
    return unnamed + (f"\n{assembly.ABSTAINED}\n" if listing.abstained else "")


def closing(preamble: Preamble, listing: Listing, line_numbers: bool) -> str:
    names = assembly.not_shown(LISTING, listing_line, listing)
    goal = assembly.blocks(block, preamble, "goal", "instructions")
    title = manifest_line(assembly.title_of(preamble, listing, line_numbers))
    return f"{names}{remainder(listing)}{goal}{MANIFEST}{title}"


def manifest_line(line: assembly.Line | assembly.Title) -> str:
    return assembly.as_json(line) + "\n"


def ending(digest: str) -> str:
    return f"{assembly.as_json(assembly.End(digest))}\n```\n"


def recognizes(data: bytes) -> bool:
    return data.startswith(SIGNATURE.rstrip().encode())


def read(data: bytes) -> Pack:
    from sutler.formats import markdown, parser  # only commands that read packs load the parser

    return parser.read_text(data, markdown)


@lru_cache(maxsize=1 << 10)  # languages repeat, whatever hostile names a tree holds
def _info(language: str) -> str:
    """Return the language as a fence's info string; empty if it could break the fence."""
    return language if re.fullmatch(_LANGUAGE, language) else ""


def _block(heading: str, body: assembly.Body, language: str) -> tuple[str, str]:
    ticks = _longest(body.data)
    fence = "```" if ticks < 3 else "`" * (ticks + 1)
    return f"\n{heading}\n\n{fence}{language}\n", f"{assembly.newline_after(body.data)}{fence}\n"


def _longest(data: bytes) -> int:
    """Return the length of the longest run of backticks, or 0 if all are shorter than three.

    Uses bisection: a list of all runs in a hostile file would take many times its size."""
    first = data.find(b"`")
    # A pattern finds three characters faster than `in`.
    if first < 0 or _ticks().search(data, first) is None:
        return 0
    there, absent = 3, 6
    while b"`" * absent in data:
        there, absent = absent, 2 * absent
    while absent - there > 1:
        middle = (there + absent) // 2
        if b"`" * middle in data:
            there = middle
        else:
            absent = middle
    return there


@cache
def _ticks() -> re.Pattern[bytes]:
    return re.compile(b"```")


def _code(text: str) -> str:
    """Return a code span around one line of any content."""
    if "`" not in text:
        return f"`{text}`"
    ticks = "`" * (1 + max(map(len, re.findall("`+", text))))
    pad = " " if "`" in (text[0], text[-1]) else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"
