"""Search over clean text only, so that a query cannot be used to guess a secret character by
character.

A file is cleaned only if its raw text matches; what counts is whether its clean text matches.
Regular expressions run on RE2, which is linear in the text whatever the pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal

from msgspec import Struct

from sutler.errors import UsageError

Kind = Literal["literal", "regex"]
MAX_QUERY = 1_000
MAX_LINE = 400


class Hit(Struct, frozen=True, gc=False):
    """A matching line with its context; `first` is the number of the first line shown, `line` of
    the match.
    """

    path: str
    line: int
    first: int
    text: str


class Found(Struct, frozen=True):
    """What a search found and what it passed over. `stopped` names the bound that ended it, if one
    did.
    """

    hits: tuple[Hit, ...]
    files: int
    skipped: int = 0
    stopped: str = ""


class Progress:
    """How far a search came; filled while its hits are taken."""

    files = 0
    skipped = 0
    stopped = ""


Matcher = Callable[[str], Iterator[int]]
"""Character offsets of matches in a text, ascending."""


def matcher(query: str, kind: Kind, *, ignore_case: bool = False) -> Matcher:
    if not query or len(query) > MAX_QUERY:
        raise UsageError(f"a query has 1 to {MAX_QUERY} characters", next_step="shorten the query")
    if kind == "regex":
        return _regex(query, ignore_case)
    wanted = query.casefold() if ignore_case else query

    def literal(text: str) -> Iterator[int]:
        # Folding can change lengths, so folded offsets are only good line by line.
        if ignore_case:
            at = 0
            for line in text.split("\n"):
                if wanted in line.casefold():
                    yield at
                at += len(line) + 1
            return
        at = text.find(wanted)
        while at >= 0:
            yield at
            at = text.find(wanted, at + 1)

    return literal


def _regex(query: str, ignore_case: bool) -> Matcher:
    try:
        import re2  # type: ignore[import-untyped]  # has no types
    except ImportError:
        raise UsageError(
            "regular expressions need RE2",
            next_step="install sutler with its regex extra, or search for a literal",
        ) from None
    options = re2.Options()
    options.case_sensitive = not ignore_case
    options.never_nl = False
    options.log_errors = False
    options.max_mem = 16 << 20
    try:
        compiled = re2.compile(query, options)
    except re2.error as fault:
        raise UsageError(
            f"not a regular expression: {str(fault)[:120]}",
            rule="RE2 syntax, without look-around and back-references",
            next_step="simplify the pattern, or search for a literal",
        ) from None

    def regex(text: str) -> Iterator[int]:
        at = 0
        for line in text.split("\n"):
            if compiled.search(line):
                yield at
            at += len(line) + 1

    return regex


def search_text(path: str, text: str, find: Matcher, context: int) -> Iterator[Hit]:
    """Hits in one clean text, at most one for each line."""
    lines: list[str] = []
    starts_at = number = seen = 0
    for offset in find(text):
        if not lines:
            lines = text.split("\n")
        while starts_at + len(lines[number]) < offset:
            starts_at += len(lines[number]) + 1
            number += 1
        if number + 1 == seen:
            continue
        seen = number + 1
        first = max(0, number - context)
        shown = (_short(line) for line in lines[first : number + context + 1])
        yield Hit(path, number + 1, first + 1, "\n".join(shown))


def _short(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} … ({len(line)} characters)"


def gather(hits: Iterable[Hit], room: int) -> tuple[list[Hit], bool]:
    """At most `room` hits, and whether there were more."""
    kept: list[Hit] = []
    for hit in hits:
        if len(kept) == room:
            return kept, True
        kept.append(hit)
    return kept, False
