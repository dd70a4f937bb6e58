"""Exports, imports and definitions of a source file, from the one symbol extractor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from sutler.languages import Language, language_named
from sutler.languages.extract import Structure, structure_of
from sutler.languages.facts import Import, Symbol
from sutler.languages.outline import Line, outline
from sutler.languages.shapes import Shape, imports_in, shapes_in
from sutler.survey.evidence import one_line, tame
from sutler.survey.subjects import subject_outline

MAX_NAMES = 40
MAX_OUTLINE = 120
LONG_FUNCTION = 60
_MAX_DEFINITIONS = 500
_INLINE_TEST = re.compile(r"(?:pub )?(?:mod tests?\b|(?:async )?fn test_)")
_KINDS = ("class", "type", "function", "method")


class Definition(Struct, frozen=True):
    """A function or type, 1-based lines inclusive; `end` is 0 if only the start is known."""

    kind: str
    name: str
    line: int
    end: int = 0

    @property
    def length(self) -> int:
        return self.end - self.line + 1 if self.end else 0


class CodeFacts(Struct, frozen=True):
    """`doc` is the first sentence of the file's own comment or docstring."""

    lines: int = 0
    doc: str = ""
    exports: tuple[str, ...] = ()
    imports: tuple[str, ...] = ()
    definitions: tuple[Definition, ...] = ()
    outline: tuple[str, ...] = ()


def code_facts(path: str, text: str) -> CodeFacts:
    """Return the facts of a text, by its language's grammar, else by the shape of its lines."""
    facts = structure_of(path, text)
    language = facts.language
    doc = _opening(language, tame(text))
    if language is None or not language.programming:
        return CodeFacts(
            lines=_count_lines(text), doc=doc, outline=_outlined(subject_outline(path, text))
        )
    if language.grammar is None:
        return _by_shape(language, text, doc)
    exports = language.grammar.exports(facts.symbols, text.split("\n"))
    return CodeFacts(
        lines=_count_lines(text),
        doc=doc,
        exports=tuple(dict.fromkeys(exports))[:MAX_NAMES],
        imports=tuple(sorted({name for item in facts.imports for name in _modules(item)})),
        definitions=_definitions(facts),
        outline=_outlined(_untested(outline(replace(facts, imports=()), text), language)),
    )


def _untested(lines: Iterable[Line], language: Language) -> Iterator[Line]:
    """Yield the lines that are not part of inline tests, as Rust has them."""
    depth = -1
    for line in lines:
        if 0 <= depth < line.depth:
            continue
        inside = language.tests.inline and _INLINE_TEST.match(line.text)
        depth = line.depth if inside else -1
        if not inside:
            yield line


def _outlined(lines: Iterable[Line]) -> tuple[str, ...]:
    """Format outline lines for the summary: line number, indentation, content."""
    return tuple(f"{line.number}: {'  ' * line.depth}{line.text}" for line in lines)[:MAX_OUTLINE]


def _count_lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _modules(item: Import) -> tuple[str, ...]:
    """Return the modules of an import without the names taken from them: `from a import b` needs
    `a`."""
    first = item.targets[0] if item.targets else ""
    if first and not first.strip("."):  # `from . import b` needs `.b`
        return item.targets[1:]
    inner = tuple(f"{first}{separator}" for separator in (".", "::", "\\"))
    return tuple(target for target in item.targets if not target.startswith(inner))


def _definitions(facts: Structure) -> tuple[Definition, ...]:
    """Return top-level functions and types, and the direct members of types."""
    rows: list[Definition] = []
    for symbol in facts.symbols:
        outer = facts.symbols[symbol.parent] if symbol.parent >= 0 else None
        if symbol.kind in _KINDS and (outer is None or _is_open(outer, facts.symbols)):
            kind = "class" if symbol.kind in ("class", "type") else "function"
            name = symbol.name if outer is None else f"{outer.name}.{symbol.name}"
            rows.append(Definition(kind, name, symbol.start, symbol.end))
    return tuple(rows[:_MAX_DEFINITIONS])


def _is_open(outer: Symbol, symbols: tuple[Symbol, ...]) -> bool:
    """Return whether the members of a symbol are shown: those of top-level types, and of
    modules."""
    return outer.kind == "module" or (
        outer.kind == "class" and (outer.parent < 0 or symbols[outer.parent].kind == "module")
    )


def _by_shape(language: Language, text: str, doc: str) -> CodeFacts:
    lines = _count_lines(text)
    shapes = [shape for shape in shapes_in(language, text) if shape.name]
    return CodeFacts(
        lines=lines,
        doc=doc,
        exports=tuple(dict.fromkeys(shape.name for shape in shapes))[:MAX_NAMES],
        imports=tuple(sorted(imports_in(language, text))),
        definitions=tuple(_spans(shapes[:_MAX_DEFINITIONS], text.split("\n"))),
        outline=_outlined(Line(shape.line, shape.depth, shape.text) for shape in shapes),
    )


