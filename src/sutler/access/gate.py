"""decide -> ask -> perform -> record: the only way a Call becomes an effect.

A write leaves a durable intent row before it happens and an outcome row after. The effect of a read
is that content leaves, so its one row is durable before the answer. Refusals leave a row too. If
the ledger cannot be written, nothing happens and nothing leaves.

A gate that is not strict, for servers, commits the rows of reads, refusals and outcomes before the
answer, so that they outlive the process, but does not wait for the disk: a power cut may remove the
last reads from the ledger. The intent of a write is on the disk before the first change, and the
files before the answer; recovery restores an outcome that a power cut removes."""

from __future__ import annotations

import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from functools import lru_cache
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, Struct

from sutler.access import grants
from sutler.access.audit import Clock, Ledger
from sutler.access.grants import DECLINED, DO_NOT_RETRY, Ask
from sutler.access.policy import Rules, decide, least
from sutler.errors import DeniedError, SutlerError
from sutler.formats.document import CleanText
from sutler.paths import quote
from sutler.store.records import (
    Approval,
    AuditEntry,
    AuditRow,
    Call,
    Caller,
    Decision,
    Limits,
    Outcome,
    Phase,
    Spent,
    Version,
    canonical,
    stamp,
)

T = TypeVar("T")
Clean = Callable[[str, str], CleanText]
"""Redaction as the door uses it: (text, its path) -> text that may leave."""
APPROVAL_SECONDS = 15 * 60  # a question left unanswered must not be a yes tomorrow
_MAX_ARG = 300  # the ledger records calls; contents are stored by their digest
_DIGESTED = frozenset(("content", "old", "new", "patch", "reply"))
_DIGEST = re.compile("[0-9]{1,12} characters, sha256 [0-9a-f]{64}")
"""Arguments that the ledger holds as a size and a digest, which need no redaction."""
_SHORT, _TEXTS, _TEXT_SIZE = 1_000, 1_000, 8_000_000  # short text; kept texts, their characters


class Origin(Struct, frozen=True):
    """The client program by its own name, and its trace. Both are recorded and decide nothing:
    identity comes from the transport."""

    client: str = ""
    trace: str = ""


origin: ContextVar[Origin] = ContextVar("origin", default=Origin())  # noqa: B039  # frozen
"""Origin of the call in this thread."""


class Judged(NamedTuple):
    """The decision on a call, its approval (empty if none was needed), and its start time."""

    decision: Decision
    approval: str
    started: float


