"""Processes that write and are killed: `python -m tests.writers kill DIRECTORY COUNT SEED` and `…
crowd DIRECTORY N`.

The work forks from one process, since starting an interpreter takes longer than what it would do.
After each kill the rows that are new to the ledger are verified, and all of it after every
hundredth and the last.
"""

from __future__ import annotations

import os
import random
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

from sutler.access.audit import Ledger, chain
from sutler.access.door import Door
from sutler.access.gate import Gate
from sutler.access.policy import PolicyRule, Rules
from sutler.access.setup import Setup
from sutler.edits.recovery import recover
from sutler.edits.writer import Writer
from sutler.errors import SutlerError
from sutler.scan.root import TEMPORARY, Root
from sutler.scan.snapshot import ScanRules
from sutler.store.home import private_dir
from sutler.store.identity import Identity
from sutler.store.postgres import open_postgres
from sutler.store.records import GENESIS, Caller
from sutler.store.sql import Store
from sutler.store.sqlite import open_sqlite
from tests.doors import fake_clean
from tests.limits import LONG, exit_code

FREE = Rules(rules=(PolicyRule("allow", "**", ("write",)),))
NAMES = ("a.txt", "b.txt", "c/d.txt")


@contextmanager
def free_door(
    tree: str, state: str, session: str = "s", url: str = "", *, strict: bool = True
) -> Iterator[Door]:
    """A door that lets every write through; with a URL, over PostgreSQL; when not strict, as a
    server has it.
    """
    private_dir(state)
    store = (
        open_postgres(url, Identity(sha256(tree.encode()).hexdigest()))
        if url
        else open_sqlite(f"{state}/state.db", "p")
    )
    try:
        with Root(tree) as root:
            ledger = Ledger(store, state, b"k" * 32)
            gate = Gate(ledger, FREE, Caller("c", session), fake_clean, strict=strict)
            door = Door(root, gate, Setup(ScanRules(skip_file_bytes=None), len, "1"))
            recover(door)
            yield door
    finally:
        store.close()


def plant(tree: str) -> None:
    for name in NAMES:
        path = Path(tree) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{name} line {n}\n" for n in range(40)))


def digest_of(tree: str, name: str) -> str:
    path = Path(tree) / name
    return sha256(path.read_bytes()).hexdigest() if path.exists() else ""


def one_write(door: Door, rnd: random.Random) -> tuple[tuple[str, str], ...]:
    """One mutating call of a random kind; what it acknowledged."""
    writer, name, word = Writer(door), rnd.choice(NAMES), f"{rnd.random()}\n"
    kind = rnd.randrange(5)
    if kind == 0:
        done = writer.write_file(name, word * rnd.randint(1, 2_000), base="any")
    elif kind == 1:
        done = writer.write_file(name, word, mode="append")
    elif kind == 2:
        adds = "".join(
            f"*** Delete File: {one}\n*** Add File: x{one}\n+{word}" for one in NAMES[:1]
        )
        both = "".join(f"*** Update File: {one}\n@@\n+{word}*** End of File\n" for one in NAMES[1:])
        both = both if rnd.random() < 0.7 else adds
        done = writer.apply_patch(f"*** Begin Patch\n{both}*** End Patch\n")
    elif kind == 3:
        versions = [one for one in door.gate.store.versions(name, 5) if one.origin == "written"]
        if not versions:
            return ()
        done = writer.rollback(name, rnd.choice(versions).id)
    else:
        done = writer.write_file(f"new-{rnd.randrange(5)}.txt", word, base="any")
    return tuple((one.path, one.after) for one in done.files)


def work(tree: str, state: str, seed: int, out: int) -> None:
    """Write until the end comes, with an even seed as a server does and with an odd one as the
    command line does.
    """
    rnd = random.Random(seed)
    with free_door(tree, state, strict=bool(seed % 2)) as door:
        os.write(out, b"ready\n")
        while True:
            try:
                done = one_write(door, rnd)
                for path, digest in done:
                    os.write(out, f"{path} {digest or '-'}\n".encode())
            except SutlerError:
                continue


