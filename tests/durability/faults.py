"""Every call to the disk fails once: `python -m tests.durability.faults DIRECTORY [STEP]`.

A preloaded library lets the n-th write, fsync, rename, link, unlink, truncate, mkdir or chmod of a
tool fail, SQLite's own calls included, for n = STEP, 2 STEP … until the tool gets through, as the
command line and as a server runs it. After each: every file is old or every one is new, the answer
said which, the same process goes on writing, and the post-condition of `tests.writers.check` holds.
A server whose ledger could not be synced in the background refuses to go on, and says so: what it
had committed may be lost, and only another start can tell.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

from sutler.access.door import Door
from sutler.edits.writer import Writer
from sutler.errors import SutlerError
from tests.limits import LIMIT
from tests.writers import check, digest_of, free_door, plant

NAMES = ("a.txt", "b.txt", "c/d.txt", "e.txt", "n/e/w.txt")
KINDS = {
    "EIO": (errno.EIO, 0),
    "ENOSPC": (errno.ENOSPC, 0),
    "EINTR": (errno.EINTR, 0),
    "short write": (0, 1),
    "ENOSPC from then on": (errno.ENOSPC, 2),
}
TOOLS: dict[str, Callable[[Door], object]] = {
    "write": lambda door: Writer(door).write_file("a.txt", "new\n" * 3_000, base="any"),
    "create": lambda door: Writer(door).write_file("n/e/w.txt", "new\n", mode="create"),
    "append": lambda door: Writer(door).write_file("a.txt", "new\n", mode="append"),
    "edit": lambda door: Writer(door).edit("a.txt", "a.txt line 7\n", "seven\n"),
    "patch": lambda door: Writer(door).apply_patch(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-a.txt line 7\n+7\n*** Delete File: b.txt\n"
        "*** Add File: e.txt\n+e\n*** Update File: c/d.txt\n@@\n-c/d.txt line 9\n+9\n*** End Patch\n"
    ),
    "rollback": lambda door: Writer(door).rollback_session("before"),
}


def _prepare(top: Path) -> None:
    """A project with some history, and so many rows that a checkpoint falls due in the middle of a
    call.
    """
    (top / "tree").mkdir(parents=True)
    plant(str(top / "tree"))
    with free_door(str(top / "tree"), str(top / "state"), "before") as door:
        Writer(door).edit("b.txt", "b.txt line 3\n", "three\n")
        Writer(door).write_file("e.txt", "e\n", mode="create")
        while door.gate.store.head()[0] < 62:
            door.list_files()
    with free_door(str(top / "tree"), str(top / "state"), "other") as door:
        Writer(door).apply_patch("*** Begin Patch\n*** Delete File: e.txt\n*** End Patch")


class Case(NamedTuple):
    """What fails where: a tool, as the command line or as a server runs it, and the number and kind
    of the fault.
    """

    tool: str
    strict: bool
    at: int = 0
    kind: str = "EIO"


def _once(template: Path, place: Path, case: Case) -> tuple[int, bool, list[str], list[str]]:
    """One run with the `at`-th call failing: calls seen, whether it was acknowledged, files before
    and after.
    """
    shim = ctypes.CDLL(os.environ["LD_PRELOAD"])
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(template, place)
    tree, state = str(place / "tree"), str(place / "state")
    old, acknowledged = [digest_of(tree, name) for name in NAMES], False
    with free_door(tree, state, strict=case.strict) as door:
        shim.fault_arm(ctypes.c_long(case.at), *KINDS[case.kind])
        try:
            TOOLS[case.tool](door)
            acknowledged = True
        except (SutlerError, OSError):
            pass
        finally:
            seen = int(shim.fault_disarm())
        try:
            Writer(door).write_file("same.txt", "the same process goes on\n", base="any")
        except SutlerError as refusal:
            if case.strict or "did not reach the disk" not in refusal.what:
                raise
    check(tree, state, {})
    return seen, acknowledged, old, [digest_of(tree, name) for name in NAMES]


def run(top: Path, step: int) -> tuple[int, int]:
    """All tools, kinds and points: how many points there were, and how many of them were
    acknowledged all the same.
    """
    template = top / "template"
    _prepare(template)
    points = done = 0
    for tool, kind, strict in product(TOOLS, KINDS, (True, False)):
        _, _, _, wanted = _once(template, top / "run", Case(tool, strict))
        at = 1
        while True:
            where = Case(tool, strict, at, kind)
            seen, acknowledged, old, new = _once(template, top / "run", where)
            assert new == wanted if acknowledged else new in (old, wanted), where
            if seen < at:
                break
            points, done, at = points + 1, done + acknowledged, at + step
    return points, done


def main(words: list[str]) -> None:
    top = Path(words[0])
    top.mkdir(parents=True, exist_ok=True)
    if "LD_PRELOAD" not in os.environ:
        library = top / "faults.so"
        source = Path(__file__).with_name("faults.c")
        build = [
            "cc",
            "-O1",
            "-shared",
            "-fPIC",
            "-D_LARGEFILE64_SOURCE",
            "-o",
            str(library),
            str(source),
            "-ldl",
        ]
        subprocess.run(build, check=True, timeout=LIMIT)
        os.environ["LD_PRELOAD"] = str(library)
        os.execv(sys.executable, [sys.executable, "-m", "tests.durability.faults", *words])  # noqa: S606  # ourselves
    points, done = run(top, int(words[1]) if len(words) > 1 else 1)
    print(f"{points} points, {done} acknowledged all the same, 0 violations")


if __name__ == "__main__":
    main(sys.argv[1:])
