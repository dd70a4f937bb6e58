"""One level of decoding: a secret in base64, percent-encoding or \\u escapes is still a secret.

A run that decodes to readable text is searched like any other text; if that finds something, the
whole run is replaced."""

from __future__ import annotations

import binascii
import re
import string
from collections.abc import Iterator

_SHORTEST = 40
_LETTERS = (string.ascii_letters + string.digits + "+/_-").encode()
_MARKED = bytes(97 if byte in _LETTERS else 32 for byte in range(256))
"""Maps every letter of base64 to `a` and all else to a blank: then a long run is a plain search."""
_STANDARD = bytes.maketrans(b"-_", b"+/")
_ESCAPED = re.compile(r"(?:\\u00[0-7][0-9a-fA-F]|\\x[0-7][0-9a-fA-F])++")
_PERCENT = re.compile(r"(?:%[0-7][0-9A-Fa-f]|[\w.~-])++", re.ASCII)
_BYTES = re.compile(
    r"(?:(?:0[xX][0-9a-fA-F]{2}|[0-9]{2,3})[uU]?\s{0,80},\s{0,80})++(?:0[xX][0-9a-fA-F]{2}|[0-9]{2,3})?"
)
_HEAD = 60
_LONGEST_PREFIX = 1000
_READABLE = b"\t\n\r" + bytes(range(0x20, 0x7F))

ESCAPED_HEAD = r"(?:\\u00[0-7][0-9a-f]|\\x[0-7][0-9a-f]){8}"
BYTES_OF = "(?:byte|u8|char|uint8|buffer)"
"""Words that mark a list of decimal numbers as the bytes of a text."""
BYTES_HEAD = (
    r"(?:0x[2-7][0-9a-f],[ ]?){12}"
    rf"|{BYTES_OF}[\w.\[\]()<> =*&:;]{{0,60}}[\[{{(][ \n]{{0,8}}(?:(?:3[2-9]|[4-9][0-9]|1[012][0-9]),[ ]?){{12}}"
)
PERCENT_HEAD = r"%(?:2[bdf]|3[ad]|40|5f|7e)[\w.~-]{0,200}%[0-7][0-9a-f]"


def base64_runs(text: str, raw: bytes) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, decoded) of every long run of base64 letters that decodes to readable
    text; `raw` is UTF-8."""
    for at, stop in _runs(raw):
        head = raw[at : at + _HEAD]
        # the encoding of readable text has letters of either case: this is a digest or a path
        decoded = "" if head.islower() or head.isupper() else _from_base64(raw[at:stop])
        if decoded:
            start = at if len(raw) == len(text) else len(raw[:at].decode("utf-8", "surrogatepass"))
            end = start + stop - at
            yield (
                start,
                end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip("=")),
                decoded,
            )


def _runs(raw: bytes) -> Iterator[tuple[int, int]]:
    marked = raw.translate(_MARKED)
    least, at = b"a" * _SHORTEST, -1
    while (at := marked.find(least, at + 1)) >= 0:
        stop = marked.find(b" ", at)
        stop = len(raw) if stop < 0 else stop
        yield at, stop
        at = stop


def run_at(text: str, kind: int, end: int) -> tuple[int, int, str]:
    """Return (start, end, decoded) of the run in which a trigger of this kind (escapes, percent)
    ended at `end`."""
    pattern, decode = (
        (_ESCAPED, _from_escapes),
        (_PERCENT, _from_percent),
        (_BYTES, _from_numbers),
    )[kind]
    for match in pattern.finditer(text, max(0, end - _LONGEST_PREFIX)):
        if match.end() >= end:
            return (*match.span(), decode(match.group()))
    return end, end, ""


def _from_base64(run: bytes) -> str:
    if len(run) > 1_000_000 or run[:_HEAD].isdigit():
        return ""
    body = run[:-1] if len(run) % 4 == 1 else run
    raw = binascii.a2b_base64(body.translate(_STANDARD) + b"=" * (-len(body) % 4))
    if raw[1:8:2] == b"\0\0\0\0":  # UTF-16, as PowerShell's -EncodedCommand has it
        raw = raw[::2]
    beginning = raw[:400]
    if b"<svg" in beginning:  # a drawing is full of numbers and holds no secret
        return ""
    if len(beginning.translate(None, _READABLE)) * 20 <= len(beginning):
        return raw.decode("latin-1")
    return ""


def _from_escapes(run: str) -> str:
    return re.sub(r"\\(?:u00|x)([0-9a-fA-F]{2})", lambda code: chr(int(code[1], 16)), run)


def _from_percent(run: str) -> str:
    return re.sub(r"%([0-7][0-9A-Fa-f])", lambda code: chr(int(code[1], 16)), run)


def _from_numbers(run: str) -> str:
    codes = [int(code, 0) for code in re.findall(r"0[xX][0-9a-fA-F]{2}|[1-9][0-9]{1,2}", run)]
    return (
        "".join(map(chr, codes)) if all(code < 256 and code in _READABLE for code in codes) else ""
    )
