"""The writing tools for agents: whole files, patches, edits and rollbacks, each planned, judged,
recorded and durable.

An edit is made for the version that its author saw. If that is the present file, it applies
exactly; if it is a known older version, the edit is applied there and merged by lines; an edit for
an unknown version must fit in one place. If two changes overlap nothing is written, and the answer
holds the data for the next try."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from typing import Literal

import msgspec

from sutler.access.door import Door
from sutler.access.gate import Judged
from sutler.edits.answer import answer, preview, versions_of, whole_call
from sutler.edits.conflicts import Met, advised, several, stale
from sutler.edits.hunks import apply, replace_once
from sutler.edits.patch import FilePatch, parse
from sutler.edits.plan import ANY, MAX_BYTES, Make, Order, Plan, plan_of
from sutler.edits.recovery import recover
from sutler.edits.replacement import Replacement, UnsettledError, held, replace_all
from sutler.edits.reply import Change, by_file, make_of, read_reply
from sutler.edits.rollback import undo_of, undone, version_order
from sutler.edits.versions import Shown, keep_shown
from sutler.errors import ConflictError, RefusedError, SutlerError, UsageError
from sutler.paths import ROOT, RelPath
from sutler.scan.root import Root
from sutler.store.records import Call, Outcome, PatchResult, stamp

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
        """Write a whole file, append to it, or only create it."""
        make: Make = (
            (lambda text, _: text + content) if mode == "append" else (lambda _, __: content)
        )
        args = (("mode", mode), ("content", _digest(content)))

        def orders() -> tuple[Order, ...]:
            where = self._door.admission.relpath(path)
            seen = ANY if mode == "append" else base
            return (Order(where, make, seen, fresh=mode == "create", whole=mode != "append"),)

        return self._run("write_file", path, args, orders, reason, dry_run)

    def edit(
        self,
        path: str,
        old: str,
        new: str,
        *,
        base: str = "",
        reason: str = "",
        dry_run: bool = False,
    ) -> PatchResult:
        """Replace a text that occurs once in the file."""
        args = (("old", _digest(old)), ("new", _digest(new)))

        def orders() -> tuple[Order, ...]:
            return (
                Order(
                    self._door.admission.relpath(path),
                    lambda text, _: replace_once(text, old, new),
                    base,
                ),
            )

        return self._run("edit", path, args, orders, reason, dry_run)

    def apply_patch(
        self, patch: str, *, path: str = "", base: str = "", reason: str = "", dry_run: bool = False
    ) -> PatchResult:
        """Apply a patch to all its files or to none. With `path`, it must be for that file alone,
        and may be bare hunks."""

        def orders() -> tuple[Order, ...]:
            files = parse(patch, path)
            paths = [self._door.admission.relpath(file.path) for file in files]
            if path and paths != [self._door.admission.relpath(path)]:
                raise RefusedError(
                    "the patch names another file", rule="path and patch name the same file"
                )
            if base and base != ANY and len(files) > 1:
                raise UsageError(
                    "one base for several files",
                    next_step="leave it out: what you read last counts",
                )
            pairs = zip(files, paths, strict=True)
            return tuple(_order(file, where, base) for file, where in pairs)

        return self._run("apply_patch", path, (("patch", _digest(patch)),), orders, reason, dry_run)

    def rollback(
        self, path: str, version: str, *, reason: str = "", dry_run: bool = False
    ) -> PatchResult:
        """Give a file the bytes and the mode of a known version, as a new version."""

        def orders() -> tuple[Order, ...]:
            return (version_order(self._door, self._door.admission.relpath(path), version),)

        return self._run(
            "rollback",
            path,
            (("version", version),),
            orders,
            reason or f"rollback to {version}",
            dry_run,
        )

    def rollback_session(
        self, session: str, *, reason: str = "", dry_run: bool = False
    ) -> PatchResult:
        """Undo every write of a session; all of them or none. Later writes by others are merged, or
        a conflict if they overlap the undone ones."""
        note = reason or f"rollback of session {session}"

        def orders() -> tuple[Order, ...]:
            return undo_of(session, self._gate.store.audit_of(session, None, 100_000))

        return self._run("rollback", "", (("session", session),), orders, note, dry_run)

    def rollback_call(self, call: str, *, reason: str = "", dry_run: bool = False) -> PatchResult:
        """Undo the writes of one call, in all its files or in none, like a session's."""
        call = call.partition(".")[0]
        note = reason or f"rollback of call {call}"

        def orders() -> tuple[Order, ...]:
            return undo_of(call, self._gate.store.audit_of_call(call))

        return self._run("rollback", "", (("call", call),), orders, note, dry_run)

    def apply_reply(
        self,
        reply: str,
        *,
        base: str = "",
        seen: Mapping[str, Shown] | None = None,
        reason: str = "",
        dry_run: bool = False,
    ) -> PatchResult:
        """Apply a model's chat answer: fenced files, edit blocks and patches, all of it or nothing.
        `seen` has, by path, the files that the model was shown."""
        if base not in ("", ANY):
            raise UsageError(
                "one base for a whole reply",
                next_step=f"use {ANY!r}, or what was shown with 'seen'",
            )
        notes: list[str] = []

        def orders() -> tuple[Order, ...]:
            answer = read_reply(reply)
            notes.extend(answer.notes)
            changes = by_file(
                tuple(
                    change._replace(path=self._door.admission.relpath(change.path))
                    for change in answer.changes
                )
            )
            bases = {
                path: base or keep_shown(self._door, (seen or {}).get(path)) for path in changes
            }
            return tuple(
                _replied(RelPath(path), group, bases[path]) for path, group in changes.items()
            )

        done = self._run("apply_reply", "", (("reply", _digest(reply)),), orders, reason, dry_run)
        return msgspec.structs.replace(done, notes=tuple(notes))

    # the steps of every write

    def _run(
        self,
        tool: str,
        raw: str,
        args: tuple[tuple[str, str], ...],
        orders: Callable[[], tuple[Order, ...]],
        reason: str,
        dry_run: bool,
    ) -> PatchResult:
        # Before the plan: settling an interrupted patch may still replace files of this write.
        if self._gate.store.pending_count():
            recover(self._door)
        details = (
            *args,
            *((("reason", reason),) if reason else ()),
            *((("dry_run", "yes"),) if dry_run else ()),
        )
        call = Call(
            id=secrets.token_hex(12),
            tool=tool,
            effect="write",
            path=ROOT,
            args=(("path", raw), *details),
        )
        try:
            self._door.root.require_place()
            self._gate.refresh()
            wanted = orders()
        except SutlerError as refusal:
            self._gate.refused(call, refusal.rule, refusal.what)
            raise self._gate.cleaned(refusal) from None
        calls = tuple(
            msgspec.structs.replace(
                call,
                id=f"{call.id}.{n}",
                path=order.path,
                ignore_status=self._door.admission.ignore_status(order.path),
            )
            for n, order in enumerate(wanted)
        )
        self._met.clear()
        try:
            if dry_run:
                return self._rehearse(calls, wanted)
            return self._write(calls, wanted, reason)
        except ConflictError as fault:  # after the locks: a review command may take long
            raise advised(self._door, fault, self._met) from None

    def _write(
        self, calls: tuple[Call, ...], wanted: tuple[Order, ...], reason: str
    ) -> PatchResult:
        """Decide, record the intent, stage, exchange and sync the files, record the outcome,
        answer."""
        gate, started = self._gate, time.perf_counter()
        decisions = gate.judge(calls)  # a denied path is not read
        asked = next((decision for decision in decisions if decision.verdict == "ask"), None)
        plans: tuple[Plan, ...] = ()
        approval = ""
        if asked:
            with self._cleaned_errors():
                plans = self._planned(
                    calls, wanted
                )  # without the locks: a person takes time to answer
            approval = gate.consent(
                whole_call(_bound(calls, plans), preview(self._door, plans)), asked
            )
        with self._cleaned_errors(), gate.store.hold(order.path for order in wanted):
            self._unchanged(plans)
            plans = plans or self._planned(calls, wanted)
            bound, answered = _bound(calls, plans), answer(self._door, plans)
            judged = [Judged(decision, approval, started) for decision in decisions]
            intents = gate.intend(bound, judged, whole_call(bound, ""), _contents(plans))
            try:
                replace_all(_replacements(self._door.root, plans))
            except UnsettledError:
                raise  # the contents of the files are unknown; recovery reads and records them
            except Exception as fault:
                gate.failure(intents, fault, started)
                raise
            versions = versions_of(gate, plans, bound, stamp(gate.clock()), reason)
            gate.conclude(intents, _outcomes(plans, answered), started, versions)
        return msgspec.structs.replace(answered, call=calls[0].id.partition(".")[0])

    @contextmanager
    def _cleaned_errors(self) -> Iterator[None]:
        """Remove secrets from errors, which can quote what the caller sent or the file holds."""
        try:
            yield
        except SutlerError as fault:
            raise self._gate.cleaned(fault) from None

    def _planned(self, calls: tuple[Call, ...], wanted: tuple[Order, ...]) -> tuple[Plan, ...]:
        try:
            return self._plans(wanted)
        except SutlerError as refusal:
            self._gate.refused(calls[0], refusal.rule, refusal.what)
            raise

    def _plans(self, wanted: tuple[Order, ...]) -> tuple[Plan, ...]:
        """Plan each file; if several reject their edit, name all of them at once."""
        plans: list[Plan] = []
        faults: list[ConflictError] = []
        for order in wanted:
            try:
                plans.append((undone if order.undo else plan_of)(self._door, order))
            except ConflictError as fault:
                faults.append(fault)
                if isinstance(fault.sides, Met):
                    self._met.append(fault.sides)
        if faults:
            raise faults[0] if len(faults) == 1 else several(faults, len(wanted))
        return tuple(plans)

    def _unchanged(self, plans: tuple[Plan, ...]) -> None:
        """Refuse if a file has changed since the plan: exactly the approved change is written."""
        for plan in plans:
            if not held(self._door.root, plan.path, MAX_BYTES).same(plan.before):
                raise stale(self._door, plan.path, plan.before.digest)

    def _rehearse(self, calls: tuple[Call, ...], wanted: tuple[Order, ...]) -> PatchResult:
        """Return the plan; it shows contents of the files, so it is recorded as a read of each."""

        def step(left: tuple[Call, ...]) -> PatchResult:
            if left:
                look = msgspec.structs.replace(left[0], effect="read")
                return self._gate.enter(look, lambda: (step(left[1:]), Outcome()))
            return answer(self._door, self._plans(wanted), dry_run=True)

        return step(calls)


