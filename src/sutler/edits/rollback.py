"""Undo writes: those of a session, of a call, or back to a stored version of a file.

Later writes by others are merged; where they overlap the undone ones, there is a conflict."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from sutler.access.door import Door
from sutler.edits.conflicts import Sides, stale
from sutler.edits.plan import ANY, Order, Plan, bytes_of, file_before, merge_sides, text_of
from sutler.edits.replacement import Held
from sutler.edits.versions import known_bytes
from sutler.errors import SutlerError, UsageError
from sutler.paths import RelPath, quote, unquote
from sutler.store.records import AuditEntry, AuditRow, unseal, version_id

Steps = tuple[tuple[str, str], ...]


def writes_in(entries: Iterable[AuditEntry]) -> list[tuple[RelPath, Steps]]:
    """Return each file that these calls wrote, with its digests before and after; consecutive
    writes are one, and a write by another caller in between separates them. The last one comes
    first."""
    by_path: dict[str, list[tuple[str, str]]] = {}
    for entry in entries:
        if entry.wrote:
            steps = by_path.setdefault(entry.path, [])
            if steps and steps[-1][1] == entry.before:
                steps[-1] = steps[-1][0], entry.after
            else:
                steps.append((entry.before, entry.after))
    changed = {
        path: tuple(step for step in reversed(steps) if step[0] != step[1])
        for path, steps in by_path.items()
    }
    return [(RelPath(unquote(path)), steps) for path, steps in sorted(changed.items()) if steps]


def undo_of(name: str, rows: Sequence[AuditRow]) -> tuple[Order, ...]:
    writes = writes_in(map(unseal, rows))
    if not writes:
        raise UsageError(
            f"{name[:40]!r} has no writes to undo",
            next_step="see 'sutler log' and 'sutler history'",
        )
    return tuple(Order(path, None, undo=steps) for path, steps in writes)


def version_order(door: Door, where: RelPath, version: str) -> Order:
    """Return the order that gives a file the bytes and the mode of a stored version."""
    versions = door.gate.store.versions(where, 1_000)
    match = next(
        (
            recorded
            for recorded in versions
            if version and version in (recorded.id, recorded.digest)
        ),
        None,
    )
    data = None if match is None else known_bytes(door, where, match.digest)
    if match is None or (data is None and match.digest):
        raise SutlerError(
            f"the bytes of version {version[:40]!r} of {quote(where)} are not kept",
            next_step="see the file's history for versions that were written or replaced here",
        )
    exact = Held(data or b"", match.digest, match.mode)
    return Order(where, None, ANY, gone=not match.digest, exact=exact if match.digest else None)


def undone(door: Door, order: Order) -> Plan:
    """Plan the file without some writes: its content before them if no write followed, else a merge
    with the later ones."""
    before = file_before(door, order.path)
    now, merged = before, False
    for was, became in order.undo:
        if now.digest == became:
            now = version_held(door, order.path, was, now.mode)
        elif was and became and now.digest:
            # Others wrote after it: undo it where the two do not overlap.
            now, merged = merged_step(door, order.path, now, (became, was)), True
        else:
            raise stale(door, order.path, became)
    return Plan(order.path, before, now if now.digest else None, before.digest, merged)


def version_held(door: Door, path: RelPath, digest: str, mode: int) -> Held:
    """Return a stored version as a file: its bytes, and its mode if that was recorded."""
    data = known_bytes(door, path, digest) if digest else b""
    if data is None:
        raise SutlerError(f"what {quote(path)} held in version {version_id(digest)} is not kept")
    modes = (
        version.mode
        for version in door.gate.store.versions(path, 1_000)
        if version.digest == digest and version.mode
    )
    return Held(data, digest, next(modes, mode))


def merged_step(door: Door, path: RelPath, now: Held, step: tuple[str, str]) -> Held:
    """Merge the step between two stored versions into the present file."""
    base, theirs = (version_held(door, path, digest, now.mode) for digest in step)
    current, encoding = text_of(now.data, path)
    sides = Sides(
        version_id(base.digest), text_of(base.data, path)[0], current, text_of(theirs.data, path)[0]
    )
    data = bytes_of(merge_sides(door, path, sides), encoding, path)
    return Held(data, sha256(data).hexdigest(), now.mode)
