"""Workers: claim a unit, perform it in a child process with limits, record its result.

All executors run the same loop over the same queue, so that a driver has no state. The local
executor runs one loop per core, Ray one per CPU of the cluster, and `sutler worker` one on any
machine that can reach the queue and the dataset."""

from __future__ import annotations

import errno
import logging
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from msgspec import Struct

from sutler.errors import DeniedError, RefusedError, SutlerError, UsageError
from sutler.fleet import dataset
from sutler.fleet.catalogue import Fleet, located
from sutler.fleet.queue import LEASE_SECONDS, Queue, Unit, open_queue
from sutler.fleet.units import perform
from sutler.system import cores, fs, try_lock, unlock

_LOCK = "lock"
_BEAT = LEASE_SECONDS / 4
_PAUSE = 0.5
_UNITS = 100
"""Units of one child process: its start costs more than most units."""


class Fence(Struct, frozen=True):
    """Limits of one unit: seconds, and bytes of memory."""

    seconds: float = 900.0
    memory: int = 6 << 30


class Answer(Struct, frozen=True):
    """Report of a child process: the tables of the unit, or the reason of the failure. `again` is
    set if the cause may be temporary."""

    tables: tuple[str, ...] = ()
    reason: str = ""
    again: bool = False


def work(fleet: Fleet, fence: Fence) -> int:
    """Perform units until all are settled; return how many this worker finished. While others run,
    it waits: the lease of a dead worker ends within a minute."""
    host = os.uname().nodename if hasattr(os, "uname") else "host"
    name = f"{host}-{os.getpid()}-{uuid.uuid4().hex[:12]}"
    queue, child = open_queue(fleet, wait=True), Child(fleet, fence)
    finished = 0
    try:
        while True:
            unit = queue.claim(name)
            if unit is not None:
                finished += _settle(fleet, unit, child, queue, name)
            elif queue.open_units():
                time.sleep(_PAUSE)
            else:
                _sweep(fleet)
                return finished
    finally:
        child.end()
        queue.close()


def _folders(fleet: Fleet) -> str:
    """Return the beginning of the names of private folders of a fleet's units."""
    return f"sutler-fleet-{sha256(os.fsencode(fleet.folder)).hexdigest()[:12]}-"


