"""Compile git's wildcards to regular expressions that cannot stall.

Git compares names byte by byte: `view` turns a name into one character for each byte.

A hostile pattern costs at most pattern × name steps: a `*` takes only bytes of its own path
segment, so the leftmost match of the text after it is as good as any later one, and an atomic group
discards the others. The same holds for `**/` and whole segments. Only the text at the end of a
segment must be searched from the right, and there is one such place."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

SPECIAL: Final = re.compile(r"[*?\[\\]")
_STAR: Final = "*"
_SLASH: Final = "/"
_DEEP: Final = "**/"  # any number of directories, or none
_DEEPER: Final = "**\\/"  # one or more: git does not try "none" before an escaped slash
_NEVER: Final = r"(?!)"
_SKIP: Final = "(?:[^/]*+/)*?"
_WHOLE: Final = r"\Z"
_COVER: Final = r"(?=/|\Z)"
_FOLDER: Final = "(?=/)"

Ranges = list[tuple[int, int]]


class MalformedError(Exception):
    """A pattern that git accepts and that can never match; the message names the fault."""


def view(name: str) -> str:
    """Return one character for each byte of the name as the file system has it."""
    if name.isascii():
        return name
    return name.encode("utf-8", "surrogateescape").decode("latin-1")


def unview(text: str) -> str:
    """Invert `view`, for display."""
    if text.isascii():
        return text
    return text.encode("latin-1").decode("utf-8", "surrogateescape")


def lower(text: str) -> str:
    """Convert ASCII letters alone to lower case, as git folds."""
    return text.lower() if text.isascii() else text.encode("latin-1").lower().decode("latin-1")


@cache
def _classes() -> dict[str, Ranges]:
    upper, small, digit = (65, 90), (97, 122), (48, 57)
    return {
        "alnum": [digit, upper, small],
        "alpha": [upper, small],
        "blank": [(9, 9), (32, 32)],
        "cntrl": [(0, 31), (127, 127)],
        "digit": [digit],
        "graph": [(33, 126)],
        "lower": [small],
        "print": [(32, 126)],
        "punct": [(33, 47), (58, 64), (91, 96), (123, 126)],
        "space": [(9, 10), (13, 13), (32, 32)],
        "upper": [upper],
        "xdigit": [digit, (65, 70), (97, 102)],
    }


def _at(pattern: str, index: int, fault: str) -> str:
    if index >= len(pattern):
        raise MalformedError(fault)
    return pattern[index]


def _in_class(pattern: str, index: int) -> str:
    return _at(pattern, index, "'[' opens a class that does not end")


def _range(start: int, end: int, fold: bool) -> Ranges:
    """Return a range; git folds the name to lower case, so an upper-case range matches both."""
    ranges = [(start, end)] if start <= end else []
    if fold and max(start, 65) <= min(end, 90):
        ranges.append((max(start, 65) + 32, min(end, 90) + 32))
    return ranges


def _named_class(name: str, fold: bool) -> Ranges:
    classes = _classes()
    if name not in classes:
        raise MalformedError(f"'[:{name[:20]}:]' is no class of characters")
    return classes["alpha"] if fold and name == "upper" else classes[name]


def _bracket(pattern: str, index: int, fold: bool) -> tuple[str, int]:
    """Read the class that starts at `index`; return its regex and the index after it."""
    index += 1
    negated = _in_class(pattern, index) in "!^"
    index += negated
    ranges: Ranges = []
    previous = 0
    char = _in_class(pattern, index)
    while True:
        if char == "\\":
            index += 1
            previous = ord(_in_class(pattern, index))
            ranges.append((previous, previous))
        elif char == "-" and previous and _in_class(pattern, index + 1) != "]":
            index += 1
            if pattern[index] == "\\":
                index += 1
            ranges += _range(previous, ord(_in_class(pattern, index)), fold)
            previous = 0
        elif char == "[" and pattern[index + 1 : index + 2] == ":":
            close = pattern.find("]", index + 2)
            if close < 0:
                raise MalformedError("'[:' opens a class that does not end")
            if close > index + 2 and pattern[close - 1] == ":":
                ranges += _named_class(pattern[index + 2 : close - 1], fold)
                index, previous = close, 0
            else:
                previous = ord("[")
                ranges.append((previous, previous))
        else:
            previous = ord(char)
            ranges.append((previous, previous))
        index += 1
        char = _in_class(pattern, index)
        if char == "]":
            return _class_regex(ranges, negated, fold), index + 1


def _class_regex(ranges: Ranges, negated: bool, fold: bool) -> str:
    """Return a regex for any character of the ranges, or any other one; never a slash."""
    # the name is in lower case: a capital letter in a class matches nothing, its small twin both
    if fold:
        ranges = [part for start, end in ranges for part in _without_capitals(start, end)]
        ranges += [
            (max(start, 97) - 32, min(end, 122) - 32)
            for start, end in ranges
            if max(start, 97) <= min(end, 122)
        ]
    if negated:
        return f"[^/{_members(ranges)}]"
    if all(start == end == 0x2F for start, end in ranges):
        raise MalformedError("a class of characters that holds none")
    return f"(?!/)[{_members(ranges)}]" if _holds_slash(ranges) else f"[{_members(ranges)}]"


def _without_capitals(start: int, end: int) -> Ranges:
    return [(a, b) for a, b in ((start, min(end, 64)), (max(start, 91), end)) if a <= b]


def _holds_slash(ranges: Ranges) -> bool:
    return any(start <= 0x2F <= end for start, end in ranges)


def _members(ranges: Ranges) -> str:
    return "".join(
        f"\\U{start:08x}" if start == end else f"\\U{start:08x}-\\U{end:08x}"
        for start, end in ranges
    )


def literal(char: str, fold: bool) -> str:
    """Return a regex for one byte."""
    if fold and char.isascii() and char.isalpha():
        return f"[{char.lower()}{char.upper()}]"
    return re.escape(char)


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
    """Split the pattern into `*`, `/`, `**` and one-character regexes."""
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
            char = _at(pattern, index + 1, "a backslash at the end escapes nothing")
            # Git folds the name but not an escaped letter, so `\A` matches nothing.
            if fold and char.isascii() and char.isupper():
                raise MalformedError("an escaped capital letter where case is ignored")
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


def _body(tokens: list[str], end: str, least: str = "+") -> str:
    """Return the whole pattern as a regex. `**` opens a group that is tried at each segment in
    turn.

    A final `**` takes the rest: one character at least, or none if `least` is `*`."""
    groups: list[tuple[str, list[str]]] = [("", [])]
    for segment in _split(tokens, _SLASH):
        if segment == [_DEEP]:
            groups.append((_SKIP, []))
        elif segment == [_DEEPER]:
            groups.append(("(?:[^/]*+/)+?", []))
        else:
            groups[-1][1].append(_segment(segment))
    *inner, (skip, final) = groups
    parts = [f"(?>{before}{''.join(f'{text}/' for text in texts)})" for before, texts in inner]
    if final:
        parts.append(f"(?>{skip}{'/'.join(final)}{end})")
    else:
        parts.append(f"[^/]{least}+(?=/)" if end == _FOLDER else f"(?s:.{least}+)")
    return "".join(parts)


@lru_cache(maxsize=4096)  # each project repeats the same ignore lines in its folders
def translate(pattern: str, fold: bool = False) -> str:
    """Translate a byte-view pattern to a regex, to be matched from the start of a byte-view
    name."""
    try:
        return _body(_tokens(pattern, fold), _WHOLE, "*")
    except MalformedError:  # git lets a malformed pattern match nothing
        return _NEVER


def head_and_rest(body: str) -> tuple[str, str]:
    """Split a pattern with a slash before its first wildcard.

    Git compares the text before it literally and matches the rest alone, so that `a/b**/c` reads
    `**/` at the start of that rest."""
    special = SPECIAL.search(body)
    cut = special.start() if special else len(body)
    return body[:cut], body[cut:]


def covering(body: str, *, directory: bool) -> str:
    """Return a regex for a pattern without its final slash that matches a path or a directory above
    it.

    A path with a final slash is a directory's. Raise MalformedError if git never matches."""
    end = _FOLDER if directory else _COVER
    if "/" not in body:
        tokens = [_STAR if token == _DEEP else token for token in _tokens(body, False)]
        return _body([_DEEP, _SLASH, *tokens], end)
    head, rest = head_and_rest(body.removeprefix("/"))
    # `a/b**` matches `a/b` itself, `a/**` only what is below `a`.
    least = "*" if head[-1:] not in ("", "/") and not rest.strip("*/") else "+"
    return re.escape(head) + _body(_tokens(rest, False), end, least)


def exact(body: str) -> str:
    """Return a regex for a pattern that must match a path from its first to its last character."""
    return _body(_tokens(body, False), _WHOLE)
