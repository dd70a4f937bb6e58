"""How fast each tool answers about what is not a plain file: pipes, devices, sockets, links into
/proc, a growing file.

python -m bench.door.special

Every tool that takes a path is asked for each of them several times, with the real redactor and a
durable ledger; the slowest answer is shown. Another process appends to the growing file every
millisecond. Nothing is answered with content: `get_file_history` tells of versions that were known
before, `why` what a pack would do.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol

from sutler.access.door import Door
from sutler.errors import SutlerError
from sutler.store.records import Caller
from sutler.tools import TOOLS, call, open_door

LINKS = {"zero": "/dev/zero", "tty": "/dev/tty", "environ": "/proc/self/environ", "stdin": "/proc/self/fd/0",
         "root": "/".join(("/proc/self", "root", "etc/hostname")),
         "kmsg": "/proc/kmsg", "loop": "loop", "nowhere": "gone"}  # fmt: skip
TIMES = 5


@contextmanager
def project(base: Path) -> Iterator[tuple[Path, list[str]]]:
    """A folder with one of each, and their names. Devices only where this user may make them."""
    base.mkdir()
    (base / "plain.txt").write_text("text\n")
    os.mkfifo(base / "fifo")
    names = ["fifo", "socket", "growing", *LINKS]
    for name, target in LINKS.items():
        (base / name).symlink_to(target)
    if os.geteuid() == 0:
        for name, number in (("device", os.makedev(1, 5)), ("full", os.makedev(1, 7))):
            try:
                os.mknod(base / name, 0o600 | 0o020000, number)
                names.append(name)
            except OSError:
                print(f"no device {name} can be made here", file=sys.stderr)
    with socket.socket(socket.AF_UNIX) as plug, growing(base / "growing"):
        plug.bind(str(base / "socket"))
        yield base, names


@contextmanager
def growing(path: Path) -> Iterator[None]:
    """A file to which another process appends as long as this lasts."""
    path.write_text("the first line\n")
    world = multiprocessing.get_context("spawn")
    done = world.Event()
    writer = world.Process(target=append, args=(str(path), done), daemon=True)
    writer.start()
    while writer.is_alive() and path.stat().st_size < 1_000:
        time.sleep(0.01)
    try:
        yield
    finally:
        done.set()
        writer.join()


class Event(Protocol):
    def is_set(self) -> bool: ...


def append(path: str, done: Event) -> None:
    with open(path, "a", encoding="ascii") as file:
        while not done.is_set():
            file.write("one more line\n" * 5)
            file.flush()
            time.sleep(0.001)


class Row(NamedTuple):
    """How one tool fared with one object: the slowest of its answers, and how many of them were
    refusals.
    """

    tool: str
    ms: float
    refused: int


def asked(door: Door, tool: str, given: dict[str, object]) -> Row:
    worst, refused = 0.0, 0
    for _ in range(TIMES):
        start = time.perf_counter()
        try:
            call(door, tool, given)
        except SutlerError:
            refused += 1
        worst = max(worst, (time.perf_counter() - start) * 1e3)
    return Row(tool, worst, refused)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
        with (
            project(Path(folder, "project")) as (root, names),
            open_door(str(root), Caller("bench", "bench")) as door,
        ):
            door.read_file("plain.txt")  # what is loaded once is not the point here
            tools = [
                one
                for one in TOOLS
                if any(param.name == "path" and param.required for param in one.params)
            ]
            for name in names:
                rows = [asked(door, tool.name, {**tool.example, "path": name}) for tool in tools]
                worst = max(rows, key=lambda row: row.ms)
                spoke = ", ".join(row.tool for row in rows if row.refused < TIMES)
                print(
                    f"{name:<10} {worst.ms:7.1f} ms by {worst.tool:<16} answered by: {spoke or 'none'}"
                )
        print(f"slowest of {TIMES} for each of {len(tools)} tools; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
