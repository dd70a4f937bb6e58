"""Rows of the store as values, and what an entry of the ledger costs its caller."""

from __future__ import annotations

import msgspec

from sutler.store.base import Row
from sutler.values.access import Approval, AuditEntry, Limits, RegistryRow, Spent, Version
from sutler.values.paths import RelPath, unquote


def version_of(row: Row) -> Version:
    id, path, digest, size, at, author, origin, note, mode, call = row
    return Version(
        id=id, path=RelPath(unquote(path)), digest=digest, size=size, at=at, author=author, origin=origin, note=note,
        mode=mode, call=call,
    )  # fmt: skip


def approval_of(row: Row) -> Approval:
    body, state, settled_by, used_by = row
    found = msgspec.json.decode(body, type=Approval)
    return msgspec.structs.replace(
        found, path=RelPath(unquote(found.path)), state=state, settled_by=settled_by, used_by=used_by
    )


def registry_row_of(row: Row) -> RegistryRow:
    path, size, digest, mtime_ns, version, tags, sensitivity, language = row
    return RegistryRow(
        RelPath(unquote(path)), size, digest, mtime_ns, version, tuple(tags.split()), sensitivity, language
    )


def charge(entry: AuditEntry) -> Spent:
    """What an entry costs its caller. A write counts when it is about to happen, a read when it is about to leave."""
    if entry.phase == "intent":
        return Spent(writes=1)
    if entry.phase != "done":
        return Spent()
    return Spent(reads=int(entry.effect != "write"), bytes=entry.bytes, tokens=entry.tokens)


def over(spent: Spent, limits: Limits) -> str:
    """Which budget is overdrawn, as a rule; empty when none is."""
    for name in ("reads", "writes", "bytes", "tokens"):
        limit, used = getattr(limits, name), getattr(spent, name)
        if limit is not None and used > limit:
            return f"budget: {name} <= {limit}"
    return ""


def says_the_same(digest: str, call: str, version: Version) -> bool:
    """A write is a version of its own; what was merely seen adds nothing to the same content."""
    return call == version.call if version.call else digest == version.digest