def _spans(shapes: Sequence[Shape], lines: Sequence[str]) -> Iterator[Definition]:
    """Yield each definition with its end, by the indentation of the lines below it."""
    for shape in shapes:
        indent = _indent(lines[shape.line - 1])
        end = shape.line
        for number, line in enumerate(lines[shape.line :], shape.line + 1):
            if line.startswith(f"{shape.name} "):  # an equation below its signature
                end = number
            elif line.strip() and _indent(line) <= indent:
                closes = _indent(line) == indent and re.match(r"\s*(?:end\b|[})\]])", line)
                end = number if closes else end
                break
            end = number if line.strip() else end
        yield _definition(shape, end)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _definition(shape: Shape, end: int) -> Definition:
    kind = (
        "function"
        if re.fullmatch(
            r"def(?:p|n|macro)?|fn|func|function\*?|sub|proc|const|let|member|[-+]", shape.kind
        )
        else "class"
    )
    return Definition(kind, shape.name, shape.line, end)


_DOCSTRING = re.compile(r"(?:#[^\n]*\n|\s)*[rRuU]?(\"\"\"|'''|\"|')(.*?)\1", re.DOTALL)
_LICENCE = re.compile(
    r"copyright|licen[sc]e|spdx|all rights"
    r" reserved|eslint|prettier|ts-check|-\*-|vim:|coding[:=]|pragma|rubocop|shellcheck"
    r"|^typed: |this file is part of|frozen_string_literal"
    r"|^\$\w+\b[^$]*\$|^(?:todo|fixme|xxx)\b|auto-?generated",
    re.IGNORECASE,
)
_BEFORE = ("#!", "package ", "<?php", '"use')


def _opening(language: Language | None, text: str) -> str:
    """Return the first sentence of the docstring or of the comment that a file opens with."""
    if language is not None and language.grammar is not None and language.grammar.docstrings:
        match = _DOCSTRING.match(text[:20_000])
        return sentence(match[2].strip().split("\n\n")[0]) if match else ""
    return _leading_comment(language, text)


@lru_cache(maxsize=64)
def _comment_line(language: Language) -> re.Pattern[str] | None:
    """Compile the pattern of a comment line, with its text as the only group."""
    starts = [rf"{re.escape(mark)}+[/!]?" for mark in language.comments.line]
    for opens, closes in language.comments.block:
        starts += [rf"{re.escape(opens)}[*!]?", rf"\*(?!{re.escape(closes[1:])})"]
    ends = "|".join(re.escape(closes) for _, closes in language.comments.block) or r"\Z"
    # `#!` starts a script and `#[` an attribute: neither is a comment in any language.
    return (
        re.compile(rf"\s*(?!#[!\[])(?:{'|'.join(starts)})\s?(.*?)(?:{ends})?\s*$")
        if starts
        else None
    )


def _leading_comment(language: Language | None, text: str) -> str:
    """Return the first sentence of the comment a file opens with, the licence skipped."""
    pattern = _comment_line(language) if language is not None else None
    block: list[str] = []
    for line in text.splitlines()[:60] if pattern is not None else ():
        match = pattern.match(line[:400]) if pattern is not None else None
        content = match[1].strip() if match else ""
        if re.search(r"\w", content):
            block.append(content)
        elif block and not content:
            if not _LICENCE.search(" ".join(block)):
                return sentence(" ".join(block))
            block = []
        elif line.strip() and match is None and not line.startswith(_BEFORE):
            break
    return sentence(" ".join(block)) if block and not _LICENCE.search(" ".join(block)) else ""


def sentence(text: str) -> str:
    """Return the first sentence, on one line."""
    line = one_line(text, 400)
    match = re.match(r".+?[.!?](?=\s|$)", line)
    return one_line(match.group() if match else line, 200)


_STRINGS = (
    r'"""(?:[^\\]|\\.)*?"""|\'\'\'(?:[^\\]|\\.)*?\'\'\''
    r'|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`(?:[^`\\]|\\.)*`'
)


@lru_cache(maxsize=64)
def _tokens(language: str) -> re.Pattern[str]:
    row = language_named(language)
    comments = row.comments if row is not None else None
    parts = [
        rf"{re.escape(opens)}.*?(?:{re.escape(closes)}|\Z)"
        for opens, closes in (comments.block if comments else ())
    ]
    parts += [rf"{re.escape(mark)}[^\n]*" for mark in (comments.line if comments else ())]
    comment = "|".join(parts) or r"(?!)"
    strings = (
        _STRINGS.replace("|\\'(?:[^\\'", "|(?<![\\w&<])\\'(?:[^\\'")
        if language == "rust"
        else _STRINGS
    )
    if language == "shell":  # a backtick opens a command there
        strings = strings.split("|`")[0]
    return re.compile(rf"(?P<comment>{comment})|(?P<string>{strings})", re.DOTALL)


def stripped(text: str, language: str) -> tuple[str, str]:
    """Return the text without comments and docstrings, and the same without strings. Lines stay in
    place."""
    pattern = _tokens(language)
    docstrings = language in ("python", "cython", "elixir")

    uncommented: list[str] = []
    bare: list[str] = []
    at = 0
    for match in pattern.finditer(text):
        between, token = text[at : match.start()], match.group()
        at = match.end()
        blank = _NO_LINE_END.sub(" ", token)
        if match["comment"] is not None:
            uncommented += (between, blank)
            bare += (between, blank)
            continue
        triple = docstrings and token.startswith(('"""', "'''"))
        uncommented += (between, blank if triple else token)
        bare += (between, token if len(token) < 3 else token[0] + blank[1:-1] + token[0])
    return "".join([*uncommented, text[at:]]), "".join([*bare, text[at:]])


_NO_LINE_END = re.compile(r"[^\n]")
