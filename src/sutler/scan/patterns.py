"""Patterns of ignore files, exactly as in git: single lines, and lists in which the last match
wins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import inf
from typing import NamedTuple

from msgspec import Struct

from sutler.scan.wildmatch import SPECIAL, literal, lower, translate


class Pattern(Struct, frozen=True, gc=False):
    """One line of an ignore file, `text` as git shows it. Exactly one of `exact`, `suffix` and
    `regex` is set; `lead` holds the literal first segments of a pattern with a slash, `reach` the
    most segments of a match."""

    text: str
    negated: bool
    directory: bool
    anchored: bool
    exact: str | None
    suffix: str | None
    regex: str | None
    lead: tuple[str, ...]
    reach: float = 0


def parse_pattern(text: str, fold: bool = False) -> Pattern:
    """Read one pattern (a byte view, already trimmed) the way git's dir.c does."""
    negated = text.startswith("!")
    body = text[1:] if negated else text
    directory = body.endswith("/")
    if directory:
        body = body[:-1]
    anchored = "/" in body
    special = SPECIAL.search(body)
    cut = special.start() if special else len(body)
    if anchored and body.startswith("/"):
        body, cut = body[1:], cut - 1
    plain = lower if fold else str
    lead = (
        tuple(plain(body[:cut]).split("/")[: None if special is None else -1]) if anchored else ()
    )
    if special is None:
        return Pattern(text, negated, directory, anchored, plain(body), None, None, lead, len(lead))
    if not anchored and body.startswith("*") and not SPECIAL.search(body, 1):
        return Pattern(text, negated, directory, False, None, plain(body[1:]), None, ())
    # With a slash in it, git compares the text before the first wildcard by itself and matches the
    # rest
    # alone, so that `a/b**/c` reads `**/` at the start of that rest.
    start = cut if anchored else 0
    head = "".join(literal(char, fold) for char in body[:start])
    reach = inf if "**" in body else body.count("/") + 1
    return Pattern(
        text,
        negated,
        directory,
        anchored,
        None,
        None,
        head + translate(body[start:], fold),
        lead,
        reach,
    )


class Live(NamedTuple):
    """A pattern with a slash that can still match at or below the current directory."""

    order: int
    pattern: Pattern
    match: re.Pattern[str] | None


class PatternList:
    """Patterns of one source, of which the last match wins; the index makes a name cost two
    dictionary look-ups."""

    __slots__ = (
        "_dir_exact",
        "_exact",
        "_extension",
        "_maybe",
        "_named",
        "anchored",
        "fold",
        "patterns",
    )

    def __init__(self, patterns: Iterable[Pattern], fold: bool = False) -> None:
        self.patterns = tuple(patterns)
        self.fold = fold
        self._exact: dict[str, int] = {}
        self._dir_exact: dict[str, int] = {}
        self._extension: dict[str, int] = {}
        self._named: list[tuple[int, Pattern, re.Pattern[str] | None]] = []
        anchored: list[Live] = []
        for index, pattern in enumerate(self.patterns):
            suffix = pattern.suffix
            if pattern.anchored:
                anchored.append(Live(index, pattern, _compiled(pattern.regex)))
            elif pattern.exact is not None:
                (self._dir_exact if pattern.directory else self._exact)[pattern.exact] = index
            elif suffix is not None and suffix.rfind(".") == 0 and not pattern.directory:
                self._extension[suffix] = index
            else:
                self._named.append((index, pattern, _compiled(pattern.regex)))
        self._named.reverse()
        # One search shows for most names that none of the slower patterns matches.
        some = [one.regex or f".*{_ends(one.suffix or '', fold)}\\Z" for _, one, _ in self._named]
        self._maybe = (
            re.compile("|".join(f"(?:{one})" for one in some), re.DOTALL).match if some else None
        )
        self.anchored = tuple(reversed(anchored))

    def by_name(self, name: str, directory: bool) -> int:
        """Return the index of the last slash-less pattern that matches this name (a byte view), or
        -1."""
        if self.fold:
            name, folded = lower(name), name
        else:
            folded = name
        best = self._exact.get(name, -1)
        dot = name.rfind(".")
        if dot >= 0:
            best = max(best, self._extension.get(name[dot:], -1))
        if directory:
            best = max(best, self._dir_exact.get(name, -1))
        if self._maybe is None or not self._maybe(folded):
            return best
        for index, pattern, regex in self._named:
            if index < best:
                break
            if pattern.directory and not directory:
                continue
            if regex.match(folded) if regex else name.endswith(pattern.suffix or ""):
                return index
        return best

    def by_path(self, live: Iterable[Live], path: str, directory: bool, floor: int) -> int:
        """Return the last of the live patterns, above `floor`, that matches this path (a byte
        view), or `floor`."""
        plain = lower(path) if self.fold else path
        for index, pattern, regex in live:
            if index < floor:
                break
            if pattern.directory and not directory:
                continue
            if regex.match(path) if regex else plain == pattern.exact:
                return index
        return floor

    def match(self, path: str, directory: bool) -> Pattern | None:
        """Return the pattern that decides this path by itself, without its parents."""
        index = self.by_path(
            self.anchored, path, directory, self.by_name(path[path.rfind("/") + 1 :], directory)
        )
        return self.patterns[index] if index >= 0 else None

    def descend(self, live: tuple[Live, ...], depth: int, name: str) -> tuple[Live, ...]:
        """Return those that can still match below the directory `name`, which is `depth` levels
        under the base."""
        plain = lower(name) if self.fold else name
        return tuple(one for one in live if _alive(one.pattern, depth, plain))


def _ends(suffix: str, fold: bool) -> str:
    return "".join(literal(char, fold) for char in suffix)


def _compiled(regex: str | None) -> re.Pattern[str] | None:
    return None if regex is None else re.compile(regex, re.DOTALL)


def _alive(pattern: Pattern, depth: int, name: str) -> bool:
    if depth < len(pattern.lead) and pattern.lead[depth] != name:
        return False
    return depth + 1 < pattern.reach
