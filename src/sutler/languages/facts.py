"""Facts of one file from its parse, as a ranking uses them.

`Facts` depend on the content alone (and on the language by its name), so they are cached by content
digest and the version of the languages' sources. They are array-like in MessagePack: names of
fields cost nothing there."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SymbolKind = Literal["class", "function", "method", "field", "constant", "type", "module", "macro"]

ParseStatus = Literal[
    "parsed",  # a grammar read all of it
    "partial",  # a grammar read it, with syntax errors
    "plain",  # no grammar for this kind of file: words only
    "minified",  # lines too long for hand-written code: words only
    "too_large",  # above the size cap: words of the head only
    "timeout",  # the parser gave up at the time cap: words only
    "failed",  # the grammar is missing or refused the text: words only
]


class Symbol(Struct, frozen=True, gc=False, array_like=True):
    """A definition. Lines are 1-based and inclusive; `start` includes decorators; `body` is the
    first line of the body (or `end` + 1 without one); `parent` is the index of the enclosing
    symbol, or -1."""

    name: str
    kind: SymbolKind
    signature: str
    doc: str
    start: int
    end: int
    body: int
    parent: int = -1


class Import(Struct, frozen=True, gc=False, array_like=True):
    """An import as written (whitespace collapsed), and the names of its modules or files."""

    text: str
    line: int
    targets: tuple[str, ...]


RegionKind = Literal["head", "function", "class", "gap", "doc"]
"""`doc` is a definition's head with a long documentation text; packs cut it off, and the index
never holds one."""


class Region(Struct, frozen=True, gc=False, array_like=True):
    """A range of lines that makes sense alone: a function, a class's head, the top of a file, or
    the lines between. `terms` holds the sorted CRC-32 of each of its terms, four bytes each: enough
    to check for a term without the text."""

    start: int
    end: int
    kind: RegionKind
    name: str = ""
    terms: bytes = b""


class Facts(Struct, frozen=True, array_like=True):
    """Result of a parse. `terms` maps a normalised term to packed counts: body | symbols << 8 |
    docs << 16, each at most 255. A whole identifier of several words is a term of its own, so
    `terms` also shows references. `phrases` are word triples inside string literals, which locate
    an error message. `regions` cover every line once, in order."""

    version: int
    language: str
    status: ParseStatus
    lines: int
    chars: int
    terms: dict[str, int]
    phrases: tuple[str, ...]
    symbols: tuple[Symbol, ...]
    imports: tuple[Import, ...]
    regions: tuple[Region, ...]


NO_FACTS = Facts(0, "", "failed", 0, 0, {}, (), (), (), ())
"""Facts of a text that is not available."""
