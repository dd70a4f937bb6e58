"""Reads, line ranges, durable writes and edits beside the reference filesystem server, in turns, in
one run; then HTTP and the first reply.

    npm install --prefix DIR @modelcontextprotocol/server-filesystem
    python -m bench.mcp --modules DIR/node_modules [--calls 1000] [--rounds 3] [--project FOLDER]
    [--seconds 60]

The reference server never syncs; ours does before it acknowledges a write. `--strict-ledger` has
ours wait for the disk with every read as well. Ratios are medians over the rounds, in which both
are measured one after the other. What one sync takes is measured in the same rounds: no durable
write can be faster, whoever makes it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench.mcp.client import Server, Speed, speed_of

FILES = 200


def plant(folder: Path) -> None:
    folder.mkdir()
    for n in range(FILES):
        text = "".join(f"def fn_{n}_{m}(value):\n    return value + {m}\n" for m in range(60))
        (folder / f"f{n:03}.py").write_text(text)


def settings(folder: Path) -> dict[str, str]:
    """A state and a configuration of our own, in which an agent may write everywhere."""
    (folder / "config" / "sutler").mkdir(parents=True, exist_ok=True)
    (folder / "config" / "sutler" / "config.toml").write_text('writable = ["**"]\n')
    return {"XDG_STATE_HOME": str(folder / "state"), "XDG_CONFIG_HOME": str(folder / "config")}


def ours(root: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "sutler", "mcp", "--root", str(root), *words]


def reference(modules: str, root: Path) -> list[str]:
    return [
        "node",
        os.path.join(modules, "@modelcontextprotocol/server-filesystem/dist/index.js"),
        str(root),
    ]


def content(n: int) -> str:
    return f"line {n}\n" * 20 + f"{time.perf_counter_ns()}\n"


def one_sync(folder: Path, calls: int) -> Speed:
    """As much as a write adds to the ledger, over a file that is there, and to the disk."""
    times, data = [], bytes(range(256)) * 192
    fd = os.open(folder / "floor", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.write(fd, data * 32)
        os.fsync(fd)
        for n in range(calls):
            start = time.perf_counter()
            os.pwrite(fd, data, n % 32 * len(data))
            os.fdatasync(fd)
            times.append(time.perf_counter() - start)
    finally:
        os.close(fd)
    return speed_of(times, sum(times))


Arguments = Callable[[int], dict[str, object]]


class Job(NamedTuple):
    """The same work for both servers: the reference's tool and arguments, and ours."""

    what: str
    theirs: str
    their_arguments: Arguments
    ours: str
    our_arguments: Arguments


def jobs(root: Path) -> tuple[Job, ...]:
    """The reference server has no line ranges: its way is to read the file's head up to the last
    line. An edit changes one line there and back.
    """

    def turned(n: int) -> tuple[str, str]:
        words = "    return value + 7\n", "    return value - 7\n"
        return words if n // FILES % 2 == 0 else words[::-1]

    def their_edit(n: int) -> dict[str, object]:
        old, new = turned(n)
        return {"path": f"{root}/t{n % FILES:03}.py", "edits": [{"oldText": old, "newText": new}]}

    def our_edit(n: int) -> dict[str, object]:
        old, new = turned(n)
        return {"path": f"o{n % FILES:03}.py", "old": old, "new": new, "base": "any"}

    return (
        Job(
            "reads", "read_text_file", lambda n: {"path": f"{root}/f{n % FILES:03}.py"},
            "read_file", lambda n: {"path": f"f{n % FILES:03}.py"},
        ),
        Job(
            "line ranges", "read_text_file", lambda n: {"path": f"{root}/long.py", "head": 9_000 + n},
            "read_lines", lambda n: {"path": "long.py", "start": 8_970 + n, "end": 9_000 + n},
        ),
        Job(
            "durable writes", "write_file",
            lambda n: {"path": f"{root}/t{n % FILES:03}.txt", "content": content(n)},
            "write_file",
            lambda n: {"path": f"o{n % FILES:03}.txt", "content": content(n), "base": "any"},
        ),
        Job("durable edits", "edit_file", their_edit, "edit", our_edit),
    )  # fmt: skip


def restored(root: Path) -> None:
    """The files as every round of edits begins with them."""
    for n in range(FILES):
        text = (root / f"f{n:03}.py").read_text()
        (root / f"t{n:03}.py").write_text(text)
        (root / f"o{n:03}.py").write_text(text)


