"""Repeat a session's writes on a copy, from the stored versions.

A new copy begins with the files as they were before the session. On an existing one the session's
changes are merged with its contents; if they overlap, nothing is written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from sutler.access.door import Door
from sutler.edits.answer import answer
from sutler.edits.plan import MAX_BYTES, Plan
from sutler.edits.replacement import ABSENT, Held, Replacement, held, replace_all
from sutler.edits.rollback import merged_step, version_held
from sutler.errors import ConflictError, RefusedError, SutlerError, UsageError
from sutler.paths import ROOT, RelPath, quote, unquote
from sutler.scan.root import Root
from sutler.store.records import AuditEntry, Call, Outcome, PatchResult, unseal


def replay(
    door: Door, session: str, target: str, *, until: int = 0, dry_run: bool = False
) -> PatchResult:
    """Repeat a session's writes (up to row `until` of the ledger) below the folder `target`, all of
    them or none."""
    call = Call(
        id=secrets.token_hex(12),
        tool="replay",
        effect="list",
        path=ROOT,
        args=(("session", session),),
    )

    def perform() -> tuple[PatchResult, Outcome]:
        writes = list(_writes(door, session, until))
        if not writes:
            raise UsageError(
                f"session {session[:40]!r} has no writes to replay", next_step="see 'sutler log'"
            )
        _apart(door.root.host_path, target)
        return _replayed(door, writes, target, dry_run), Outcome()

    return door.gate.enter(call, perform)


def _writes(door: Door, session: str, until: int) -> Iterator[AuditEntry]:
    for entry in map(unseal, door.gate.store.audit_of(session, None, 100_000)):
        if entry.wrote:
            if until and entry.seq > until:
                return
            yield entry


def _apart(root: str, target: str) -> None:
    """Refuse a copy inside the project, which would bypass the gate, and one around the project."""
    source, other = os.path.realpath(root), os.path.realpath(target)
    if os.path.commonpath((source, other)) in (source, other):
        raise RefusedError(
            f"{quote(target)} is not apart from the project",
            rule="a session is replayed on a copy",
            next_step="name a folder outside of the project",
        )


def _replayed(door: Door, writes: list[AuditEntry], target: str, dry_run: bool) -> PatchResult:
    fresh = not os.path.lexists(target)
    start: dict[RelPath, Held] = {}
    now: dict[RelPath, Held] = {}
    merged: set[RelPath] = set()
    with _copy(target, fresh and not dry_run) as root:
        for entry in writes:
            path = RelPath(unquote(entry.path))
            if path not in now:
                there = held(root, path, MAX_BYTES) if root is not None and not fresh else ABSENT
                start[path] = there
                now[path] = (
                    version_held(door, path, entry.before, 0) if fresh and entry.before else there
                )
            if now[path].digest == entry.before:
                now[path] = (
                    version_held(door, path, entry.after, now[path].mode) if entry.after else ABSENT
                )
            elif now[path].digest != entry.after:
                now[path] = _merged(door, path, now[path], entry)
                merged.add(path)
        plans = tuple(
            Plan(
                path,
                start[path],
                now[path] if now[path].digest else None,
                start[path].digest,
                path in merged,
            )
            for path in sorted(now)
        )
        if root is not None and not dry_run:
            replace_all(
                [
                    Replacement(root, plan.path, plan.before, plan.after)
                    for plan in plans
                    if not plan.idle
                ]
            )
    return answer(door, plans, dry_run=dry_run)


@contextmanager
def _copy(target: str, make: bool) -> Iterator[Root | None]:
    """Open the copy's root, created if allowed; None if it is absent and nothing is to be
    written."""
    try:
        if make:
            os.mkdir(target)
        if not os.path.lexists(target):
            yield None
            return
        root = Root(target)
    except OSError as fault:
        raise SutlerError(f"cannot use {quote(target)}: {fault.strerror}") from None
    with root:
        yield root


def _merged(door: Door, path: RelPath, now: Held, entry: AuditEntry) -> Held:
    if not (now.digest and entry.before and entry.after):
        raise ConflictError(
            f"row {entry.seq} does not fit the copy: {quote(path)} is not what it was",
            rule="a replay changes what the session changed and nothing else",
            next_step="replay onto a folder that does not exist yet",
        )
    return merged_step(door, path, now, (entry.before, entry.after))
