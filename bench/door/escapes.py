"""Does any spelling of a path, or any race, get something from outside the root through any tool?

python -m bench.door.escapes paths [COUNT]    COUNT hostile spellings through each tool
python -m bench.door.escapes race [SECONDS]   each tool while a directory and a link are swapped as fast as it goes

Every tool of the table that takes a path, a glob or a patch is called through the door with writing allowed. An escape
is a canary from outside in an answer or an error, a host path in either, or a change outside. To make a million calls
for each tool affordable, the ledger's rows are chained but not stored; everything else is the door as agents meet it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import msgspec

from sutler.access.audit import Ledger
from sutler.access.door import Door
from sutler.access.gate import Gate
from sutler.access.policy import PolicyRule, Rules
from sutler.access.setup import Setup
from sutler.disk.replace import _renameat2
from sutler.disk.root import Root
from sutler.store.sql import SqlStore
from sutler.store.sqlite import SqliteDatabase
from sutler.store.state import private_dir
from sutler.toolbox import TOOLS, Tool, call
from sutler.values.access import GENESIS, AuditEntry, AuditRow, Caller, Fact, Version, seal
from sutler.values.errors import SutlerError
from sutler.values.pack import CleanText
from sutler.values.snapshot import ScanRules

OUTSIDE = "canary from outside"
PIECES = (
    "..", ".", "", "/", "//", "a", "sub", "sub/b", "link", "dirlink", "abs", "deep/up", "secret.txt", "project",
    "project-evil", "~", "~root", "$HOME", "%2e%2e", "%2f", "..%2f", "\\", "..\\", "C:", "\\\\?\\", "file://", "\0",
    "\n", "\x1b", "\u202e", "\u2215", "\uff0e\uff0e", "\udcff", ".git", ".ENV", "CON", "nul.txt", "a:stream", "a.",
    "a ", "*", "**", "{a,b}", "[!a]", "?", "proc", "self", "root", "etc", "passwd", '"', '"..', "\\057", "\\056",
    "x" * 300, "new", "aside", "trap",
)  # fmt: skip
SNARES = ("link", "dirlink", "abs", "proc", "deep/up", "deep", "sub", "a", "new", "chain/chain/up", "trap")
TAILS = (
    "secret.txt", "outside/secret.txt", "project-evil/secret.txt", "self/cwd/secret.txt", "b",
    "/".join(("self", "root", "etc/passwd")),
    "project/a", "new/file", "self/environ", "up/secret.txt", "", "outside/new",
)  # fmt: skip
BLOCK = 1_000


def spelling(rng: random.Random) -> str:
    """One hostile path: half of them plausible enough that the kernel is asked, half of them noise."""
    if rng.random() < 0.5:
        text = f"{rng.choice(SNARES)}{rng.choice(('/', '//', '/./', '/', '/', '', '/sub/../'))}{rng.choice(TAILS)}"
    else:
        glue = rng.choice(("/", "", "/", "//"))
        text = glue.join(rng.choice(PIECES) for _ in range(rng.randint(1, 6)))
    if rng.random() < 0.1:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(PIECES) + text[at:]
    return f'"{text}"' if rng.random() < 0.1 else text


def targets() -> list[Tool]:
    """The tools that can be told where to look."""
    names = {"path", "globs", "query", "patch"}
    return [tool for tool in TOOLS if names & {param.name for param in tool.params}]


def arguments(tool: Tool, text: str, rng: random.Random) -> dict[str, object]:
    """The tool's own example, with the text wherever a path can stand."""
    given = dict(tool.example)
    names = {param.name for param in tool.params}
    for name in names & {"path", "query"}:
        given[name] = text
    if "globs" in names:
        given["globs"] = [text]
    if "base" in names and rng.random() < 0.5:
        given["base"] = "any"
    if tool.name == "write_file":
        given["mode"] = rng.choice(("truncate", "append", "create"))
    if tool.name == "edit":
        given["old"], given["new"] = rng.choice((("inside", "changed"), ("changed", "inside")))
    if tool.name == "apply_patch":
        given["patch"] = _patch(text, rng)
        if rng.random() < 0.5:
            del given["path"]
    return given


