"""Which names a file offers to others: the rules that several languages share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sutler.languages.base import ExportRule
from sutler.languages.facts import Symbol

_HIDDEN = r"\b(?:private|protected|internal|fileprivate)\b"
_TYPES = ("class", "type")


def offered(public: Callable[[Symbol], bool]) -> ExportRule:
    """The rule that a symbol's own declaration decides."""

    def exports(symbols: Sequence[Symbol], lines: Sequence[str]) -> list[str]:
        return [symbol.name for symbol in symbols if public(symbol)]

    return exports


def top(symbol: Symbol) -> bool:
    """A function or type that stands in no other."""
    return symbol.parent < 0 and symbol.kind in ("class", "type", "function", "method")


def visible_type(symbol: Symbol) -> bool:
    """A type that no modifier hides; the modifiers stand before its name."""
    return symbol.kind in _TYPES and not re.search(
        _HIDDEN, symbol.signature.partition(symbol.name)[0]
    )


def visible_top(symbol: Symbol) -> bool:
    """A type, or a function outside of types."""
    hidden = re.search(_HIDDEN, symbol.signature.partition(symbol.name)[0])
    return visible_type(symbol) or (top(symbol) and not hidden)


def marked(*words: str) -> Callable[[Symbol], bool]:
    """A declaration that one of these modifiers makes public."""
    pattern = rf"\b(?:{'|'.join(words)})\s"

    def public(symbol: Symbol) -> bool:
        return symbol.kind != "field" and bool(
            re.search(pattern, symbol.signature.partition(symbol.name)[0])
        )

    return public
