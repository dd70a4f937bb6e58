"""Outline of a file: imports, signatures, members and first doc lines, each with its line number.

An outline is cut from the text that leaves, never from the facts, so that redacted parts stay
redacted; the facts only locate the lines. Redaction keeps the number of lines, so the two agree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from sutler.languages.extract import Structure, structure_of
from sutler.languages.facts import Facts, Symbol
from sutler.languages.shapes import shapes_in

_SPACES = re.compile(r"\s+")
_MAX_SIGNATURE = 300  # parameters of generated code would be longer than its body
_MAX_VALUE = 70  # a constant's name matters more than its table
_MAX_DOC = 90  # the first sentence, on one line
_HEADS_ONLY = frozenset({"constant", "field", "macro", "type"})


class Line(Struct, frozen=True, gc=False):
    """One line of an outline: its number in the file, its depth, and its text."""

    number: int
    depth: int
    text: str


def outline_of(path: str, text: str) -> tuple[Line, ...]:
    """Return the outline of a text by its language's grammar, else by the shape of its lines."""
    structure = structure_of(path, text)
    lines = outline(structure, text)
    if lines:
        return lines
    return tuple(
        Line(shape.line, shape.depth, shape.text) for shape in shapes_in(structure.language, text)
    )


def outline(facts: Facts | Structure, text: str) -> tuple[Line, ...]:
    """Return the outline of a text in file order. Facts of another text yield lines of this one, or
    none."""
    lines = text.split("\n")
    entries = [
        Line(item.line, 0, content)
        for item in facts.imports
        if (content := _import(item.text, item.line, lines))
    ]
    hidden = _locals(facts.symbols)
    seen: set[tuple[int, str]] = set()
    for i, symbol in enumerate(facts.symbols):
        if i in hidden or symbol.start > len(lines):
            continue
        content = _show(symbol, lines)
        if content and (symbol.start, content) not in seen:
            seen.add((symbol.start, content))
            entries.append(Line(symbol.start, _depth(symbol, facts.symbols), content))
    return tuple(sorted(entries, key=lambda line: line.number))


def render_outline(lines: tuple[Line, ...]) -> str:
    """Format outline lines: line number, indentation, content."""
    return "".join(f"{line.number}: {'  ' * line.depth}{line.text}\n" for line in lines)


def _import(raw: str, number: int, lines: list[str]) -> str:
    """Return an import as the text has it now, joined over its lines until it is complete."""
    joined = ""
    for line in lines[number - 1 : number + 60]:
        joined = f"{joined} {line.strip()}".strip()
        if len(_SPACES.sub(" ", joined)) >= len(raw):
            break
    return _SPACES.sub(" ", joined).replace("( ", "(").replace(", )", ")").rstrip(";")


def _locals(symbols: tuple[Symbol, ...]) -> frozenset[int]:
    """Return the symbols inside functions, which no outline shows."""
    hidden: set[int] = set()
    for i, symbol in enumerate(symbols):
        if symbol.parent >= 0 and (
            symbol.parent in hidden or symbols[symbol.parent].kind in ("function", "method")
        ):
            hidden.add(i)
    return frozenset(hidden)


def _depth(symbol: Symbol, symbols: tuple[Symbol, ...]) -> int:
    depth = 0
    while symbol.parent >= 0:
        symbol = symbols[symbol.parent]
        depth += 1
    return depth


def _show(symbol: Symbol, lines: list[str]) -> str:
    if symbol.kind in _HEADS_ONLY:
        return _head(lines[symbol.start - 1])
    last = min(symbol.body - 1, symbol.start + 40, len(lines))
    if symbol.kind in ("class", "module") and symbol.body > symbol.end:
        last = (
            symbol.start
        )  # no body that the grammar names: the members follow as symbols of their own
    signature = _SPACES.sub(
        " ", " ".join(_code_lines(lines, symbol.start, max(last, symbol.start)))
    ).strip()
    signature = signature.replace("( ", "(").replace(", )", ")")
    if len(signature) > _MAX_SIGNATURE:
        signature = signature[:_MAX_SIGNATURE] + "…"
    signature = signature.rstrip(" {").removesuffix(":")
    return signature + _doc(symbol, lines)


def _head(line: str) -> str:
    head = _SPACES.sub(" ", line).strip().rstrip(" {,;")
    return head if len(head) <= _MAX_VALUE else head[:_MAX_VALUE] + "…"


def _code_lines(lines: list[str], start: int, last: int) -> Iterator[str]:
    """Yield a signature's lines; short decorators stay, since they often define what a function
    does."""
    for line in lines[start - 1 : last]:
        if not line.lstrip().startswith(("#", "//")):
            yield line.strip()


def _doc(symbol: Symbol, lines: list[str]) -> str:
    """Return the doc line if the text still holds it near the definition."""
    if not symbol.doc:
        return ""
    near = "\n".join(lines[max(0, symbol.start - 41) : symbol.body + 2])
    if symbol.doc not in near:
        return ""
    doc = symbol.doc if len(symbol.doc) <= _MAX_DOC else symbol.doc[:_MAX_DOC] + "…"
    return f"  # {doc}"
