"""Decode bytes to text, or detect that they are binary.

The order is seed 004's: a byte-order mark decides; a NUL among the first 8 kB means binary, unless
it looks like UTF-16 without a mark; then strict UTF-8; then Windows-1252 or Latin-1 with the issue
noted. The encoding of a text restores the very same bytes, unless characters had to be replaced,
which the issue states."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from sutler.paths import RelPath
from sutler.scan.snapshot import Problem

_SNIFF: Final = 8192  # git reads about the same 8,000 bytes, and users expect its answer
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\f\b\x1b")) + b"\x7f"
_C1: Final = rb"[\x80-\x9f]"
_CP1252_HOLES: Final = rb"[\x81\x8d\x8f\x90\x9d]"

# Label -> (mark, codec). The longer mark of UTF-32-LE comes before UTF-16-LE's, which begins it.
_MARKED: Final[dict[str, tuple[bytes, str]]] = {
    "utf-8-bom": (b"\xef\xbb\xbf", "utf-8"),
    "utf-32-le-bom": (b"\xff\xfe\0\0", "utf-32-le"),
    "utf-32-be-bom": (b"\0\0\xfe\xff", "utf-32-be"),
    "utf-16-le-bom": (b"\xff\xfe", "utf-16-le"),
    "utf-16-be-bom": (b"\xfe\xff", "utf-16-be"),
}
ENCODINGS: Final = ("utf-8", *_MARKED, "utf-16-le", "utf-16-be", "cp1252", "latin-1")


class Decoded(Struct, frozen=True, gc=False):
    """A text, its encoding, and the fault of the bytes, if any."""

    text: str
    encoding: str
    issue: str = ""


class Loaded(Struct, frozen=True, gc=False):
    """A file's text, read once. `digest` is the sha256 of the raw bytes. It is raw and must not
    leave."""

    path: RelPath
    text: str
    digest: str
    size: int
    encoding: str = "utf-8"
    problems: tuple[Problem, ...] = ()
    data: bytes = b""  # the raw bytes, where they are the text in UTF-8: no second encoding
    stat_key: tuple[int, ...] = ()  # size, times and inode of the very file that was read


def decode(data: bytes) -> Decoded | None:
    """Decode these bytes; None if they are binary."""
    if data.find(b"\0", 0, _SNIFF) < 0:
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            return _marked(data) or _fallback(data, error)
        return Decoded(text[1:], "utf-8-bom") if text[:1] == "\ufeff" else Decoded(text, "utf-8")
    return _marked(data) or _unmarked_utf16(data)


def encode(text: str, encoding: str = "utf-8") -> bytes:
    """Restore the bytes. A character that a one-byte encoding lacks makes the whole text UTF-8."""
    mark, codec = _MARKED.get(encoding, (b"", encoding if encoding in ENCODINGS else "utf-8"))
    try:
        return mark + text.encode(codec)
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _marked(data: bytes) -> Decoded | None:
    """Decode a text behind a UTF-16 or UTF-32 mark (UTF-8 is handled earlier)."""
    for label, (mark, codec) in _MARKED.items():
        if not data.startswith(mark):
            continue
        body = data[len(mark) :]
        try:
            return Decoded(body.decode(codec), label)
        except UnicodeDecodeError as error:
            if codec == "utf-8":
                return None
            if codec.startswith("utf-32"):
                continue
            issue = f"not {codec}: {error.reason} at byte {error.start}; replaced by U+FFFD"
            text = body.decode(codec, "replace")
            return Decoded(text, label, issue) if "\0" not in text[:_SNIFF] else None
    return None


def _unmarked_utf16(data: bytes) -> Decoded | None:
    """Decode UTF-16 without a mark: mostly Latin text has a NUL in every second byte."""
    sample = data[:_SNIFF]
    pairs = len(sample) // 2
    if len(data) % 2 or not pairs or sample.count(0) * 5 < pairs * 2:  # most binaries have less
        return None
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd * 5 >= pairs * 2 and even * 50 <= pairs:
        codec = "utf-16-le"
    elif even * 5 >= pairs * 2 and odd * 50 <= pairs:
        codec = "utf-16-be"
    else:
        return None
    try:
        text = data.decode(codec)
    except UnicodeDecodeError:  # letters by chance: not UTF-16
        return None
    if any(ord(char) < 32 and char not in "\t\n\r\f\b\x1b" for char in set(text)):
        return None
    return Decoded(text, codec)


def _fallback(data: bytes, error: UnicodeDecodeError) -> Decoded | None:
    """Decode one byte to one character, which always succeeds, so check first that this is text."""
    sample = data[:_SNIFF]
    if (len(sample) - len(sample.translate(None, _CONTROLS))) * 33 > len(sample):
        return None
    windows = re.search(_C1, data) is not None and re.search(_CP1252_HOLES, data) is None
    encoding = "cp1252" if windows else "latin-1"
    issue = f"not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}; read as {encoding}"
    return Decoded(data.decode(encoding), encoding, issue)


def lines_of(text: str) -> list[str]:
    """Return lines with their ends; only `\\n` ends one, and a last line without it is a line."""
    lines = text.split("\n")
    tail = lines.pop()
    ended = [f"{line}\n" for line in lines]
    return [*ended, tail] if tail else ended
