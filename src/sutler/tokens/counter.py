"""Count the cost of a text offline: characters, bytes, or the exact tokens of a vocabulary.

A small text in o200k_base is counted from a table, because the tokenizer takes a quarter of a
second to start. The table is a file beside this module, loads in a millisecond and is searched in
place: tokens in 65,536 buckets (heaps) by checksum, each as length, bytes and rank.
`tests/vocabulary.py` builds it from the tokenizer's vocabulary. A text that the table cannot count
exactly goes to the tokenizer."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from struct import unpack_from
from sys import byteorder
from typing import TYPE_CHECKING, Any
from zlib import crc32

from sutler.errors import UsageError
from sutler.setting_table import Unit

if TYPE_CHECKING:
    import splintr

VOCABULARY = "o200k_base"
UNSURE = -1

HEAPS = 1 << 16
_NUMBERS = 4 * (HEAPS + 1)  # bytes
RANK = 3  # bytes
LONGEST = 128
"""Longest word in bytes that is merged here: merging takes quadratic time."""

# Every non-ASCII character is translated to one that represents its class, so that the pattern
# needs only ASCII: upper case, lower case, letters without case, marks, numbers, blanks, the rest.
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
    rf"[^\r\nA-Za-z{_LETTER}0-9]?"
    rf"(?:[A-Z{_LETTER}{_MARK}]*[a-z{_LETTER}{_MARK}]+|[A-Z{_LETTER}{_MARK}]+)"
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
"""Ranges where the class of a character is the same in all later versions of Unicode."""


class _Classes(dict[int, str]):
    """Lazy table for str.translate, with an entry for each character seen so far."""

    def __missing__(self, code: int) -> str:
        self[code] = character_class = _class_of(code)
        return character_class


def _class_of(code: int) -> str:
    from unicodedata import category  # a large module; most text is ASCII

    char = chr(code)
    if code < 0x80:
        return _REST if char in (_LETTER, _MARK, _OTHER) else char
    if not any(start <= code < stop for start, stop in _SETTLED):
        return _OTHER
    if char.isspace():
        return _BLANK
    kind = category(char)
    if char == "ſ":  # the only other letter that matches `'s` without regard to case
        return "s"
    return _KINDS.get(kind) or {"M": _MARK, "N": _NUMBER}.get(kind[0], _REST)


_CLASSES = _Classes()


@cache
def _word() -> re.Pattern[str]:
    return re.compile(_WORD)


def words(text: str) -> list[str] | None:
    """Split the text into pieces that no token crosses; return None if it holds a character of
    unknown class."""
    if text.isascii() and not any(char in text for char in (_LETTER, _MARK, _OTHER)):
        return _word().findall(text)
    seen = text.translate(_CLASSES)
    if _OTHER in seen:
        return None
    return [text[match.start() : match.end()] for match in _word().finditer(seen)]


def count_small(text: str) -> int:
    """Count the tokens from the table; return UNSURE if the count could be wrong."""
    pieces = words(text)
    if pieces is None:
        return UNSURE
    total, costs = 0, _costs()
    for word in pieces:
        cost = costs.get(word)
        if cost is None:
            cost = costs[word] = _cost(word.encode())
        if cost < 0:
            return UNSURE
        total += cost
    return total


@cache
def _costs() -> dict[str, int]:
    """Return the cache of token counts by word; bounded by LITTLE, the text that is counted
    here."""
    return {}


def _cost(word: bytes) -> int:
    if len(word) > LONGEST:
        return UNSURE
    return 1 if rank(word) >= 0 else _merged(word)


def _merged(word: bytes) -> int:
    """Return the number of tokens after byte-pair merging, lowest rank first."""
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


_NEVER = 1 << 30  # above every rank, so that pairs that never merge lose each comparison


def _pair(left: bytes, right: bytes) -> int:
    joined = rank(left + right)
    return _NEVER if joined < 0 else joined


def rank(token: bytes) -> int:
    """Return a token's rank, or -1."""
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
    """Return the start of each heap with the final end, and the file, whose heaps follow these
    numbers."""
    loader: Any = __spec__.loader
    data: bytes = loader.get_data(
        (__spec__.origin or "").removesuffix("counter.py") + f"{VOCABULARY}.bin"
    )
    if byteorder == "little":
        return memoryview(data)[:_NUMBERS].cast("I"), data  # no copy
    return unpack_from(f"<{HEAPS + 1}I", data), data


Counter = Callable[[str], int]
"""The cost of a text. Never negative, zero for the empty text, the same for the same text."""

