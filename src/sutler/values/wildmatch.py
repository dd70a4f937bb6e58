"""Git's wildcards, exactly, as regular expressions that cannot stall.

Names are compared as git compares them, byte by byte: `view` turns a name into one character for each byte.

Why a hostile pattern costs at most pattern × name steps: a `*` can only take bytes of its own path segment,
so the leftmost place where the text after it fits is as good as any later one, and an atomic group forgets
the others. The same holds for `**/` and whole segments. Only the text at the end of a segment must look for
its place from the right, and there is one such place. Nothing ever multiplies.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

_STAR: Final = "*"
_SLASH: Final = "/"
_DEEP: Final = "**/"  # any number of directories, or none
_DEEPER: Final = "**\\/"  # one or more: git does not try "none" before an escaped slash
_NEVER: Final = r"(?!)"


def view(name: str) -> str:
    """One character for each byte of the name as the file system has it."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("latin-1")


def unview(text: str) -> str:
    """The inverse of `view`, for showing."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "surrogateescape")


def lower(text: str) -> str:
    """Lower case for ASCII letters alone, as git folds."""
    return text.lower() if text.isascii() else text.encode("latin-1").lower().decode("latin-1")


def _ascii(test: str) -> frozenset[int]:
    return frozenset(code for code in range(128) if getattr(chr(code), test)())


_PRINT = frozenset(range(0x20, 0x7F))
_SPACE = frozenset(b" \t\n\r")


@cache
def _classes() -> dict[str, frozenset[int]]:
    return {
        "alnum": _ascii("isalnum"),
        "alpha": _ascii("isalpha"),
        "blank": frozenset(b" \t"),
        "cntrl": frozenset([*range(0x20), 0x7F]),
        "digit": _ascii("isdigit"),
        "graph": _PRINT - _SPACE,
        "lower": _ascii("islower"),
        "print": _PRINT,
        "punct": _PRINT - _SPACE - _ascii("isalnum"),
        "space": _SPACE,
        "upper": _ascii("isupper"),
        "xdigit": frozenset(b"0123456789abcdefABCDEF"),
    }


class _HopelessError(Exception):
    """The pattern is malformed in a way that makes git match nothing."""


def _at(pattern: str, index: int) -> str:
    if index >= len(pattern):
        raise _HopelessError
    return pattern[index]


def _range(start: int, end: int, fold: bool) -> set[int]:
    found = set(range(start, end + 1))
    if fold:
        found |= {code + 32 for code in found if 65 <= code <= 90}
    return found


def _named_class(name: str, fold: bool) -> frozenset[int]:
    classes = _classes()
    if name not in classes:
        raise _HopelessError
    return classes[name] | classes["lower"] if fold and name == "upper" else classes[name]


def _bracket(pattern: str, index: int, fold: bool) -> tuple[str, int]:
    """Read the set that starts at `index`; give its regex and the index after it."""
    index += 1
    negated = _at(pattern, index) in "!^"
    index += negated
    found: set[int] = set()
    previous = 0
    char = _at(pattern, index)
    while True:
        if char == "\\":
            index += 1
            found.add(previous := ord(_at(pattern, index)))
        elif char == "-" and previous and _at(pattern, index + 1) != "]":
            index += 1
            if pattern[index] == "\\":
                index += 1
            found |= _range(previous, ord(_at(pattern, index)), fold)
            previous = 0
        elif char == "[" and pattern[index + 1 : index + 2] == ":":
            close = pattern.find("]", index + 2)
            if close < 0:
                raise _HopelessError
            if close > index + 2 and pattern[close - 1] == ":":
                found |= _named_class(pattern[index + 2 : close - 1], fold)
                index, previous = close, 0
            else:
                found.add(previous := ord("["))
        else:
            found.add(previous := ord(char))
        index += 1
        char = _at(pattern, index)
        if char == "]":
            return _set_regex(found, negated, fold), index + 1


def _set_regex(found: set[int], negated: bool, fold: bool) -> str:
    members = [
        code
        for code in range(1, 256)
        if ((code + 32 if fold and 65 <= code <= 90 else code) in found) != negated and code != 0x2F
    ]
    if not members:
        raise _HopelessError
    parts, start, last = [], members[0], members[0]
    for code in [*members[1:], 1000]:
        if code != last + 1:
            parts.append(f"\\x{start:02x}" if start == last else f"\\x{start:02x}-\\x{last:02x}")
            start = code
        last = code
    return f"[{''.join(parts)}]"


def literal(char: str, fold: bool) -> str:
    """A regex for one byte."""
    return f"[{char.lower()}{char.upper()}]" if fold and char.isascii() and char.isalpha() else re.escape(char)


def _stars(pattern: str, index: int) -> tuple[str, int]:
    end = index
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    alone_before = index == 0 or pattern[index - 1] == "/"
    if end - index > 1 and alone_before:
        if pattern.startswith("\\/", end):
            return _DEEPER, end
        if end == len(pattern) or pattern[end] == "/":
            return _DEEP, end
    return _STAR, end


def _tokens(pattern: str, fold: bool) -> list[str]:
    """The pattern as a list of `*`, `/`, `**` and one-character regexes."""
    tokens: list[str] = []
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "*":
            token, index = _stars(pattern, index)
        elif char == "[":
            token, index = _bracket(pattern, index, fold)
        elif char == "?":
            token, index = "[^/]", index + 1
        elif char == "\\":
            char = _at(pattern, index + 1)
            # Git folds the name but not an escaped letter, so `\A` matches nothing when it ignores case.
            if fold and char.isascii() and char.isupper():
                raise _HopelessError
            token, index = (_SLASH if char == "/" else literal(char, fold)), index + 2
        else:
            token, index = (_SLASH if char == "/" else literal(char, fold)), index + 1
        tokens.append(token)
    return tokens


def _split(tokens: list[str], at: str) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for token in tokens:
        if token == at:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _segment(tokens: list[str]) -> str:
    first, *rest = ("".join(chunk) for chunk in _split(tokens, _STAR))
    if not rest:
        return first
    middle = "".join(f"(?>[^/]*?{chunk})" for chunk in rest[:-1] if chunk)
    last = f"(?>[^/]*{rest[-1]}(?=/|\\Z))" if rest[-1] else "[^/]*+"
    return first + middle + last


def _body(tokens: list[str]) -> str:
    """The whole pattern as a regex, end included. `**` opens a group that is tried at each segment in turn."""
    groups: list[tuple[str, list[str]]] = [("", [])]
    for segment in _split(tokens, _SLASH):
        if segment == [_DEEP]:
            groups.append(("(?:[^/]*+/)*?", []))
        elif segment == [_DEEPER]:
            groups.append(("(?:[^/]*+/)+?", []))
        else:
            groups[-1][1].append(_segment(segment))
    *inner, (skip, final) = groups
    parts = [f"(?>{before}{''.join(f'{text}/' for text in texts)})" for before, texts in inner]
    parts.append(f"(?>{skip}{'/'.join(final)}\\Z)" if final else ".*")
    return "".join(parts)


@lru_cache(maxsize=4096)
def translate(pattern: str, fold: bool = False) -> str:
    """A byte-view pattern as a regex source, to be matched from the start of a byte-view name."""
    try:
        return _body(_tokens(pattern, fold))
    except _HopelessError:
        return _NEVER