def _sweep(fleet: Fleet) -> None:
    """Remove what killed workers left on this machine and in the dataset, once no unit is open."""
    with os.scandir(tempfile.gettempdir()) as entries:
        folders = [
            entry.path
            for entry in entries
            if entry.name.startswith(_folders(fleet))
            and entry.is_dir(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_uid == fs.getuid()
        ]
    for folder in folders:
        with suppress(OSError), _locked(folder):
            shutil.rmtree(folder, ignore_errors=True)
    dataset.sweep(fleet.dataset)


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Lock a private folder; BlockingIOError if it is locked. A unit that is done may still be
    worked on after its lease has ended: without its files it would give other rows, under the name
    of the right ones."""
    path = os.path.join(folder, _LOCK)
    fd = os.open(path, os.O_RDWR)
    if not try_lock(fd, path):
        os.close(fd)
        raise BlockingIOError(errno.EAGAIN, "another process has it")
    try:
        yield
    finally:
        unlock(fd, path)


def _settle(fleet: Fleet, unit: Unit, child: Child, queue: Queue, worker: str) -> bool:
    """Perform a claimed unit and record its result; return whether it is done."""
    source = queue.source(unit.repo)
    if source:
        # A lost lease needs no handling here: the first result counts.
        renew = partial(queue.renew, unit.key, worker)
        answer = child.perform(unit, located(fleet, source), renew)
    else:
        answer = Answer(reason="the repository is no longer in the catalogue")
    if answer.reason:
        queue.fail(unit.key, worker, answer.reason, again=answer.again)
        return False
    done = queue.finish(unit, answer.tables)
    queue.clear(partial(dataset.remove, fleet.dataset))
    return done


class Child:
    """A process with limits that performs one unit after another; after a failure the next unit
    has a new one."""

    def __init__(self, fleet: Fleet, fence: Fence) -> None:
        self._fleet, self._fence = fleet, fence
        self._left = 0
        self._process: Any = None
        self._pipe: Any = None

    def perform(self, unit: Unit, source: str, renew: Callable[[], object]) -> Answer:
        """Perform a unit, and renew its lease meanwhile."""
        if not self._left:
            self.end()
            self._start()
        with tempfile.TemporaryDirectory(
            prefix=_folders(self._fleet), ignore_cleanup_errors=True
        ) as folder:
            with open(os.path.join(folder, _LOCK), "xb"):
                pass
            try:
                self._pipe.send((unit, source, folder))
                answer = self._wait(renew)
            except (EOFError, OSError):
                self._process.join(5)
                answer = Answer(reason=_ended(self._process.exitcode), again=True)
            self._left -= 1
            if answer.reason:
                self._process.kill()  # before its folder is removed
                self._left = 0
            return answer

    def end(self) -> None:
        if self._process is None:
            return
        self._pipe.close()
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join(5)
        self._process = None

    def _start(self) -> None:
        # A copy of this process would hold its threads' locks and its connections.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_perform_all, args=(self._fleet, self._fence, theirs), daemon=True
        )
        self._process.start()
        theirs.close()  # else the end of the child would not close the pipe
        self._left = _UNITS

    def _wait(self, renew: Callable[[], object]) -> Answer:
        until = time.monotonic() + self._fence.seconds
        while not self._pipe.poll(min(_BEAT, max(0.0, until - time.monotonic()))):
            if time.monotonic() >= until:
                return Answer(reason=f"over the limit of {self._fence.seconds:g} seconds")
            renew()
        answer: Answer = self._pipe.recv()
        return answer


def _ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with code {code}"


def _perform_all(fleet: Fleet, fence: Fence, pipe: Connection) -> None:
    """Main function of a child process: perform units until the worker has ended."""
    _limit(fence)
    queue = open_queue(fleet, wait=True)
    with suppress(EOFError, OSError):  # the worker has died, and another does the unit again
        while True:
            pipe.send(_answer(fleet, fence, queue, *pipe.recv()))


def _answer(
    fleet: Fleet, fence: Fence, queue: Queue, unit: Unit, source: str, folder: str
) -> Answer:
    """Perform a unit. An exception becomes an Answer. Only the text of our own errors is passed on,
    because other texts may hold paths of the host."""
    try:
        with _locked(folder):
            rows = perform(unit, source, os.path.join(folder, "tree"), queue)
        return Answer(tables=tuple(dataset.write(fleet.dataset, unit, rows)))
    except MemoryError:
        return Answer(reason=f"over the limit of {fence.memory >> 20:,} MB of memory")
    except (DeniedError, RefusedError, UsageError) as error:
        return Answer(reason=str(error).splitlines()[0])
    except SutlerError as error:
        return Answer(reason=str(error).splitlines()[0], again=True)
    except OSError as error:
        return Answer(reason=f"the system refused: {error.strerror}", again=True)
    except Exception as error:
        return Answer(reason=f"unexpected {type(error).__name__}")


def _limit(fence: Fence) -> None:
    try:
        import resource
    except ImportError:  # Windows: only the time limit applies
        return
    resource.setrlimit(resource.RLIMIT_AS, (fence.memory, fence.memory))


def run_local(
    fleet: Fleet,
    fence: Fence,
    count: int = 0,
    *,
    tell: Callable[[], None] | None = None,
) -> None:
    """Run workers on this machine until all units are settled: threads, because each has a process
    for its units. `tell` is called about once a second."""
    ends: SimpleQueue[Exception | None] = SimpleQueue()

    def loop() -> None:
        try:
            work(fleet, fence)
            ends.put(None)
        except Exception as error:
            ends.put(error)

    left = count or cores()
    for _ in range(left):
        Thread(target=loop, daemon=True).start()
    error: Exception | None = None
    while left:
        with suppress(Empty):
            error = ends.get(timeout=1.0) or error
            left -= 1
        if tell is not None:
            tell()
    if error is not None:
        raise error


def run_on_ray(
    fleet: Fleet, fence: Fence, address: str = "", *, tell: Callable[[], None] | None = None
) -> None:
    """Run workers as tasks of a Ray cluster: the one at `address`, or a new local one. Every node
    must reach the fleet's folder and its store."""
    try:
        import ray
    except ImportError:
        raise UsageError("this executor needs ray", next_step="run pip install ray") from None
    ray.init(
        address=address or None,
        log_to_driver=False,
        include_dashboard=False,
        logging_level=logging.ERROR,
    )
    try:
        task = ray.remote(max_retries=-1)(work)
        resources: dict[str, float] = ray.cluster_resources()
        left = [task.remote(fleet, fence) for _ in range(max(1, int(resources.get("CPU", 1))))]
        while left:
            ended, left = ray.wait(left, timeout=1.0)
            ray.get(ended)
            if tell is not None:
                tell()
    finally:
        ray.shutdown()
