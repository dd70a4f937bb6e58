"""Approvals and grants against a model: nothing passes that no person allowed.

Callers, sessions, policies, files, contents and arguments change at random between question and
repetition; approvals are settled, used, doubled, replayed and expire; grants are given and revoked;
the server restarts. The model is a set of what may pass. SUTLER_FUZZ=10 gives 10^4 steps a store.
"""

from __future__ import annotations

import random
import secrets
import threading
from pathlib import Path
from typing import NamedTuple

import pytest

from sutler.access import grants
from sutler.access.audit import Ledger
from sutler.access.gate import APPROVAL_SECONDS, Gate
from sutler.access.policy import PolicyRule, Rules
from sutler.errors import DeniedError
from sutler.formats.document import CleanText
from sutler.paths import RelPath
from sutler.store.records import Call, Caller, Outcome
from tests.conftest import FUZZ
from tests.limits import joined
from tests.stores import OpenStore

STEPS = 1_000
POLICIES = (Rules(), Rules(rules=(PolicyRule("deny", "never/**"),)))
PATHS = ("src/a.py", "src/deep/b.py", "docs/c.md", "top.txt", "src/conftest.py")


class Wish(NamedTuple):
    """A write: every part of it is bound by an approval."""

    caller: str
    session: str
    policy: int
    path: str
    base: str
    result: str
    args: str


class World:
    """Gates over one store, and the model beside them."""

    def __init__(self, open_store: OpenStore, folder: Path) -> None:
        self._open, self._folder = open_store, folder
        self.now = 1_000_000_000.0
        self.approved: dict[str, tuple[Wish, float]] = {}  # id: wish, end
        self.pending: dict[str, tuple[Wish, float]] = {}
        self.grants: dict[tuple[str, str, int, str], float] = {}  # caller, session, policy, folder
        self.start()

    def start(self) -> None:
        self._folder.mkdir(exist_ok=True)
        self.store = self._open("approvals")
        self.ledger = Ledger(self.store, str(self._folder), b"k" * 32)

    def attempt(self, wish: Wish) -> tuple[bool, str]:
        """Whether a write passes, and the approval that it waits for if not."""
        gate = Gate(
            self.ledger,
            POLICIES[wish.policy],
            Caller(wish.caller, wish.session),
            lambda text, _: CleanText(text),
            clock=lambda: self.now,
        )
        call = Call(
            id=secrets.token_hex(8), tool="write_file", effect="write", path=RelPath(wish.path),
            base=wish.base, result=wish.result, args=(("reason", wish.args),),
        )  # fmt: skip
        try:
            gate.enter(call, lambda: (None, Outcome()))
        except DeniedError as denied:
            return False, denied.approval
        return True, ""

    def granted(self, wish: Wish) -> bool:
        """The model's own idea of a folder: a prefix of the path."""
        for (caller, session, policy, folder), end in self.grants.items():
            same = (caller, session, policy) == (wish.caller, wish.session, wish.policy)
            below = wish.path.startswith(folder) and wish.path != "src/conftest.py"
            if same and below and self.now < end:
                return True
        return False

    def expected(self, wish: Wish) -> str:
        """`grant`, the id of an approval that is good for this wish, or nothing."""
        if self.granted(wish):
            return "grant"
        good = [id for id, (one, end) in self.approved.items() if one == wish and self.now < end]
        return good[0] if good else ""


def drawn(draw: random.Random) -> Wish:
    return Wish(
        draw.choice(("c", "d")), draw.choice(("s", "t")), draw.randrange(2), draw.choice(PATHS),
        draw.choice(("b1", "b2")), draw.choice(("r1", "r2")), draw.choice(("why", "how")),
    )  # fmt: skip


def varied(draw: random.Random, wish: Wish) -> Wish:
    """The same wish, or one that differs in one part."""
    part = draw.choice((*Wish._fields, "", "", "", "", ""))
    return wish._replace(**{part: getattr(drawn(draw), part)}) if part else wish


def step(world: World, draw: random.Random, recent: list[Wish]) -> None:
    act = draw.random()
    if act < 0.65:
        wish = varied(draw, draw.choice(recent)) if recent and draw.random() < 0.8 else drawn(draw)
        expected = world.expected(wish)
        passed, waits = world.attempt(wish)
        assert passed == bool(expected), (wish, expected)
        world.approved.pop(expected, None)
        if waits:
            world.pending.setdefault(waits, (wish, world.now + APPROVAL_SECONDS))
        recent[:] = [*recent[-4:], wish]
    elif act < 0.85 and world.pending:
        id = draw.choice(sorted(world.pending))
        wish, end = world.pending.pop(id)
        state = draw.choice(("approved", "approved", "denied"))
        assert world.store.settle(id, state, "person")  # type: ignore[arg-type]  # one of the two
        assert not world.store.settle(id, "denied" if state == "approved" else "approved", "person")
        if state == "approved":
            world.approved[id] = wish, end
            approval = world.store.approval(id)
            assert approval is not None
            if draw.random() < 0.15 and grants.grantable(approval):
                grants.give(world.store, approval, "person", world.now)
                folder = wish.path.rpartition("/")[0]
                key = wish.caller, wish.session, wish.policy, f"{folder}/" if folder else ""
                held = [one for one in world.grants if (one[1], one[3]) == (key[1], key[3])]
                for one in held:  # the newest row of a session and folder counts
                    del world.grants[one]
                world.grants[key] = world.now + grants.SECONDS
    elif act < 0.93 and world.grants:
        active = grants.active(world.store, world.now)
        if active:
            grants.revoke(world.store, draw.choice(active), "person", world.now)
            left = {(one.session, one.folder) for one in grants.active(world.store, world.now)}
            for one in list(world.grants):
                if (one[1], f"{one[3]}**") not in left:
                    del world.grants[one]
    elif act < 0.98:
        world.now += draw.choice((1.0, 60.0, APPROVAL_SECONDS / 2, grants.SECONDS / 3))
    else:
        world.store.close()
        world.start()
    world.now += 0.001


@pytest.mark.parametrize("seed", range(max(1, round(FUZZ))))
def test_nothing_passes_that_no_person_allowed(
    seed: int, open_store: OpenStore, tmp_path: Path
) -> None:
    """File, policy, arguments, caller or session changed; replay; double; expired; after a restart;
    scoped grants.
    """
    draw = random.Random(seed)
    world, recent = World(open_store, tmp_path / "checkpoints"), list[Wish]()
    for _ in range(STEPS):
        step(world, draw, recent)
    world.store.close()


@pytest.mark.parametrize("round", range(max(5, round(5 * FUZZ))))
def test_of_many_who_come_at_once_one_uses_an_approval(
    round: int, open_store: OpenStore, tmp_path: Path
) -> None:
    world = World(open_store, tmp_path / "checkpoints")
    wish = drawn(random.Random(round))._replace(path="docs/c.md")
    _, id = world.attempt(wish)
    assert world.store.settle(id, "approved", "person")
    passed: list[bool] = []
    threads = [
        threading.Thread(target=lambda: passed.append(world.attempt(wish)[0])) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    joined(*threads)
    assert sorted(passed) == [False] * 5 + [True]
    world.store.close()
