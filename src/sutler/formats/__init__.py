"""Pack to text and back: `parse("".join(render(...)))` gives the pack again, whatever its files
hold.

`FORMATS` is the table of output formats: a format is one module that satisfies `Shape`, and one row
here. Settings,
--format, file endings, `unpack` and the report all ask this table.

Everything streams: `render` holds one body at a time, and the manifest's lines. `shape(format)`
gives the pieces themselves, so that their cost can be counted before the pack is rendered.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from sutler.errors import RefusedError, UsageError
from sutler.formats import claude, json, markdown, plain, xml
from sutler.formats.assembly import (
    Framed,
    LateListing,
    SectionFrame,
    Shape,
    assemble,
    dress,
    frame_of,
    line_of,
    numbered,
)
from sutler.formats.document import Format, Pack, Preamble, Run, Section

if TYPE_CHECKING:
    from sutler.formats.split import group, merge, portion

__all__ = [
    "FORMATS",
    "Framed",
    "SectionFrame",
    "Shape",
    "assembled",
    "encoded",
    "frame_text",
    "group",
    "joined",
    "merge",
    "parse",
    "portion",
    "recognized",
    "render",
    "require_unicode",
    "section_frame",
    "section_text",
    "shape",
]


def table(*modules: Shape) -> Mapping[str, Shape]:
    """The formats by name. A module that lacks a part of `Shape`, or repeats a name or an ending,
    is a TypeError.
    """
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


def __getattr__(name: str) -> object:
    """Load the module that splits packs when one of its names is first used."""
    if name in ("group", "merge", "portion"):
        from sutler.formats import split

        return getattr(split, name)
    raise AttributeError(f"module 'sutler.formats' has no attribute '{name}'")


def shape(format: Format) -> Shape:
    """The pieces of which a pack of this format is the concatenation."""
    return FORMATS[format]


def recognized(data: bytes) -> Format | None:
    """The name of the format that a file is a pack of, by how it begins."""
    return next((name for name, module in FORMATS.items() if module.recognizes(data)), None)


def render(
    preamble: Preamble,
    sections: Iterable[Section],
    listing: LateListing,
    *,
    format: Format,
    line_numbers: bool = False,
) -> Generator[str, None, str]:
    """The pack's text, piece by piece: `encoded` for those who want to read it."""
    pieces = encoded(preamble, sections, listing, format=format, line_numbers=line_numbers)
    while True:
        try:
            run = next(pieces)
        except StopIteration as stop:
            return str(stop.value)
        yield b"".join(run).decode()


def section_frame(section: Section, format: Format, line_numbers: bool = False) -> SectionFrame:
    """A section with its frame."""
    return dress(shape(format), section, line_numbers)


def joined(sections: Iterable[SectionFrame], format: Format) -> Framed:
    """Sections between their frames, ready for `assembled`. At least one."""
    return frame_of(shape(format), sections)


def encoded(
    preamble: Preamble,
    sections: Iterable[Section],
    listing: LateListing,
    *,
    format: Format,
    line_numbers: bool = False,
) -> Generator[Run, None, str]:
    """`assembled` from sections, one body in memory at a time."""
    frames = (
        joined([section_frame(section, format, line_numbers)], format) for section in sections
    )
    return assembled(preamble, frames, listing, format=format, line_numbers=line_numbers)


def assembled(
    preamble: Preamble,
    sections: Iterable[Framed],
    listing: LateListing,
    *,
    format: Format,
    line_numbers: bool = False,
) -> Generator[Run, None, str]:
    """The pack in UTF-8, run by run. `listing` may be a function: it is called after the last
    section. Returns the digest in the ending, which identifies the pack.

    Text must be Unicode that UTF-8 can carry; paths and the project's name may hold surrogates.
    """
    require_unicode("goal", preamble.goal.text)
    require_unicode("tree", preamble.tree.text)
    require_unicode("header", preamble.header.text)
    require_unicode("instructions", preamble.instructions.text)
    seal = sha256()
    for run, frames in assemble(shape(format), preamble, sections, listing, line_numbers):
        seal.update(frames)
        yield run
    digest = seal.hexdigest()
    yield (shape(format).ending(digest).encode(),)
    return digest


def section_text(section: Section, format: Format, line_numbers: bool = False) -> tuple[str, str]:
    """What a section adds to the pack: its framed body, and its line in the manifest. Glue comes on
    top.
    """
    pieces = shape(format)
    head, tail = pieces.frame(section)
    text = numbered(section.body.text, section.spans) if line_numbers else section.body.text
    return f"{head}{pieces.shown(text)}{tail}", pieces.manifest_line(line_of(section))


def frame_text(
    done: SectionFrame, section: Section, format: Format, line_numbers: bool = False
) -> tuple[str, str]:
    """As `section_text`, of a section that has its frame already."""
    if shape(format).VERBATIM and not line_numbers:
        return f"{done.head}{section.body.text}{done.tail}", done.line
    return f"{done.head}{str(done.body, 'utf-8')}{done.tail}", done.line


def parse(text: str | bytes) -> Pack:
    """The exact inverse of `render`; finds out the format by itself and refuses a pack that was
    changed.

    Costs and findings never leave, so the result equals what was rendered without them.
    Read the text without newline translation.
    """
    try:
        data = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        raise RefusedError(
            f"the pack is damaged: it is not Unicode text ({error.reason})"
        ) from None
    format = recognized(data)
    if format is None:
        raise UsageError(
            "this is not a sutler pack",
            rule=f"a pack starts as `sutler pack` writes it, in one of {', '.join(FORMATS)}",
            next_step="give the whole file that `sutler pack -o` wrote",
        )
    return shape(format).read(data)


def require_unicode(name: str, text: str) -> None:
    """Refuse text with lone surrogates, which come from bytes of the command line that are no
    UTF-8.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the {name} holds something that is not Unicode text, at character {error.start}",
            rule="everything that leaves is UTF-8",
            next_step=f"give the {name} in UTF-8",
        ) from None
