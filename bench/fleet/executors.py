"""The fleet on real packages: equal datasets by every executor, kills, overhead, refresh, size.

    python -m bench.fleet.executors [--packages 60] [--kills 10] [--wheels DIR] [--ray]

Packages are fetched by name from the package index and committed to repositories of their own.
CPU is that of all processes of a run, orphans included. `--ray` adds Ray, which must be installed.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from tests.stores import joined, serving

from sutler.fleet.catalogue import open_fleet
from sutler.fleet.dataset import TABLES, query
from sutler.fleet.queue import open_queue
from sutler.fleet.units import perform, units_of

NAMES = [
    "requests",
    "flask",
    "click",
    "jinja2",
    "werkzeug",
    "rich",
    "httpx",
    "attrs",
    "black",
    "pytest",
    "tox",
    "pluggy",
    "urllib3",
    "idna",
    "certifi",
    "chardet",
    "packaging",
    "wheel",
    "platformdirs",
    "filelock",
    "typer",
    "starlette",
    "fastapi",
    "uvicorn",
    "h11",
    "anyio",
    "sniffio",
    "mako",
    "tomlkit",
    "toml",
    "docutils",
    "pygments",
    "markdown",
    "mistune",
    "bleach",
    "html5lib",
    "six",
    "python-dateutil",
    "pytz",
    "arrow",
    "tqdm",
    "colorama",
    "tabulate",
    "prettytable",
    "isort",
    "flake8",
    "pycodestyle",
    "pyflakes",
    "astroid",
    "jsonschema",
    "referencing",
    "kombu",
    "amqp",
    "vine",
    "gunicorn",
    "parsel",
    "w3lib",
    "lark",
    "ply",
    "parso",
    "jedi",
    "traitlets",
    "nbformat",
]
KINDS = "index,secrets,survey"
_SUBREAPER = 36


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


def plant(wheels: Path, top: Path, count: int) -> int:
    """Make a repository of each package; return the bytes of text."""
    size = 0
    for wheel in sorted(wheels.glob("*.whl"))[:count]:
        folder = top / wheel.name.partition("-")[0].lower()
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm", "as published")
        size += sum(
            path.stat().st_size
            for path in folder.rglob("*")
            if path.is_file() and ".git/" not in str(path)
        )
    return size


def fetch(folder: Path, count: int) -> None:
    words = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*words, "-d", str(folder), *NAMES[:count]], check=True)


def sutler(*words: str) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "sutler", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def done(process: subprocess.Popen[bytes]) -> None:
    _, error = process.communicate(timeout=900)
    if process.returncode:
        raise SystemExit(error.decode())


def reap() -> None:
    """Wait for orphans, so that their CPU counts."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.05)
        except ChildProcessError:
            return


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Run:
    """A fleet in a folder, with its queue in SQLite or PostgreSQL."""

    def __init__(self, folder: Path, sources: Path, store: str = "") -> None:
        self.folder, self.store = folder, store
        self.words = ("--fleet", str(folder), *(("--store", store) if store else ()))
        done(sutler("fleet", "init", "--name", folder.name, *self.words))
        done(sutler("fleet", "add", str(sources), *self.words))

    def run(self, *words: str) -> float:
        """Return the CPU seconds."""
        reap()
        before = cpu()
        done(sutler("fleet", "run", KINDS, *self.words, *words))
        reap()
        return cpu() - before

    def digests(self) -> dict[str, str]:
        """A digest of the sorted rows of each table; every unit must be done."""
        fleet = open_fleet(str(self.folder), self.store)
        queue = open_queue(fleet)
        units = queue.units()
        queue.close()
        bad = [unit for unit in units if unit.state != "done"]
        assert not bad, bad[:3]
        digests = {}
        for table in TABLES:
            if table == "packs":
                continue
            _, rows = query(fleet.dataset, units, f"select * from {table}")  # noqa: S608
            lines = sorted(repr(row) for row in rows)
            digests[table] = (
                f"{len(lines)} {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"
            )
        return digests

    def stored(self) -> int:
        """Bytes of the stored indexes."""
        queue = open_queue(open_fleet(str(self.folder), self.store))
        sizes = [
            len(queue.fact(unit.key, "index", unit.version) or b"")
            for unit in queue.units()
            if unit.kind == "index"
        ]
        queue.close()
        return sum(sizes)