VOCABULARIES = (
    "o200k_base",
    "cl100k_base",
    "llama3",
    "deepseek_v3",
    "qwen3",
    "mistral_v3",
    "glm4",
    "kimi_k2",
)
"""Vocabularies in the tokenizer's wheel: counting needs no network. The first is the default."""
USUAL = VOCABULARIES[0]
ESTIMATES = {"claude-estimate": 110, "gemini-estimate": 118}
"""Tokens per hundred tokens of `o200k_base`, for models whose vocabulary is not public. `python -m
bench.estimates` measures their error; docs/guide.md states it."""

LONG = 1 << 22
"""Length in characters above which a text is counted in pieces."""
LITTLE = 600_000
"""Characters that a process may count without the tokenizer, which is ten times as fast but takes
time to load."""
_loading = threading.Lock()
_CUT = r"\n(?=[A-Za-z])"
_BARRED = ("o200k_base", "cl100k_base", "llama3")  # all their control tokens begin with "<|"


def count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


_tokenizers: dict[str, splintr.AnyTokenizer] = {}
_wanted: set[str] = set()  # loaded or loading


def _tokenizer(vocabulary: str) -> splintr.AnyTokenizer:
    """Return the tokenizer; wait if another thread is loading it."""
    _wanted.add(vocabulary)
    with _loading:
        if vocabulary not in _tokenizers:
            import splintr  # heavy: load it only if tokens are counted

            _tokenizers[vocabulary] = splintr.Tokenizer.from_pretrained(vocabulary)
        return _tokenizers[vocabulary]


def expect_much() -> None:
    """Use the tokenizer from the first text on, in a process that will count many texts."""
    _wanted.add(USUAL)


def require_vocabulary(vocabulary: str) -> None:
    """Raise UsageError for an unknown vocabulary."""
    names = (*VOCABULARIES, *ESTIMATES)
    if vocabulary not in names:
        close = next((name for name in names if name.startswith(vocabulary[:5])), "")
        raise UsageError(
            f"unknown counter '{vocabulary}'",
            next_step=f"did you mean '{close}'?"
            if close
            else f"use one of {', '.join(names)}, or 'none' to count nothing",
        )


@lru_cache(maxsize=4)  # a counter may hold a tokenizer of many megabytes
def token_counter(vocabulary: str) -> Counter:
    """Return the counter of tokens in `vocabulary`: exact, or an estimate if the name says so. With
    the usual vocabulary a small text is counted without the tokenizer."""
    require_vocabulary(vocabulary)
    if percent := ESTIMATES.get(vocabulary):
        return lambda text: -(-percent * _thrifty(text) // 100)
    return _thrifty if vocabulary == USUAL else by_tokenizer(vocabulary)


_counted_little = 0  # characters


def _thrifty(text: str) -> int:
    global _counted_little  # total of this process without the tokenizer
    if USUAL not in _wanted and _counted_little + len(text) <= LITTLE:
        _counted_little += len(text)
        tokens = count_small(text)
        if tokens >= 0:
            return tokens
    return by_tokenizer(USUAL)(text)


@lru_cache(maxsize=4)
def by_tokenizer(vocabulary: str) -> Counter:
    """Return the counter of the tokenizer; cached, since loading takes a quarter of a second."""
    tokenizer = _tokenizer(vocabulary)
    flat, ordinary = tokenizer.encode_flat, tokenizer.encode_ordinary

    def count(text: str) -> int:
        # encode_flat returns four bytes per token and is the fastest, but reads `<|endoftext|>` as
        # a control token, which must be counted as plain text here. The search for one character
        # comes first, because it is faster than that for two.
        return len(ordinary(text)) if "|" in text and "<|" in text else len(flat(text)) // 4

    def count_ordinary(text: str) -> int:
        return len(ordinary(text))

    def count_long(text: str) -> int:
        return count(text) if len(text) <= LONG else sum(map(count, slices(text, LONG)))

    return count_long if vocabulary in _BARRED else count_ordinary


def slices(text: str, size: int) -> Iterator[str]:
    """Split a text into pieces of about `size` with the same tokens as the whole, to save memory:
    the tokens of a very long text take many times its size. The cuts are between a newline and a
    letter, which these vocabularies never join."""
    start = 0
    while len(text) - start > size and (cut := re.compile(_CUT).search(text, start + size)):
        yield text[start : cut.end()]
        start = cut.end()
    yield text[start:]


def counter_for(unit: Unit, vocabulary: str) -> Counter:
    """Return the counter for a budget in `unit`."""
    if unit == "chars":
        return len
    return count_bytes if unit == "bytes" else token_counter(vocabulary)
