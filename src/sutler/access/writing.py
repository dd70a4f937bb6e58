"""The write side of the door: whole files, patches, edits and rollbacks, each planned, judged, recorded and durable.

Every edit is made for the version its author saw. If that is the file as it is, it applies exactly; if it is an older
version that is known, the edit is made there and merged by lines; if nobody knows it, the edit must fit in one place.
Where two changes meet nothing is written, and the answer holds what is needed for the next try.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from typing import Literal

import msgspec
from msgspec import Struct

from sutler.access.applying import apply, replace_once
from sutler.access.conflicts import Sides, overlap, stale, unfit
from sutler.access.door import Door
from sutler.access.gate import Deed, UnsettledError
from sutler.access.patch import FilePatch, parse
from sutler.access.policy import decide
from sutler.access.reconcile import reconcile
from sutler.access.restoring import bytes_of, refuse_markers, restored, same_ends, text_of
from sutler.access.trail import answer, known_bytes, last_seen, preview, versions_of, whole_call, written_by
from sutler.disk.replace import ABSENT, Held, Replacement, failed, held
from sutler.stages.merge import merge
from sutler.values.access import Call, Outcome, PatchResult, version_id
from sutler.values.errors import ConflictError, RefusedError, SutlerError, UsageError
from sutler.values.paths import ROOT, RelPath, quote
from sutler.values.portable import unportable

MAX_BYTES = 16 << 20
ANY = "any"
"""A base that says: whatever is there now."""

Mode = Literal["truncate", "append", "create"]
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
        return (self.after or ABSENT)[1:] == self.before[1:]


class Writer:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._gate = door.gate

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
        """Give every file a session wrote what it held before; all of them or none. Files that somebody changed
        since are a conflict."""

        def orders() -> tuple[Order, ...]:
            found = [order for path, ends in written_by(self._door, session) if (order := self._back(path, *ends))]
            if not found:
                raise UsageError(f"session {session[:40]!r} has no writes to undo", next_step="see 'sutler log'")
            return tuple(found)

        said = reason or f"rollback of session {session}"
        return self._run("rollback", "", (("session", session),), orders, said, dry_run)

    def _back(self, path: RelPath, before: str, after: str) -> Order | None:
        if before == after:
            return None
        data = known_bytes(self._door, path, before) if before else b""
        if data is None:
            raise SutlerError(f"what {quote(path)} held before is not kept")
        known = self._gate.store.versions(path, 1_000)
        mode = next((one.mode for one in known if one.digest == before and one.mode), 0)
        return Order(path, None, after or ANY, gone=not before, exact=Held(data, before, mode) if before else None)

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
        if dry_run:
            return self._rehearse(calls, wanted)
        free = all(decide(one, self._gate.rules, self._gate.caller).verdict == "allow" for one in calls)
        paths = tuple(one.path for one in wanted)
        with self._gate.store.hold(paths) if free else nullcontext():
            return self._judged(calls, wanted, reason, held_already=free)

    def _judged(
        self, calls: tuple[Call, ...], wanted: tuple[Order, ...], reason: str, *, held_already: bool
    ) -> PatchResult:
        for one in calls:  # a denied path is not even looked at
            if decide(one, self._gate.rules, self._gate.caller).verdict == "deny":
                self._gate.enter(one, lambda: (None, Outcome()))
        try:
            plans = tuple(self._plan(one) for one in wanted)
        except SutlerError as refusal:
            self._gate.refused(calls[0], refusal.rule, refusal.what)
            raise self._gate.cleaned(refusal) from None
        bound = tuple(
            msgspec.structs.replace(call, base=plan.before.digest, result=plan.result)
            for call, plan in zip(calls, plans, strict=True)
        )
        deed = Deed(
            bound,
            whole_call(bound, "" if held_already else preview(self._door, plans)),
            tuple(
                {
                    one.digest: one.data for plan in plans for one in (plan.before, plan.after) if one and one.digest
                }.items()
            ),
            lambda at: versions_of(self._gate, plans, bound, at, reason),
            nullcontext if held_already else lambda: self._guard(plans),
        )
        return self._gate.write(deed, lambda: self._carry_out(plans))

    @contextmanager
    def _guard(self, plans: tuple[Plan, ...]) -> Iterator[None]:
        """What was approved is what is written: the files are held and must be what they were when it was planned."""
        with self._gate.store.hold(plan.path for plan in plans):
            for plan in plans:
                if held(self._door.root, plan.path, MAX_BYTES)[1:] != plan.before[1:]:
                    raise stale(self._door, plan.path, plan.before.digest)
            yield

    def _carry_out(self, plans: tuple[Plan, ...]) -> tuple[PatchResult, tuple[Outcome, ...]]:
        steps = [Replacement(self._door.root, plan.path, plan.before, plan.after) for plan in plans if not plan.idle]
        try:
            for step in steps:
                step.prepare()
            self._gate.intent_is_durable()
            for step in steps:
                step.swap()
        except BaseException as fault:
            self._undo(steps)
            if isinstance(fault, OSError):
                raise failed(plans[0].path if len(plans) == 1 else "the files of the patch", fault) from None
            raise
        for step in steps:
            step.finish()
        made = answer(self._door, plans)
        size = len(made.diff.encode("utf-8", "replace"))
        return made, tuple(Outcome(before=plan.before.digest, after=plan.result, bytes=size) for plan in plans)

    def _undo(self, steps: list[Replacement]) -> None:
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

    def _rehearse(self, calls: tuple[Call, ...], wanted: tuple[Order, ...]) -> PatchResult:
        """A plan shows what the files hold, so it is a read of each of them."""

        def step(left: tuple[Call, ...]) -> PatchResult:
            if left:
                look = msgspec.structs.replace(left[0], effect="read")
                return self._gate.enter(look, lambda: (step(left[1:]), Outcome()))
            return answer(self._door, tuple(self._plan(one) for one in wanted), dry_run=True)

        return step(calls)

    # planning

    def _plan(self, order: Order) -> Plan:
        before = held(self._door.root, order.path, MAX_BYTES)
        if not before.digest and self._gate.rules.portable and (why := unportable(order.path)):
            raise RefusedError(
                f"{quote(order.path)[:200]} is not a name that every platform can have: {why}",
                rule="portable_names",
                next_step="choose another name",
            )
        if order.exact is not None:
            if order.base != ANY and not _names(order.base, before.digest):
                raise stale(self._door, order.path, order.base)
            exact = order.exact._replace(mode=order.exact.mode or before.mode)
            return Plan(order.path, before, exact, before.digest)
        if order.gone:
            return self._delete(order, before)
        if not before.digest:
            return self._create(order, before)
        if order.fresh:
            raise ConflictError(
                f"{quote(order.path)} exists already", rule="create writes over nothing",
                next_step="read it, then edit it or write it whole",
            )  # fmt: skip
        return self._change(order, before)

    def _delete(self, order: Order, before: Held) -> Plan:
        """A delete is for the file its author saw, down to the last line if the patch lists them."""
        if not before.digest:
            raise ConflictError(f"no file {quote(order.path)} to delete", next_step="list the files")
        base = order.base or last_seen(self._door, order.path)
        if base and base != ANY and not _names(base, before.digest):
            raise stale(self._door, order.path, base)
        if order.make and self._made(order, text_of(before.data, order.path)[0], before.digest, unique=False):
            raise ConflictError(
                f"{quote(order.path)} holds more lines than the patch deletes",
                next_step="read the file again, or delete it with '*** Delete File: PATH'",
            )
        return Plan(order.path, before, None, before.digest)

    def _create(self, order: Order, before: Held) -> Plan:
        if order.make is None or not (order.whole or order.fresh or order.base == ANY) or order.base not in ("", ANY):
            raise ConflictError(f"no file {quote(order.path)} to change", next_step="create it with write_file")
        text = order.make("", False)
        refuse_markers("", text, order.path)
        data = bytes_of(text, "utf-8-bom" if text.startswith("\ufeff") else "utf-8", order.path)
        return Plan(order.path, before, Held(data, sha256(data).hexdigest(), order.mode), "")

    def _change(self, order: Order, before: Held) -> Plan:
        current, encoding = text_of(before.data, order.path)
        base = order.base or last_seen(self._door, order.path)
        if base == ANY or _names(base, before.digest):
            text, merged = self._made(order, current, before.digest, unique=base == ANY), False
        else:
            old = known_bytes(self._door, order.path, base)
            if old is None and order.whole:
                raise stale(self._door, order.path, base)
            if old is None:
                text, merged = self._made(order, current, before.digest, unique=True), False
            else:
                text, merged = self._merged(order, old, current, before.digest)
        data = bytes_of(text, encoding, order.path)
        after = Held(data, sha256(data).hexdigest(), order.mode or before.mode)
        return Plan(order.path, before, after, base, merged)

    def _merged(self, order: Order, old: bytes, current: str, digest: str) -> tuple[str, bool]:
        base, _ = text_of(old, order.path)
        theirs = self._made(order, base, sha256(old).hexdigest(), unique=False)
        found = merge(*(text.encode("utf-8", "surrogatepass") for text in (base, current, theirs)))
        if found.clashes:
            raise overlap(
                self._door, order.path, Sides(version_id(sha256(old).hexdigest()), base, current, theirs), found.clashes
            )
        return found.data.decode("utf-8", "surrogatepass"), True

    def _made(self, order: Order, text: str, digest: str, *, unique: bool) -> str:
        """The edit made on a text: on the file's own, or where that does not fit, on what its author was shown."""
        make = order.make
        if make is None:
            return text
        clean = self._door.pages.clean_text(order.path, text, digest).text
        try:
            new = make(text, unique)
        except ConflictError as fault:
            if clean == text:
                raise unfit(self._door, order.path, clean, fault) from None
            try:
                new = make(clean, unique)
            except ConflictError as again:
                raise unfit(self._door, order.path, clean, again) from None
        if order.whole:
            new = same_ends(text, new)
        new = restored(text, clean, new)
        refuse_markers(text, new, order.path)
        return new


def _order(one: FilePatch, where: RelPath, base: str) -> Order:
    def make(text: str, unique: bool) -> str:
        return apply(one.pieces, text, unique=unique)

    gone = one.kind == "delete"
    return Order(where, make if one.pieces or not gone else None, base, one.kind == "create", gone, mode=one.mode)


def _names(base: str, digest: str) -> bool:
    """Whether a version id or a digest is that of this content."""
    return bool(base) and base in (digest, version_id(digest))


def _digest(text: str) -> str:
    return f"{len(text)} characters, sha256 {sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"
