"""The write side of the door: whole files, patches, edits and rollbacks, each planned, judged, recorded and durable.

Every edit is made for the version its author saw. If that is the file as it is, it applies exactly; if it is an older
version that is known, the edit is made there and merged by lines; if nobody knows it, the edit must fit in one place.
Where two changes meet nothing is written, and the answer holds what is needed for the next try.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Literal

import msgspec

from sutler.access.advice import advised
from sutler.access.applying import apply, replace_once
from sutler.access.conflicts import Met, several, stale
from sutler.access.door import Door
from sutler.access.gate import Deed, Ready, UnsettledError
from sutler.access.patch import FilePatch, parse
from sutler.access.planning import ANY, MAX_BYTES, Make, Order, Plan, plan_of
from sutler.access.reconcile import reconcile
from sutler.access.reply import Change, by_file, make_of, read_reply
from sutler.access.trail import Shown, answer, keep_shown, known_bytes, preview, versions_of, whole_call, writes_in
from sutler.disk.replace import Held, Replacement, failed, held
from sutler.disk.root import Root
from sutler.store.statements import AT_ONCE
from sutler.values.access import AuditRow, Call, Decision, Outcome, PatchResult, unseal
from sutler.values.errors import ConflictError, RefusedError, SutlerError, UsageError
from sutler.values.paths import ROOT, RelPath, quote

Mode = Literal["truncate", "append", "create"]


class Writer:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._gate = door.gate
        self._met: list[Met] = []

    # the tools

    def write_file(
        self,
        path: str,
        content: str,
        *,
        mode: Mode = "truncate",
        base: str = "",
        reason: str = "",
        dry_run: bool = False,
    ) -> PatchResult:
        """Write a whole file, add to its end, or create it and nothing else."""
        make: Make = (lambda text, _: text + content) if mode == "append" else (lambda _, __: content)
        args = (("mode", mode), ("content", _digest(content)))

        def orders() -> tuple[Order, ...]:
            where = self._door.relpath(path)
            seen = ANY if mode == "append" else base
            return (Order(where, make, seen, fresh=mode == "create", whole=mode != "append"),)

        return self._run("write_file", path, args, orders, reason, dry_run)

    def edit(
        self, path: str, old: str, new: str, *, base: str = "", reason: str = "", dry_run: bool = False
    ) -> PatchResult:
        """Replace a text that stands once in the file."""
        args = (("old", _digest(old)), ("new", _digest(new)))

        def orders() -> tuple[Order, ...]:
            return (Order(self._door.relpath(path), lambda text, _: replace_once(text, old, new), base),)

        return self._run("edit", path, args, orders, reason, dry_run)

    def apply_patch(
        self, patch: str, *, path: str = "", base: str = "", reason: str = "", dry_run: bool = False
    ) -> PatchResult:
        """Apply a patch to all its files or to none. With `path`, it must be about that file alone."""

        def orders() -> tuple[Order, ...]:
            found = parse(patch)
            paths = [self._door.relpath(one.path) for one in found]
            if path and paths != [self._door.relpath(path)]:
                raise RefusedError("the patch names another file", rule="path and patch name the same file")
            if base and base != ANY and len(found) > 1:
                raise UsageError("one base for several files", next_step="leave it out: what you read last counts")
            return tuple(_order(one, where, base) for one, where in zip(found, paths, strict=True))

        return self._run("apply_patch", path, (("patch", _digest(patch)),), orders, reason, dry_run)

    def rollback(self, path: str, version: str, *, reason: str = "", dry_run: bool = False) -> PatchResult:
        """Give a file the bytes and the mode of a known version; a new version says so."""

        def orders() -> tuple[Order, ...]:
            where = self._door.relpath(path)
            known = self._gate.store.versions(where, 1_000)
            found = next((one for one in known if version and version in (one.id, one.digest)), None)
            data = None if found is None else known_bytes(self._door, where, found.digest)
            if found is None or (data is None and found.digest):
                raise SutlerError(
                    f"the bytes of version {version[:40]!r} of {quote(where)} are not kept",
                    next_step="see the file's history for versions that were written or replaced here",
                )
            exact = Held(data or b"", found.digest, found.mode)
            return (Order(where, None, ANY, gone=not found.digest, exact=exact if found.digest else None),)

        return self._run("rollback", path, (("version", version),), orders, reason or f"rollback to {version}", dry_run)

    def rollback_session(self, session: str, *, reason: str = "", dry_run: bool = False) -> PatchResult:
        """Take back every write of a session; all of them or none. What others wrote since is merged with, or is a
        conflict where it meets what is taken back."""
        said = reason or f"rollback of session {session}"

        def orders() -> tuple[Order, ...]:
            return _undo_of(session, self._gate.store.audit_of(session, None, 100_000))

        return self._run("rollback", "", (("session", session),), orders, said, dry_run)

    def rollback_call(self, call: str, *, reason: str = "", dry_run: bool = False) -> PatchResult:
        """Take back what one call wrote, in all its files or in none; as with a session."""
        call = call.partition(".")[0]
        said = reason or f"rollback of call {call}"

        def orders() -> tuple[Order, ...]:
            return _undo_of(call, self._gate.store.audit_of_call(call))

        return self._run("rollback", "", (("call", call),), orders, said, dry_run)

    def apply_reply(
        self,
        reply: str,
        *,
        base: str = "",
        seen: Mapping[str, Shown] | None = None,
        reason: str = "",
        dry_run: bool = False,
    ) -> PatchResult:
        """Apply a model's chat answer: fenced files, edit blocks and patches, all of it or nothing. `seen` tells, by
        path, what the model was shown."""
        if base not in ("", ANY):
            raise UsageError("one base for a whole reply", next_step=f"use {ANY!r}, or what was shown with 'seen'")
        notes: list[str] = []

        def orders() -> tuple[Order, ...]:
            found = read_reply(reply)
            notes.extend(found.notes)
            changes = by_file(tuple(one._replace(path=self._door.relpath(one.path)) for one in found.changes))
            bases = {path: base or keep_shown(self._door, (seen or {}).get(path)) for path in changes}
            return tuple(_replied(RelPath(path), group, bases[path]) for path, group in changes.items())

        done = self._run("apply_reply", "", (("reply", _digest(reply)),), orders, reason, dry_run)
        return msgspec.structs.replace(done, notes=tuple(notes))

    # the way of every write

    def _run(
        self,
        tool: str,
        raw: str,
        args: tuple[tuple[str, str], ...],
        orders: Callable[[], tuple[Order, ...]],
        reason: str,
        dry_run: bool,
    ) -> PatchResult:
        reconcile(self._door)
        said = (*args, *((("reason", reason),) if reason else ()), *((("dry_run", "yes"),) if dry_run else ()))
        call = Call(id=secrets.token_hex(12), tool=tool, effect="write", path=ROOT, args=(("path", raw), *said))
        try:
            wanted = orders()
        except SutlerError as refusal:
            self._gate.refused(call, refusal.rule, refusal.what)
            raise self._gate.cleaned(refusal) from None
        calls = tuple(
            msgspec.structs.replace(
                call,
                id=f"{call.id}.{n}",
                path=one.path,
                standing=self._door.standing(one.path),
            )
            for n, one in enumerate(wanted)
        )
        self._met.clear()
        try:
            if dry_run:
                return self._rehearse(calls, wanted)
            return self._performed(calls, wanted, reason)
        except ConflictError as fault:  # only now, since a reviewer takes its time and nobody shall wait for it
            raise advised(self._door, fault, self._met) from None

    def _performed(self, calls: tuple[Call, ...], wanted: tuple[Order, ...], reason: str) -> PatchResult:
        judged = self._gate.judge(calls)
        free = all(one.verdict == "allow" for one in judged)
        for call, one in zip(calls, judged, strict=True):  # a denied path is not even looked at
            if one.verdict == "deny":
                self._gate.enter(call, lambda: (None, Outcome()))
        with self._gate.store.hold(one.path for one in wanted) if free else nullcontext():
            return self._judged(calls, judged, wanted, reason)

    def _judged(
        self, calls: tuple[Call, ...], judged: tuple[Decision, ...], wanted: tuple[Order, ...], reason: str
    ) -> PatchResult:
        held_already = all(one.verdict == "allow" for one in judged)
        try:
            plans = self._plans(wanted)
        except SutlerError as refusal:
            self._gate.refused(calls[0], refusal.rule, refusal.what)
            raise self._gate.cleaned(refusal) from None
        bound = tuple(
            msgspec.structs.replace(call, base=plan.before.digest, result=plan.result)
            for call, plan in zip(calls, plans, strict=True)
        )
        work = _Work(self._door.root, plans)
        deed = Deed(
            bound,
            judged,
            whole_call(bound, "" if held_already else preview(self._door, plans)),
            tuple(
                {
                    one.digest: one.data for plan in plans for one in (plan.before, plan.after) if one and one.digest
                }.items()
            ),
            {call.id: plan.before.mark for call, plan in zip(bound, plans, strict=True)},
            work.begin,
            lambda at: versions_of(self._gate, plans, bound, at, reason),
            nullcontext if held_already else lambda: self._guard(plans),
            work.due,
        )
        with work:
            done = self._gate.write(deed, partial(self._ready, plans, work), lambda: work.later(bound))
        return msgspec.structs.replace(done, call=calls[0].id.partition(".")[0])

    def _plans(self, wanted: tuple[Order, ...]) -> tuple[Plan, ...]:
        """What each file becomes; where several do not take their edit, all of them are named at once."""
        plans: list[Plan] = []
        faults: list[ConflictError] = []
        for one in wanted:
            try:
                plans.append(plan_of(self._door, one))
            except ConflictError as fault:
                faults.append(fault)
                if isinstance(fault.sides, Met):
                    self._met.append(fault.sides)
        if faults:
            raise faults[0] if len(faults) == 1 else several(faults, len(wanted))
        return tuple(plans)

    @contextmanager
    def _guard(self, plans: tuple[Plan, ...]) -> Iterator[None]:
        """What was approved is what is written: the files are held and must be what they were when it was planned."""
        with self._gate.store.hold(plan.path for plan in plans):
            for plan in plans:
                if not held(self._door.root, plan.path, MAX_BYTES).same(plan.before):
                    raise stale(self._door, plan.path, plan.before.digest)
            yield

    def _ready(self, plans: tuple[Plan, ...], work: _Work) -> Ready[PatchResult]:
        """What can be made while the disk is busy with the intent and the new bytes."""
        if (spare := self._door.root.spare) is not None:
            spare.refill()
        made = answer(self._door, plans)
        size = len(made.diff.encode("utf-8", "replace"))
        outcomes = tuple(Outcome(before=plan.before.digest, after=plan.result, bytes=size) for plan in plans)
        return Ready(made, outcomes, work.finish, work.lazy)

    def _rehearse(self, calls: tuple[Call, ...], wanted: tuple[Order, ...]) -> PatchResult:
        """A plan shows what the files hold, so it is a read of each of them."""

        def step(left: tuple[Call, ...]) -> PatchResult:
            if left:
                look = msgspec.structs.replace(left[0], effect="read")
                return self._gate.enter(look, lambda: (step(left[1:]), Outcome()))
            return answer(self._door, self._plans(wanted), dry_run=True)

        return step(calls)


class _Work:
    """The files of one write on their way. A server's begins before the intent, so that the disk has both in hand at
    once, and where it only changes files leaves their directories for later; else one thing follows the other."""

    def __init__(self, root: Root, plans: tuple[Plan, ...]) -> None:
        self._steps = [Replacement(root, plan.path, plan.before, plan.after) for plan in plans if not plan.idle]
        self._later = root.later if root.later is not None and not root.later.broken else None
        self.lazy = self._later is not None and bool(self._steps) and all(step.lazy for step in self._steps)
        self._fault: Exception | None = None
        self.due = self._later.due(AT_ONCE) if self._later is not None else ()
        self.owed: list[tuple[int, int]] = []  # directories that are to be synced after the answer, and files gone

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        for step in self._steps:  # of a write that never came to its end
            step.drop()
        for fd in chain.from_iterable(self.owed):
            if fd >= 0:
                os.close(fd)

    def begin(self) -> None:
        try:
            for step in self._steps if self._later else ():
                step.stage()
        except Exception as fault:  # is told when the intent is recorded, as every other failure
            self._fault = fault

    def finish(self) -> None:
        self.owed = replace_all(self._steps, lazy=self.lazy, fault=self._fault)

    def later(self, calls: tuple[Call, ...]) -> None:
        """The outcome is recorded: what the disk is still owed follows in the background."""
        if self._later is not None:
            self._later.told(self.due)
            if self.owed:
                owed, self.owed = self.owed, []
                self._later.owe([call.id for call in calls], owed)


def replace_all(
    steps: list[Replacement], *, lazy: bool = False, fault: Exception | None = None
) -> list[tuple[int, int]]:
    """Every file takes its new content, or none does. When it is `lazy`, the directories are not synced: the answer is
    what `release` hands over. A `fault` that was met before is met now."""
    try:
        if fault is not None:
            raise fault
        for step in steps:
            step.prepare()
        for step in steps:
            step.swap()
        if not lazy:
            for step in steps:
                step.sync()
    except BaseException as error:
        _take_back(steps)
        if isinstance(error, OSError):
            raise failed(steps[0].path if len(steps) == 1 else "the files of the patch", error) from None
        raise
    if lazy:
        return [step.release() for step in steps]
    for step in steps:
        step.finish()
    return []


def _take_back(steps: list[Replacement]) -> None:
    lost = []
    for step in reversed(steps):
        try:
            step.undo()
        except (OSError, SutlerError):
            lost.append(quote(step.path))
    if lost:
        raise UnsettledError(
            f"a write failed and could not be undone: {', '.join(lost)}",
            next_step="the next call looks at the file and records what it holds",
        )


def _order(one: FilePatch, where: RelPath, base: str) -> Order:
    def make(text: str, unique: bool) -> str:
        return apply(one.pieces, text, unique=unique)

    gone = one.kind == "delete"
    return Order(where, make if one.pieces or not gone else None, base, one.kind == "create", gone, mode=one.mode)


def _undo_of(name: str, rows: Sequence[AuditRow]) -> tuple[Order, ...]:
    found = writes_in(map(unseal, rows))
    if not found:
        raise UsageError(f"{name[:40]!r} has no writes to undo", next_step="see 'sutler log' and 'sutler history'")
    return tuple(Order(path, None, undo=steps) for path, steps in found)


def _replied(where: RelPath, changes: tuple[Change, ...], base: str) -> Order:
    first, make = changes[0], make_of(changes)
    if first.patch is not None and first.patch.kind != "change":
        return _order(first.patch, where, base)
    new = first.kind == "edit" and not first.old.strip()
    mode = next((one.patch.mode for one in changes if one.patch and one.patch.mode), 0)
    return Order(where, make, base, fresh=new, whole=first.kind == "file", mode=mode)


def _digest(text: str) -> str:
    return f"{len(text)} characters, sha256 {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
