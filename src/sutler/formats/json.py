"""JSON: one object, streamed in the order in which it is built. Valid for any content.

White space outside of strings does not matter: a reformatted pack is the same pack."""

from __future__ import annotations

from hashlib import sha256

from msgspec import DecodeError, Raw, Struct
from msgspec.json import decode, encode

from sutler.errors import UsageError
from sutler.formats import assembly
from sutler.formats.document import CleanText, Level, Listing, Pack, Part, Preamble, Section
from sutler.paths import RelPath, quote, unquote

NAME = "json"
ENDING = ".json"
DESCRIPTION = "one object, for programs"
GLUE = ",\n"
VERBATIM = False
_BEGINNING = 4096  # bytes that hold the field `about`


class ShownFile(Struct, frozen=True, forbid_unknown_fields=True):
    path: str
    text: str
    lines: str = ""


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
    header: str = ""
    instructions: str = ""


def _about(preamble: Preamble, line_numbers: bool) -> str:
    return " ".join(assembly.about(preamble, line_numbers))


def opening(preamble: Preamble, line_numbers: bool) -> str:
    fields = {
        "schema_version": assembly.VERSION,
        "about": _about(preamble, line_numbers),
        "project": quote(preamble.project),
        "part": (preamble.part.number, preamble.part.total),
        "tree": preamble.tree.text,
    }
    if preamble.header.text:
        fields["header"] = preamble.header.text
    return _text(fields)[:-1] + ',\n"files":[\n'


def around(name: str, level: Level, language: str, body: assembly.Body) -> tuple[str, str]:
    del level, language
    lines = f'"lines":{_text(body.lines)},' if body.lines else ""
    return f'{{"path":{_text(name)},{lines}"text":"', '"}'


def shown(text: str) -> str:
    return _text(text)[1:-1]


def listing_line(path: RelPath) -> str:
    return _text(quote(path))


def closing(preamble: Preamble, listing: Listing, line_numbers: bool) -> str:
    names = GLUE.join(map(listing_line, listing.paths))
    title = assembly.as_json(assembly.title_of(preamble, listing, line_numbers))
    own = preamble.instructions.text
    instructions = f'"instructions":{_text(own)},\n' if own else ""
    return (
        f'\n],\n"not_shown":[\n{names}\n],\n"unnamed":{listing.unnamed},\n'
        f'"goal":{_text(preamble.goal.text)},\n'
        f'{instructions}"manifest":[\n{title}'
    )


def manifest_line(line: assembly.Line) -> str:
    return GLUE + assembly.as_json(line)


def ending(digest: str) -> str:
    return f'\n],\n"digest":"{digest}"}}\n'


def recognizes(data: bytes) -> bool:
    return data.lstrip().startswith(b"{")


def read(data: bytes) -> Pack:
    """Parse a json pack. The same values with other white space or escapes are the same pack."""
    from sutler.formats import json, parser  # only commands that read packs load the parser

    document = _document(data)
    title, lines = parser.entries([bytes(raw) for raw in document.manifest])
    numbers = title.line_numbers
    if len(lines) != len(document.files):
        parser.damaged(f"its manifest names {len(lines)} files and it holds {len(document.files)}")
    goal, tree = CleanText(document.goal), CleanText(document.tree)
    preamble = Preamble(
        unquote(document.project),
        goal,
        tree,
        Part(*document.part),
        CleanText(document.header),
        CleanText(document.instructions),
        title.transforms,
    )
    sections = tuple(_section(*pair, numbers) for pair in zip(lines, document.files, strict=True))
    listing = Listing(
        tuple(RelPath(unquote(path)) for path in document.not_shown),
        document.unnamed,
        title.expected,
        title.next,
        title.abstained,
        title.companions,
    )
    seal = sha256()
    # Rendered again: the digest then holds for the values, whatever white space stands between.
    frames = [assembly.section_frame(json, section, numbers) for section in sections]
    framed = [assembly.joined(json, frames)] if sections else []
    for _, sealed in assembly.assemble(json, preamble, framed, listing, numbers):
        seal.update(sealed)
    fixed = (document.schema_version, document.about, title)
    again = assembly.title_of(preamble, listing, numbers)
    if fixed != (assembly.VERSION, _about(preamble, numbers), again):
        parser.damaged("its first fields differ from what its manifest says")
    parser.compare(parser.UNDER_SEAL, document.digest, seal.hexdigest())
    return Pack(preamble, sections, listing, numbers)


def _document(data: bytes) -> Document:
    from sutler.formats.parser import damaged

    if b"This is a sutler pack" not in data[:_BEGINNING]:  # every pack begins with ABOUT
        raise UsageError(
            "this is not a pack that can be taken apart",
            rule="only what `sutler pack` renders without --type or --task holds whole files",
            next_step=(
                "a document of --type or --task is read by `sutler verify` and `sutler diff-packs`"
            ),
        )
    try:
        return decode(data, type=Document)
    except (DecodeError, ValueError, RecursionError) as error:
        damaged(f"it is not the JSON object of a pack: {quote(str(error))}")


def _section(line: assembly.Line, file: ShownFile, line_numbers: bool) -> Section:
    from sutler.formats.parser import damaged, section_of, unnumbered

    if (file.path, file.lines) != (line.path, line.lines or ""):
        damaged(f"{quote(file.path)} stands where the manifest says {line.path}")
    raw = file.text.encode()
    if line_numbers:
        raw, end = unnumbered(raw, 0, line)
        if end != len(file.text.encode()):
            damaged(f"{line.path} is longer than the {line.length} bytes that the manifest says")
    return section_of(line, raw)


def _text(value: object) -> str:
    return encode(value).decode()
