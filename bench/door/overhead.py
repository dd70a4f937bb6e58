"""What policy and a durable ledger cost for each call, beside what one bare fdatasync costs on the
same disk.

python -m bench.door.overhead [CALLS] [postgresql://…]
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable

from sutler.access.door import Door
from sutler.paths import RelPath
from sutler.store.records import Call, Caller, Outcome
from sutler.tools import open_door


def p50(step: Callable[[int], object], count: int) -> float:
    times = []
    for n in range(count):
        start = time.perf_counter()
        step(n)
        times.append(time.perf_counter() - start)
    return sorted(times)[count // 2] * 1e3


def bare(folder: str) -> Callable[[int], object]:
    fd = os.open(os.path.join(folder, "bare"), os.O_CREAT | os.O_RDWR)

    def step(n: int) -> None:
        os.pwrite(
            fd, b"x" * 20_480, n * 20_480
        )  # about what one ledger row adds to the write-ahead log
        os.fdatasync(fd)

    return step


def through(door: Door) -> Callable[[int], object]:
    def step(n: int) -> object:
        call = Call(
            id=f"bench-{os.getpid()}-{n}",
            tool="read_file",
            effect="read",
            path=RelPath(f"src/module_{n}.py"),
        )
        return door.gate.enter(call, lambda: (None, Outcome(bytes=10)))

    return step


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_STATE_HOME"] = os.path.join(folder, "state")
        if len(sys.argv) > 2:
            os.environ["SUTLER_STORE"] = sys.argv[2]
        project = os.path.join(folder, "project")
        os.mkdir(project)
        with open(os.path.join(project, "a.py"), "w") as file:
            file.write("def f():\n    pass\n" * 50)
        disk = p50(bare(folder), count)
        with open_door(project, Caller("bench", "bench")) as door:
            gate = p50(through(door), count)
            read = p50(lambda _: door.read_lines("a.py", 1, 20), count)
            sync = "PRAGMA synchronous = OFF"
            memory = getattr(getattr(door.gate.store, "_database", None), "_connection", None)
            if memory is not None and not os.environ.get("SUTLER_STORE"):
                memory.execute(sync)
                soft = p50(lambda n: through(door)(n + count), count)
                print(f"policy + ledger, without waiting for the disk  p50 {soft:.3f} ms")
        print(f"bare 20 KiB write + fdatasync                  p50 {disk:.3f} ms")
        print(f"policy + durable ledger                        p50 {gate:.3f} ms")
        print(f"read_lines, everything                         p50 {read:.3f} ms")
        print(f"load {os.getloadavg()[0]:.1f}, {count} calls each")


if __name__ == "__main__":
    main()
