"""Bytes outside an edit stay, whatever the file is made of; and an approval is for what it was
given for.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

from sutler.access.door import Door
from sutler.access.policy import PolicyRule, Rules
from sutler.edits.writer import Writer
from sutler.errors import SutlerError
from sutler.store.records import Approval, stamp
from tests.doors import OpenDoor
from tests.stores import FUZZ

FREE = Rules(rules=(PolicyRule("allow", "**", ("write",)),))
ENCODINGS = ("utf-8", "utf-8-sig", "latin-1", "utf-16")


def _file(rnd: random.Random, encoding: str) -> tuple[str, bytes]:
    """A text whose line 3 says NEEDLE, and its bytes."""
    words = ["a", "é", "x\x0cy", "\t ", "", "end\x1f".replace("\x1f", "")]
    ends = rnd.choice((["\n"], ["\r\n"], ["\n", "\r\n"]))
    lines = [" ".join(rnd.choice(words) for _ in range(3)) for _ in range(rnd.randint(4, 12))]
    lines[2] = f"é {lines[2]} NEEDLE"
    text = "".join(line + rnd.choice(ends) for line in lines)
    text = text.rstrip("\r\n") if rnd.random() < 0.3 else text
    return text, text.encode(encoding)


def test_bytes_outside_the_edit_and_the_mode_stay(open_door: OpenDoor) -> None:
    door = open_door({"x": {}}, rules=FREE)
    writer, top = Writer(door), Path(door.root.host_path)
    for seed in range(int(60 * FUZZ)):
        rnd = random.Random(seed)
        encoding = rnd.choice(ENCODINGS)
        text, data = _file(rnd, encoding)
        mode = rnd.choice((0o600, 0o644, 0o755, 0o640))
        path = top / f"f{seed}.txt"
        path.write_bytes(data)
        os.chmod(path, mode)
        if rnd.random() < 0.5:
            writer.edit(path.name, "NEEDLE", "pin")
        else:
            line = text.split("\n")[2].removesuffix("\r")
            writer.apply_patch(
                f"*** Begin Patch\n*** Update File: {path.name}\n@@\n-{line}\n+{line[:-6]}pin\n*** End Patch"
            )
        assert path.read_bytes() == text.replace("NEEDLE", "pin").encode(encoding), seed
        assert path.stat().st_mode & 0o777 == mode
        os.chmod(path, 0o600)
        writer.rollback(path.name, door.gate.store.versions(path.name)[1].id)
        assert path.read_bytes() == data, seed
        assert path.stat().st_mode & 0o777 == mode


def test_approvals_are_never_widened(open_door: OpenDoor) -> None:
    """Random interleavings of asking, approving, denying, outside edits, time that passes and
    retries, by two sessions and under two policies: whatever is written was approved for exactly
    these bytes, by this caller, under this policy, in time, and once. The long run is
    SUTLER_FUZZ=84: 10^4 steps.
    """
    now = [1_800_000_000.0]
    strict = Rules(rules=(PolicyRule("ask", "a.txt"),))
    doors = [
        open_door({"a.txt": "0\n"}, session=name, rules=rules, clock=lambda: now[0])
        for name in ("one", "two")
        for rules in (Rules(), strict)
    ]
    store, path = doors[0].gate.store, Path(doors[0].root.host_path) / "a.txt"
    rnd, written, seen = random.Random(5), 0, set[str]()
    for _ in range(int(120 * FUZZ)):
        act = rnd.randrange(6)
        if act == 0:
            path.write_text(f"{rnd.randrange(3)}\n")
        elif act == 1:
            now[0] += rnd.choice((1, 60, 600, 901))
        elif act == 2:
            for one in store.approvals("pending"):
                store.settle(one.id, rnd.choice(("approved", "approved", "denied")), "person")
        else:
            door, before = rnd.choice(doors), path.read_text()
            fit = [one for one in store.approvals("approved", 100_000) if _fits(one, door, now[0])]
            try:
                (change,) = (
                    Writer(door).write_file("a.txt", f"{rnd.randrange(3)}\n", base="any").files
                )
            except SutlerError:
                assert path.read_text() == before
                continue
            spent = {
                one.id for one in fit if (one.base, one.result) == (change.before, change.after)
            }
            used = {
                one for one in spent if (found := store.approval(one)) and found.state == "used"
            }
            assert len(used) == 1, (
                "written without an approval that fits, or more than one was spent"
            )
            assert not used & seen
            seen |= used
            written += 1
    assert written > 3


def _fits(one: Approval, door: Door, now: float) -> bool:
    gate = door.gate
    same = (one.caller, one.session, one.policy) == (
        gate.caller.id,
        gate.caller.session,
        gate.rules.digest,
    )
    return same and stamp(now) < one.expires
