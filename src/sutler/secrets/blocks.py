"""Keys that span lines: PEM and OpenSSH, PGP, PuTTY, SSH.com, OpenVPN static keys, NATS
credentials.

A block is replaced line by line, so that it keeps its number of lines. The first and last line stay
recognisable; every line between them becomes a marker. A block may stand in a diff, a comment or a
string literal: text before the key material on each line stays. Without an end line, a block ends
at the first line that is no key material."""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEGIN = re.compile(
    r"-{4,5}[ ]?BEGIN(?:[ +]|%20)(?P<label>[\w .+%-]{0,40}?(?:PRIVATE(?:[ +]|%20)KEY(?:[ ]BLOCK)?|STATIC[ ]KEY[ \w]{0,6}|NKEY[ ]SEED|PRIVATE[ \w]{1,20}))[ ]?-{4,5}"
    r"|(?P<putty>PuTTY-User-Key-File-[0-9])",
    re.ASCII,
)
_END = re.compile(r"-{4,6}[ ]?END(?:[ +]|%20)[\w .+%-]{0,50}-{4,6}", re.ASCII)
_MATERIAL = re.compile(r"[A-Za-z0-9+/=_-]{16,}")
_LAST = re.compile(
    r"(?P<value>(?=[+/]*[A-Za-z0-9])[A-Za-z0-9+/]{1,15}={0,2})(?:\\n)?[\"'\s,;+\\)]{0,8}\Z"
)
_PROSE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}|[(){};]|[ ]=[ ]|[A-Za-z]\.[A-Za-z]")
_FULL_ROW = 40
_ROW = re.compile(
    r"[ \t\"'+#*|>.-]{0,40}(?P<value>(?:[A-Za-z0-9+/]{40,200}|(?=[A-Za-z]*[0-9+/=])[A-Za-z0-9+/]{1,39})={0,2})(?:\\n)?[\"' \t\r,;+\\)]{0,8}$",
    re.MULTILINE,
)
_MOST_LINES = 2000
_MOST_INLINE = 16_384
_NEAR = 400  # key material starts this close to the begin line's end


def read(text: str, start: int, limit: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans to replace for every block that begins in [start, limit) of a line that ends
    at `end`; none crosses a line."""
    last = None
    for begin in _BEGIN.finditer(text, start, limit):
        if begin["putty"]:
            yield from _putty(text, begin.end())
        elif (stop := _end_on_line(text, begin.end(), end)) >= 0:
            shortened = "..." in text[begin.end() : stop]  # as documents show one
            near = min(stop, begin.end() + _NEAR)
            if not shortened and _MATERIAL.search(text, begin.end(), near):
                yield begin.end(), stop
        else:
            last = begin
    if last:
        # in a diff every line has a sign in its first column, which is no key material
        sign = text[text.rfind("\n", 0, last.start()) + 1]
        yield from _open_block(
            text,
            last.end(),
            end,
            1 if sign in "+-" and last.start() and text[last.start() - 1] == sign else 0,
        )


def _end_on_line(text: str, at: int, end: int) -> int:
    end = min(end, at + _MOST_INLINE)
    hint = text.find("END", at, end)
    match = _END.search(text, max(at, hint - 8), end) if hint >= 0 else None
    return match.start() if match else -1


def _open_block(text: str, at: int, end: int, skip: int) -> Iterator[tuple[int, int]]:
    body = _body(text, end + 1, skip)
    inline = _MATERIAL.search(text, at, min(end, at + _NEAR))
    if inline and not _PROSE.search(text, at, end):
        yield inline.start(), _trim(text, inline.start(), end)
    elif body:
        # The begin line carries a marker too: a range that ends there shows that something was cut.
        yield at, at
    yield from body


def _body(text: str, at: int, skip: int = 0) -> list[tuple[int, int]]:
    """Return the spans of key material from `at` to the end line, or to the first line without
    any."""
    spans: list[tuple[int, int]] = []
    short: list[tuple[int, int]] = []
    strangers = 0
    for _ in range(_MOST_LINES):
        if at >= len(text):
            break
        stop = text.find("\n", at)
        stop = len(text) if stop < 0 else stop
        closing = _END.search(text, at, stop)
        limit = closing.start() if closing else stop
        match = _MATERIAL.search(text, at + skip, limit)
        if match and not _PROSE.search(text, at, limit):
            spans.append((match.start(), _trim(text, match.start(), limit)))
        elif tail := _LAST.search(text, at + skip, limit):
            short.append(tail.span("value"))
        elif limit > at and ":" not in text[at:limit]:
            strangers += 1
        if closing:
            return sorted(spans + short[-1:]) if spans else []
        if strangers + len(short) > 3 + len(spans) // 8:
            break
        at = stop + 1
    return spans


def unwrapped(text: str, at: int) -> Iterator[tuple[int, int]]:
    """Yield the lines that continue key material without a begin line, whose first line ends at
    `at`."""
    for _ in range(_MOST_LINES):
        row = _ROW.match(text, text.find("\n", at) + 1 or len(text))
        if row is None:
            return
        yield row.span("value")
        at = row.end("value")
        if len(row["value"]) < _FULL_ROW:
            return


def _trim(text: str, start: int, stop: int) -> int:
    """Exclude the end of a string literal around the material."""
    while stop > start and text[stop - 1] in "\r \t\"'`,;.+\\)":
        stop -= 1
    if text[stop - 1] in "nr" and text[max(start, stop - 2)] == "\\":
        stop -= 2
    return stop


def _putty(text: str, at: int) -> Iterator[tuple[int, int]]:
    private = text.find("Private-Lines:", at, at + 20_000)
    if private < 0:
        return
    line = text.find("\n", private)
    yield from _body(text, line + 1) if line > 0 else ()
    mac = re.compile(r"Private-(?:MAC|Hash): *(\S{1,200})").search(text, private, private + 20_000)
    if mac:
        yield mac.span(1)
