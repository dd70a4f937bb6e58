"""Values that one text reveals as secrets are hidden in every other text.

A value is searched as it is, in parts, in the spelling of URLs, JSON strings and base64, and across
line ends. Values live in memory only."""

from __future__ import annotations

import base64
import binascii
import json
import re
import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from msgspec.structs import replace

from sutler.formats.document import CleanText, Finding
from sutler.secrets.markers import TAGGED, marker, own_spans, tag_of
from sutler.secrets.verdict import classes, is_placeholder, is_random

SHORTEST = 8
LONGEST = 4096
_MOST = 2000  # values of one project
_ENCODED = 12  # letters of base64 that must agree
_PIECE, _STRIDE = 6, 3  # every part of SHORTEST characters holds a piece at such an offset
_PIECES = 40  # of one value; those of longer values are further apart
_APART = 6  # one in this many pieces is searched, if only the whole counts
_STRUCTURED = ("eyJ", "MII", "AAAA", "LS0t")
"""Beginnings of encoded structures, which many harmless values share."""
_SEAM = (
    r"[\"'`]?[ \t]{0,8}[+.&]?[ \t]{0,8}\\?\r?\n[ \t>#*/|+.&-]{0,40}[\"'`]?"
    r"|[\"'`][ \t]?[+.&]?[ \t]?[\"'`]"
)
_SEAM_AFTER = re.compile(_SEAM)
_SEAM_BEFORE = re.compile(rf"(?:{_SEAM})\Z")
_SEAM_REACH = 64

Secret = tuple[str, str]
"""A value and the rule that detected it."""


def values_of(raw: str, clean: str) -> Iterator[Secret]:
    """Yield the values behind the markers of a redacted text, if they are worth searching
    elsewhere."""
    for before, after in zip(raw.split("\n"), clean.split("\n"), strict=False):
        if before == after or "[REDACTED:" not in after:
            continue
        pieces = TAGGED.split(after)  # text, rule, tag, text, rule, tag, text
        for value, rule in zip(_between(pieces[::3], before), pieces[1::3], strict=False):
            for plain in _unspelled(value, rule):
                if is_telling(plain):
                    yield plain, rule


def _between(pieces: list[str], line: str) -> list[str]:
    """Return the text of a line between these pieces, each at its first place; empty if the pieces
    do not match the line."""
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


def _unspelled(value: str, rule: str) -> Iterator[str]:
    """Yield the value, and its decoded form if it is percent-encoded or the `user:password` of a
    header."""
    yield value
    if "%" in value and (plain := unquote(value)) != value:
        yield plain
    if rule == "auth-header":
        try:
            pair = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
        except (binascii.Error, ValueError):
            return
        yield pair.partition(":")[2]


def is_telling(value: str) -> bool:
    """Return whether a value is so long and random that an unrelated text would not hold it."""
    if not SHORTEST <= len(value) <= LONGEST or is_placeholder(value):
        return False
    return is_random(value, 12) or (classes(value) >= 3 and is_random(value, SHORTEST))


class _Spelling(NamedTuple):
    """One way to write a value. `whole`: a part of it does not count."""

    text: str
    whole: bool
    secret: Secret


class _Match(NamedTuple):
    """Occurrence of a value in a text: a segment for each line that it is split over."""

    segments: tuple[tuple[int, int], ...]
    secret: Secret


class SharedValues:
    """The values of one project, and their occurrences in a text."""

    def __init__(self, secrets: Iterable[Secret], key: bytes) -> None:
        self._key = key
        self._local = threading.local()
        self._pieces: dict[str, list[tuple[_Spelling, int]]] = {}
        for value, rule in sorted(dict(secrets).items())[:_MOST]:
            for spelling in _spellings(value, rule):
                for at in _offsets(spelling):
                    piece = spelling.text[at : at + _PIECE]
                    self._pieces.setdefault(piece, []).append((spelling, at))

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def hide(self, clean: CleanText, raw: bytes = b"") -> CleanText:
        """Return the clean text without the values that other texts revealed. `raw` is the text in
        UTF-8 if nothing was replaced in it."""
        text = clean.text
        spans = self._spans(text, b"" if clean.findings or clean.hidden else raw)
        if not spans:
            return clean
        parts: list[str] = []
        findings = list(clean.findings)
        at, line = 0, 1
        for start, end, (value, rule) in spans:
            line += text.count("\n", at, start)
            tag = tag_of(value, rule, self._key)
            parts += (text[at:start], marker(rule, tag))
            findings.append(Finding(rule, line, 0.95, tag))
            at = end
        parts.append(text[at:])
        findings.sort(key=lambda finding: (finding.line, finding.rule, finding.tag))
        return replace(clean, text="".join(parts), findings=tuple(findings))

    def _spans(self, text: str, raw: bytes) -> list[tuple[int, int, Secret]]:
        pieces = self._pieces_in(text, raw) if self._pieces else ()
        if not pieces:
            return []
        taken = own_spans(text, self._key)
        spans: list[tuple[int, int, Secret]] = []
        for match in self._matches(text, pieces):
            if any(a < end and start < b for start, end in match.segments for a, b in taken):
                continue
            taken += match.segments
            spans += [(start, end, match.secret) for start, end in match.segments]
        return sorted(spans)

    def _matches(self, text: str, pieces: Iterable[str]) -> list[_Match]:
        """Return matches in the order of replacement: the longest first."""
        matches: dict[tuple[tuple[int, int], ...], _Match] = {}
        for piece in pieces:
            at = text.find(piece)
            while at >= 0:
                for spelling, offset in self._pieces[piece]:
                    match = _extended(text, at, spelling, offset)
                    if match is not None:
                        matches.setdefault(match.segments, match)
                at = text.find(piece, at + 1)
        return sorted(matches.values(), key=lambda match: (-_length(match), match))

    def _pieces_in(self, text: str, raw: bytes) -> list[str]:
        """Return the pieces that the text holds, by hyperscan, else by `re` and `in`."""
        if self._database is None:
            some = self._pattern.search(text) is not None
            return [piece for piece in sorted(self._pieces) if piece in text] if some else []
        numbers: list[int] = []
        data = raw or text.encode("utf-8", "surrogatepass")
        scratch = self._scratch_here()
        self._database.scan(data, match_event_handler=_note, context=numbers, scratch=scratch)
        return [self._ordered[number] for number in sorted(numbers)]

    @cached_property
    def _ordered(self) -> list[str]:
        return sorted(self._pieces)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._ordered)))

    @cached_property
    def _database(self) -> Any:  # hyperscan has no types
        try:
            import hyperscan
        except ImportError:
            return None
        if not self._pieces:
            return None
        database = hyperscan.Database()
        literals = [re.escape(piece).encode("utf-8", "surrogatepass") for piece in self._ordered]
        database.compile(
            expressions=literals,
            ids=list(range(len(literals))),
            elements=len(literals),
            flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(literals),
        )
        return database

    def _scratch_here(self) -> Any:
        """Return the scratch space of this thread: two scans at once cannot share one."""
        import hyperscan

        if not hasattr(self._local, "scratch"):
            self._local.scratch = hyperscan.Scratch(self._database)
        return self._local.scratch


