"""Path globs for policy and listing, matched in bounded time: no regular expression, no recursion.

A pattern without a slash matches a name at any depth; one with a slash is anchored at the root. `*` and `?` stay inside
a component, `**` crosses them, `[a-z]` and `[!a-z]` are classes, everything else is literal, braces included. A pattern
that matches a directory covers everything below it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from sutler.values.errors import UsageError

MAX_PATTERN = 1_024
MAX_GLOBS = 50
_STAR, _ANY = "*", "?"

Atom = str | tuple[bool, tuple[tuple[str, str], ...]]
"""A literal character, `*`, `?`, or a class as (negated, ranges). Literals of the special ones carry a `\\`."""


def _class(text: str, at: int) -> tuple[Atom, int] | None:
    """Parse `[...]` starting after its bracket; None when it never closes, and then the bracket is a literal."""
    start = at + (at < len(text) and text[at] in "!^")
    end = text.find("]", start + 1)
    if end < 0:
        return None
    ranges, inner, i = [], text[start:end], 0
    while i < len(inner):
        if i + 2 < len(inner) and inner[i + 1] == "-":
            ranges.append((inner[i], inner[i + 2]))
            i += 3
        else:
            ranges.append((inner[i], inner[i]))
            i += 1
    return (start > at, tuple(ranges)), end + 1


def _atoms(segment: str) -> tuple[Atom, ...]:
    atoms: list[Atom] = []
    i = 0
    while i < len(segment):
        char, i = segment[i], i + 1
        if char == "[" and (parsed := _class(segment, i)):
            atom, i = parsed
            atoms.append(atom)
        elif char in "*?":
            if char != "*" or not atoms or atoms[-1] != _STAR:
                atoms.append(char)
        elif char == "\\" and i < len(segment):
            atoms.append("\\" + segment[i])
            i += 1
        else:
            atoms.append("\\" + char)
    return tuple(atoms)


@lru_cache(maxsize=4_096)
def _segments(pattern: str) -> tuple[tuple[Atom, ...] | None, ...]:
    """A pattern's components; None stands for `**`."""
    if len(pattern) > MAX_PATTERN:
        raise UsageError(f"a glob of {len(pattern)} characters", rule=f"globs have at most {MAX_PATTERN} characters")
    body = pattern.rstrip("/")
    parts = [part for part in body.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise UsageError("a glob holds '..'", rule="globs select below the root")
    if "/" not in body:
        parts.insert(0, "**")
    segments: list[tuple[Atom, ...] | None] = []
    for part in parts:
        if part != "**":
            segments.append(_atoms(part))
        elif not segments or segments[-1] is not None:
            segments.append(None)
    return tuple(segments)


def _fits(atom: Atom, char: str) -> bool:
    if isinstance(atom, tuple):
        negated, ranges = atom
        return any(low <= char <= high for low, high in ranges) != negated
    return atom == _ANY or atom == "\\" + char


def _name_matches(atoms: tuple[Atom, ...], name: str) -> bool:
    """Greedy matching that only ever goes back to the last star: O(len(atoms) * len(name))."""
    a = n = 0
    star, mark = -1, 0
    while n < len(name):
        if a < len(atoms) and atoms[a] != _STAR and _fits(atoms[a], name[n]):
            a, n = a + 1, n + 1
        elif a < len(atoms) and atoms[a] == _STAR:
            star, mark, a = a, n, a + 1
        elif star >= 0:
            mark += 1
            a, n = star + 1, mark
        else:
            return False
    return all(atom == _STAR for atom in atoms[a:])


def require_globs(patterns: Sequence[str]) -> None:
    """Refuse, before anything is looked at, what cannot be matched."""
    if len(patterns) > MAX_GLOBS:
        raise UsageError(f"{len(patterns)} globs", rule=f"at most {MAX_GLOBS} in one call")
    for pattern in patterns:
        _segments(pattern)


def matches(pattern: str, path: str) -> bool:
    """Does the pattern match this path or a directory above it? The same method as for names, over components."""
    segments = _segments(pattern)
    parts = path.split("/") if path else []
    s = p = 0
    deep, mark = -1, 0
    while True:
        if s == len(segments):
            return bool(segments)  # a full match of a prefix covers the rest
        segment = segments[s]
        if segment is None:
            deep, mark, s = s, p, s + 1
        elif p < len(parts) and _name_matches(segment, parts[p]):
            s, p = s + 1, p + 1
        elif deep >= 0 and mark < len(parts):
            mark += 1
            s, p = deep + 1, mark
        else:
            return False


def fold(text: str) -> str:
    """The form in which denials cannot be dodged: case, Unicode spelling, invisible characters, and the endings,
    streams and separators that other file systems read past."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).replace("\\", "/")
    if not folded.isascii():
        folded = "".join(char for char in folded if unicodedata.category(char) != "Cf" and not _variation(char))
    parts = (part.split(":", 1)[0].rstrip(" .") if part.strip(".") else part for part in folded.split("/"))
    return "/".join(".git" if part in _SHORT_GIT else part for part in parts)


_SHORT_GIT = frozenset(f"git~{digit}" for digit in "1234")
"""How Windows spells `.git` in eight characters."""


def _variation(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef" or char in "\u034f\u115f\u1160\u3164"


@lru_cache(maxsize=4_096)
def _fold_pattern(pattern: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", pattern).casefold())


def denies(pattern: str, path: str) -> bool:
    """Does the pattern match the path in any spelling? For rules that close."""
    if matches(pattern, path):
        return True
    if not (path.isascii() and pattern.isascii()):
        for form in ("NFC", "NFD"):
            if matches(unicodedata.normalize(form, pattern), unicodedata.normalize(form, path)):
                return True
    folded = fold(path)
    return matches(_fold_pattern(pattern), folded) or matches(pattern, folded)


def allows(pattern: str, path: str) -> bool:
    """Does the pattern match the path as spelt, and in its composed form? For rules that open."""
    if path.isascii() and pattern.isascii():
        return matches(pattern, path)
    composed = matches(unicodedata.normalize("NFC", pattern), unicodedata.normalize("NFC", path))
    return composed and matches(pattern, path)