def _bound(calls: tuple[Call, ...], plans: tuple[Plan, ...]) -> tuple[Call, ...]:
    """Return the calls with the content before and after, which an approval binds."""
    return tuple(
        msgspec.structs.replace(call, base=plan.before.digest, result=plan.result)
        for call, plan in zip(calls, plans, strict=True)
    )


def _contents(plans: tuple[Plan, ...]) -> tuple[tuple[str, bytes], ...]:
    sides = (side for plan in plans for side in (plan.before, plan.after))
    return tuple({side.digest: side.data for side in sides if side and side.digest}.items())


def _replacements(root: Root, plans: tuple[Plan, ...]) -> list[Replacement]:
    return [
        Replacement(root, plan.path, plan.before, plan.after) for plan in plans if not plan.idle
    ]


def _outcomes(plans: tuple[Plan, ...], answered: PatchResult) -> tuple[Outcome, ...]:
    size = len(answered.diff.encode("utf-8", "replace"))
    return tuple(
        Outcome(before=plan.before.digest, after=plan.result, bytes=size) for plan in plans
    )


def _order(file: FilePatch, where: RelPath, base: str) -> Order:
    def make(text: str, unique: bool) -> str:
        return apply(file.pieces, text, unique=unique)

    gone = file.kind == "delete"
    return Order(
        where,
        make if file.pieces or not gone else None,
        base,
        file.kind == "create",
        gone,
        mode=file.mode,
    )


def _replied(where: RelPath, changes: tuple[Change, ...], base: str) -> Order:
    first, make = changes[0], make_of(changes)
    if first.patch is not None and first.patch.kind != "change":
        return _order(first.patch, where, base)
    new = first.kind == "edit" and not first.old.strip()
    mode = next((change.patch.mode for change in changes if change.patch and change.patch.mode), 0)
    return Order(where, make, base, fresh=new, whole=first.kind == "file", mode=mode)


def _digest(text: str) -> str:
    return (
        f"{len(text)} characters, sha256"
        f" {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
    )
