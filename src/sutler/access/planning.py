"""What one file's part of a write comes to: what the file is, what it shall become, and whether that took a merge.

An edit is made for the version its author saw. If that is the file as it is, it applies exactly; if it is an older
version that is known, the edit is made there and merged by lines; if nobody knows it, the edit must fit in one place.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from msgspec import Struct

from sutler.access.conflicts import Sides, overlap, stale, unfit
from sutler.access.door import Door
from sutler.access.restoring import bytes_of, refuse_markers, restored, same_ends, text_of
from sutler.access.trail import known_bytes, last_seen
from sutler.disk.replace import ABSENT, Held, held
from sutler.stages.merge import merge
from sutler.values.access import version_id
from sutler.values.errors import ConflictError, RefusedError, SutlerError
from sutler.values.paths import RelPath, quote
from sutler.values.portable import unportable

MAX_BYTES = 16 << 20
ANY = "any"
"""A base that says: whatever is there now."""

Make = Callable[[str, bool], str]
"""How an edit makes the new text of the old one; the flag says that nobody knows which text it was made for."""


class Order(Struct, frozen=True):
    """One file's part of a write. `fresh`: there must be no file yet; `gone`: there shall be none, and what `make`
    leaves of the text must be nothing; `whole`: the new text replaces all of the old."""

    path: RelPath
    make: Make | None
    base: str = ""
    fresh: bool = False
    gone: bool = False
    whole: bool = False
    mode: int = 0
    exact: Held | None = None  # these very bytes, for a rollback
    undo: tuple[tuple[str, str], ...] = ()  # digests before and after of writes to take back, the last one first


class Plan(Struct, frozen=True):
    """What one file is and what it shall become (None: gone)."""

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


def plan_of(door: Door, order: Order) -> Plan:
    before = held(door.root, order.path, MAX_BYTES)
    if not before.digest and door.gate.rules.portable and (why := unportable(order.path)):
        raise RefusedError(
            f"{quote(order.path)[:200]} is not a name that every platform can have: {why}",
            rule="portable_names",
            next_step="choose another name",
        )
    if order.undo:
        return _undone(door, order, before)
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


def _undone(door: Door, order: Order, before: Held) -> Plan:
    """The file without some writes: what it was before where nobody wrote since, else a merge with what they wrote."""
    now, merged = before, False
    for was, came in order.undo:
        if now.digest == came:
            now = version_held(door, order.path, was, now.mode)
        elif was and came and now.digest:
            now, merged = _without(door, order.path, now, (was, came)), True
        else:
            raise stale(door, order.path, came)
    return Plan(order.path, before, now if now.digest else None, before.digest, merged)


def version_held(door: Door, path: RelPath, digest: str, mode: int) -> Held:
    """A kept version as a file: its bytes, and the mode it had if anybody looked."""
    data = known_bytes(door, path, digest) if digest else b""
    if data is None:
        raise SutlerError(f"what {quote(path)} held in version {version_id(digest)} is not kept")
    known = (one.mode for one in door.gate.store.versions(path, 1_000) if one.digest == digest and one.mode)
    return Held(data, digest, next(known, mode))


def _without(door: Door, path: RelPath, now: Held, step: tuple[str, str]) -> Held:
    """Someone wrote after the write that is taken back: as if it had never been, where the two do not meet."""
    was, came = (version_held(door, path, digest, now.mode) for digest in step)
    current, encoding = text_of(now.data, path)
    sides = Sides(version_id(came.digest), text_of(came.data, path)[0], current, text_of(was.data, path)[0])
    data = bytes_of(merge_sides(door, path, sides), encoding, path)
    return Held(data, sha256(data).hexdigest(), now.mode)


def _delete(door: Door, order: Order, before: Held) -> Plan:
    """A delete is for the file its author saw, down to the last line if the patch lists them."""
    if not before.digest:
        raise ConflictError(f"no file {quote(order.path)} to delete", next_step="list the files")
    base = order.base or last_seen(door, order.path)
    if base and base != ANY and not _names(base, before.digest):
        raise stale(door, order.path, base)
    if order.make and _made(door, order, text_of(before.data, order.path)[0], before.digest, unique=False):
        raise ConflictError(
            f"{quote(order.path)} holds more lines than the patch deletes",
            next_step="read the file again, or delete it with '*** Delete File: PATH'",
        )
    return Plan(order.path, before, None, before.digest)


def _create(door: Door, order: Order, before: Held) -> Plan:
    if order.make is None or not (order.whole or order.fresh or order.base == ANY) or order.base not in ("", ANY):
        raise ConflictError(f"no file {quote(order.path)} to change", next_step="create it with write_file")
    text = order.make("", False)
    refuse_markers("", text, order.path)
    data = bytes_of(text, "utf-8-bom" if text.startswith("\ufeff") else "utf-8", order.path)
    return Plan(order.path, before, Held(data, sha256(data).hexdigest(), order.mode), "")


def _change(door: Door, order: Order, before: Held) -> Plan:
    current, encoding = text_of(before.data, order.path)
    base = order.base or last_seen(door, order.path)
    if base == ANY or _names(base, before.digest):
        text, merged = _made(door, order, current, before.digest, unique=base == ANY), False
    else:
        old = known_bytes(door, order.path, base)
        if old is None and order.whole:
            raise stale(door, order.path, base)
        if old is None:
            text, merged = _made(door, order, current, before.digest, unique=True), False
        else:
            text, merged = _merged(door, order, old, current), True
    data = bytes_of(text, encoding, order.path)
    after = Held(data, sha256(data).hexdigest(), order.mode or before.mode)
    return Plan(order.path, before, after, base, merged)


def _merged(door: Door, order: Order, old: bytes, current: str) -> str:
    base, digest = text_of(old, order.path)[0], sha256(old).hexdigest()
    theirs = _made(door, order, base, digest, unique=False)
    return merge_sides(door, order.path, Sides(version_id(digest), base, current, theirs))


def merge_sides(door: Door, path: RelPath, sides: Sides) -> str:
    """Both changes of the base in one text, or a conflict that shows all three."""
    base, ours, theirs = (text.encode("utf-8", "surrogatepass") for text in sides[1:])
    found = merge(base, ours, theirs)
    if found.clashes:
        raise overlap(door, path, sides, found.clashes)
    return found.data.decode("utf-8", "surrogatepass")


def _made(door: Door, order: Order, text: str, digest: str, *, unique: bool) -> str:
    """The edit made on a text: on the file's own, or where that does not fit, on what its author was shown."""
    make = order.make
    if make is None:
        return text
    clean = door.pages.clean_text(order.path, text, digest).text
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
    """Whether a version id or a digest is that of this content."""
    return bool(base) and base in (digest, version_id(digest))
