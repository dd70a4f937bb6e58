"""Invisible and hostile characters made visible: a model must not read what a person cannot see.

Unicode tags, zero-width and bidi characters, control characters (ESC and with it ANSI and OSC
sequences), stray variation selectors and fillers become `⟨U+E0069⟩` and are counted. Normal writing
stays: emoji with joiners and selectors, flags, CJK with its selectors, joiners in Arabic, Persian,
Hebrew and Indic text."""

from __future__ import annotations

import re

from msgspec import Struct

_BY_LEADING_BYTE = {
    0xC2: rb"\xc2[\x80-\x9f\xad]",
    0xCD: rb"\xcd\x8f",
    0xD8: rb"\xd8\x9c",
    0xE1: rb"\xe1(?:\x85[\x9f\xa0]|\x9e[\xb4\xb5]|\xa0[\x8b-\x8f])",
    0xE2: rb"\xe2(?:\x80[\x8b-\x8f\xa8-\xae]|\x81[\xa0-\xaf])",
    0xE3: rb"\xe3\x85\xa4",
    0xED: rb"\xed[\xa0-\xbf]",
    0xEF: rb"\xef(?:\xb7[\x90-\xaf]|\xb8[\x80-\x8f]|\xbb\xbf|\xbe\xa0|\xbf[\xb0-\xbb\xbe\xbf])",
    0xF3: rb"\xf3\xa0",
}
"""The suspects in UTF-8, sorted by their first byte: a search for one byte is several times
faster."""
_HARMLESS = bytes(set(range(256)) - {*range(9), 0x0B, *range(0x0E, 0x20), 0x7F, *_BY_LEADING_BYTE})
"""Bytes that begin no suspect in UTF-8 and are none."""


class Visible(Struct, frozen=True):
    """A text without hidden characters, and their counts by kind, in alphabetical order."""

    text: str
    counts: tuple[tuple[str, int], ...] = ()


# Uncompiled texts: few runs need them, and `re` caches compiled patterns.
_SUSPECT = (
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_FLAG = (
    "\U0001f3f4\U000e0067\U000e0062(?:"
    "\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074|\U000e0077\U000e006c\U000e0073)\U000e007f"
)
_EMOJI = "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
_JOINING = (
    "[\u0590-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af"
    "\u1a20-\u1aaf\u1b00-\u1c4f\ua840-\ua87f\ua8e0-\ua8ff\uaa60-\uaa7f\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefe]"
)
_RIGHT_TO_LEFT = "[\u0590-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefe]"
_IDEOGRAPH = "[\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_SELECTABLE = "[0-9#*\u2100-\u2bff\u3000-\u303f]"


def visible(text: str, raw: bytes = b"") -> Visible:
    """Return `text` with every hidden character spelled out, or unchanged if it has none. `raw` is
    the text in UTF-8 if the caller has it already."""
    if not _may_hide(text, raw):
        return Visible(text)
    counts: dict[str, int] = {}
    flags = {at for flag in re.finditer(_FLAG, text) for at in range(*flag.span())}

    def spell(found: re.Match[str]) -> str:
        at = found.start()
        if at in flags or _belongs(text, at):
            return found.group()
        kind = kind_of(found.group())
        counts[kind] = counts.get(kind, 0) + 1
        return f"\u27e8U+{ord(found.group()):04X}\u27e9"

    shown = re.sub(_SUSPECT, spell, text)
    return Visible(shown, tuple(sorted(counts.items())))


def _may_hide(text: str, raw: bytes = b"") -> bool:
    """Return whether a suspect is there. Most text is cleared by its bytes alone, ten times faster
    than by a pattern."""
    raw = raw or text.encode("utf-8", "surrogatepass")
    for byte in sorted(set(raw.translate(None, _HARMLESS))):
        if byte not in _BY_LEADING_BYTE or re.search(_BY_LEADING_BYTE[byte], raw):
            return True
    return False


def kind_of(char: str) -> str:
    code = ord(char)
    if code < 0xA0:
        return "control"
    if 0xE0000 <= code <= 0xE007F:
        return "tag"
    if code in (0x200E, 0x200F, 0x061C) or 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069:
        return "bidi"
    if 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x180B <= code <= 0x180F:
        return "selector"
    if code in (0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF):
        return "zero-width"
    return "other"


def _belongs(text: str, at: int) -> bool:
    """Return whether the character at `at` is part of normal writing, as the module's docstring
    defines it."""
    code = ord(text[at])
    before = text[at - 1] if at else ""
    after = text[at + 1] if at + 1 < len(text) else ""
    if code == 0xFEFF:
        return at == 0
    if code == 0x200D:
        return (_emoji_end(text, at - 1) and bool(re.match(_EMOJI, after))) or bool(
            re.match(_JOINING, before)
        )
    if code == 0x200C:
        return bool(re.match(_JOINING, before))
    if code in (0x200E, 0x200F, 0x061C):
        return bool(re.search(_RIGHT_TO_LEFT, text[max(0, at - 40) : at + 40]))
    if 0xFE00 <= code <= 0xFE0F:
        return bool(
            re.match(_EMOJI, before)
            or re.match(_SELECTABLE, before)
            or re.match(_IDEOGRAPH, before)
        )
    if 0xE0100 <= code <= 0xE01EF:
        return bool(re.match(_IDEOGRAPH, before))
    if 0x180B <= code <= 0x180E:
        return "\u1800" <= before <= "\u18af" and before != text[at]
    return False


def _emoji_end(text: str, at: int) -> bool:
    """Return whether the character at `at` ends an emoji: itself one, or a selector or skin tone
    after one."""
    if at < 0:
        return False
    if text[at] == "\ufe0f" and at:
        at -= 1
    return bool(re.match(_EMOJI, text[at]))
