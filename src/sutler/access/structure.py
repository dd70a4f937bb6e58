"""A file's structure for agents: definitions and headings, each with its line, and a summary of
them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from sutler.languages.outline import outline_of

_LONGEST = 160  # a signature of generated code may have thousands of characters


class Symbol(Struct, frozen=True, gc=False):
    """One line of an outline; `level` is its depth, from 0."""

    line: int
    level: int
    text: str


class Teller(Struct, frozen=True):
    """Optional summary command: (text, max_tokens) -> summary; "" falls back to the outline. The
    name is part of every summary's cache key."""

    name: str
    tell: Callable[[str, int], str]


SILENT = Teller("", lambda _text, _tokens: "")


def outline(path: str, text: str) -> tuple[Symbol, ...]:
    """Return the structural lines of a clean text."""
    return tuple(Symbol(line.number, line.depth, line.text) for line in outline_of(path, text))


def summary(
    head: str, symbols: tuple[Symbol, ...], text: str, max_tokens: int, count: Callable[[str], int]
) -> str:
    """Return as many outline lines as fit below the head; a text without structure gives its first
    lines."""
    rows = [f"{symbol.line}: {'  ' * symbol.level}{symbol.text}" for symbol in symbols]
    rows = rows or [line.rstrip()[:_LONGEST] for line in text.split("\n", 40)[:40] if line.strip()]

    def render(number: int) -> str:
        left = [f"({len(rows) - number} more)"] if number < len(rows) else []
        return "\n".join([head, *rows[:number], *left])

    low, high = 0, len(rows)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(render(middle)) <= max_tokens else (low, middle - 1)
    return render(low) if count(render(low)) <= max_tokens else ""
