"""After an interruption: every write that was begun gets its end, by looking at what the file holds.

What was replaced is recorded as written, what was not is recorded as not done, and a patch that reached only some of
its files is finished, since its contents were kept before it began. An edit by somebody else in between is kept.

After a power cut there is more: names change places before the disk knows it, and the outcome's row may be lost too.
So a write that has its outcome, or comes from an earlier start of the machine, is done again where the very file that
it replaced is back, untouched. Nothing else tells a lost change from somebody who put the old file back on purpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256

import msgspec

from sutler.access.audit import stamp
from sutler.access.door import Door
from sutler.disk.leftovers import sweep, sync_parent
from sutler.disk.replace import ABSENT, Held, Replacement, held
from sutler.store.state import boot
from sutler.values.access import AuditEntry, Pending, Version, unseal, version_id
from sutler.values.errors import SutlerError
from sutler.values.paths import RelPath, unquote

Settle = Callable[[Door, Sequence[Pending], Sequence[RelPath]], int]
_LARGEST = 1 << 30


def reconcile(door: Door) -> int:
    """Settle what no living process is busy with; how many writes were settled."""
    store, later = door.gate.store, door.root.later
    count = later.count() if later is not None else 0
    if store.pending_count() == count:  # as nearly always: nothing, or what this process sees to itself
        return 0
    own = later.calls() if later is not None else frozenset()
    found = [one for one in store.pending() if one.row.call not in own]
    groups: dict[str, list[Pending]] = {}
    chains: dict[str, list[Pending]] = {}
    for one in found:
        if one.done:
            chains.setdefault(one.row.path, []).append(one)
        else:
            groups.setdefault(one.row.call.partition(".")[0], []).append(one)
    again: set[RelPath] = set()
    done = sum(_settle(door, chain, partial(_once_more, again)) for chain in chains.values())
    return done + sum(_settle(door, group, partial(_record, again)) for group in groups.values())


def _settle(door: Door, group: Sequence[Pending], settle: Settle) -> int:
    store, paths = door.gate.store, [RelPath(unquote(one.row.path)) for one in group]
    try:
        with store.hold(paths, wait=0):
            waiting = {one.row.call for one in store.pending()}
            if any(one.row.call not in waiting for one in group):
                return 0  # its own process settled it meanwhile
            return settle(door, group, paths)
    except (SutlerError, OSError):
        return 0  # held by a living process, or not to be read now: the next call tries again


def _once_more(again: set[RelPath], door: Door, chain: Sequence[Pending], paths: Sequence[RelPath]) -> int:
    """Writes of one file that were answered, oldest first, whose names the disk may not have: the last one counts."""
    store, path, entry = door.gate.store, paths[0], unseal(chain[-1].row)
    sweep(door.root, path)
    found = held(door.root, path, _LARGEST)
    if found.digest != entry.after and found.mark in [one.mark for one in chain if one.mark]:
        _finish(door, entry, path, found)
        again.add(path)
    else:
        sync_parent(door.root, path)
    store.settled(one.row.call for one in chain)
    return len(chain)


def _record(again: set[RelPath], door: Door, group: Sequence[Pending], paths: Sequence[RelPath]) -> int:
    # First of all: a new file that was just linked into place has two names until its temporary one is gone.
    left = [sweep(door.root, path) for path in paths]
    now = [held(door.root, path, _LARGEST) for path in paths]
    entries = [unseal(one.row) for one in group]
    states = [_state(entry, found) for entry, found in zip(entries, now, strict=True)]
    lost = all(_lost(one, path, found, again) for one, path, found in zip(group, paths, now, strict=True))
    if ("new" in states or lost) and "other" not in states:
        for entry, path, state, found in zip(entries, paths, states, now, strict=True):
            if state == "old":
                _finish(door, entry, path, found)
        now = [held(door.root, path, _LARGEST) for path in paths]
        states = ["new"] * len(entries)
    at = stamp(door.gate.clock())
    rows: list[AuditEntry] = []
    versions: list[Version] = []
    blobs: list[tuple[str, bytes]] = []
    for entry, path, state, found, rest in zip(entries, paths, states, now, left, strict=True):
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


def _lost(one: Pending, path: RelPath, found: Held, again: set[RelPath]) -> bool:
    """Whether the machine was started since and the file is the one that was to be replaced, as it was."""
    return one.boot not in ("", boot()) and bool(one.mark) and (found.mark == one.mark or path in again)


def _state(entry: AuditEntry, found: Held) -> str:
    return "new" if found.digest == entry.after else "old" if found.digest == entry.before else "other"


def _strange(entry: AuditEntry, data: bytes) -> bool:
    return sha256(data).hexdigest() not in (entry.before, entry.after)


def _finish(door: Door, entry: AuditEntry, path: RelPath, found: Held) -> None:
    data = door.gate.store.blob(entry.after) if entry.after else b""
    if data is None:
        raise SutlerError("a kept content is missing")
    known = (one.mode for one in door.gate.store.versions(path, 100) if one.call == entry.call)
    after = Held(data, entry.after, next(known, found.mode)) if entry.after else None
    step = Replacement(door.root, path, found if found.digest else ABSENT, after)
    try:
        step.prepare()
        step.swap()
        step.sync()
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
