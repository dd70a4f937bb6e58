"""How fast each tool answers about what is not a plain file: pipes, devices, sockets, links into /proc, a growing file.

python -m bench.door.special

Every tool that takes a path is asked for each of them several times, with the real redactor and a durable ledger; the
slowest answer is shown. Only the growing file is ever answered with content: what it had when it was opened.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sutler.access.door import Door
from sutler.toolbox import TOOLS, call, open_door
from sutler.values.access import Caller
from sutler.values.errors import SutlerError

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
    done = threading.Event()

    def grow() -> None:
        with open(base / "growing", "a", encoding="ascii") as file:
            while not done.wait(0.001):
                file.write("one more line\n" * 5)
                file.flush()

    writer = threading.Thread(target=grow)
    with socket.socket(socket.AF_UNIX) as plug:
        plug.bind(str(base / "socket"))
        writer.start()
        try:
            yield base, names
        finally:
            done.set()
            writer.join()


def slowest(door: Door, tool: str, given: dict[str, object]) -> tuple[float, str]:
    """The longest of a few answers in milliseconds, and whether it was one."""
    worst, said = 0.0, ""
    for _ in range(TIMES):
        start = time.perf_counter()
        try:
            call(door, tool, given)
            said = "answered"
        except SutlerError:
            said = "refused"
        worst = max(worst, (time.perf_counter() - start) * 1e3)
    return worst, said


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
        with project(Path(folder, "project")) as (root, names), open_door(str(root), Caller("bench", "bench")) as door:
            door.read_file("plain.txt")  # what is loaded once is not the point here
            worst = dict.fromkeys(names, ("", 0.0, ""))
            for tool in TOOLS:
                if not any(param.name == "path" and param.required for param in tool.params):
                    continue
                for name in names:
                    took, said = slowest(door, tool.name, {**tool.example, "path": name})
                    if took > worst[name][1]:
                        worst[name] = (tool.name, took, said)
        for name, (tool_name, took, said) in worst.items():
            print(f"{name:<10} {took:7.1f} ms  {said} by {tool_name}")
        print(f"slowest of {TIMES} for each tool; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
