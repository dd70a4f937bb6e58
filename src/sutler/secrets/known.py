"""A secret once is a secret everywhere: values that one text gave away are hidden in every other.

The values live in memory for as long as one pack is made. They are looked for as they are, and as
URLs, JSON strings and base64 spell them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from sutler.formats.document import CleanText, Finding
from sutler.secrets.markers import TAGGED, marker, own_spans, tag_of
from sutler.secrets.verdict import classes, is_placeholder, is_random

SHORTEST = 8
LONGEST = 4096
_MOST = 2000  # values of one project
_ENCODED = 12  # letters of base64 that must agree

Secret = tuple[str, str]
"""A value and the rule that found it."""


def values_of(raw: str, clean: str) -> Iterator[Secret]:
    """What the markers of a redacted text stand for, if it is worth looking for elsewhere."""
    for before, after in zip(raw.split("\n"), clean.split("\n"), strict=False):
        if before == after or "[REDACTED:" not in after:
            continue
        pieces = TAGGED.split(after)  # text, rule, tag, text, rule, tag, text
        for value, rule in zip(_between(pieces[::3], before), pieces[1::3], strict=False):
            if _is_telling(value):
                yield value, rule


def _between(pieces: list[str], line: str) -> list[str]:
    """What stands between these pieces in the line, each as early as it can; nothing if the line
    is not made of them.
    """
    first, *middle, last = pieces
    values: list[str] = []
    at, end = len(first), len(line) - len(last)
    for piece in middle:
        stop = line.find(piece, at + 1, end)
        if stop < 0:
            return []
        values.append(line[at:stop])
        at = stop + len(piece)
    fits = at < end and line.startswith(first) and line.endswith(last)
    return [*values, line[at:end]] if fits else []


def _is_telling(value: str) -> bool:
    """Long and strange enough to be no word of a text that has nothing to do with it."""
    if not SHORTEST <= len(value) <= LONGEST or is_placeholder(value):
        return False
    return is_random(value, 16) or (classes(value) >= 3 and is_random(value, SHORTEST))


class Known:
    """The values of one project, and where a text holds one."""

    def __init__(self, secrets: Iterable[Secret], key: bytes) -> None:
        self._key = key
        self._rules: dict[str, Secret] = {}
        for value, rule in dict.fromkeys(secrets):
            if len(self._rules) < 4 * _MOST:
                for spelling in _spellings(value):
                    self._rules.setdefault(spelling, (value, rule))

    def __bool__(self) -> bool:
        return bool(self._rules)

    def ready(self) -> Known:
        """Compile what every worker needs, before they are forked."""
        self._database  # noqa: B018
        return self

    def hide(self, clean: CleanText, raw: bytes = b"") -> CleanText:
        """The clean text without the values that other texts gave away. `raw` is the text in UTF-8
        where it was read so and nothing was replaced in it.
        """
        spans = self._spans(clean.text, b"" if clean.findings or clean.hidden else raw)
        if not spans:
            return clean
        parts: list[str] = []
        findings = list(clean.findings)
        at, line = 0, 1
        for start, end, (value, rule) in spans:
            line += clean.text.count("\n", at, start)
            tag = tag_of(value, rule, self._key)
            parts += (clean.text[at:start], marker(rule, tag))
            findings.append(Finding(rule, line, 0.95, tag))
            at = end
        parts.append(clean.text[at:])
        findings.sort(key=lambda one: (one.line, one.rule, one.tag))
        return replace(clean, text="".join(parts), findings=tuple(findings))

    def _spans(self, text: str, raw: bytes) -> list[tuple[int, int, Secret]]:
        if not self._may_hold(text, raw):
            return []
        own = own_spans(text, self._key)
        return [
            (*found.span(), self._rules[found[0]])
            for found in self._pattern.finditer(text)
            if not any(start < found.end() and found.start() < end for start, end in own)
        ]

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        ordered = sorted(self._rules, key=lambda value: (-len(value), value))
        return re.compile("|".join(map(re.escape, ordered)))

    def _may_hold(self, text: str, raw: bytes) -> bool:
        """Whether a value stands in the text: by hyperscan, else by the pattern itself."""
        if self._database is None:
            return self._pattern.search(text) is not None
        found: list[int] = []
        data = raw or text.encode("utf-8", "surrogatepass")
        self._database.scan(data, match_event_handler=_note, context=found)
        return bool(found)

    @cached_property
    def _database(self) -> Any:  # hyperscan has no types
        try:
            import hyperscan
        except ImportError:
            return None
        database = hyperscan.Database()
        literals = [
            re.escape(value).encode("utf-8", "surrogatepass") for value in sorted(self._rules)
        ]
        database.compile(
            expressions=literals,
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(literals),
        )
        database.scratch = hyperscan.Scratch(database)
        return database


def _note(number: int, _start: int, _end: int, _flags: int, found: list[int]) -> None:
    found.append(number)


def _spellings(value: str) -> Iterator[str]:
    """The value as it is, and as other notations write it."""
    yield value
    for other in (quote(value, safe=""), json.dumps(value)[1:-1]):
        if other != value:
            yield other
    data = value.encode("utf-8", "surrogatepass")
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        inner = text[(0, 2, 3)[shift] : len(text) - (1 if (shift + len(data)) % 3 else 0)]
        if len(inner) >= _ENCODED:
            yield inner
            if (urlsafe := inner.replace("+", "-").replace("/", "_")) != inner:
                yield urlsafe
