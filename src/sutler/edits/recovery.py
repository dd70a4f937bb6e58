"""Recovery after an interruption: every write that began gets its outcome by what the files hold.

A replaced file is recorded as written, any other as not done, and a patch that reached only some of
its files is finished, since its contents were stored before it began. An edit by another program in
between is kept."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from sutler.access.door import Door
from sutler.edits import replacement
from sutler.errors import SutlerError
from sutler.paths import RelPath, unquote
from sutler.store.records import AuditEntry, AuditRow, Version, stamp, unseal, version_id

_LARGEST = 1 << 30  # remains of a crash must be read whatever their size, or they stay unknown


def recover(door: Door) -> int:
    """Settle the interrupted writes that no living process works on; return their number."""
    store = door.gate.store
    if not store.pending_count():
        return 0
    groups: dict[str, list[AuditRow]] = {}
    for row in store.pending():
        groups.setdefault(row.call.partition(".")[0], []).append(row)
    return sum(_settle(door, group) for group in groups.values())


def _settle(door: Door, group: Sequence[AuditRow]) -> int:
    store, paths = door.gate.store, [RelPath(unquote(row.path)) for row in group]
    try:
        with store.hold(paths, wait=0):
            waiting = {row.call for row in store.pending()}
            if any(row.call not in waiting for row in group):
                return 0  # settled by its own process meanwhile
            return _record(door, group, paths)
    except (SutlerError, OSError):
        return 0  # held by a living process, or not readable now: the next call tries again


def _record(door: Door, group: Sequence[AuditRow], paths: Sequence[RelPath]) -> int:
    # First of all: a new file that was just linked into place has two names until its temporary one
    # is gone.
    left = [replacement.sweep(door.root, path) for path in paths]
    now = [replacement.held(door.root, path, _LARGEST) for path in paths]
    entries = [unseal(row) for row in group]
    states = [_state(entry, current) for entry, current in zip(entries, now, strict=True)]
    if "new" in states and "other" not in states:
        for entry, path, state, current in zip(entries, paths, states, now, strict=True):
            if state == "old":
                _finish(door, entry, path, current)
        now = [replacement.held(door.root, path, _LARGEST) for path in paths]
        states = ["new"] * len(entries)
    for path in (
        paths
    ):  # a killed process may not have synced the names that the outcome is about to record
        replacement.sync_parent(door.root, path)
    at = stamp(door.gate.clock())
    rows: list[AuditEntry] = []
    versions: list[Version] = []
    blobs: list[tuple[str, bytes]] = []
    for entry, path, state, current, rest in zip(entries, paths, states, now, left, strict=True):
        rows.append(_outcome(entry, state, at))
        strangers = [data for data in rest if state == "new" and _strange(entry, data)]
        if state == "other" and current.digest:
            strangers.append(current.data)
        blobs += [(sha256(data).hexdigest(), data) for data in strangers]
        versions += [_external(path, data, at) for data in strangers]
        if state == "new" and entry.before != entry.after:
            versions.append(_written(entry, path, current))
    door.gate.store.record(rows, blobs=blobs, versions=versions)
    return len(rows)


def _state(entry: AuditEntry, current: replacement.Held) -> str:
    return (
        "new"
        if current.digest == entry.after
        else "old"
        if current.digest == entry.before
        else "other"
    )


def _strange(entry: AuditEntry, data: bytes) -> bool:
    return sha256(data).hexdigest() not in (entry.before, entry.after)


def _finish(door: Door, entry: AuditEntry, path: RelPath, current: replacement.Held) -> None:
    data = door.gate.store.blob(entry.after) if entry.after else b""
    if data is None:
        raise SutlerError("a kept content is missing")
    modes = (
        version.mode
        for version in door.gate.store.versions(path, 100)
        if version.call == entry.call
    )
    after = replacement.Held(data, entry.after, next(modes, current.mode)) if entry.after else None
    replacement.replace_all(
        [
            replacement.Replacement(
                door.root, path, current if current.digest else replacement.ABSENT, after
            )
        ]
    )


def _outcome(entry: AuditEntry, state: str, at: str) -> AuditEntry:
    detail = {"new": "found done after an interruption", "old": "interrupted before it was done"}
    after = entry.after if state == "new" else ""
    what = detail.get(state, "interrupted, and the file was changed by another program")
    return msgspec.structs.replace(
        entry, phase="done", at=at, success=state == "new", detail=what, after=after
    )


def _written(entry: AuditEntry, path: RelPath, current: replacement.Held) -> Version:
    return Version(
        id=version_id(entry.after) or "deleted",
        path=path,
        digest=entry.after,
        size=len(current.data),
        at=entry.at,
        author=entry.caller,
        origin="written",
        note="recorded after an interruption",
        mode=current.mode,
        call=entry.call,
    )


def _external(path: RelPath, data: bytes, at: str) -> Version:
    digest = sha256(data).hexdigest()
    return Version(
        id=version_id(digest),
        path=path,
        digest=digest,
        size=len(data),
        at=at,
        author="unknown",
        origin="external",
        note="found after an interruption",
    )
