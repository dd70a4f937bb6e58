"""Pack to text and back: `parse("".join(render(...)))` gives the pack again, whatever its files hold.

Everything streams: `render` holds one body at a time, and the manifest's lines. `shape(format)` gives the
pieces themselves, so that their cost can be counted before the pack is rendered.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, cast

from sutler.stages.render.pieces import (
    Dressed,
    Framed,
    LateListing,
    Shape,
    assemble,
    dress,
    form_of,
    frame_of,
    line_of,
    numbered,
)
from sutler.values.errors import RefusedError, UsageError
from sutler.values.pack import Form, Format, Pack, Preamble, Run, Section

if TYPE_CHECKING:
    from sutler.stages.render.split import group, merge, portion

__all__ = [
    "Dressed",
    "Framed",
    "Shape",
    "assembled",
    "dressed",
    "dressed_text",
    "encoded",
    "form",
    "framed",
    "group",
    "merge",
    "parse",
    "portion",
    "render",
    "require_unicode",
    "section_text",
    "shape",
]


def __getattr__(name: str) -> object:
    """Splitting is rare: its module waits until somebody asks."""
    if name in ("group", "merge", "portion"):
        from sutler.stages.render import split

        return getattr(split, name)
    raise AttributeError(f"module 'sutler.stages.render' has no attribute '{name}'")


@cache
def shape(format: Format) -> Shape:
    """The pieces of which a pack of this format is the concatenation. One format is loaded, not all."""
    from importlib import import_module

    return cast("Shape", import_module(f"sutler.stages.render.{format}"))


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


def dressed(section: Section, format: Format, line_numbers: bool = False) -> Dressed:
    """A section with its frame."""
    return dress(shape(format), section, line_numbers)


def framed(sections: Iterable[Dressed], format: Format) -> Framed:
    """Sections between their frames, ready for `assembled`. At least one."""
    return frame_of(shape(format), sections)


@lru_cache(maxsize=1 << 10)  # languages and reasons repeat
def form(format: Format, language: str, executable: bool, reason: str) -> Form | None:
    """How whole files of a kind stand in a pack, if they can be shown as they lie there."""
    return form_of(shape(format), language, executable, reason)


def encoded(
    preamble: Preamble,
    sections: Iterable[Section],
    listing: LateListing,
    *,
    format: Format,
    line_numbers: bool = False,
) -> Generator[Run, None, str]:
    """`assembled` from sections, one body in memory at a time."""
    frames = (framed([dressed(section, format, line_numbers)], format) for section in sections)
    return assembled(preamble, frames, listing, format=format, line_numbers=line_numbers)


def assembled(
    preamble: Preamble,
    sections: Iterable[Framed],
    listing: LateListing,
    *,
    format: Format,
    line_numbers: bool = False,
) -> Generator[Run, None, str]:
    """The pack in UTF-8, run by run. `listing` may be a function: it is called after the last section. Returns
    the digest in the ending, which identifies the pack.

    Text must be Unicode that UTF-8 can carry; paths and the project's name may hold surrogates.
    """
    require_unicode("goal", preamble.goal.text)
    require_unicode("tree", preamble.tree.text)
    seal = sha256()
    for run, frames in assemble(shape(format), preamble, sections, listing, line_numbers):
        seal.update(frames)
        yield run
    digest = seal.hexdigest()
    yield (shape(format).ending(digest).encode(),)
    return digest


def section_text(section: Section, format: Format, line_numbers: bool = False) -> tuple[str, str]:
    """What a section adds to the pack: its framed body, and its line in the manifest. Glue comes on top."""
    pieces = shape(format)
    head, tail = pieces.frame(section)
    text = numbered(section.body.text) if line_numbers else section.body.text
    return f"{head}{pieces.shown(text)}{tail}", pieces.manifest_line(line_of(section))


def dressed_text(done: Dressed, section: Section, format: Format, line_numbers: bool = False) -> tuple[str, str]:
    """As `section_text`, of a section that has its frame already."""
    if shape(format).VERBATIM and not line_numbers:
        return f"{done.head}{section.body.text}{done.tail}", done.line
    return f"{done.head}{str(done.body, 'utf-8')}{done.tail}", done.line


def parse(text: str | bytes) -> Pack:
    """The exact inverse of `render`; finds out the format by itself and refuses a pack that was changed.

    Costs and findings never leave, so they do not come back: the result equals `values.pack.as_sent` of
    what was rendered. Read the text without newline translation.
    """
    from sutler.stages.render import markdown, xml
    from sutler.stages.render.reading import read_json, read_text

    try:
        data = text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError as error:
        raise RefusedError(f"the pack is damaged: it is not Unicode text ({error.reason})") from None
    if data.startswith(markdown.SIGNATURE.encode().rstrip()):
        return read_text(data, markdown)
    if data.startswith(xml.SIGNATURE.encode().rstrip()):
        return read_text(data, xml)
    if data.lstrip().startswith(b"{"):
        return read_json(data)
    raise UsageError(
        "this is not a sutler pack",
        rule="a pack starts as `sutler pack` writes it, in markdown, xml or json",
        next_step="give the whole file that `sutler pack -o` wrote",
    )


def require_unicode(name: str, text: str) -> None:
    """Refuse text with lone surrogates, which come from bytes of the command line that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the {name} holds something that is not Unicode text, at character {error.start}",
            rule="everything that leaves is UTF-8",
            next_step=f"give the {name} in UTF-8",
        ) from None
