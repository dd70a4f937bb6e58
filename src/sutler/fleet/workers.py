"""Workers: claim a unit, perform it in a child process with limits, record its result.

All executors run the same loop over the same queue, so that a driver has no state. The local
executor runs one loop per core, Ray one per CPU of the cluster, and `sutler worker` one on any
machine that can reach the queue and the dataset.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from msgspec import Struct

from sutler.errors import DeniedError, RefusedError, SutlerError, UsageError
from sutler.fleet import dataset
from sutler.fleet.catalogue import Fleet, located
from sutler.fleet.queue import LEASE_SECONDS, Queue, Unit, open_queue
from sutler.fleet.units import perform
from sutler.system import cores

_BEAT = LEASE_SECONDS / 4
_PAUSE = 0.5
_RESTARTS = 20
"""Workers that are started again after they died, for each process of a run."""


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
    it waits: the lease of a worker that has died ends within a minute."""
    name = f"{os.uname().nodename if hasattr(os, 'uname') else 'host'}-{uuid.uuid4().hex[:12]}"
    queue = open_queue(fleet)
    finished = 0
    try:
        while True:
            unit = queue.claim(name)
            if unit is not None:
                finished += _settle(fleet, unit, fence, queue, name)
            elif queue.open_units():
                time.sleep(_PAUSE)
            else:
                return finished
    finally:
        queue.close()


def _settle(fleet: Fleet, unit: Unit, fence: Fence, queue: Queue, worker: str) -> bool:
    """Perform a claimed unit and record its result; return whether it is done."""
    source = queue.source(unit.repo)
    answer = _fenced(fleet, unit, source, fence, queue, worker)
    if answer.reason:
        queue.fail(unit.key, worker, answer.reason, again=answer.again)
        return False
    replaced = queue.finish(unit, answer.tables)
    if replaced is None:
        return False
    dataset.remove(fleet.dataset, replaced)
    return True


def _fenced(
    fleet: Fleet, unit: Unit, source: str, fence: Fence, queue: Queue, worker: str
) -> Answer:
    """Perform a unit in a child process, and renew the lease while it runs."""
    if not source:
        return Answer(reason="the repository is no longer in the catalogue")
    context = _context()
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory(prefix="sutler-fleet-") as folder:
        child = context.Process(
            target=_child,
            args=(fleet, unit, located(fleet, source), folder, fence, sender),
            daemon=True,
        )
        child.start()
        sender.close()  # else the end of the child would not close the pipe
        until = time.monotonic() + fence.seconds
        try:
            while not receiver.poll(min(_BEAT, max(0.0, until - time.monotonic()))):
                if time.monotonic() >= until:
                    return Answer(reason=f"over the limit of {fence.seconds:g} seconds")
                if not child.is_alive() and not receiver.poll():
                    break
                # A lost lease needs no handling here: the first result counts.
                queue.renew(unit.key, worker)
            answer: Answer = receiver.recv()
            return answer
        except (EOFError, OSError):
            child.join(5)
            return Answer(reason=_ended(child.exitcode), again=True)
        finally:
            _stop(child)
            receiver.close()


def _context() -> Any:
    """Return the multiprocessing context. On systems with fork, a fork server with preloaded
    modules starts a child within milliseconds."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sutler.fleet.workers", "sutler.languages.extract"])
    return context


def _stop(child: Any) -> None:
    child.join(5)
    if child.is_alive():
        child.kill()
        child.join(5)


def _ended(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with code {code}"


def _child(
    fleet: Fleet, unit: Unit, source: str, folder: str, fence: Fence, sender: Connection
) -> None:
    """Main function of a child process. An exception becomes an Answer. Only the text of our own
    errors is passed on, because other texts may hold paths of the host."""
    _limit(fence)
    queue = open_queue(fleet)
    try:
        rows = perform(unit, source, os.path.join(folder, "tree"), queue)
        answer = Answer(tables=tuple(dataset.write(fleet.dataset, unit, rows)))
    except MemoryError:
        answer = Answer(reason=f"over the limit of {fence.memory >> 20:,} MB of memory")
    except (DeniedError, RefusedError, UsageError) as error:
        answer = Answer(reason=str(error).splitlines()[0])
    except SutlerError as error:
        answer = Answer(reason=str(error).splitlines()[0], again=True)
    except OSError as error:
        answer = Answer(reason=f"the system refused: {error.strerror}", again=True)
    except Exception as error:
        answer = Answer(reason=f"unexpected {type(error).__name__}")
    finally:
        queue.close()
    with suppress(BrokenPipeError):  # the worker has died, and another does the unit again
        sender.send(answer)
    sender.close()


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
    """Run workers in processes of this machine until all units are settled, and start others for
    those that die. `tell` is called about once a second."""
    context = multiprocessing.get_context("spawn")

    def start() -> Any:
        worker = context.Process(target=work, args=(fleet, fence))
        worker.start()
        return worker

    workers = [start() for _ in range(count or cores())]
    restarts = _RESTARTS * len(workers)
    while workers:
        wait([worker.sentinel for worker in workers], timeout=1.0)
        ended = [worker for worker in workers if not worker.is_alive()]
        workers = [worker for worker in workers if worker.is_alive()]
        for worker in ended:
            if worker.exitcode and restarts > 0:
                restarts -= 1
                workers.append(start())
        if tell is not None:
            tell()


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
