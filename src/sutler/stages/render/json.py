"""JSON: one object, streamed in the order in which it is built. Valid for any content.

A pack that was written anew with other white space is still the same pack.
"""

from __future__ import annotations

from msgspec import Raw, Struct
from msgspec.json import encode

from sutler.stages.render.pieces import ABOUT, NUMBERED, VERSION, Body, Line, as_json, face, title_of
from sutler.values.pack import Level, Listing, Preamble, Section
from sutler.values.paths import RelPath, quote

GLUE = ",\n"
VERBATIM = False


class ShownFile(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    text: str


class Document(Struct, frozen=True, forbid_unknown_fields=True):
    """The object as it is read back."""

    schema_version: int
    about: str
    project: str
    part: tuple[int, int]
    tree: str
    files: list[ShownFile]
    not_shown: list[str]
    unnamed: int
    goal: str
    manifest: list[Raw]  # the title, then a line for each file
    digest: str


def about(line_numbers: bool) -> str:
    return f"{ABOUT} {NUMBERED}" if line_numbers else ABOUT


def opening(preamble: Preamble, line_numbers: bool) -> str:
    fields = {
        "schema_version": VERSION,
        "about": about(line_numbers),
        "project": quote(preamble.project),
        "part": (preamble.part.number, preamble.part.total),
        "tree": preamble.tree.text,
    }
    return _text(fields)[:-1] + ',\n"files":[\n'


def frame(section: Section) -> tuple[str, str]:
    return around(*face(section))


def around(name: str, level: Level, language: str, body: Body) -> tuple[str, str]:
    del level, language, body
    return f'{{"path":{_text(name)},"text":"', '"}'


def shown(text: str) -> str:
    return _text(text)[1:-1]


def listing_line(path: RelPath) -> str:
    return _text(quote(path))


def closing(preamble: Preamble, listing: Listing, line_numbers: bool) -> str:
    names = GLUE.join(map(listing_line, listing.paths))
    title = as_json(title_of(preamble, listing, line_numbers))
    return (
        f'\n],\n"not_shown":[\n{names}\n],\n"unnamed":{listing.unnamed},\n"goal":{_text(preamble.goal.text)},\n'
        f'"manifest":[\n{title}'
    )


def manifest_line(line: Line) -> str:
    return GLUE + as_json(line)


def ending(digest: str) -> str:
    return f'\n],\n"digest":"{digest}"}}\n'


def _text(value: object) -> str:
    return encode(value).decode()
