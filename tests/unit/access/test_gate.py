from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sutler.access.audit import Ledger
from sutler.access.gate import APPROVAL_SECONDS, Gate
from sutler.access.policy import PolicyRule, Rules
from sutler.errors import DeniedError, SutlerError
from sutler.formats.document import CleanText
from sutler.paths import RelPath
from sutler.store.home import private_dir
from sutler.store.records import Approval, Call, Caller, Effect, Limits, Outcome, Spent, unseal
from sutler.store.sqlite import SqliteDatabase, open_sqlite

SECRET = "hunter2hunter2"


def clean(text: str, path: str) -> CleanText:
    return CleanText(text.replace(SECRET, "[REDACTED]"))


class Clock:
    now = 1_000_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    home = private_dir(str(tmp_path / "state"))
    return Ledger(open_sqlite(f"{home}/state.db", "p"), home, b"k" * 32)


@pytest.fixture
def gate(ledger: Ledger, clock: Clock) -> Gate:
    return Gate(ledger, Rules(), Caller("c", "s"), clean, clock=clock)


def call(path: str = "a", effect: Effect = "read", **more: object) -> Call:
    plain = Call(id=os.urandom(8).hex(), tool="t", effect=effect, path=RelPath(path))
    return msgspec.structs.replace(plain, **more)


def nothing() -> tuple[str, Outcome]:
    return "answer", Outcome(after="v", first=1, last=2, bytes=6)


def _mark(done: list[int]) -> tuple[None, Outcome]:
    done.append(1)
    return None, Outcome()


def test_an_allowed_read_is_answered_and_recorded(gate: Gate) -> None:
    assert gate.enter(call(), nothing) == "answer"
    (row,) = gate.store.audit()
    found = unseal(row)
    assert (found.phase, found.success, found.after, found.bytes, found.rule) == (
        "done",
        True,
        "v",
        6,
        "default: allow reads",
    )


def test_a_denial_is_recorded_and_nothing_is_performed(gate: Gate) -> None:
    done: list[int] = []
    with pytest.raises(DeniedError, match="denied"):
        gate.enter(call(".env"), lambda: _mark(done))
    assert (done, unseal(gate.store.audit()[0]).phase) == ([], "refused")


def test_a_write_leaves_its_intent_before_it_happens(ledger: Ledger) -> None:
    gate = Gate(ledger, Rules((PolicyRule("allow", "**"),)), Caller("c", "s"), clean)
    during: list[str] = []

    def perform() -> tuple[None, Outcome]:
        during.extend(unseal(row).phase for row in gate.store.audit())
        return None, Outcome(before="b", after="r")

    gate.enter(call(effect="write", base="b", result="r"), perform)
    assert during == ["intent"]
    assert [unseal(row).phase for row in gate.store.audit()] == ["intent", "done"]


def test_a_failure_is_recorded_without_its_secrets(gate: Gate) -> None:
    def perform() -> tuple[None, Outcome]:
        raise SutlerError(f"no {SECRET} here\x1b[31m")

    with pytest.raises(SutlerError):
        gate.enter(call(args=(("query", f"find {SECRET}\n"),), path=f"x/{SECRET}"), perform)
    (row,) = gate.store.audit()
    assert SECRET not in row.body
    assert "\\u001b" not in row.body
    assert unseal(row).detail == '"no [REDACTED] here\\033[31m"'


def test_an_audit_store_that_cannot_be_written_refuses(gate: Gate, ledger: Ledger) -> None:
    """Neither answer nor effect gets out when its row cannot."""
    store = ledger.store
    database = store.database
    assert isinstance(database, SqliteDatabase)
    database._connection.execute("PRAGMA query_only = ON")
    done: list[int] = []
    with pytest.raises(SutlerError, match="cannot be used"):
        gate.enter(call(), nothing)
    opened = Gate(ledger, Rules((PolicyRule("allow", "**"),)), Caller("c", "s"), clean)
    with pytest.raises(SutlerError, match="cannot be used"):
        opened.enter(call(effect="write"), lambda: _mark(done))
    assert done == []
    database._connection.execute("PRAGMA query_only = OFF")
    assert gate.enter(call(), nothing) == "answer"


