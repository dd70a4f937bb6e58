"""Keys that span lines: PEM and OpenSSH, PGP, PuTTY, SSH.com, OpenVPN static keys, NATS credentials.

A block is replaced line by line, so that it keeps its number of lines. The first and last line stay recognisable; every line
between them becomes a marker. A block may stand in a diff, a comment or a string literal: what comes before the key
material on each line is kept. Without an end line a block ends at the first line that is no longer key material.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BEGIN = re.compile(
    r"-{4,5}[ ]?BEGIN[ ](?P<label>[\w .-]{0,40}(?:PRIVATE[ ]KEY(?:[ ]BLOCK)?|STATIC[ ]KEY[ \w]{0,6}|NKEY[ ]SEED|PRIVATE[ \w]{1,20}))[ ]?-{4,5}"
    r"|(?P<putty>PuTTY-User-Key-File-[0-9])",
    re.IGNORECASE,
)
_END = re.compile(r"-{4,6}[ ]?END[ ][\w .-]{0,50}-{4,6}", re.IGNORECASE)
_MATERIAL = re.compile(r"[A-Za-z0-9+/=_-]{16,}")
_LAST = re.compile(r"(?P<value>[A-Za-z0-9+/]{1,15}={0,2})(?:\\n)?[\"'\s,;+\\)]{0,8}\Z")
_PROSE = re.compile(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}|[(){};]|[A-Za-z]\.[A-Za-z]")
_MOST_LINES = 2000


def read(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans to replace for every block that begins on the line [start, end): none crosses a line."""
    for begin in _BEGIN.finditer(text, start, end):
        yield from _putty(text, begin.end()) if begin["putty"] else _pem(text, begin.end(), end)


def _pem(text: str, at: int, end: int) -> Iterator[tuple[int, int]]:
    closing = _END.search(text, at, end)
    stop = closing.start() if closing else end
    inline = _MATERIAL.search(text, at, stop)
    if closing:
        if inline:
            yield at, stop
        return
    body = _body(text, end + 1)
    if inline:
        yield inline.start(), _trim(text, inline.start(), stop)
    elif body:
        # the begin line carries a marker too: whoever sees only that line knows that something was here
        yield at, at
    yield from body


def _body(text: str, at: int) -> list[tuple[int, int]]:
    """The spans of key material from `at` on: up to the end line, or up to the first line that is none."""
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
        found = _MATERIAL.search(text, at, limit)
        if found and not _PROSE.search(text, at, limit):
            spans.append((found.start(), _trim(text, found.start(), limit)))
        elif tail := _LAST.search(text, at, limit):
            short.append(tail.span("value"))
        elif limit > at and ":" not in text[at:limit]:
            strangers += 1
        if closing:
            return sorted(spans + short[-1:]) if spans else []
        if strangers + len(short) > 3 + len(spans) // 8:
            break
        at = stop + 1
    return spans


def _trim(text: str, start: int, stop: int) -> int:
    """Keep what closes a string literal around the material."""
    while stop > start and text[stop - 1] in "\r \t\"'`,;+\\)":
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
