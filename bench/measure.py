"""Run one child at a time and take its wall time, its CPU time and its peak memory."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

MEGABYTE = 1_000_000


class Command(NamedTuple):
    """One child process: its words, its whole environment and where its two streams go."""

    words: tuple[str, ...]
    env: dict[str, str]
    stdout: str
    stderr: str
    cwd: str


class Sample(NamedTuple):
    """What one run cost. CPU and peak include children that the process waited for."""

    wall: float
    cpu: float
    peak_mb: float
    status: int
    timed_out: bool


class Job(NamedTuple):
    """A command to be measured, and what must happen, unmeasured, before each run."""

    name: str
    command: Command
    prepare: Callable[[], None]


def measure(command: Command, timeout: float) -> Sample:
    """Run the command once. A run over the limit is ended with its whole process group."""
    late = threading.Event()
    with open(command.stdout, "wb") as out, open(command.stderr, "wb") as err:
        start = time.perf_counter()
        child = subprocess.Popen(
            command.words,
            env=command.env,
            cwd=command.cwd,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        watchdog = threading.Timer(timeout, _end, (child.pid, late))
        watchdog.start()
        try:
            # wait4 and not Popen.wait: it alone gives the usage of this one child.
            _, status, usage = os.wait4(child.pid, 0)
            wall = time.perf_counter() - start
        except BaseException:
            # The child has a session of its own, so an interrupt of ours does not reach it.
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            raise
        finally:
            watchdog.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
    cpu = usage.ru_utime + usage.ru_stime
    return Sample(wall, cpu, usage.ru_maxrss * 1024 / MEGABYTE, child.returncode, late.is_set())


def stop_cleanly() -> None:
    """Turn a polite end (SIGTERM, as `timeout` sends it) into an exception: nothing is left
    behind.
    """

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    signal.signal(signal.SIGTERM, leave)


def _end(pid: int, late: threading.Event) -> None:
    late.set()
    os.killpg(pid, signal.SIGKILL)


def interleave(jobs: Sequence[Job], runs: int, timeout: float) -> dict[str, list[Sample]]:
    """Measure A B C A B C …, so that a noisy minute falls on every tool alike.

    A job that fails or runs over the limit is not tried again.
    """
    taken: dict[str, list[Sample]] = {job.name: [] for job in jobs}
    alive = list(jobs)
    for turn in range(runs):
        for number, job in enumerate(tuple(alive)):
            progress(turn * len(alive) + number, runs * len(alive), job.name)
            job.prepare()
            sample = measure(job.command, timeout)
            taken[job.name].append(sample)
            if sample.status != 0 or sample.timed_out:
                alive.remove(job)
    progress(0, 0, "")
    return taken


def progress(done: int, total: int, name: str) -> None:
    """A bar on stderr, written over itself, where a terminal is there to show it; a total of 0
    takes it away.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        return
    filled = 24 * done // total if total else 0
    line = (
        f"measuring {done} of {total} runs [{'#' * filled}{'-' * (24 - filled)}] {name}"
        if total
        else ""
    )
    sys.stderr.write(f"\r{line}\x1b[K")
    sys.stderr.flush()


def own_peak_mb() -> float:
    """Peak memory of this process: a child's figure cannot be seen below it.

    The kernel counts the parent's pages against a child until the child becomes another program.
    """
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / MEGABYTE


def machine() -> dict[str, str]:
    """What the figures were taken on, for the head of the report. No host name, no user name."""
    kernel = os.uname()
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return {
        "system": f"{kernel.sysname} {kernel.release} {kernel.machine}",
        "processor": _processor(),
        "cores": str(os.cpu_count() or 1),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.1f} GB",
        "load": load,
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return "unknown"
