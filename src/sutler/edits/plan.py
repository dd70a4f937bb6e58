"""Plan of one file's part of a write: its content before and after, and whether that took a merge.

New text keeps the parts that its author could not see: secrets behind markers, line ends,
encodings. Lines that the author left alone stay as in the file; a marker that would enter the file
is refused.

An edit is made for the version that its author saw. If that is the present file, it applies
exactly; if it is a known older version, the edit is applied there and merged by lines; an edit for
an unknown version must fit in one place."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct

from sutler.access.door import Door
from sutler.edits.conflicts import Sides, overlap, stale, unfit
from sutler.edits.difference import hunks
from sutler.edits.merge import merge
from sutler.edits.portable import unportable, unseen
from sutler.edits.replacement import ABSENT, Held, held
from sutler.edits.versions import known_bytes, last_seen
from sutler.errors import ConflictError, RefusedError
from sutler.paths import RelPath, quote
from sutler.scan.text import decode, encode
from sutler.store.records import version_id

MAX_BYTES = 16 << 20  # a merge holds three versions and their lines in memory
_SURROGATE = re.compile("[\ud800-\udfff]")
_MARK = re.compile(r"\[REDACTED(?:-LITERAL)?[:\]][^\]\n]{0,80}\]?")
ANY = "any"
"""A base that accepts the present file, whatever it is."""

Make = Callable[[str, bool], str]
"""Derives an edit's new text from the old one; the flag means that the text it was made for is
unknown."""


class Order(Struct, frozen=True):
    """One file's part of a write. `fresh`: there must be no file yet; `gone`: the file is deleted,
    and `make` must leave no text; `whole`: the new text replaces all of the old."""

    path: RelPath
    make: Make | None
    base: str = ""
    fresh: bool = False
    gone: bool = False
    whole: bool = False
    mode: int = 0
    exact: Held | None = None  # exactly these bytes, for a rollback
    undo: tuple[
        tuple[str, str], ...
    ] = ()  # digests before and after of writes to undo, the last one first


class Plan(Struct, frozen=True):
    """Content of one file before and after (None: deleted)."""

    path: RelPath
    before: Held
    after: Held | None
    base: str
    merged: bool = False

    @property
    def result(self) -> str:
        return self.after.digest if self.after else ""

    @property
    def idle(self) -> bool:
        return (self.after or ABSENT).same(self.before)


def file_before(door: Door, path: RelPath) -> Held:
    """Read the present file; refuse a new one whose name is impossible on some platform."""
    before = held(door.root, path, MAX_BYTES)
    if not before.digest and (point := unseen(path)):
        raise RefusedError(
            f"a name with the invisible character {point}",
            rule="names that are created show what they are",
            next_step="choose another name",
        )
    if not before.digest and door.gate.rules.portable and (why := unportable(path)):
        raise RefusedError(
            f"{quote(path)[:200]} is not a name that every platform can have: {why}",
            rule="portable_names",
            next_step="choose another name",
        )
    return before


def plan_of(door: Door, order: Order) -> Plan:
    """Plan the content of a file after an edit; `rollback.undone` plans an undo."""
    before = file_before(door, order.path)
    if order.exact is not None:
        exact = order.exact._replace(mode=order.exact.mode or before.mode)
        return Plan(order.path, before, exact, before.digest)
    if order.gone:
        return _delete(door, order, before)
    if not before.digest:
        return _create(door, order, before)
    if order.fresh:
        raise ConflictError(
            f"{quote(order.path)} exists already", rule="create writes over nothing",
            next_step="read it, then edit it or write it whole",
        )  # fmt: skip
    return _change(door, order, before)


def _delete(door: Door, order: Order, before: Held) -> Plan:
    """Plan a deletion, of the file that its author saw, down to the last line if the patch lists
    them."""
    if not before.digest:
        raise ConflictError(f"no file {quote(order.path)} to delete", next_step="list the files")
    base = order.base or last_seen(door, order.path)
    if base and base != ANY and not _names(base, before.digest):
        raise stale(door, order.path, base)
    if order.make and _edited(
        door, order, text_of(before.data, order.path)[0], before.digest, unique=False
    ):
        raise ConflictError(
            f"{quote(order.path)} holds more lines than the patch deletes",
            next_step="read the file again, or delete it with '*** Delete File: PATH'",
        )
    return Plan(order.path, before, None, before.digest)


def _create(door: Door, order: Order, before: Held) -> Plan:
    if (
        order.make is None
        or not (order.whole or order.fresh or order.base == ANY)
        or order.base not in ("", ANY)
    ):
        raise ConflictError(
            f"no file {quote(order.path)} to change", next_step="create it with write_file"
        )
    text = order.make("", False)
    refuse_markers("", text, order.path)
    data = bytes_of(text, "utf-8-bom" if text.startswith("\ufeff") else "utf-8", order.path)
    return Plan(order.path, before, Held(data, sha256(data).hexdigest(), order.mode), "")


def _change(door: Door, order: Order, before: Held) -> Plan:
    current, encoding = text_of(before.data, order.path)
    base = order.base or last_seen(door, order.path)
    if base == ANY or _names(base, before.digest):
        text, merged = _edited(door, order, current, before.digest, unique=base == ANY), False
    else:
        old = known_bytes(door, order.path, base)
        if old is None and order.whole:
            raise stale(door, order.path, base)
        if old is None:
            text, merged = _edited(door, order, current, before.digest, unique=True), False
        else:
            text, merged = _merged(door, order, old, current), True
    data = bytes_of(text, encoding, order.path)
    after = Held(data, sha256(data).hexdigest(), order.mode or before.mode)
    return Plan(order.path, before, after, base, merged)


def _merged(door: Door, order: Order, old: bytes, current: str) -> str:
    base, digest = text_of(old, order.path)[0], sha256(old).hexdigest()
    theirs = _edited(door, order, base, digest, unique=False)
    return merge_sides(door, order.path, Sides(version_id(digest), base, current, theirs))


def merge_sides(door: Door, path: RelPath, sides: Sides) -> str:
    """Merge both changes of the base into one text, or raise a conflict that shows all three."""
    base, ours, theirs = (text.encode("utf-8", "surrogatepass") for text in sides[1:])
    merged = merge(base, ours, theirs)
    if merged.clashes:
        raise overlap(door, path, sides, merged.clashes)
    return merged.data.decode("utf-8", "surrogatepass")


def _edited(door: Door, order: Order, text: str, digest: str, *, unique: bool) -> str:
    """Apply the edit to the file's own text, or, if it does not fit, to the text that its author
    was shown."""
    make = order.make
    if make is None:
        return text
    clean = door.gate.clean_text(order.path, text, digest).text
    try:
        new = make(text, unique)
    except ConflictError as fault:
        if clean == text:
            raise unfit(door, order.path, clean, fault) from None
        try:
            new = make(clean, unique)
        except ConflictError as again:
            raise unfit(door, order.path, clean, again) from None
    if order.whole:
        new = same_ends(text, new)
    new = restored(text, clean, new)
    refuse_markers(text, new, order.path)
    return new


def _names(base: str, digest: str) -> bool:
    """Return whether a version id or a digest belongs to this content."""
    return bool(base) and base in (digest, version_id(digest))


# the text of a file, and back


def text_of(data: bytes, path: str) -> tuple[str, str]:
    """Return a file's text and encoding, if the text encodes to the very same bytes."""
    decoded = decode(data)
    if decoded is None or encode(decoded.text, decoded.encoding) != data:
        raise RefusedError(
            f"{quote(path)} is not text in an encoding that can be written back",
            rule="an undecodable file is never edited as text",
            next_step="replace it by other means",
        )
    return decoded.text, decoded.encoding