def _patch(text: str, rng: random.Random) -> str:
    hunk = "@@ -1 +1 @@\n-inside\n+changed\n"
    other = rng.choice(("a", "sub/b", text))
    return rng.choice(
        (
            f"--- a/{text}\n+++ b/{text}\n{hunk}",
            f"--- /dev/null\n+++ b/{text}\n@@ -0,0 +1 @@\n+new\n",
            f"--- a/{other}\n+++ b/{text}\n{hunk}",
            f"diff --git a/{other} b/{text}\nrename from {other}\nrename to {text}\n",
            f"*** Begin Patch\n*** Add File: {text}\n+new\n*** End Patch\n",
            f"*** Begin Patch\n*** Update File: {other}\n*** Move to: {text}\n@@\n-inside\n+changed\n*** End Patch\n",
            f"*** Begin Patch\n*** Delete File: {text}\n*** End Patch\n",
        )
    )


def plant(base: Path) -> Path:
    """A project with everything that has led out of a root somewhere, and what lies around it."""
    project = base / "project"
    for folder in ("outside", "project-evil", "project/sub", "project/deep", "project/chain", "project/box"):
        (base / folder).mkdir(parents=True)
    for folder in ("objects", "refs"):  # a repository of its own, or every call would look for one upward
        (project / ".git" / folder).mkdir(parents=True)
    (project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("secret.txt", "outside/secret.txt", "project-evil/secret.txt"):
        (base / name).write_text(OUTSIDE)
    for name in ("a", "sub/b", "box/secret.txt"):
        (project / name).write_text("inside\n")
    links = {"link": "../secret.txt", "dirlink": "../outside", "abs": str(base / "outside"), "proc": "/proc",
             "deep/up": "../..", "chain/chain": ".", "chain/up": "../..", "trap": "../outside"}  # fmt: skip
    for name, target in links.items():
        (project / name).symlink_to(target)
    return project


def around(base: Path) -> dict[str, str]:
    """Everything outside the project, to see that it stays as it was."""
    found = {}
    for folder, folders, files in os.walk(base):
        folders[:] = sorted(name for name in folders if folder != str(base) or name not in ("project", "state"))
        for name in files:
            found[os.path.join(folder, name)] = Path(folder, name).read_text()
    return found


class Forgetful(SqlStore):
    """Chains the ledger's rows and keeps none of them; contents and versions it keeps."""

    _head = (0, GENESIS)

    def record(
        self,
        entries: Sequence[AuditEntry],
        caller: Caller | None = None,
        *,
        blobs: Iterable[tuple[str, bytes]] = (),
        versions: Iterable[Version] = (),
        facts: Iterable[Fact] = (),
        still: Mapping[str, str] | None = None,
        wait: bool = True,
    ) -> tuple[AuditRow, ...]:
        del wait, still
        for fact in facts:
            self.put_fact(*fact)
        for digest, data in blobs:
            self.put_blob(digest, data)
        for version in versions:
            self.add_version(version)
        rows = []
        for entry in entries:
            row = seal(entry, self._head[0] + 1, self._head[1])
            self._head = (row.seq, row.hash)
            rows.append(row)
        return tuple(rows)


class _Unsigned(Ledger):
    def record(self, row: AuditRow, at: str) -> None:
        """Nothing is stored, so nothing is signed."""


def _store(state: str) -> SqlStore:
    from sutler.store.migrations import migrate

    database = SqliteDatabase(os.path.join(state, "state.db"))
    database._connection.execute("PRAGMA synchronous = OFF")
    migrate(database)
    return Forgetful(database, "bench")


@contextmanager
def door_into(project: Path) -> Iterator[Door]:
    state = private_dir(str(project.parent / "state"))
    store = _store(state)
    rules = Rules(rules=(PolicyRule("allow", "**"),))
    gate = Gate(_Unsigned(store, state, b"k" * 32), rules, Caller("bench", "s"), lambda text, _: CleanText(text))
    setup = Setup(ScanRules(skip_file_bytes=None, git_rules=False), lambda text: len(text) // 4, "1")
    try:
        with Root(str(project)) as root:
            yield Door(root, gate, setup)
    finally:
        store.close()


def ask(door: Door, tool: Tool, given: dict[str, object]) -> tuple[bool, str]:
    """Whether the door answered, and everything it said."""
    try:
        return True, repr(msgspec.to_builtins(call(door, tool.name, given)))
    except SutlerError as refusal:
        return False, f"{refusal} {refusal.rule} {refusal.next_step}"


class Event(Protocol):
    def is_set(self) -> bool: ...


class Counted(Protocol):
    value: int


class EscapeError(AssertionError):
    """What must not happen, with what made it happen."""


def fuzz(base: Path, tool: Tool, count: int, seed: str) -> Counter[str]:
    """`count` spellings through one tool, in blocks with a fresh tree each."""
    found: Counter[str] = Counter()
    rng = random.Random(seed)
    while found["calls"] < count:
        room = base / "room"
        room.mkdir()
        project = plant(room)
        before = around(room)
        with door_into(project) as door:
            for _ in range(min(BLOCK, count - found["calls"])):
                text = spelling(rng)
                answered, said = ask(door, tool, arguments(tool, text, rng))
                found["answered" if answered else "refused"] += 1
                found["calls"] += 1
                if OUTSIDE in said or str(room) in said:
                    raise EscapeError(f"{tool.name} {text!r}: {said[:300]}")
        if around(room) != before:
            raise EscapeError(f"{tool.name}, seed {seed}: something outside has changed")
        shutil.rmtree(room)
    return found


def paths(base: Path, count: int, step: int, said: Callable[[str], None]) -> dict[str, Counter[str]]:
    """`count` spellings for each tool, turn by turn, so that an interrupted run has asked all of them alike."""
    totals: dict[str, Counter[str]] = {tool.name: Counter() for tool in targets()}
    for start in range(0, count, step):
        for tool in targets():
            totals[tool.name] += fuzz(base, tool, min(step, count - start), f"{tool.name} {start}")
        said(json.dumps({"each": min(start + step, count), **{name: dict(one) for name, one in totals.items()}}))
    return totals


def swap(project: str, done: Event, swaps: Counted) -> None:
    """Exchange `box` and `trap`, a link to the outside, until told to stop: at every moment the name is one of them."""
    rename = _renameat2()
    folder = os.open(project, os.O_RDONLY | os.O_DIRECTORY)
    while not done.is_set():
        for _ in range(100):
            if rename is None:
                os.rename("box", "aside", src_dir_fd=folder, dst_dir_fd=folder)
                os.rename("trap", "box", src_dir_fd=folder, dst_dir_fd=folder)
                os.rename("aside", "trap", src_dir_fd=folder, dst_dir_fd=folder)
            else:
                rename(folder, "box", "trap")
        swaps.value += 100


def race(base: Path, tool: Tool, seconds: float, least: int = 0) -> Counter[str]:
    """One tool against another process that swaps: for some seconds, at least so many calls, and one that succeeds."""
    room = base / "room"
    room.mkdir()
    project = plant(room)
    before = around(room)
    found: Counter[str] = Counter()
    rng = random.Random(tool.name)
    world = multiprocessing.get_context("spawn")
    done, swaps = world.Event(), world.Value("q", 0, lock=False)
    swapper = world.Process(target=swap, args=(str(project), done, swaps), daemon=True)
    with door_into(project) as door:
        call(door, "write_file", {"path": "box/secret.txt", "content": "changed\n", "base": "any"})
        version = door.get_file_history("box/secret.txt")[-1].id
        swapper.start()
        while not swaps.value:
            time.sleep(0.01)
        try:
            until = time.monotonic() + seconds
            while time.monotonic() < until or found["calls"] < least or not found["answered"]:
                given = arguments(tool, "box/secret.txt", rng)
                if tool.name == "search":
                    given |= {"query": "canary", "globs": ["box/*"]}
                if tool.name == "rollback":
                    given["version"] = version
                answered, said = ask(door, tool, given)
                found["answered" if answered else "refused"] += 1
                found["calls"] += 1
                if OUTSIDE in said:
                    raise EscapeError(f"{tool.name} in a race: {said[:300]}")
        finally:
            done.set()
            swapper.join()
    if around(room) != before:
        raise EscapeError(f"{tool.name} in a race: something outside has changed")
    shutil.rmtree(room)
    found["swaps"] = swaps.value
    return found


def main() -> None:
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    if what not in ("paths", "race"):
        sys.exit(__doc__)
    amount = float(sys.argv[2]) if len(sys.argv) > 2 else {"paths": 1e6, "race": 60.0}[what]
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # noqa: S108  # writes wait for no disk there
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        base, began = Path(folder), time.perf_counter()
        if what == "paths":
            paths(base, int(amount), 10_000, lambda line: print(line, flush=True))
        else:
            for tool in targets():
                print(f"{tool.name:<18} {dict(race(base, tool, amount))}", flush=True)
        print(f"0 escapes, {time.perf_counter() - began:,.0f} s, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
