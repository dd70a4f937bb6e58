"""Does any spelling of a path, or any race, get something from outside the root through any tool?

python -m bench.door.escapes paths [COUNT] [PART/PARTS] [TOOL…]   COUNT hostile spellings through
each tool, or these python -m bench.door.escapes race [SECONDS]                       each tool
while a directory and a link are swapped

No spelling comes twice; parts have none in common, so that several processes, or several evenings,
add up.

Every tool of the table that takes a path, a glob or a patch is called through the door with writing
allowed. An escape is a canary from outside in an answer or an error, a host path in either, or a
change outside. To make a million calls for each tool affordable, the ledger's rows are chained but
not stored; everything else is the door as agents meet it.
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
from itertools import islice
from pathlib import Path
from typing import Protocol
from zlib import crc32

import msgspec

from sutler.access.audit import Ledger
from sutler.access.door import Door
from sutler.access.gate import Gate
from sutler.access.policy import PolicyRule, Rules
from sutler.access.setup import Setup
from sutler.errors import SutlerError
from sutler.formats.document import CleanText
from sutler.scan.root import Root
from sutler.scan.snapshot import ScanRules
from sutler.secrets.cleaner import COMPILE_ABOVE, engine_for
from sutler.store.home import private_dir
from sutler.store.records import GENESIS, AuditEntry, AuditRow, Caller, Fact, Version, seal
from sutler.store.sql import Store
from sutler.store.sqlite import SqliteDatabase
from sutler.system import exchange
from sutler.tools import TOOLS, Tool, call

OUTSIDE = "canary from outside"
PIECES = (
    "..", ".", "", "/", "//", "a", "sub", "sub/b", "link", "dirlink", "abs", "deep/up", "secret.txt", "project",
    "project-evil", "~", "~root", "$HOME", "%2e%2e", "%2f", "..%2f", "\\", "..\\", "C:", "\\\\?\\", "file://", "\0",
    "\n", "\x1b", "\u202e", "\u2215", "\uff0e\uff0e", "\udcff", ".git", ".ENV", "CON", "nul.txt", "a:stream", "a.",
    "a ", "*", "**", "{a,b}", "[!a]", "?", "proc", "self", "root", "etc", "passwd", '"', '"..', "\\057", "\\056",
    "x" * 300, "new", "aside", "trap",
)  # fmt: skip
SNARES = (
    "link",
    "dirlink",
    "abs",
    "proc",
    "deep/up",
    "deep",
    "sub",
    "a",
    "new",
    "chain/chain/up",
    "trap",
)
TAILS = (
    "secret.txt", "outside/secret.txt", "project-evil/secret.txt", "self/cwd/secret.txt", "b",
    "/".join(("self", "root", "etc/passwd")),
    "project/a", "new/file", "self/environ", "up/secret.txt", "", "outside/new",
)  # fmt: skip
HEADS = (
    "",
    "",
    "./",
    "sub/",
    "box/",
    "chain/",
    "deep/",
    "new/",
    "chain/chain/",
    "sub/../",
    "/",
    "~/",
)
JOINTS = ("/", "/", "/", "//", "/./", "", "/sub/../", "/../", "/.//", "/ ", "/\\", "/%2e%2e/")
STEP, BLOCK = 5_000, 1_000
GROUP = 10
"""Globs that one call carries; a call may have fifty."""


def spelling(rng: random.Random) -> str:
    """One hostile path: half of them plausible enough that the kernel is asked, half of them
    noise.
    """
    if rng.random() < 0.5:
        text = rng.choice(HEADS) + rng.choice(SNARES)
        for _ in range(rng.choice((0, 0, 1, 1, 2, 3))):
            text += rng.choice(JOINTS) + rng.choice(SNARES)
        text += rng.choice(JOINTS) + rng.choice(TAILS)
    else:
        glue = rng.choice(("/", "", "/", "//"))
        text = glue.join(rng.choice(PIECES) for _ in range(rng.randint(1, 6)))
    if rng.random() < 0.1:
        at = rng.randrange(len(text) + 1)
        text = text[:at] + rng.choice(PIECES) + text[at:]
    return f'"{text}"' if rng.random() < 0.1 else text


def spellings(part: int = 0, parts: int = 1) -> Iterator[str]:
    """Hostile paths without end and without repetition; two parts of as many never have one in
    common.
    """
    rng, seen = random.Random(f"{part} of {parts}"), set[int]()
    while True:
        text = spelling(rng)
        number = crc32(text.encode("utf-8", "surrogatepass"))
        if number % parts == part and hash(text) not in seen:
            seen.add(hash(text))
            yield text


def targets() -> list[Tool]:
    """The tools that can be told where to look."""
    names = {"path", "globs", "queries", "patch"}
    return [tool for tool in TOOLS if names & {param.name for param in tool.params}]


def arguments(
    tool: Tool, text: str, rng: random.Random, more: Sequence[str] = ()
) -> dict[str, object]:
    """The tool's own example, with the text wherever a path can stand, and `more` of them where
    several can.
    """
    given = dict(tool.example)
    names = {param.name for param in tool.params}
    if "path" in names:
        given["path"] = text
    if "queries" in names:
        given["queries"] = [text]
    if "globs" in names:
        given["globs"] = [text, *more]
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
    for folder in (
        "outside",
        "project-evil",
        "project/sub",
        "project/deep",
        "project/chain",
        "project/box",
    ):
        (base / folder).mkdir(parents=True)
    for folder in (
        "objects",
        "refs",
    ):  # a repository of its own, or every call would look for one upward
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
        folders[:] = sorted(
            name for name in folders if folder != str(base) or name not in ("project", "state")
        )
        for name in files:
            found[os.path.join(folder, name)] = Path(folder, name).read_text()
    return found


class Forgetful(Store):
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
        settled: Sequence[str] = (),
        wait: bool = True,
        last: Callable[[], None] = lambda: None,
    ) -> tuple[AuditRow, ...]:
        del wait, still, settled
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
        last()
        return tuple(rows)


class _Unsigned(Ledger):
    def record(self, row: AuditRow, at: str) -> None:
        """Nothing is stored, so nothing is signed."""


def _store(state: str) -> Store:
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
    gate = Gate(
        _Unsigned(store, state, b"k" * 32),
        rules,
        Caller("bench", "s"),
        lambda text, _: CleanText(text),
    )
    setup = Setup(
        ScanRules(skip_file_bytes=None, git_rules=False), lambda text: len(text) // 4, "1"
    )
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


def groups(tool: Tool, texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """What goes into one call: several where a tool takes several, but alone what would have the
    whole call refused.
    """
    several = "globs" in {param.name for param in tool.params}
    alone = {
        text
        for text in texts
        if not several or ".." in text or not text.strip('/."') or "\0" in text
    }
    yield from ([text] for text in texts if text in alone)
    others = [text for text in texts if text not in alone]
    yield from (others[at : at + GROUP] for at in range(0, len(others), GROUP))


def asked(
    door: Door, tool: Tool, group: Sequence[str], rng: random.Random
) -> Iterator[tuple[str, bool, str]]:
    """Each spelling with its answer: that of the whole group, or where that was refused, each one's
    own.
    """
    if len(group) > 1:
        answered, said = ask(door, tool, arguments(tool, group[0], rng, group[1:]))
        yield from ((text, True, said) for text in group if answered)
        if answered:
            return
    for text in group:
        yield text, *ask(door, tool, arguments(tool, text, rng))


def fuzz(base: Path, tool: Tool, texts: Sequence[str], seed: str) -> Counter[str]:
    """Spellings through one tool, in blocks with a fresh tree each."""
    found: Counter[str] = Counter()
    rng = random.Random(seed)
    for start in range(0, len(texts), BLOCK):
        room = base / "room"
        room.mkdir()
        project = plant(room)
        before = around(room)
        with door_into(project) as door:
            for group in groups(tool, texts[start : start + BLOCK]):
                for text, answered, said in asked(door, tool, group, rng):
                    found["answered" if answered else "refused"] += 1
                    if OUTSIDE in said or str(room) in said:
                        raise EscapeError(f"{tool.name} {text!r} in {group!r}: {said[:300]}")
        if around(room) != before:
            raise EscapeError(f"{tool.name}, seed {seed}: something outside has changed")
        shutil.rmtree(room)
    return found


def paths(
    base: Path,
    count: int,
    part: tuple[int, int],
    tools: Sequence[Tool],
    said: Callable[[str], None],
) -> None:
    """`count` spellings for each tool, turn by turn, so that an interrupted run has asked all of
    them alike.
    """
    totals: dict[str, Counter[str]] = {tool.name: Counter() for tool in tools}
    stream = spellings(*part)
    for start in range(0, count, STEP):
        texts = list(islice(stream, min(STEP, count - start)))
        for tool in tools:
            totals[tool.name] += fuzz(base, tool, texts, f"{tool.name} {part} {start}")
        said(
            json.dumps(
                {"each": start + len(texts), **{name: dict(one) for name, one in totals.items()}}
            )
        )


def swap(project: str, done: Event, swaps: Counted) -> None:
    """Exchange `box` and `trap`, a link to the outside, until told to stop: at every moment the
    name is one of them.
    """
    folder = os.open(project, os.O_RDONLY | os.O_DIRECTORY)
    while not done.is_set():
        for _ in range(100):
            if not exchange(folder, "box", "trap"):
                os.rename("box", "aside", src_dir_fd=folder, dst_dir_fd=folder)
                os.rename("trap", "box", src_dir_fd=folder, dst_dir_fd=folder)
                os.rename("aside", "trap", src_dir_fd=folder, dst_dir_fd=folder)
        swaps.value += 100


def race(base: Path, tool: Tool, seconds: float, least: int = 0) -> Counter[str]:
    """One tool against another process that swaps: for some seconds, at least so many calls, and
    one that succeeds.
    """
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
                    given |= {"queries": ["canary"], "globs": ["box/*"]}
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
        for kind in ("STATE", "CACHE"):
            os.environ[f"XDG_{kind}_HOME"] = str(base / kind.lower())
        engine_for(COMPILE_ABOVE, os.environ)  # as after the first large pack
        if what == "paths":
            part, parts = sys.argv[3].split("/") if len(sys.argv) > 3 else ("0", "1")
            tools = [tool for tool in targets() if tool.name in sys.argv[4:] or not sys.argv[4:]]
            paths(
                base,
                int(amount),
                (int(part), int(parts)),
                tools,
                lambda line: print(line, flush=True),
            )
        else:
            for tool in targets():
                print(f"{tool.name:<18} {dict(race(base, tool, amount))}", flush=True)
        print(f"0 escapes, {time.perf_counter() - began:,.0f} s, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