def _killed(tree: str, state: str, seed: int, rnd: random.Random) -> dict[str, str]:
    """Let a child write, kill it at a random instant, and return what it had acknowledged last for
    each path.
    """
    back, out = os.pipe()
    child = os.fork()
    if not child:
        os.close(back)
        try:
            work(tree, state, seed, out)
        finally:
            os._exit(1)
    os.close(out)
    select.select([back], [], [], 20)
    time.sleep(rnd.random() * 0.06)
    os.kill(child, signal.SIGKILL)
    exit_code(child)
    with os.fdopen(back, "rb") as pipe:
        lines = pipe.read().decode().split("\n")[:-1]
    assert lines, "the child never started"
    return dict(line.split(" ") for line in lines if line != "ready")


class Verified:
    """How far the ledger's chain has been followed."""

    def __init__(self) -> None:
        self.seq, self.hash = 0, GENESIS

    def go_on(self, store: Store) -> None:
        while rows := store.audit(self.seq, 1_000):
            for seq, hash in chain(rows, {self.seq: self.hash}):
                self.seq, self.hash = seq, hash
        assert store.head() == (self.seq, self.hash)


def check(
    tree: str, state: str, acknowledged: dict[str, str], verified: Verified | None = None
) -> float:
    """The post-condition: what it asserts is what a user may rely on. Returns how long the next
    call took. `verified` is where the last look at the ledger ended; without it all of it is looked
    at.
    """
    started = time.monotonic()
    with free_door(tree, state) as door:
        Writer(door).write_file("next.txt", "x\n", base="any")
        took = time.monotonic() - started
        store = door.gate.store
        assert store.pending() == ()
        if verified is None:
            found = door.gate.ledger.verify()
            assert found.ok, found
        else:
            verified.go_on(store)
        for path, digest in acknowledged.items():
            known = [one.digest for one in store.versions(path, 1_000)]
            assert ("" if digest == "-" else digest) in known, f"acknowledged and lost: {path}"
        for there in sorted(Path(tree).rglob("*")):
            assert not there.name.endswith(TEMPORARY), f"left behind: {there.name}"
            name = str(there.relative_to(tree))
            if there.is_file() and store.versions(name, 1):
                newest = store.versions(name, 1)[0].digest
                assert newest == digest_of(tree, name), f"unknown content: {name}"
    return took


def kill_loop(tree: str, state: str, count: int, seed: int) -> tuple[int, float]:
    plant(tree)
    rnd, acks, slowest, verified = random.Random(seed), 0, 0.0, Verified()
    for n in range(count):
        found = _killed(tree, state, seed * 100_000 + n, rnd)
        acks += len(found)
        slowest = max(slowest, check(tree, state, found, verified))
        if n % 100 == 99 or n == count - 1:
            check(tree, state, {})
    return acks, slowest


def crowd(tree: str, state: str, count: int) -> tuple[int, int]:
    """Processes that edit different lines of one file at once: how many edits were acknowledged,
    how many are there.
    """
    lines = [f"line {n}\n" for n in range(3 * count)]
    Path(tree, "shared.txt").write_text("".join(lines))
    with free_door(tree, state) as door:
        base = door.read_file("shared.txt").version
    children = []
    for n in range(count):
        child = os.fork()
        if not child:
            code = 1
            try:
                with free_door(tree, state, f"s{n}") as door:
                    Writer(door).edit("shared.txt", f"line {3 * n}\n", f"edited {n}\n", base=base)
                code = 0
            except SutlerError:
                code = 4
            finally:
                os._exit(code)
        children.append(child)
    codes = [exit_code(child, LONG) for child in children]
    assert set(codes) <= {0, 4}, codes
    there = Path(tree, "shared.txt").read_text().split("\n")
    return codes.count(0), sum(f"edited {n}" in there for n in range(count) if codes[n] == 0)


def main(words: list[str]) -> None:
    kind, where, number, *rest = words
    tree, state = f"{where}/tree", f"{where}/state"
    os.makedirs(tree, exist_ok=True)
    if kind == "kill":
        acks, slowest = kill_loop(tree, state, int(number), int(rest[0]))
        print(
            f"{number} kills, {acks} acknowledged, 0 lost, 0 unknown, next call within {slowest:.2f} s"
        )
    else:
        acknowledged, there = crowd(tree, state, int(number))
        print(f"{acknowledged} acknowledged, {there} there")


if __name__ == "__main__":
    main(sys.argv[1:])
