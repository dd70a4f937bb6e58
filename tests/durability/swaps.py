"""The root, its parent and its grandparent are swapped for links to the outside while tools run.

`python -m tests.durability.swaps DIRECTORY SECONDS` takes SECONDS for each of the three. A child process
renames the folder away, puts a link to a tree outside in its place, and undoes both, without a pause.
The outside tree has the same files with a canary in them, and its bytes are compared afterwards.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from sutler.errors import SutlerError
from sutler.store.records import CLOUD, Caller
from sutler.tools import call, open_door

CANARY = "canary-from-outside"
LEVELS = ("root", "parent", "grandparent")
_INSIDE = "def wheel():\n    return 'inside'\n"
_PATCH = "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


def _tree(top: Path, word: str) -> Path:
    root = top / "grandparent/parent/root"
    (root / "src").mkdir(parents=True)
    for number in range(8):
        (root / f"src/part{number}.py").write_text(_INSIDE.replace("inside", word))
    (root / "a.py").write_text(f"wheel = '{word}'\n")
    (root / "b.py").write_text("x = 1\n")
    return root


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _swap(folder: Path, outside: Path) -> None:
    """Exchange a folder and a link to the outside until the process is ended."""
    moved = folder.with_name(f"{folder.name}.moved")
    while True:
        folder.rename(moved)
        folder.symlink_to(outside)
        folder.unlink()
        moved.rename(folder)


@contextmanager
def _swapping(folder: Path, outside: Path) -> Iterator[None]:
    child = os.fork()
    if not child:
        with suppress(BaseException):
            _swap(folder, outside)
        os._exit(0)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        moved = folder.with_name(f"{folder.name}.moved")
        if folder.is_symlink():
            folder.unlink()
        if moved.exists():
            moved.rename(folder)


def _calls(number: int, version: str) -> tuple[tuple[str, Mapping[str, object]], ...]:
    return (
        ("read_file", {"path": "a.py"}),
        ("search", {"query": "wheel"}),
        ("write_file", {"path": f"new{number % 5}.py", "content": f"n = {number}\n"}),
        ("apply_patch", {"patch": _PATCH}),
        ("rollback", {"path": "b.py", "version": version}),
        ("pack", {"max_tokens": 4000}),
        ("rank", {"goal": "the wheel"}),
    )


def run(top: Path, level: str, seconds: float) -> Counter[str]:
    """Counts of calls, answers and refusals of each tool, and of answers with the canary."""
    root, outside = _tree(top / "work", "inside"), _tree(top / "outside", CANARY)
    above = {"root": root, "parent": root.parent, "grandparent": root.parent.parent}
    beside = {"root": outside, "parent": outside.parent, "grandparent": outside.parent.parent}
    before, counts = _bytes(top / "outside"), Counter[str]()
    config = top / "config/sutler"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('writable = ["**"]\n')
    folders = {"CONFIG": "config", "STATE": "state", "CACHE": "cache"}
    environ = {**os.environ, **{f"XDG_{k}_HOME": str(top / v) for k, v in folders.items()}}
    os.environ.update(environ)
    caller = Caller("swaps", "s", CLOUD)
    with open_door(str(root), caller, environ=environ) as door:
        version = call(door, "read_file", {"path": "b.py"}).version  # type: ignore[attr-defined]  # a Reading
        with _swapping(above[level], beside[level]):
            end, number = time.monotonic() + seconds, 0
            while time.monotonic() < end:
                number += 1
                for name, arguments in _calls(number, version):
                    answer = _answer(door, name, arguments)
                    counts[f"{name} {'refused' if answer is None else 'answered'}"] += 1
                    counts["escapes"] += CANARY in (answer or "")
    counts["escapes"] += _bytes(top / "outside") != before
    return counts


def _answer(door: object, name: str, arguments: Mapping[str, object]) -> str | None:
    try:
        return msgspec.json.encode(call(door, name, arguments)).decode()  # type: ignore[arg-type]  # a Door
    except SutlerError as refusal:
        return CANARY if CANARY in str(refusal) else None


def main(folder: str, seconds: str) -> None:
    for level in LEVELS:
        top = Path(folder) / level
        shutil.rmtree(top, ignore_errors=True)
        counts = run(top, level, float(seconds))
        total = sum(count for name, count in counts.items() if name != "escapes")
        print(f"{level}: {total:,} calls, {counts['escapes']} escapes")
        print("  " + ", ".join(f"{name} {counts[name]:,}" for name in sorted(counts)))


if __name__ == "__main__":
    main(*sys.argv[1:])