def workers(run: Run, count: int) -> list[subprocess.Popen[bytes]]:
    return [sutler("worker", "--jobs", "1", *run.words) for _ in range(count)]


def with_workers(run: Run) -> None:
    done(sutler("fleet", "run", KINDS, "--on", "workers", *run.words))
    for worker in workers(run, 2):
        done(worker)


def with_kills(run: Run, kills: int, rng: random.Random) -> int:
    """Kill the driver, or a worker with its process group, in the middle of its work."""
    for _ in range(kills):
        process = sutler("fleet", "run", KINDS, *run.words)
        try:
            process.communicate(timeout=rng.uniform(1.5, 5.0))
            break  # the work is done before this kill
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    else:
        process = sutler("fleet", "run", KINDS, *run.words)
        # Leases of killed workers end after a minute.
        time.sleep(61)
        done(sutler("fleet", "run", KINDS, *run.words))
        process.communicate()
    return kills


def _one(folder: str, store: str, number: int) -> None:
    """Do every second unit without queue, lease, child process or Parquet."""
    fleet = open_fleet(folder, store)
    queue = open_queue(fleet)
    sources = {item.name: item.source for item in queue.repositories()}
    units = sorted(queue.units(), key=lambda unit: unit.key)[number::2]
    for unit in units:
        with tempfile.TemporaryDirectory() as scratch:
            perform(unit, sources[unit.repo], f"{scratch}/tree", queue)
    queue.close()


def plain_loop(run: Run) -> float:
    """The same work as a plain loop in two processes; return its CPU seconds."""
    fleet = open_fleet(str(run.folder), run.store)
    queue = open_queue(fleet)
    from sutler import config

    settings = config.resolve([config.layer_from_environment(os.environ)])
    queue.enqueue(units_of(fleet, queue.repositories(), KINDS.split(","), settings))
    queue.close()
    reap()
    before = cpu()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for job in [pool.submit(_one, str(run.folder), run.store, n) for n in range(2)]:
            job.result()
    reap()
    return cpu() - before


def touch(top: Path, share: float, rng: random.Random) -> int:
    """Change this share of all Python files, and commit."""
    files = sorted(path for path in top.rglob("*.py") if ".git/" not in str(path))
    chosen = rng.sample(files, max(1, int(len(files) * share)))
    for path in chosen:
        with path.open("a") as stream:
            stream.write("\nANOTHER_LINE = 1\n")
    for folder in {top / path.relative_to(top).parts[0] for path in chosen}:
        git(folder, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qam", "a change")
    return len(chosen)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--packages", type=int, default=60)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--wheels", default="", help="wheels that were fetched before")
    parser.add_argument("--ray", action="store_true")
    args = parser.parse_args(words)
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    rng, good = random.Random(1), True
    with tempfile.TemporaryDirectory() as name, serving() as admin:
        top = Path(name)
        os.environ |= {"XDG_STATE_HOME": f"{name}/state", "XDG_CACHE_HOME": f"{name}/cache"}
        wheels = Path(args.wheels) if args.wheels else top / "wheels"
        if not args.wheels:
            fetch(wheels, args.packages)
        text = plant(wheels, top / "src", args.packages)
        url = joined(admin, "fleet", "fay", "writer")
        local = Run(top / "local", top / "src")
        cold = local.run()
        loop = plain_loop(Run(top / "plain", top / "src"))
        reference = local.digests()
        print(f"{args.packages} packages, {text:,} bytes: {reference['runs'].split()[0]} units")
        print(f"CPU: fleet {cold:.1f} s, plain loop {loop:.1f} s: {cold / loop:.3f}")
        size = local.stored()
        print(f"index: {size:,} bytes, {size / text:.2f} x text")
        shared = Run(top / "shared", top / "src", url)
        with_workers(shared)
        others = {"workers on PostgreSQL": shared}
        if args.ray:
            others["ray"] = Run(top / "ray", top / "src")
            others["ray"].run("--on", "ray")
        if args.kills:
            others[f"{args.kills} kills"] = Run(top / "killed", top / "src")
            with_kills(others[f"{args.kills} kills"], args.kills, rng)
        for label, run in others.items():
            same = run.digests() == reference
            good &= same
            print(f"{label}: dataset {'equal, row for row' if same else 'DIFFERS'}")
        changed = touch(top / "src", 0.01, rng)
        warm = local.run()
        print(f"refresh, {changed} files changed: {warm:.1f} s CPU, {warm / cold:.3f} of cold")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