def test_a_budget_stops_a_read_before_it_leaves(ledger: Ledger) -> None:
    gate = Gate(ledger, Rules(limits=Limits(bytes=10)), Caller("c", "s"), clean)
    gate.enter(call(), nothing)
    with pytest.raises(DeniedError, match="bytes <= 10"):
        gate.enter(call(), nothing)
    assert gate.store.spent("c", "s") == Spent(reads=1, bytes=6)
    assert unseal(gate.store.audit()[-1]).rule == "budget: bytes <= 10"


# approvals


def wanted(gate: Gate) -> Approval:
    return gate.store.approvals("pending")[0]


def refused_then(gate: Gate, one: Call, settle: Callable[[Approval], object]) -> None:
    with pytest.raises(DeniedError, match="needs approval"):
        gate.enter(one, nothing)
    settle(wanted(gate))


def again(one: Call, **changes: str) -> Call:
    return msgspec.structs.replace(one, id=os.urandom(8).hex(), **changes)


def test_an_approval_lets_exactly_one_call_through(gate: Gate) -> None:
    one = call(effect="write", base="b", result="r")
    refused_then(gate, one, lambda found: gate.store.settle(found.id, "approved", "ann"))
    assert gate.enter(again(one), nothing) == "answer"
    with pytest.raises(DeniedError):
        gate.enter(again(one), nothing)


@pytest.mark.parametrize("change", [{"base": "x"}, {"result": "x"}, {"path": "b"}, {"tool": "u"}])
def test_an_approval_is_for_these_bytes_only(gate: Gate, change: dict[str, str]) -> None:
    one = call(effect="write", base="b", result="r")
    refused_then(gate, one, lambda found: gate.store.settle(found.id, "approved", "ann"))
    with pytest.raises(DeniedError):
        gate.enter(again(one, **change), nothing)


@pytest.mark.parametrize("caller", [Caller("other", "s"), Caller("c", "other")])
def test_an_approval_is_for_this_caller_and_session(
    gate: Gate, ledger: Ledger, clock: Clock, caller: Caller
) -> None:
    one = call(effect="write")
    refused_then(gate, one, lambda found: gate.store.settle(found.id, "approved", "ann"))
    with pytest.raises(DeniedError):
        Gate(ledger, Rules(), caller, clean, clock=clock).enter(again(one), nothing)


def test_an_approval_is_for_this_policy(gate: Gate, ledger: Ledger, clock: Clock) -> None:
    one = call(effect="write")
    refused_then(gate, one, lambda found: gate.store.settle(found.id, "approved", "ann"))
    other = Rules((PolicyRule("ask", "x"),))
    with pytest.raises(DeniedError):
        Gate(ledger, other, Caller("c", "s"), clean, clock=clock).enter(again(one), nothing)


def test_an_approval_expires(gate: Gate, clock: Clock) -> None:
    one = call(effect="write")
    refused_then(gate, one, lambda found: gate.store.settle(found.id, "approved", "ann"))
    clock.now += APPROVAL_SECONDS
    with pytest.raises(DeniedError):
        gate.enter(again(one), nothing)


def test_asking_twice_waits_for_one_approval(gate: Gate) -> None:
    one = call(effect="write")
    for _ in range(3):
        with pytest.raises(DeniedError):
            gate.enter(again(one), nothing)
    assert len(gate.store.approvals("pending")) == 1


@pytest.mark.parametrize(
    ("answer", "state"), [(True, "used"), (False, "denied"), (None, "pending")]
)
def test_a_front_can_ask(ledger: Ledger, answer: bool | None, state: str) -> None:
    gate = Gate(ledger, Rules(), Caller("c", "s"), clean, ask=lambda _: answer)
    if answer:
        assert gate.enter(call(effect="write"), nothing) == "answer"
    else:
        with pytest.raises(DeniedError, match="is denied" if answer is False else "needs approval"):
            gate.enter(call(effect="write"), nothing)
    assert len(gate.store.approvals(state)) == 1
