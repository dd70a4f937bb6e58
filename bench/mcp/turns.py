"""Durable writes of this sutler, of another checkout of it and of the reference server, in short
turns of one run.

    python -m bench.mcp.turns [--modules DIR/node_modules] [--other CHECKOUT/src] [--seconds 30]
    [--folder DIR]

The servers live side by side and get forty calls each in turn, in an order that is drawn anew, so
that whatever else the machine does meets them all alike. Told are the median, the mean, and the
mean without the slowest twentieth.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.mcp.__main__ import FILES, content, ours, plant, reference, settings
from bench.mcp.client import Server

TURN = 40


class Party:
    def __init__(self, folder: Path, modules: str = "", other: str = "") -> None:
        root = folder / "tree"
        folder.mkdir()
        plant(root)
        if modules:
            self._start, self._more = f"{root}/", dict[str, Any]()
            self._server = Server(reference(modules, root))
        else:
            self._start, self._more = "", {"base": "any"}
            self._server = Server(
                ours(root), settings(folder) | ({"PYTHONPATH": other} if other else {})
            )
        self._server.hello()
        self.times: list[float] = []

    def turn(self, count: int) -> None:
        for _ in range(count):
            n = len(self.times)
            given = {
                "path": f"{self._start}w{n % FILES:03}.txt",
                "content": content(n),
                **self._more,
            }
            start = time.perf_counter()
            self._server.call("write_file", given)
            self.times.append(time.perf_counter() - start)

    def close(self) -> None:
        self._server.close()


def told(times: list[float]) -> tuple[float, float, float]:
    ordered = sorted(one * 1e3 for one in times)
    return (
        statistics.median(ordered),
        statistics.mean(ordered[: len(ordered) * 95 // 100]),
        statistics.mean(ordered),
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="bench.mcp.turns", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "--modules", default="", help="a node_modules folder with the reference server"
    )
    parser.add_argument("--other", default="", help="the src folder of another checkout")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument(
        "--folder", default="", help="where to work: a disk, since memory has nothing to sync"
    )
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="sutler-bench-", dir=args.folder or None))
    parties = {"this": Party(folder / "this")}
    try:
        if args.other:
            parties["other"] = Party(folder / "other", other=args.other)
        if args.modules:
            parties["reference"] = Party(folder / "reference", args.modules)
        for one in parties.values():
            one.turn(FILES + TURN)
            one.times.clear()
        end, order = time.monotonic() + args.seconds, list(parties)
        while time.monotonic() < end:
            random.shuffle(order)
            for name in order:
                parties[name].turn(TURN)
        for name, one in parties.items():
            median, most, mean = told(one.times)
            print(
                f"{name:<10} {len(one.times):6} writes: median {median:.2f}, 95% {most:.2f}, mean {mean:.2f} ms"
            )
        print(f"load {os.getloadavg()[0]:.1f}")
    finally:
        for one in parties.values():
            one.close()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