def side_by_side(args: argparse.Namespace, folder: Path) -> None:
    root = folder / "tree"
    plant(root)
    (root / "long.py").write_text("".join(f"value_{n} = {n}\n" for n in range(20_000)))
    env = settings(folder)
    speeds: dict[str, list[Speed]] = {}
    strict = ["--strict-ledger"] if args.strict_ledger else []
    for number in range(args.rounds):
        restored(root)
        parties = [
            ("their", Server(reference(args.modules, root))),
            ("our", Server(ours(root, *strict), env)),
        ]
        for _, server in parties:
            server.hello()
        for job in jobs(root):
            for whose, server in parties[:: 1 if number % 2 else -1]:
                tool, arguments = (
                    (job.theirs, job.their_arguments)
                    if whose == "their"
                    else (job.ours, job.our_arguments)
                )
                speed = server.speed(
                    tool, arguments, min(args.calls, FILES), warm_up=20 * (job.what == "reads")
                )
                speeds.setdefault(f"{whose} {job.what}", []).append(speed)
        for _, server in parties:
            server.close()
        speeds.setdefault("one sync", []).append(one_sync(folder, args.calls))
    for name, rounds in speeds.items():
        rate, middle, late = (
            statistics.median(getattr(speed, field) for speed in rounds)
            for field in ("per_second", "p50", "p99")
        )
        print(f"{name:<20} {rate:8.0f}/s   p50 {middle:6.2f} ms   p99 {late:6.2f} ms")
    for job in jobs(root):
        pairs = list(zip(speeds[f"our {job.what}"], speeds[f"their {job.what}"], strict=True))
        rate = statistics.median(mine.per_second / other.per_second for mine, other in pairs)
        late = statistics.median(mine.p99 / other.p99 for mine, other in pairs)
        print(f"{job.what}: {rate:.2f} x its rate, {late:.2f} x its p99")


def over_http(args: argparse.Namespace, folder: Path) -> None:
    """32 clients, each with its own connection, reading and now and then writing."""
    root, env = folder / "tree", settings(folder)
    process = subprocess.Popen(
        ours(root, "--http", "--port", "0", "--no-token"),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **env},
    )
    assert process.stderr is not None
    found = None
    while found is None:
        found = re.search(r":(\d+)/mcp", process.stderr.readline())
    port, end = int(found[1]), time.monotonic() + args.seconds
    counts, faults, sizes = [0] * args.clients, [0] * args.clients, list[int]()

    def client(mine: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        fields = {"Content-Type": "application/json", "Accept": "application/json"}
        while time.monotonic() < end:
            n = counts[mine]
            given: dict[str, object] = {"path": f"f{(n + mine) % FILES:03}.py"}
            name = "read_file"
            if n % 20 == 19:
                name, given = (
                    "write_file",
                    {"path": f"h{mine:02}.txt", "content": content(n), "base": "any"},
                )
            message = {
                "jsonrpc": "2.0",
                "id": n,
                "method": "tools/call",
                "params": {"name": name, "arguments": given},
            }
            try:
                connection.request("POST", "/mcp", json.dumps(message), fields)
                answer = connection.getresponse()
                told = json.loads(answer.read())
                faults[mine] += answer.status != 200 or bool(told["result"].get("isError"))
            except (OSError, http.client.HTTPException, ValueError, KeyError):
                faults[mine] += 1
            counts[mine] += 1

    threads = [threading.Thread(target=client, args=(n,)) for n in range(args.clients)]
    for one in threads:
        one.start()
    while time.monotonic() < end:
        time.sleep(min(5, args.seconds / 6))
        sizes.append(resident(process.pid))
    for one in threads:
        one.join()
    process.terminate()
    process.wait(30)
    process.stderr.close()
    print(
        f"http: {args.clients} clients, {args.seconds} s, {sum(counts):,} calls, {sum(faults)} errors"
    )
    print(f"http: resident memory {sizes[0]:.0f} MB at first, {sizes[-1]:.0f} MB at the end")


def resident(pid: int) -> int:
    fields = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in fields if line.startswith("VmRSS"))) // 1024


def first_reply(project: str, folder: Path) -> None:
    """From the start of the process to the first answer of a tool, and `list_files` once warm."""
    env = settings(folder)
    for name in ("cold state", "warm state"):
        start = time.perf_counter()
        server = Server(ours(Path(project)), env)
        server.hello()
        server.call("list_files", {})
        first = time.perf_counter() - start
        times = []
        for _ in range(5):
            start = time.perf_counter()
            server.call("list_files", {})
            times.append(time.perf_counter() - start)
        server.close()
        print(
            f"{name}: first reply {first:.2f} s, list_files {statistics.median(times) * 1e3:.0f} ms"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench.mcp", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--modules", default="", help="a node_modules folder with the reference server"
    )
    parser.add_argument("--calls", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument(
        "--project", default="", help="a project of about 7,000 files, for the first reply"
    )
    parser.add_argument(
        "--strict-ledger", action="store_true", help="have our reads wait for the disk"
    )
    parser.add_argument(
        "--folder", default="", help="where to work: a disk, since memory has nothing to sync"
    )
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sutler-bench-", dir=args.folder or None))
    try:
        if args.modules:
            side_by_side(args, folder)
        else:
            plant(folder / "tree")
            print("without --modules there is no reference server to compare with")
        if args.seconds:
            over_http(args, folder)
        if args.project:
            first_reply(args.project, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