def _note(number: int, _start: int, _end: int, _flags: int, numbers: list[int]) -> None:
    numbers.append(number)


def _length(match: _Match) -> int:
    return sum(end - start for start, end in match.segments)


def _offsets(spelling: _Spelling) -> Sequence[int]:
    """Return where pieces of a spelling begin; the last ends with it. A piece of plain lower-case
    letters or digits is skipped, since every text holds some. A `whole` spelling needs few: a line
    end can split only one of them."""
    last = len(spelling.text) - _PIECE
    stride = max(_STRIDE, last // _PIECES)
    every = dict.fromkeys((*range(0, last, stride), last))
    able = [at for at in every if _is_piece(spelling.text[at : at + _PIECE])]
    return [*able[:-1:_APART], *able[-1:]] if spelling.whole else able


def _is_piece(text: str) -> bool:
    return not text.isdigit() and not (text.isalpha() and text.islower())


def _extended(text: str, at: int, spelling: _Spelling, offset: int) -> _Match | None:
    """Return the match around a piece at `at`, as far as text and spelling agree; None if that is
    too short."""
    right, last = _to_the_right(text, at, spelling.text, offset)
    left, first = _to_the_left(text, at, spelling.text, offset)
    part = spelling.text[first:last]
    if len(part) < len(spelling.text) and (spelling.whole or not is_telling(part)):
        return None
    joined = [*left, *right]
    segments: list[tuple[int, int]] = []
    for start, end in joined:
        if segments and segments[-1][1] == start:
            start = segments.pop()[0]
        segments.append((start, end))
    return _Match(tuple(segments), spelling.secret)


def _to_the_right(
    text: str, at: int, wanted: str, offset: int
) -> tuple[list[tuple[int, int]], int]:
    segments = []
    start, here = at, offset
    while True:
        while here < len(wanted) and text[at : at + 1] == wanted[here]:
            at, here = at + 1, here + 1
        segments.append((start, at))
        seam = _SEAM_AFTER.match(text, at) if here < len(wanted) else None
        if seam is None or text[seam.end() : seam.end() + 1] != wanted[here]:
            return segments, here
        start = at = seam.end()


def _to_the_left(text: str, at: int, wanted: str, offset: int) -> tuple[list[tuple[int, int]], int]:
    segments: list[tuple[int, int]] = []
    end, here = at, offset
    while True:
        while here and at and text[at - 1] == wanted[here - 1]:
            at, here = at - 1, here - 1
        segments.insert(0, (at, end))
        window = text[max(0, at - _SEAM_REACH) : at]
        seam = _SEAM_BEFORE.search(window) if here else None
        if seam is None or window[seam.start() - 1 : seam.start()] != wanted[here - 1]:
            return segments, here
        end = at = at - (len(window) - seam.start())


def _spellings(value: str, rule: str) -> Iterator[_Spelling]:
    """Yield the value as it is, and as other notations write it."""
    secret = value, rule
    yield _Spelling(value, value.startswith(_STRUCTURED), secret)
    for other in (quote(value, safe=""), json.dumps(value)[1:-1]):
        if other != value:
            yield _Spelling(other, True, secret)
    data = value.encode("utf-8", "surrogatepass")
    for shift in range(3):
        text = base64.b64encode(b"\0" * shift + data).decode().rstrip("=")
        inner = text[(0, 2, 3)[shift] : len(text) - (1 if (shift + len(data)) % 3 else 0)]
        if len(inner) >= _ENCODED:
            yield _Spelling(inner, True, secret)
            if (urlsafe := inner.replace("+", "-").replace("/", "_")) != inner:
                yield _Spelling(urlsafe, True, secret)
