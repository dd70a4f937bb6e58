"""Kills in the middle of units: of workers, drivers, nodes of Ray and the database server."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from bench.fleet.runs import LONGEST, Run, done, opened, sutler
from sutler.fleet.queue import MOST_TRIES

SIZE = {"num_cpus": 1, "object_store_memory": 80_000_000}


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A Ray cluster of two nodes on this machine, with one task each."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**SIZE, "include_dashboard": False})
    cluster.add_node(**SIZE)
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

    def __init__(self, run: Run, server: Any, cluster: Any, counts: Counter[str]) -> None:
        self.run, self.server, self.cluster, self.counts = run, server, cluster, counts
        self.kinds = ["worker", "driver", "server", *(["raylet"] if cluster is not None else [])]
        self.jobs: dict[str, subprocess.Popen[bytes]] = {}
        self.keep()

    def keep(self) -> None:
        """Start what has ended."""
        words = {
            "worker": ("worker", "--jobs", "1"),
            "driver": ("fleet", "run", self.run.kinds, "--jobs", "1"),
        }
        if self.cluster is not None:
            words["ray"] = ("fleet", "run", self.run.kinds, "--on", "ray")
            words["ray"] += ("--ray", self.cluster.address)
        for name, arguments in words.items():
            if name not in self.jobs or self.jobs[name].poll() is not None:
                self.jobs[name] = sutler(*arguments, *self.run.words)

    def _raylet(self) -> tuple[Any, int]:
        node = next(node for node in self.cluster.list_all_nodes() if not node.head)
        return node, node.all_processes["raylet"][0].process.pid

    def busy(self, kind: str) -> bool:
        """Whether what would be killed has a unit: the lease names the process of the worker. Not
        while a unit is on its last try, because a kill then fails it by the rules."""
        with opened(self.run) as queue:
            rows = queue._database.select(
                "SELECT worker, tries FROM fleet_units WHERE project = ? AND state = 'running'",
                (queue._project,),
            )
        if any(tries >= MOST_TRIES for _, tries in rows):
            return False
        holders = {int(name.split("-")[-2]) for name, _ in rows}
        if kind == "server":
            return any(map(_alive, holders))
        top = self._raylet()[1] if kind == "raylet" else self.jobs[kind].pid
        return not holders.isdisjoint([top, *below(top)])

    def kill(self, kind: str) -> None:
        self.counts[kind] += 1
        if kind == "server":
            pid = self.server.get_pid()
            os.kill(pid, signal.SIGQUIT)  # without writing anything more
            while _alive(pid):
                time.sleep(0.02)
            self.server.ensure_postgres_running()
        elif kind == "raylet":
            node, raylet = self._raylet()
            for pid in [raylet, *below(raylet)]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.cluster.remove_node(node, allow_graceful=False)
            self.cluster.add_node(**SIZE)
        else:
            with suppress(ProcessLookupError):
                os.killpg(self.jobs[kind].pid, signal.SIGKILL)
            self.jobs[kind].communicate()

    def end(self) -> None:
        for job in self.jobs.values():
            job.communicate(timeout=LONGEST)


def _alive(pid: int) -> bool:
    with suppress(ChildProcessError):  # an orphan is ours to wait for
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def with_kills(
    run: Run, server: Any, cluster: Any, counts: Counter[str], most: int, rng: random.Random
) -> None:
    """Kill in the middle of a unit what was killed least, until `counts` has `most` kills or the
    work ends; then let it end."""
    done(sutler("fleet", "run", run.kinds, "--on", "workers", *run.words))
    chaos = Chaos(run, server, cluster, counts)
    while sum(counts.values()) < most:
        with opened(run) as queue:
            if not queue.open_units():
                break
        chaos.keep()
        kind = min(chaos.kinds, key=lambda name: (counts[name], not chaos.busy(name)))
        time.sleep(rng.uniform(0.0, 0.4))
        if chaos.busy(kind):
            chaos.kill(kind)
    chaos.keep()
    chaos.end()
