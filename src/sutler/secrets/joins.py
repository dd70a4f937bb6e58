"""Literals that code joins from parts, read as one text.

`"ghs_36DS" + "Dm5p"`, literals side by side or on following lines, a backslash at the end of a
line, a literal inside a template. The parts are joined, the result is searched like any other text,
and each part of a finding is replaced in its place."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

_MOST = 64  # parts of one literal
_NEAR = 400  # characters of the first and the last line that are read
_OPERATOR = r"(?:(?:\+|\.{1,2}|&|<>|\|\||~|\.concat\()[ \t]{0,8})?"
_LINE_END = r"\\?(?:\r?\n[ \t]{0,80})?"
_BETWEEN = rf"[\"'`][ \t]{{0,8}}{_OPERATOR}{_LINE_END}{_OPERATOR}[rbfuRBFU@]?[\"'`]"
_CONTINUED = r"\\\r?\n[ \t]{0,80}"
_NESTED = r"[\"'`][ ]?\}(?:[$#]?\{[ ]?[\"'`])?|[$#]?\{[ ]?[\"'`]"
_LISTED = r"[\"'],[ ]?[\"']"
_RUN = r"[\w/+=~-]{3,80}"
JOIN_HEAD = (
    rf"[\w/+=~-]{{3}}(?:{_BETWEEN}|{_CONTINUED}|{_NESTED})[\w/+=~-]{{3}}"
    rf"|(?:join|concat|paste0)\([\[(]?[\"']{_RUN}{_LISTED}[\w/+=~-]{{3}}"
    rf"|{_LISTED}{_RUN}[\"']\]\.join"
)
"""Three characters of a token, the joint of two literals, and three more."""
_LONGEST_SEAM = 120
_SEAM = re.compile(rf"{_BETWEEN}|{_CONTINUED}|{_NESTED}")
_COMMA = re.compile(_LISTED)
_PARTING = re.compile(r"[\s\"'`]")
_DIGIT = re.compile("[0-9]")
_LEAST = 10  # characters on both sides of a seam, without a blank
_TOKEN = re.compile(r"[\w/+=~.-]{0,400}")
_PART = re.compile(r"[^\s\"'`\\<>{}$]{4,400}(?=[\"'`])")
_OPENING = re.compile(r"[$#]?\{[ ]?[\"'`](?=[\w/+=~.-]*\Z)")
_BEFORE_FIRST = re.compile(
    r"[=:](?P<drop>(?:\s|\(|\[|[\"']{2}\.join|(?i:concat))*)(?=[\"'`][^\"'`\n]*\Z)"
)


class Joined(NamedTuple):
    """A text with the parts of a literal joined, and the origin of each part: (start in the joined
    text, start in the file, length)."""

    text: str
    parts: tuple[tuple[int, int, int], ...]

    def spans(self, start: int, end: int) -> list[tuple[int, int]]:
        """Map [start, end) of the joined text to its spans in the file."""
        return [
            (there + max(start, here) - here, there + min(end, here + length) - here)
            for here, there, length in self.parts
            if max(start, here) < min(end, here + length)
        ]


def joined_at(text: str, after: int, end: int) -> tuple[Joined | None, int]:
    """Return the literal whose first seam is behind the trigger that ended at `end`, read from the
    line before it; and its end. Seams before `after` do not count. None if nothing is joined."""
    if not _DIGIT.search(text, max(0, end - 60), end + 40):
        return None, end
    seam = _seam_before(text, max(after, end - _LONGEST_SEAM, 0), end)
    if seam is None:
        return None, end
    line = text.rfind("\n", 0, seam.start())
    at = max(text.rfind("\n", 0, max(0, line)) + 1, seam.start() - _NEAR)
    spans = _first_part(text, at, seam)
    commas = seam.re is _COMMA
    at = seam.end()
    for _ in range(_MOST):
        token = _TOKEN.match(text, at)
        here = token.end() if token else at
        following = _SEAM.match(text, here) or (_COMMA.match(text, here) if commas else None)
        if following is None:
            break
        spans.append((at, here))
        at = following.end()
    stop = text.find("\n", at)
    spans.append((at, min(len(text) if stop < 0 else stop, at + _NEAR)))
    return _put_together(text, spans), at


def following(text: str, end: int) -> list[tuple[int, int]]:
    """Return the literals that continue one that ends at `end`, whatever characters they hold: a
    secret does not stop at a seam."""
    spans = []
    for _ in range(_MOST):
        seam = _SEAM.match(text, end)
        part = _PART.match(text, seam.end()) if seam else None
        if part is None:
            break
        spans.append(part.span())
        end = part.end()
    return spans


@lru_cache(maxsize=4)
def _fences(text: str) -> tuple[tuple[int, ...], ...]:
    """Return the offsets of each mark that opens and closes a literal over several lines."""
    return tuple(tuple(at.start() for at in re.finditer(mark, text)) for mark in _FENCES)


def in_block(text: str, at: int) -> bool:
    """Return whether a place is inside a literal over several lines: triple quotes, backticks, a
    heredoc."""
    if any(bisect_left(offsets, at) % 2 for offsets in _fences(text)):
        return True
    start = text.rfind("<<", max(0, at - _HEREDOC_REACH), at)
    opened = _HEREDOC.match(text, start, at) if start >= 0 else None
    return opened is not None and not re.search(rf"\n[ \t]*{opened[1]}\b", text[start:at])


_FENCES = ('"""', "'''", "`")
_HEREDOC = re.compile(r"<<[<~-]?[ ]?[\"']?([A-Za-z_]\w{0,40})[\"']?[^\n]{0,200}\n")
_HEREDOC_REACH = 4000


def _put_together(text: str, spans: list[tuple[int, int]]) -> Joined:
    parts, length = [], 0
    for start, stop in spans:
        parts.append((length, start, stop - start))
        length += stop - start
    return Joined("".join(text[start:stop] for start, stop in spans), tuple(parts))


def _seam_before(text: str, start: int, end: int) -> re.Match[str] | None:
    for kind in (_SEAM, _COMMA):
        for seam in kind.finditer(text, start, end):
            if _looks_generated(text, seam) and (kind is _SEAM or _in_call(text, seam)):
                return seam
    return None


def _looks_generated(text: str, seam: re.Match[str]) -> bool:
    """Return whether the text around a seam may be one value: long, without blanks, with a
    digit."""
    at, end = seam.span()
    if text[at - 1 : at].isspace() or text[end : end + 1].isspace():
        return False
    if text[at - 2 : at - 1] == "\\":  # `\n` at the end of a literal: the next is another line
        return False
    before = _PARTING.split(text[max(0, at - 80) : at])[-1]
    whole = before + _PARTING.split(text[end : end + 80], 1)[0]
    return len(whole) >= _LEAST and _DIGIT.search(whole) is not None


def _in_call(text: str, seam: re.Match[str]) -> bool:
    """Return whether literals with a comma between them are joined: `join([…])`, `[…].join("")`."""
    before = text[max(0, seam.start() - 120) : seam.start()].lower()
    return (
        any(word in before for word in ("join([", "join((", "concat(", "paste0("))
        or "].join(" in text[seam.end() : seam.end() + 200]
    )


def _first_part(text: str, at: int, seam: re.Match[str]) -> list[tuple[int, int]]:
    """Return the span before the first seam, without the separator between a name and its
    literal."""
    spans = []
    first = text[at : seam.start()]
    if drop := _BEFORE_FIRST.search(first):
        spans.append((at, at + drop.start("drop")))
        at += drop.end("drop")
    if seam.group().endswith("}") and (opening := _OPENING.search(text[at : seam.start()])):
        spans.append((at, at + opening.start()))
        at += opening.end()
    return [*spans, (at, seam.start())]
