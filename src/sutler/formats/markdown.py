"""Markdown: a heading and a fenced block for each file.

The fence is longer than any run of backticks in the body, so a CommonMark reader sees exactly one
block for each file, whatever the file holds. Names stand escaped in code spans on one line."""

from __future__ import annotations

import re
from functools import cache, lru_cache

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
    part = preamble.part
    return (
        f"{SIGNATURE}\n"
        + "".join(f"{paragraph}\n" for paragraph in about(preamble, line_numbers))
        + f"\nProject: {_code(quote(preamble.project))}\n"
        + (
            f"\nPart {part.number} of {part.total}.\n"
            if part.total != 1 or part.number != 1
            else ""
        )
    )


def block(name: str, text: str) -> tuple[str, str]:
    """Return the frame of the tree or the goal."""
    return _block(f"## {name.capitalize()}", Body(text.encode(), ""), "text")


def frame(section: Section) -> tuple[str, str]:
    return around(*face(section))


def around(name: str, level: Level, language: str, body: Body) -> tuple[str, str]:
    lines = f": lines {body.lines}" if body.lines else ""
    cut = "" if level == "full" else f" ({level.replace('_', ' and ')}{lines})"
    return _block(f"## {_code(name)}{cut}", body, language and _info(language))


def shown(text: str) -> str:
    return text


def opening(preamble: Preamble, line_numbers: bool) -> str:
    header = _whole("header", preamble.header.text)
    return intro(preamble, line_numbers) + header + _whole("tree", preamble.tree.text)


def listing_line(path: RelPath) -> str:
    """Return one line inside a plain fence; a name that could close the fence is quoted."""
    name = quote(path)
    return f'"{name}"\n' if name.startswith("`") else f"{name}\n"


def listed_path(line: str) -> str:
    """The inverse of `listing_line`."""
    return unquote(line)


def remainder(listing: Listing) -> str:
    """Return the text after the list of files not shown."""
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
    return f"{as_json(End(digest))}\n```\n"


def recognizes(data: bytes) -> bool:
    return data.startswith(SIGNATURE.rstrip().encode())


def read(data: bytes) -> Pack:
    from sutler.formats import markdown, parser  # only commands that read packs load the parser

    return parser.read_text(data, markdown)


@lru_cache(maxsize=1 << 10)
def _info(language: str) -> str:
    """Return the language as a fence's info string; empty if it could break the fence."""
    return language if re.fullmatch(_LANGUAGE, language) else ""


def _block(heading: str, body: Body, language: str) -> tuple[str, str]:
    ticks = _longest(body.data)
    fence = "```" if ticks < 3 else "`" * (ticks + 1)
    return f"\n{heading}\n\n{fence}{language}\n", f"{newline_after(body.data)}{fence}\n"


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


def _whole(name: str, text: str) -> str:
    head, tail = block(name, text)
    return f"{head}{text}{tail}" if text else ""


def _code(text: str) -> str:
    """Return a code span around one line of any content."""
    if "`" not in text:
        return f"`{text}`"
    ticks = "`" * (1 + max(map(len, re.findall("`+", text))))
    pad = " " if "`" in (text[0], text[-1]) else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"
