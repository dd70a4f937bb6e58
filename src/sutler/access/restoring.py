"""New text for an old file, without what its author could not see: secrets behind markers, line ends, encodings.

A model edits what it was shown, and it was shown clean text. Lines it left alone go back to what the file has; a marker
that would end up in the file is refused.
"""

from __future__ import annotations

import re
from collections import Counter

from sutler.disk.text import decode, encode
from sutler.stages.difference import hunks
from sutler.values.errors import RefusedError
from sutler.values.paths import quote

_SURROGATE = re.compile("[\ud800-\udfff]")
_MARK = re.compile(r"\[REDACTED(?:-LITERAL)?[:\]][^\]\n]{0,80}\]?")


def text_of(data: bytes, path: str) -> tuple[str, str]:
    """A file's text and encoding, if the text gives back the very same bytes."""
    decoded = decode(data)
    if decoded is None or encode(decoded.text, decoded.encoding) != data:
        raise RefusedError(
            f"{quote(path)} is not text in an encoding that can be written back",
            rule="an undecodable file is never edited as text",
            next_step="replace it by other means",
        )
    return decoded.text, decoded.encoding


def bytes_of(text: str, encoding: str, path: str) -> bytes:
    """The text in the file's own encoding, or a refusal when that cannot hold it."""
    text = text.removeprefix("\ufeff")
    try:
        data = encode(text, encoding)
        back = None if encoding in ("utf-8", "utf-8-bom") else decode(data)  # these two hold every text
        same = back is None or (back.text == text and back.encoding == encoding)
    except UnicodeError:
        same = False
        data = b""
    if not same and text.isascii() and encoding in ("cp1252", "latin-1"):
        same = True  # the last foreign letter went, and the rest is the same in every encoding
    if not same or (not text.isascii() and _SURROGATE.search(text)):
        raise RefusedError(
            f"the new text does not fit the encoding of {quote(path)} ({encoding})",
            rule="an edit leaves the other bytes of a file as they are",
            next_step=f"use only characters that {encoding} has",
        )
    return data


def restored(raw: str, clean: str, new: str) -> str:
    """The new text with every line that was only shown differently as the file has it."""
    if clean == raw:
        return new
    before, shown, lines = raw.split("\n"), clean.split("\n"), new.split("\n")
    if len(before) != len(shown):
        return new
    at = to = 0
    for one in (*hunks(shown, lines), None):
        end = one.a0 if one else len(shown)
        for step in range(end - at):
            lines[to + step] = before[at + step]
        at, to = (one.a1, one.b1) if one else (at, to)
    return "\n".join(lines)


def refuse_markers(raw: str, new: str, path: str) -> None:
    """No marker of ours may become part of a file that did not have it."""
    if "[REDACTED" not in new:
        return
    fresh = Counter(_MARK.findall(new)) - Counter(_MARK.findall(raw))
    if not fresh:
        return
    marks = sorted(fresh)
    where = [str(n) for n, line in enumerate(new.split("\n"), 1) if any(mark in line for mark in marks)]
    raise RefusedError(
        f"the new text of {quote(path)} holds redaction markers on line {', '.join(where[:10])}",
        rule="a marker stands for a secret and is never stored in its place",
        next_step="leave such lines exactly as they were read, or change other lines only",
    )


def same_ends(raw: str, new: str) -> str:
    """A whole new text with the line ends of the old one, where its author sent none but plain ones."""
    if "\r\n" not in raw or "\r" in new:
        return new
    before = raw.split("\n")
    plain, lines = [line.removesuffix("\r") for line in before], new.split("\n")
    ends, at, to = ["\r" if line.endswith("\r") else "" for line in before], 0, 0
    out: list[str] = []
    near = ends[0]
    for one in (*hunks(plain, lines), None):
        end = one.a0 if one else len(plain)
        out += [line + ends[at + n] for n, line in enumerate(lines[to : to + end - at])]
        near = ends[end - 1] if end > at and end < len(ends) else near
        if one:
            out += [line + near for line in lines[one.b0 : one.b1]]
            at, to = one.a1, one.b1
    return "\n".join([*out[:-1], lines[-1]])
