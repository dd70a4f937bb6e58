"""What a user may rely on when the machine fails in the middle of a write."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sutler.access.door import Door
from sutler.edits.writer import Writer
from sutler.errors import SutlerError
from sutler.store.sql import Store
from sutler.system import exchange
from tests.limits import LONG
from tests.stores import FUZZ
from tests.writers import check, digest_of, free_door, plant


def _run(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.writers", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONG,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def test_no_acknowledged_write_is_lost_when_processes_are_killed(tmp_path: Path) -> None:
    """Killed at a random instant: what was acknowledged is in the history, the file holds a known
    version, nothing is left behind, and the next call works at once.
    """
    found = _run("kill", str(tmp_path), str(int(25 * FUZZ)), "1")
    assert float(found.split("within ")[1].split(" ")[0]) < 2


def test_forty_processes_edit_different_lines_of_one_file(tmp_path: Path) -> None:
    """Each edit is there, or its author was told that it is not."""
    assert _run("crowd", str(tmp_path), "40") == "40 acknowledged, 40 there\n"


class Faults:
    """Lets the n-th call of a kind fail."""

    def __init__(self, at: int, number: int) -> None:
        self.at, self.number, self.seen, self.on = at, number, 0, False

    def wrap(self, call: Callable[..., Any], *, short: bool = False) -> Callable[..., Any]:
        def step(*args: Any, **named: Any) -> Any:
            if self.on:
                self.seen += 1
                if self.seen == self.at:
                    if short and self.number == 0:
                        return call(args[0], bytes(args[1])[:1])
                    raise OSError(self.number or errno.EIO, "injected")
            return call(*args, **named)

        return step


TOOLS: dict[str, Callable[[Door], object]] = {
    "write": lambda door: Writer(door).write_file("a.txt", "new\n", base="any"),
    "create": lambda door: Writer(door).write_file("n/e/w.txt", "new\n", mode="create"),
    "edit": lambda door: Writer(door).edit("a.txt", "a.txt line 7\n", "seven\n"),
    "patch": lambda door: Writer(door).apply_patch(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-a.txt line 7\n+7\n*** Delete File: b.txt\n"
        "*** Add File: e.txt\n+e\n*** Update File: c/d.txt\n@@\n-c/d.txt line 9\n+9\n*** End Patch\n"
    ),
}


@pytest.mark.parametrize(
    "number", [errno.EIO, errno.ENOSPC, 0], ids=["EIO", "ENOSPC", "short write"]
)
@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_every_call_to_the_disk_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: str, number: int
) -> None:
    """Whichever call fails, every file of the call is old or every one is new, and the answer says
    which.
    """
    names = ("a.txt", "b.txt", "c/d.txt", "e.txt", "n/e/w.txt")
    wanted: list[str] = []
    for at in range(
        400
    ):  # the first turn, in which nothing fails, shows what all files should become
        tree, state = str(tmp_path / f"{at}/tree"), str(tmp_path / f"{at}/state")
        os.makedirs(tree)
        plant(tree)
        old = [digest_of(tree, name) for name in names]
        faults, acknowledged = Faults(at, number), False
        with monkeypatch.context() as patched:
            for name in ("fsync", "rename", "link", "unlink", "mkdir", "fchmod"):
                patched.setattr(
                    os, name, faults.wrap(getattr(os, name)) if number else getattr(os, name)
                )
            patched.setattr(os, "write", faults.wrap(os.write, short=True))
            if number:
                patched.setattr("sutler.edits.replacement.exchange", faults.wrap(exchange))
            if number:
                patched.setattr(Store, "record", faults.wrap(Store.record))
            with free_door(tree, state) as door:
                faults.on = True
                try:
                    TOOLS[tool](door)
                    acknowledged = True
                except (SutlerError, OSError):
                    pass
                faults.on = False
        check(tree, state, {})
        new = [digest_of(tree, name) for name in names]
        wanted = wanted or new
        assert new == wanted if acknowledged else new in (old, wanted)
        if at and faults.seen < at:
            return
    pytest.fail("the call never got through")
