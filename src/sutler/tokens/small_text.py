"""The exact tokens of a little text, in o200k_base, without the tokenizer: that takes a quarter of
a second to start.

The vocabulary lies beside this module as a table that is read in a millisecond and searched where
it lies: tokens in 65,536 heaps by their checksum, each as a length, its bytes and its rank.
`tests/vocabulary.py` makes it from the tokenizer's own. What this module cannot be sure of it
leaves to the tokenizer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from struct import unpack_from
from sys import byteorder
from typing import Any
from zlib import crc32

VOCABULARY = "o200k_base"
UNSURE = -1

HEAPS = 1 << 16
_NUMBERS = 4 * (HEAPS + 1)  # bytes
RANK = 3  # bytes
LONGEST = 128
"""Bytes of a word that are put together here: it takes the square of its length."""

# The text is read in classes, every character beyond ASCII as one that stands for its class:
# capitals, small letters,
# letters without case, marks, numbers, blanks, the rest.
_UPPER, _LOWER, _LETTER, _MARK, _NUMBER, _BLANK, _REST, _OTHER = (
    "A",
    "a",
    "\1",
    "\2",
    "0",
    "\t",
    "!",
    "\3",
)
_BLANKS = r"\t\n\v\f\r "
_WORD = (
    rf"[^\r\nA-Za-z{_LETTER}0-9]?(?:[A-Z{_LETTER}{_MARK}]*[a-z{_LETTER}{_MARK}]+|[A-Z{_LETTER}{_MARK}]+)"
    r"(?:'(?:[sStTmMdD]|[rRvV][eE]|[lL][lL]))?"
    r"|[0-9]{1,3}"
    rf"| ?[^{_BLANKS}A-Za-z{_LETTER}0-9]+[\r\n/]*"
    rf"|[{_BLANKS}]*[\r\n]+"
    rf"|[{_BLANKS}]+(?![^{_BLANKS}])"
    rf"|[{_BLANKS}]+"
)
_KINDS = {
    "Lu": _UPPER,
    "Lt": _UPPER,
    "Ll": _LOWER,
    "Lm": _LETTER,
    "Lo": _LETTER,
    "Cn": _OTHER,
    "Cs": _OTHER,
}
_SETTLED = (
    (0x80, 0x530),
    (0x2000, 0x2C00),
    (0x3000, 0xA000),
    (0xAC00, 0xD7A4),
    (0xFE00, 0xFFFE),
    (0x1F000, 0x1FB00),
)
"""Where no later version of Unicode makes a letter, mark or number of what is none in this one."""


class _Classes(dict[int, str]):
    """For str.translate: one entry for each character that has been met."""

    def __missing__(self, code: int) -> str:
        self[code] = made = _class_of(code)
        return made


def _class_of(code: int) -> str:
    from unicodedata import category  # large, and most text is ASCII

    char = chr(code)
    if code < 0x80:
        return _REST if char in (_LETTER, _MARK, _OTHER) else char
    if not any(start <= code < stop for start, stop in _SETTLED):
        return _OTHER
    if char.isspace():
        return _BLANK
    kind = category(char)
    if char == "ſ":  # the only one that is a small `s` to whoever looks for `'s` in either case
        return "s"
    return _KINDS.get(kind) or {"M": _MARK, "N": _NUMBER}.get(kind[0], _REST)


_CLASSES = _Classes()


@cache
def _word() -> re.Pattern[str]:
    return re.compile(_WORD)


def words(text: str) -> list[str] | None:
    """The text in the pieces that no token crosses; None where it holds what this module does not
    know.
    """
    if text.isascii() and not any(char in text for char in (_LETTER, _MARK, _OTHER)):
        return _word().findall(text)
    seen = text.translate(_CLASSES)
    if _OTHER in seen:
        return None
    return [text[found.start() : found.end()] for found in _word().finditer(seen)]


def count(text: str) -> int:
    """Its tokens, or UNSURE."""
    found = words(text)
    if found is None:
        return UNSURE
    total, known = 0, _costs()
    for word in found:
        cost = known.get(word)
        if cost is None:
            cost = known[word] = _cost(word.encode())
        if cost < 0:
            return UNSURE
        total += cost
    return total


@cache
def _costs() -> dict[str, int]:
    """The tokens of words that have been met: as many as this module is allowed to see."""
    return {}


def _cost(word: bytes) -> int:
    if len(word) > LONGEST:
        return UNSURE
    return 1 if rank(word) >= 0 else _merged(word)


def _merged(word: bytes) -> int:
    """How many tokens remain when the pair of the lowest rank is joined, again and again."""
    parts = [word[at : at + 1] for at in range(len(word))]
    ranks = [_pair(left, right) for left, right in pairwise(parts)]
    while ranks and (best := min(ranks)) < _NEVER:
        at = ranks.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
        del ranks[at]
        if at < len(ranks):
            ranks[at] = _pair(parts[at], parts[at + 1])
        if at:
            ranks[at - 1] = _pair(parts[at - 1], parts[at])
    return len(parts)


_NEVER = 1 << 30


def _pair(left: bytes, right: bytes) -> int:
    found = rank(left + right)
    return _NEVER if found < 0 else found


def rank(token: bytes) -> int:
    """A token's rank, or -1."""
    starts, heaps = _table()
    heap = crc32(token) % HEAPS
    at, stop = _NUMBERS + starts[heap], _NUMBERS + starts[heap + 1]
    if heaps.find(token, at, stop) < 0:
        return -1
    size = len(token)
    while at < stop:
        here = heaps[at]
        if here == size and heaps.startswith(token, at + 1):
            return int.from_bytes(heaps[at + 1 + size : at + 1 + size + RANK], "little")
        at += 1 + here + RANK
    return -1


@cache
def _table() -> tuple[Sequence[int], bytes]:
    """Where each heap begins, and the end; and the heaps, after these numbers."""
    loader: Any = __spec__.loader
    data: bytes = loader.get_data(
        (__spec__.origin or "").removesuffix("small_text.py") + f"{VOCABULARY}.bin"
    )
    if byteorder == "little":
        return memoryview(data)[:_NUMBERS].cast("I"), data  # where they lie
    return unpack_from(f"<{HEAPS + 1}I", data), data
