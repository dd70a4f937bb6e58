"""After an interruption: every intent without an outcome gets one, by looking at what the file holds.

What was replaced is recorded as written, what was not is recorded as not done, and a patch that reached only some of
its files is finished, since its contents were kept before it began. An edit by somebody else in between is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from sutler.access.audit import stamp
from sutler.access.door import Door
from sutler.disk.replace import ABSENT, Held, Replacement, held, sweep
from sutler.values.access import AuditEntry, Version, unseal, version_id
from sutler.values.errors import SutlerError
from sutler.values.paths import RelPath, unquote

_LARGEST = 1 << 30


def reconcile(door: Door) -> int:
    """Settle what no living process is busy with; how many intents were settled."""
    groups: dict[str, list[AuditEntry]] = {}
    for entry in map(unseal, door.gate.store.pending()):
        groups.setdefault(entry.call.partition(".")[0], []).append(entry)
    return sum(_settle(door, group) for group in groups.values())


def _settle(door: Door, group: Sequence[AuditEntry]) -> int:
    store, paths = door.gate.store, [RelPath(unquote(entry.path)) for entry in group]
    try:
        with store.hold(paths, wait=0):
            waiting = {row.call for row in store.pending()}
            if any(entry.call not in waiting for entry in group):
                return 0  # its own process settled it meanwhile
            return _record(door, group, paths)
    except (SutlerError, OSError):
        return 0  # held by a living process, or not to be read now: the next call tries again


def _record(door: Door, group: Sequence[AuditEntry], paths: Sequence[RelPath]) -> int:
    # First of all: a new file that was just linked into place has two names until its temporary one is gone.
    left = [sweep(door.root, path) for path in paths]
    now = [held(door.root, path, _LARGEST) for path in paths]
    states = [_state(entry, found) for entry, found in zip(group, now, strict=True)]
    if "new" in states and "other" not in states:
        for entry, path, state, found in zip(group, paths, states, now, strict=True):
            if state == "old":
                _finish(door, entry, path, found)
        now = [held(door.root, path, _LARGEST) for path in paths]
        states = ["new"] * len(group)
    at = stamp(door.gate.clock())
    rows: list[AuditEntry] = []
    versions: list[Version] = []
    blobs: list[tuple[str, bytes]] = []
    for entry, path, state, found, rest in zip(group, paths, states, now, left, strict=True):
        rows.append(_outcome(entry, state, at))
        strangers = [data for data in rest if state == "new" and _strange(entry, data)]
        if state == "other" and found.digest:
            strangers.append(found.data)
        blobs += [(sha256(data).hexdigest(), data) for data in strangers]
        versions += [_external(path, data, at) for data in strangers]
        if state == "new" and entry.before != entry.after:
            versions.append(_written(entry, path, found))
    door.gate.store.record(rows, blobs=blobs, versions=versions)
    return len(rows)


def _state(entry: AuditEntry, found: Held) -> str:
    return "new" if found.digest == entry.after else "old" if found.digest == entry.before else "other"


def _strange(entry: AuditEntry, data: bytes) -> bool:
    return sha256(data).hexdigest() not in (entry.before, entry.after)


def _finish(door: Door, entry: AuditEntry, path: RelPath, found: Held) -> None:
    data = door.gate.store.blob(entry.after) if entry.after else b""
    if data is None:
        raise SutlerError("a kept content is missing")
    after = Held(data, entry.after, found.mode) if entry.after else None
    step = Replacement(door.root, path, found if found.digest else ABSENT, after)
    try:
        step.prepare()
        step.swap()
    except BaseException:
        step.undo()
        raise
    step.finish()


def _outcome(entry: AuditEntry, state: str, at: str) -> AuditEntry:
    detail = {"new": "found done after an interruption", "old": "interrupted before it was done"}
    after = entry.after if state == "new" else ""
    what = detail.get(state, "interrupted, and the file was changed by somebody else")
    return msgspec.structs.replace(entry, phase="done", at=at, success=state == "new", detail=what, after=after)


def _written(entry: AuditEntry, path: RelPath, found: Held) -> Version:
    return Version(
        id=version_id(entry.after) or "deleted",
        path=path,
        digest=entry.after,
        size=len(found.data),
        at=entry.at,
        author=entry.caller,
        origin="written",
        note="recorded after an interruption",
        mode=found.mode,
        call=entry.call,
    )


def _external(path: RelPath, data: bytes, at: str) -> Version:
    digest = sha256(data).hexdigest()
    return Version(
        id=version_id(digest), path=path, digest=digest, size=len(data), at=at, author="unknown", origin="external",
        note="found after an interruption",
    )  # fmt: skip
