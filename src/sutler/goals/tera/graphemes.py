"""User-perceived characters, near enough to Unicode's extended grapheme clusters for loops and truncation."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator


def graphemes(text: str) -> Iterator[str]:
    """Split a text into clusters: marks, joiners, flags, jamo and CRLF stay together."""
    start = 0
    for at in range(1, len(text)):
        if _breaks(text, start, at):
            yield text[start:at]
            start = at
    if text:
        yield text[start:]


def _breaks(text: str, start: int, at: int) -> bool:
    before, char = text[at - 1], text[at]
    if before == "\r" and char == "\n":
        return False
    if _control(before) or _control(char):
        return True
    if _extends(char) or (before == "\u200d" and _pictographic(char) and _pictographic(text[start])):
        return False
    if _flag(before) and _flag(char):
        return (at - start) % 2 == 0
    return not _jamo(before, char)


def _control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Zl", "Zp") or (
        unicodedata.category(char) == "Cf" and char not in "\u200c\u200d"
    )


def _extends(char: str) -> bool:
    if char < "\u0300":
        return False
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or char in "\u200c\u200d"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


def _pictographic(char: str) -> bool:
    return char >= "\u2190" and unicodedata.category(char) in ("So", "Sk", "Sm", "Cn")


def _flag(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _jamo(before: str, char: str) -> bool:
    """Hangul: leading consonants, vowels and trailing consonants build one syllable."""
    lead = "\u1100" <= before <= "\u115f"
    vowel = "\u1160" <= char <= "\u11a7"
    trail = "\u11a8" <= char <= "\u11ff"
    syllable = "\uac00" <= before <= "\ud7a3"
    open_syllable = syllable and (ord(before) - 0xAC00) % 28 == 0
    if lead:
        return vowel or "\u1100" <= char <= "\u115f" or "\uac00" <= char <= "\ud7a3"
    if open_syllable or "\u1160" <= before <= "\u11a7":
        return vowel or trail
    return (syllable or "\u11a8" <= before <= "\u11ff") and trail
