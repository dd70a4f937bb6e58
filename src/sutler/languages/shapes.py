"""Fallback without a tree-sitter grammar: definitions and imports by the shape of single lines.

Patterns are anchored and hold no nested repetition, so that each is linear in its line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from sutler.languages.base import Language, Shapes

_LONGEST = 160
_SCANNED = 400  # characters of a line that are matched
_MOST = 5_000  # a log that looks like headings must not become an outline of itself
_DEEPEST = 8  # indentation of data is no structure

CODE = Shapes(
    definition=(
        r"(?:export |default |pub(?:\([a-z]+\))? |public |private |protected |internal |"
        r"static |abstract |final |"
        r"async |unsafe |extern |override |virtual |inline |constexpr |sealed |partial |open"
        r" |data )*"
        r"(?:(?P<kind>def|class|fn|func|function\*?|interface|struct|enum|trait|"
        r"impl|type|module|namespace|mod|"
        r"macro_rules!|package|object|record|protocol|extension|union|contract|"
        r"sub|proc|defmodule|defp|defmacro)"
        r"[ (<] ?(?P<name>[\w.:$?!]*)|const (?P<constant>[A-Za-z_$][\w$]*) = (?:async )?\()"
    ),
    depth="indent",
    imports=(r"[ \t]*(?:import|use|using|require|open|include)\s+['\"]?([\w./:\\-]+)",),
)
HEADINGS = Shapes(definition=r"(?P<kind>#{1,6}) (?P<name>\S.*)", depth="heading")
SECTIONS = Shapes(definition=r"(?P<kind>\[{1,2})(?P<name>[^\[\]]+)\]{1,2}\s*$", depth="flat")


class Shape(Struct, frozen=True, gc=False):
    """A line that looks like a definition or a heading; `depth` counts from 0."""

    line: int
    depth: int
    kind: str
    name: str
    text: str


def shapes_in(language: Language | None, text: str) -> tuple[Shape, ...]:
    """Return the structural lines of a text. A file of no known language is read as code."""
    rule = CODE if language is None else language.shapes or (CODE if language.programming else None)
    return () if rule is None else shapes_of(rule, text)


def shapes_of(rule: Shapes, text: str) -> tuple[Shape, ...]:
    """Return the lines of a text that match a rule."""
    return tuple(_matches(rule, text))


def _matches(rule: Shapes, text: str) -> Iterator[Shape]:
    pattern = re.compile(rule.definition)
    fenced, count = False, 0
    for number, line in enumerate(text.split("\n"), 1):
        if rule.depth == "heading":
            fenced ^= line.startswith(("```", "~~~"))
            body = "" if fenced else line
        else:
            body = line.lstrip() if rule.depth == "indent" else line
        match = pattern.match(body[:_SCANNED]) if body else None
        if match is None:
            continue
        groups = match.groupdict()
        kind, name = groups["kind"] or "const", groups["name"] or groups.get("constant") or ""
        depth = {"indent": (len(line) - len(body)) // 2, "heading": len(kind) - 1, "flat": 0}
        yield Shape(number, min(depth[rule.depth], _DEEPEST), kind, name, body.strip()[:_LONGEST])
        count += 1
        if count >= _MOST:
            return


def imports_in(language: Language | None, text: str) -> list[str]:
    """Return the modules that import lines of a text name, in the order of the text, each once."""
    rule = None if language is None else language.shapes
    patterns = [re.compile(pattern) for pattern in (rule.imports if rule is not None else ())]
    names: dict[str, None] = {}
    for line in text.split("\n") if patterns else ():
        for pattern in patterns:
            match = pattern.match(line[:_SCANNED])
            if match is not None:
                names[match.group(1)] = None
                break
    return list(names)
