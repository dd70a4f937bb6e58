"""Tasks for long calls (extension io.modelcontextprotocol/tasks): a handle now, the result later.

A slow call of a client with the extension is answered like any other if it is done in time; else
its client gets a task, queries it with `tasks/get` and may end it with `tasks/cancel`. Tasks live
as long as the server."""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextvars import copy_context

from sutler.fronts.mcp.child import POLL, CancelledError
from sutler.fronts.mcp.exchange import Exchange, current
from sutler.fronts.mcp.wire import BAD_PARAMS, INTERNAL, Fault, Message
from sutler.store.records import stamp

EXTENSION = "io.modelcontextprotocol/tasks"
AFTER = 10.0
"""Seconds after which a call becomes a task."""
_KEPT = 64  # a client that never asks for results must not fill the memory
_TTL = 3_600_000  # an hour: agents return to a task after other work
_INTERVAL = 1_000  # each poll is a call; a slow call is not urgent to the tenth of a second


def has_tasks(capabilities: object) -> bool:
    """Return whether a client declares in this request that it supports tasks."""
    extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
    return isinstance(extensions, dict) and EXTENSION in extensions


class Task:
    """A call that continues after its request was answered; bound to its session."""

    def __init__(self, session: str, exchange: Exchange) -> None:
        self.id = secrets.token_hex(16)
        self.session = session
        self.exchange = exchange
        self.done = threading.Event()
        self._created = self._updated = stamp(time.time())
        self._outcome: dict[str, object] = {"status": "working"}

    def run(self, work: Callable[[], dict[str, object]]) -> None:
        current.set(self.exchange)
        try:
            self._outcome = {"status": "completed", "result": work()}
        except CancelledError:
            self._outcome = {"status": "cancelled"}
        except Exception as fault:  # like the answer of a request: the type's name alone
            error = {"code": INTERNAL, "message": f"the call failed: {type(fault).__name__}"}
            self._outcome = {"status": "failed", "error": error}
        self._updated = stamp(time.time())
        self.done.set()

    def result(self) -> dict[str, object]:
        """Return the result of the call, for a request that waited for it."""
        body = self._outcome.get("result")
        if isinstance(body, dict):
            return body
        if self._outcome["status"] == "cancelled":
            raise CancelledError
        raise Fault(INTERNAL, "the call failed")

    def state(self) -> dict[str, object]:
        times = {"createdAt": self._created, "lastUpdatedAt": self._updated}
        limits = {"ttlMs": _TTL, "pollIntervalMs": _INTERVAL}
        return {"taskId": self.id, **times, **limits, **self._outcome}


class Tasks:
    def __init__(self) -> None:
        self._tasks: OrderedDict[str, Task] = OrderedDict()

    def answer(
        self,
        message: Message,
        session: str,
        request: Exchange,
        work: Callable[[], dict[str, object]],
    ) -> dict[str, object]:
        """Return the result of `work`, or a task if it takes too long. The caller has released the
        server's lock, which `work` takes."""
        exchange = Exchange(request.send)
        exchange.begin(message)
        exchange.turn = request.turn
        task = Task(session, exchange)
        context = copy_context()
        threading.Thread(target=context.run, args=(task.run, work), daemon=True).start()
        until = time.monotonic() + AFTER
        while not task.done.wait(POLL) and time.monotonic() < until:
            if request.over():
                exchange.cancelled.set()
        if task.done.is_set():
            return task.result()
        exchange.send = None  # the request is answered: no progress may follow
        self._tasks[task.id] = task
        while len(self._tasks) > _KEPT:
            self._tasks.popitem(last=False)[1].exchange.cancelled.set()
        return {"resultType": "task", **task.state()}

    def get(self, message: Message, session: str) -> dict[str, object]:
        return self._task(message, session).state()

    def cancel(self, message: Message, session: str) -> dict[str, object]:
        self._task(message, session).exchange.cancelled.set()
        return {}

    def update(self, message: Message, session: str) -> dict[str, object]:
        """Acknowledge an update, as the extension requires; no task waits for input."""
        self._task(message, session)
        return {}

    def end(self) -> None:
        for task in self._tasks.values():
            task.exchange.cancelled.set()

    def _task(self, message: Message, session: str) -> Task:
        id = message.params.get("taskId")
        task = self._tasks.get(id) if isinstance(id, str) else None
        if task is None or task.session != session:
            raise Fault(BAD_PARAMS, "no such task")
        return task
