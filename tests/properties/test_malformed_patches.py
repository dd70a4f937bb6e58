"""Patches that are wrong by construction: each is refused in our own words, and nothing changes.

The long run is SUTLER_FUZZ=100: 10^5 patches.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from sutler.access.policy import PolicyRule, Rules
from sutler.edits.difference import unified
from sutler.edits.hunks import apply
from sutler.edits.patch import parse
from sutler.edits.writer import Writer
from sutler.errors import SutlerError
from tests.doors import OpenDoor
from tests.stores import FUZZ

FREE = Rules(rules=(PolicyRule("allow", "**", ("write",)),))
TEXT = "".join(f"line {n} {'x' * (n % 5)}\n" for n in range(60))


def _good(rnd: random.Random) -> list[str]:
    lines = TEXT.splitlines(True)
    new = list(lines)
    for at in sorted(rnd.sample(range(5, 55), rnd.randint(1, 4)), reverse=True):
        new[at : at + 1] = [f"new {rnd.randrange(9)}\n"] * rnd.randint(1, 3)
    return unified(lines, new, "a/x.txt", "b/x.txt").splitlines(True)


def _header(patch: list[str], rnd: random.Random) -> int:
    return rnd.choice([n for n, line in enumerate(patch) if line.startswith("@@")])


def _set(patch: list[str], at: int, line: str) -> list[str]:
    return [*patch[:at], line, *patch[at + 1 :]]


def _counts(patch: list[str], rnd: random.Random) -> list[str]:
    many = rnd.choice(("18", "999", "9" * 9, "9" * 18))
    return _set(patch, _header(patch, rnd), f"@@ -1,{many} +1,{many} @@\n")


def _sign(patch: list[str], rnd: random.Random) -> list[str]:
    return _set(patch, rnd.randrange(3, len(patch)), rnd.choice("*#/xé\t") + "line\n")


def _context(patch: list[str], rnd: random.Random) -> list[str]:
    places = [n for n, line in enumerate(patch) if n > 2 and line[0] in " -"]
    at = rnd.choice(places)
    return _set(patch, at, f"{patch[at][0]}no such line {rnd.random()}\n")


def _cut_short(patch: list[str], rnd: random.Random) -> list[str]:
    start = _header(patch, rnd)
    return patch[: start + rnd.randint(1, 3)]


def _twice(patch: list[str], rnd: random.Random) -> list[str]:
    return [*patch, *patch]


def _overlap(patch: list[str], rnd: random.Random) -> list[str]:
    return [*patch, *patch[2:]]


def _names(patch: list[str], rnd: random.Random) -> list[str]:
    bad = rnd.choice(
        (
            "/etc/passwd",
            "b/../../x",
            "b/other.txt",
            "b/x\rtxt",
            '"b/\\777',
            "",
            "/dev/null\0",
            "b/.git/config",
        )
    )
    return _set(patch, 1, f"+++ {bad}\n")


def _foreign(patch: list[str], rnd: random.Random) -> list[str]:
    return [
        rnd.choice(
            (
                "rename from x.txt\n",
                "copy to y.txt\n",
                "GIT binary patch\n",
                "new file mode 120000\n",
            )
        ),
        *patch,
    ]


def _open_end(patch: list[str], rnd: random.Random) -> list[str]:
    return [
        "*** Begin Patch\n",
        rnd.choice(("*** Update File: x.txt\n", "*** Move to: y.txt\n", "nonsense\n")),
        *patch[2:],
    ]


WRONG: tuple[Callable[[list[str], random.Random], list[str]], ...] = (
    _counts, _sign, _context, _cut_short, _twice, _overlap, _names, _foreign, _open_end,
)  # fmt: skip


def test_patches_that_are_wrong_change_nothing(open_door: OpenDoor) -> None:
    door = open_door({"x.txt": TEXT, "other.txt": "other\n"}, rules=FREE)
    writer, path = Writer(door), Path(door.root.host_path) / "x.txt"
    for seed in range(int(1_000 * FUZZ)):
        rnd = random.Random(seed)
        wrong = WRONG[seed % len(WRONG)]
        patch = "".join(wrong(_good(rnd), rnd))
        try:
            if seed % 25 == 0 or wrong is _names:  # what is wrong with a name, the door knows
                writer.apply_patch(patch, path="x.txt" if wrong is _names else "")
            else:
                for one in parse(patch):
                    apply(one.pieces, TEXT)
        except SutlerError:
            continue
        raise AssertionError(f"{wrong.__name__} was applied (seed {seed}):\n{patch}")
    assert path.read_text() == TEXT
    assert sorted(one.name for one in path.parent.iterdir()) == ["other.txt", "x.txt"]