def bytes_of(text: str, encoding: str, path: str) -> bytes:
    """Encode the text in the file's own encoding, or refuse if that is impossible."""
    text = text.removeprefix("\ufeff")
    try:
        data = encode(text, encoding)
        back = (
            None if encoding in ("utf-8", "utf-8-bom") else decode(data)
        )  # these two hold every text
        same = back is None or (back.text == text and back.encoding == encoding)
    except UnicodeError:
        same = False
        data = b""
    if not same and text.isascii() and encoding in ("cp1252", "latin-1"):
        same = True  # the last non-ASCII letter is gone, and the rest is the same in every encoding
    if not same or (not text.isascii() and _SURROGATE.search(text)):
        raise RefusedError(
            f"the new text does not fit the encoding of {quote(path)} ({encoding})",
            rule="an edit leaves the other bytes of a file as they are",
            next_step=f"use only characters that {encoding} has",
        )
    return data


def restored(raw: str, clean: str, new: str) -> str:
    """Return the new text with the file's own form of every line that was only displayed
    differently."""
    if clean == raw:
        return new
    before, visible, lines = raw.split("\n"), clean.split("\n"), new.split("\n")
    if len(before) != len(visible):
        return new
    at = to = 0
    for change in (*hunks(visible, lines), None):
        end = change.a0 if change else len(visible)
        for step in range(end - at):
            lines[to + step] = before[at + step]
        at, to = (change.a1, change.b1) if change else (at, to)
    return "\n".join(lines)


def refuse_markers(raw: str, new: str, path: str) -> None:
    """Refuse text that would add one of our markers to a file."""
    if "[REDACTED" not in new:
        return
    fresh = Counter(_MARK.findall(new)) - Counter(_MARK.findall(raw))
    if not fresh:
        return
    marks = sorted(fresh)
    where = [
        str(n) for n, line in enumerate(new.split("\n"), 1) if any(mark in line for mark in marks)
    ]
    raise RefusedError(
        f"the new text of {quote(path)} holds redaction markers on line {', '.join(where[:10])}",
        rule="a marker replaces a secret and is never stored in its place",
        next_step="leave such lines exactly as they were read, or change other lines only",
    )


def same_ends(raw: str, new: str) -> str:
    """Give a whole new text the line ends of the old one, if its author sent only plain ones."""
    if "\r\n" not in raw or "\r" in new:
        return new
    before = raw.split("\n")
    plain, lines = [line.removesuffix("\r") for line in before], new.split("\n")
    ends, at, to = ["\r" if line.endswith("\r") else "" for line in before], 0, 0
    out: list[str] = []
    near = ends[0]
    for change in (*hunks(plain, lines), None):
        end = change.a0 if change else len(plain)
        out += [line + ends[at + n] for n, line in enumerate(lines[to : to + end - at])]
        near = ends[end - 1] if end > at and end < len(ends) else near
        if change:
            out += [line + near for line in lines[change.b0 : change.b1]]
            at, to = change.a1, change.b1
    return "\n".join([*out[:-1], lines[-1]])
