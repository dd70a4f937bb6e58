"""A file's structure without a parser: definitions and headings, each with its line. Replaceable by a better finder."""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from sutler.values.paths import extension

VERSION = "outline-1"
_LONGEST = 160


class Symbol(Struct, frozen=True, gc=False):
    """One line of an outline; `level` is how deep it stands, from 0."""

    line: int
    level: int
    text: str


Outline = Callable[[str, str], tuple[Symbol, ...]]
"""Path and clean text to symbols in the order of their lines."""


class Teller(Struct, frozen=True):
    """Who says in words what a clean text holds, in so many tokens; with nothing to say the structure speaks. The name
    is part of every summary's cache key."""

    name: str
    tell: Callable[[str, int], str]


SILENT = Teller("", lambda _text, _tokens: "")

# Anchored and without nested repetition, so that each is linear in the line.
_CODE = re.compile(
    r"(?:export |default |pub(?:\([a-z]+\))? |public |private |protected |internal |static |abstract |final |async |"
    r"unsafe |extern |override |virtual |inline |constexpr |sealed |partial |open |data )*"
    r"(?:(?:def|class|fn|func|function\*?|interface|struct|enum|trait|impl|type|module|namespace|mod|macro_rules!|"
    r"package|object|record|protocol|extension|union|contract|sub|proc|defmodule|defp)[ (<]"
    r"|const [A-Za-z_$][\w$]* = (?:async )?\()"
)
_HEADING = re.compile(r"(#{1,6}) \S")
_SECTION = re.compile(r"\[{1,2}[^\[\]]+\]{1,2}\s*$")
_PROSE = frozenset(("md", "markdown", "mdx", "rst", "txt"))
_TABLES = frozenset(("toml", "ini", "cfg", "conf"))


def outline(path: str, text: str) -> tuple[Symbol, ...]:
    """The structural lines of a text."""
    kind = extension(path)
    found, fenced = [], False
    for number, line in enumerate(text.split("\n"), 1):
        if kind in _PROSE:
            fenced ^= line.startswith(("```", "~~~"))
            if not fenced and (heading := _HEADING.match(line)):
                found.append(Symbol(number, len(heading[1]) - 1, line.strip()[:_LONGEST]))
        elif kind in _TABLES:
            if _SECTION.match(line):
                found.append(Symbol(number, 0, line.strip()[:_LONGEST]))
        else:
            body = line.lstrip()
            if body and _CODE.match(body):
                found.append(Symbol(number, min((len(line) - len(body)) // 2, 8), body.rstrip()[:_LONGEST]))
    return tuple(found)


def summary(head: str, symbols: tuple[Symbol, ...], text: str, max_tokens: int, count: Callable[[str], int]) -> str:
    """As many outline lines as fit below the head; a text without structure gives its first lines instead."""
    rows = [f"{symbol.line}: {'  ' * symbol.level}{symbol.text}" for symbol in symbols]
    rows = rows or [line.rstrip()[:_LONGEST] for line in text.split("\n", 40)[:40] if line.strip()]

    def shown(number: int) -> str:
        left = [f"({len(rows) - number} more)"] if number < len(rows) else []
        return "\n".join([head, *rows[:number], *left])

    low, high = 0, len(rows)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(shown(middle)) <= max_tokens else (low, middle - 1)
    return shown(low) if count(shown(low)) <= max_tokens else ""