class Gate:
    def __init__(
        self,
        ledger: Ledger,
        rules: Rules | Callable[[], Rules],
        caller: Caller,
        clean: Clean,
        *,
        ask: Ask | None = None,
        clock: Clock = time.time,
        strict: bool = True,
        epoch: Callable[[], object] = lambda: None,
    ) -> None:
        """`epoch` returns another object when `clean` hides more or less than before."""
        self.store = ledger.store
        if self.store.person and not caller.person:  # equal users of two machines are two people
            caller = msgspec.structs.replace(caller, id=f"{caller.id}@{self.store.person}")
        self._source = rules
        self._limits = caller.limits
        self.rules = rules() if callable(rules) else rules
        self.caller = msgspec.structs.replace(
            caller, limits=least(caller.limits, self.rules.limits)
        )
        self.clean = clean
        # Paths and arguments repeat, and leave each time.
        self._clean_short = lru_cache(maxsize=4_096)(lambda text, path: clean(text, path).text)
        self._texts: OrderedDict[tuple[str, str], CleanText] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()
        self._epoch, self._cleaned_in = epoch, epoch()
        self.clock = clock
        self.ledger = ledger
        self._ask = ask
        self._strict = strict
        self._policy = self.rules.digest

    def refresh(self) -> None:
        """Load the present policy: each call is decided by the settings of its time. Approvals are
        bound to its digest, so those under another policy are void."""
        if (epoch := self._epoch()) is not self._cleaned_in:
            with self._lock:
                self._texts.clear()
                self._size, self._cleaned_in = 0, epoch
            self._clean_short.cache_clear()
        if not callable(self._source):
            return
        rules = self._source()
        if rules is not self.rules:
            self.rules, self._policy = rules, rules.digest
            limits = least(self._limits, rules.limits)
            self.caller = msgspec.structs.replace(self.caller, limits=limits)

    def enter(
        self, call: Call, perform: Callable[[], tuple[T, Outcome]], *, refreshed: bool = False
    ) -> T:
        """Admit a call and perform it, or refuse it with the rule."""
        started = time.perf_counter()
        if not refreshed:
            self.refresh()
        decision = self._decide(call, self._spent())
        approval = ""
        if decision.verdict == "ask":
            approval = self.consent(call, decision)
        elif decision.verdict == "deny":
            raise self._refusal(call, decision)
        judged = Judged(decision, approval, started)
        if call.effect == "write":
            self._record(call, "intent", judged, _intended(call))
        try:
            answer, outcome = perform()
        except Exception as fault:
            failed = Outcome(ok=False, detail=self._plain(fault), before=call.base)
            self._record(call, "done", judged, failed)
            if isinstance(fault, SutlerError):
                raise self.cleaned(fault) from None
            raise
        self._record(call, "done", judged, outcome)
        return answer

    # a write, in the order in which edits.writer calls these

    def judge(self, calls: Sequence[Call]) -> tuple[Decision, ...]:
        """Decide each call of a write; refuse the write if one of them is denied."""
        spent = self._spent()
        decisions = tuple(self._decide(call, spent) for call in calls)
        for call, decision in zip(calls, decisions, strict=True):
            if decision.verdict == "deny":
                raise self._refusal(call, decision)
        return decisions

    def _decide(self, call: Call, spent: Spent) -> Decision:
        """Return the policy's decision; a person's grant lifts the rule that writes ask by
        default."""
        decision = decide(call, self.rules, self.caller, spent)
        if (decision.verdict, decision.rule) != ("ask", grants.DEFAULT_RULE):
            return decision
        now = self.clock()
        return grants.lifted(self.store, self.caller, self._policy, call, now) or decision

    def intend(
        self,
        calls: Sequence[Call],
        judged: Sequence[Judged],
        whole: Call,
        blobs: Iterable[tuple[str, bytes]],
    ) -> list[AuditEntry]:
        """Record the intent of a write durably, with the contents that recovery would need."""
        pairs = zip(calls, judged, strict=True)
        intents = [self._entry(call, "intent", why, _intended(call)) for call, why in pairs]
        try:
            self.store.record(intents, self.caller, blobs=blobs)
        except DeniedError as fault:
            raise self._overdrawn(whole, fault) from None
        return intents

    def conclude(
        self,
        intents: Sequence[AuditEntry],
        outcomes: Sequence[Outcome],
        started: float,
        versions: Iterable[Version],
    ) -> None:
        """Record the outcome of each intent; recovery restores those that a power cut removes."""
        at, micros = stamp(self.clock()), _micros(started)
        rows = [
            _ended(intent, "done", at, end, micros)
            for intent, end in zip(intents, outcomes, strict=True)
        ]
        self.store.record(rows, versions=versions, wait=self._strict)

    def failure(self, intents: Sequence[AuditEntry], fault: Exception, started: float) -> None:
        """Record that these intents had no effect."""
        detail = self._plain(fault)
        lost = [Outcome(ok=False, detail=detail, before=intent.before) for intent in intents]
        self.conclude(intents, lost, started, ())

    def _spent(self) -> Spent:
        if self.caller.limits == Limits():
            return Spent()
        return self.store.spent(self.caller.id, self.caller.session)

    def _plain(self, fault: Exception) -> str:
        """Describe a failure for the log: by its text for our own errors, else by its type."""
        what = fault.what if isinstance(fault, SutlerError) else type(fault).__name__
        return _one_line(self.clean(what, "").text)

    def cleaned(self, fault: SutlerError) -> SutlerError:
        """Return an error with secrets removed: it can quote what the caller sent. Other fields of
        a conflict consist of clean text."""
        return fault.with_text(self.clean(fault.what, "").text)

    # consent

    def consent(self, call: Call, decision: Decision) -> str:
        """Return the id of an approval for exactly this call, used up by it; or a refusal that
        names the pending one."""
        by = f"front:{self.caller.id}"
        wanted = self._approval(call, decision)
        approval, state = grants.obtain(self.store, wanted, call.id, self._ask, by, self.clock)
        if state == "used":
            return approval.id
        raise self._refusal(call, decision, approval.id, declined=state == "declined")

    def _approval(self, call: Call, decision: Decision) -> Approval:
        now = self.clock()
        return Approval(
            id=secrets.token_hex(8),
            tool=call.tool,
            path=call.path,
            base=call.base,
            result=call.result,
            args=canonical(self._args(call)),
            policy=self._policy,
            caller=self.caller.id,
            session=self.caller.session,
            created=stamp(now),
            expires=stamp(now + APPROVAL_SECONDS),
            rule=decision.rule,
            preview=call.preview,
        )

    # the ledger

    def _args(self, call: Call) -> tuple[tuple[str, str], ...]:
        return tuple(
            (
                name,
                (
                    value
                    if name in _DIGESTED and _DIGEST.fullmatch(value)
                    else self._arg(value, call.path)
                ),
            )
            for name, value in call.args
        )

    def _arg(self, value: str, path: str) -> str:
        return _one_line(self.clean_name(value, path)) if value else ""

    def clean_name(self, text: str, path: str = "") -> str:
        """Redact a name or an argument for display and storage."""
        return self._clean_short(text, path) if len(text) <= _SHORT else self.clean(text, path).text

    def clean_text(self, path: str, text: str, digest: str) -> CleanText:
        """Redact the text of a file; `digest` is that of the file's bytes."""
        key = (path, digest)
        with self._lock:  # a search runs beside other calls
            if key in self._texts:
                self._texts.move_to_end(key)
                return self._texts[key]
        clean = self.clean(text, path)
        with self._lock:
            if key not in self._texts:
                self._texts[key] = clean
                self._size += len(clean.text)
            while len(self._texts) > _TEXTS or (self._size > _TEXT_SIZE and len(self._texts) > 1):
                self._size -= len(self._texts.popitem(last=False)[1].text)
        return clean

    def _record(self, call: Call, phase: Phase, judged: Judged, outcome: Outcome) -> AuditRow:
        entry = self._entry(call, phase, judged, outcome)
        # A budget can stop a call before its effect: a write at its intent, a read before it
        # leaves.
        stoppable = phase == "intent" or (phase == "done" and call.effect != "write")
        try:
            seen = (outcome.seen,) if outcome.seen is not None else ()
            payer = self.caller if stoppable else None
            wait = self._strict or phase == "intent"
            return self.store.record(
                (entry,), payer, versions=seen, facts=outcome.facts, wait=wait
            )[0]
        except DeniedError as fault:
            raise self._overdrawn(call, fault) from None

    def _entry(self, call: Call, phase: Phase, judged: Judged, outcome: Outcome) -> AuditEntry:
        at, here = stamp(self.clock()), origin.get()
        entry = AuditEntry(
            call=call.id,
            phase=phase,
            at=at,
            caller=self.caller.id,
            session=self.caller.session,
            tool=call.tool,
            effect=call.effect,
            path=self.clean_name(quote(call.path)),
            args=self._args(call),
            verdict=judged.decision.verdict,
            rule=judged.decision.rule,
            approval=judged.approval,
            client=self._arg(here.client, "") or UNSET,
            trace=here.trace or UNSET,
            person=self.caller.person or self.store.person or UNSET,
        )
        return _ended(entry, phase, at, outcome, _micros(judged.started))

    def refused(self, call: Call, rule: str, what: str) -> None:
        """Record a call that was refused before policy: its path is invalid."""
        outcome = Outcome(ok=False, detail=_one_line(self.clean(what, "").text))
        judged = Judged(Decision("deny", rule), "", time.perf_counter())
        self._record(call, "refused", judged, outcome)

    def _refusal(
        self, call: Call, decision: Decision, approval: str = "", *, declined: bool = False
    ) -> DeniedError:
        """Record a refusal and return it as an error: denied, declined, or waiting for approval."""
        detail = "declined" if declined else "approval needed" if approval else "refused"
        outcome = Outcome(ok=False, detail=detail)
        self._record(call, "refused", Judged(decision, approval, time.perf_counter()), outcome)
        what = f"{call.tool} on {self.clean(quote(call.path), '').text[:200]}"
        if declined:
            what, next_step = f"{what} is denied: {DECLINED}", DO_NOT_RETRY
        elif approval:
            next_step = (
                f"a person can run `sutler approve {approval}`; then repeat the very same call"
            )
            what = f"{what} needs approval {approval}"
        else:
            what, next_step = f"{what} is denied", decision.next_step
        waiting = "" if declined else approval
        return DeniedError(what, rule=decision.rule, next_step=next_step, approval=waiting)

    def _overdrawn(self, call: Call, fault: DeniedError) -> DeniedError:
        next_step = "start a new session or ask for a larger budget"
        return self._refusal(call, Decision("deny", fault.rule, next_step))


def _intended(call: Call) -> Outcome:
    return Outcome(before=call.base, after=call.result)


def _micros(started: float) -> int:
    return int((time.perf_counter() - started) * 1e6)


def _ended(entry: AuditEntry, phase: Phase, at: str, end: Outcome, micros: int) -> AuditEntry:
    """Return the entry of a call with its outcome; the row after an intent is derived from the
    intent."""
    return msgspec.structs.replace(
        entry,
        phase=phase,
        at=at,
        success=end.ok,
        detail=end.detail,
        before=end.before,
        after=end.after,
        first=end.first,
        last=end.last,
        bytes=end.bytes,
        tokens=end.tokens,
        micros=micros,
    )


def _one_line(text: str) -> str:
    """Make a text short, printable, and free of characters that a database or a terminal
    rejects."""
    cut = text if len(text) <= _MAX_ARG else f"{text[:_MAX_ARG]} … ({len(text)} characters)"
    return quote(cut) if cut else ""
