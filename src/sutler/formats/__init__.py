"""Pack to text and back: `parse("".join(render(...)))` gives the pack again for any file contents.

`FORMATS` is the table of output formats: a format is one module that satisfies `Shape`, and one row
here. Settings, --format, file endings, `unpack` and the report all use this table.

Rendering streams: `render` holds one body at a time, and the manifest's lines. `shape(format)`
gives access to the pieces, so that their cost can be counted before the pack is rendered."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from hashlib import sha256

from sutler.errors import RefusedError, UsageError
from sutler.formats import claude, json, markdown, plain, xml
from sutler.formats.assembly import (
    Framed,
    LateListing,
    Shape,
    assemble,
    joined,
    section_frame,
)
from sutler.formats.document import Format, Pack, Preamble, Section

__all__ = [
    "FORMATS",
    "Shape",
    "assembled",
    "encoded",
    "parse",
    "recognized",
    "render",
    "require_unicode",
    "section_text",
    "shape",
]


def table(*modules: Shape) -> Mapping[str, Shape]:
    """Return the formats by name. Raise TypeError if a module lacks a member of `Shape`, or repeats
    a name or an ending."""
    needed = [name for name in vars(Shape) if not name.startswith("_")]
    names: dict[str, Shape] = {}
    endings: dict[str, str] = {}
    for module in modules:
        where = getattr(module, "__name__", "a format")
        if missing := [name for name in needed if not hasattr(module, name)]:
            raise TypeError(
                f"{where} is not a complete output format: it lacks {', '.join(missing)}. "
                "Define every member of Shape in sutler/formats/assembly.py."
            )
        if module.NAME in names or module.ENDING in endings:
            raise TypeError(
                f"{where}: another output format has the name {module.NAME!r} or the ending"
                f" {module.ENDING!r}. Give it a NAME and an ENDING of its own."
            )
        names[module.NAME], endings[module.ENDING] = module, where
    return names


FORMATS: Mapping[str, Shape] = table(markdown, xml, json, plain, claude)
"""In the order in which --help and settings list them; the first is the default."""


def shape(format: Format) -> Shape:
    """Return the module of a format, whose pieces make up a pack."""
    return FORMATS[format]


def recognized(data: bytes) -> Format | None:
    """Return the name of a pack's format by its first bytes, or None."""
    return next((name for name, module in FORMATS.items() if module.recognizes(data)), None)


def render(
    preamble: Preamble,
    sections: Iterable[Section],
    listing: LateListing,
    *,
    format: Format,
    line_numbers: bool = False,
) -> Generator[str, None, str]:
    """Render the pack as text, piece by piece; `encoded` yields bytes instead."""
    pieces = encoded(preamble, sections, listing, format=format, line_numbers=line_numbers)
    while True:
        try:
            piece = next(pieces)
        except StopIteration as stop:  # a generator's return value arrives this way
            return str(stop.value)
        yield piece.decode()


def encoded(
    preamble: Preamble,
    sections: Iterable[Section],
    listing: LateListing,
    *,
    format: Format,
    line_numbers: bool = False,
) -> Generator[bytes, None, str]:
    """Render the pack in UTF-8 from sections, with one body in memory at a time."""
    pieces = shape(format)
    frames = (joined(pieces, [section_frame(pieces, one, line_numbers)]) for one in sections)
    return assembled(preamble, frames, listing, format=format, line_numbers=line_numbers)


def assembled(
    preamble: Preamble,
    sections: Iterable[Framed],
    listing: LateListing,
    *,
    format: Format,
    line_numbers: bool = False,
) -> Generator[bytes, None, str]:
    """Render the pack in UTF-8, piece by piece. If `listing` is a function, it is called after the
    last section. Return the digest in the ending, which identifies the pack.

    Texts must be encodable in UTF-8; paths and the project's name may hold surrogates."""
    require_unicode("goal", preamble.goal.text)
    require_unicode("tree", preamble.tree.text)
    require_unicode("header", preamble.header.text)
    require_unicode("instructions", preamble.instructions.text)
    seal = sha256()
    for piece, frames in assemble(shape(format), preamble, sections, listing, line_numbers):
        seal.update(frames)
        yield piece
    digest = seal.hexdigest()
    yield shape(format).ending(digest).encode()
    return digest


def section_text(section: Section, format: Format, line_numbers: bool = False) -> tuple[str, str]:
    """Return what a section adds to the pack, without glue: framed body and manifest line."""
    return section_frame(shape(format), section, line_numbers).texts


def parse(text: str | bytes) -> Pack:
    """Parse a pack: the exact inverse of `render`. Detect the format; raise RefusedError if the
    pack was changed.

    Costs and findings are not part of the text, so the result lacks them. Read the text without
    newline translation."""
    try:
        data = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        raise RefusedError(
            f"the pack is damaged: it is not Unicode text ({error.reason})"
        ) from None
    format = recognized(data)
    if format is None:
        raise UsageError(
            "this is not a sutler pack that can be read back",
            rule=f"these can: {', '.join(FORMATS)}, whole as `sutler pack` writes them, and "
            "the json"
            " and msgpack of --type and --task; a summary in markdown and a task's prompt are text"
            " for a reader",
            next_step="give the whole file that `sutler pack -o` wrote, in one of these formats",
        )
    return shape(format).read(data)


def require_unicode(name: str, text: str) -> None:
    """Raise UsageError for text with lone surrogates, which come from command line bytes that are
    not UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the {name} holds something that is not Unicode text, at character {error.start}",
            rule="everything that leaves is UTF-8",
            next_step=f"give the {name} in UTF-8",
        ) from None
