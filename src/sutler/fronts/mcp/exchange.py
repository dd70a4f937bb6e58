"""One request under way, and the client that sent it."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sutler.access.gate import Consent
from sutler.fronts.mcp.approvals import question, verdict
from sutler.fronts.mcp.child import POLL
from sutler.fronts.mcp.wire import Id, Message
from sutler.store.records import Approval, Caller
from sutler.tools import Opener

Send = Callable[[dict[str, Any]], None]
"""Sends a message to the client, about the request that is being answered."""
_TICK = 0.1


class Exchange:
    """A request: how to reach its client, how to `wait` for an answer of the client, and whether
    the client has withdrawn the request.
    """

    def __init__(
        self,
        send: Send | None = None,
        gone: Callable[[], bool] | None = None,
    ) -> None:
        self.send = send
        self.cancelled = threading.Event()
        self.asking = False
        self.turn: threading.Lock | None = None
        self._gone = gone
        self.wait: Callable[[queue.SimpleQueue[object]], object] = self._poll
        self._token: str | int | None = None
        self._last = 0.0, -1

    def begin(self, message: Message) -> None:
        token = message.meta.get("progressToken")
        self._token = token if isinstance(token, str | int) else None

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let other calls have the server while this one waits."""
        if self.turn is None:
            yield
            return
        self.turn.release()
        try:
            yield
        finally:
            self.turn.acquire()

    def over(self) -> bool:
        return self.cancelled.is_set() or (self._gone is not None and self._gone())

    def progress(self, done: int, total: int) -> None:
        """Notify the client at most ten times a second, always further than before."""
        now = time.monotonic()
        if self.send is None or self._token is None:
            return
        if now - self._last[0] >= _TICK and done > self._last[1]:
            self._last = now, done
            params = {"progressToken": self._token, "progress": done, "total": total}
            self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def _poll(self, box: queue.SimpleQueue[object]) -> object:
        """What the client answers to a question; None when the request is over first."""
        while not self.over():
            try:
                return box.get(timeout=POLL)
            except queue.Empty:
                continue
        return None


current: ContextVar[Exchange | None] = ContextVar("current", default=None)
"""The request that this thread answers."""


class Peer:
    """The client of one session: its door, whether it shows forms, and the questions that wait for
    its answer.
    """

    def __init__(self, door_for: Opener, caller: Caller) -> None:
        self.door = door_for(caller, self.ask)
        self.session = caller.session
        self.shows_forms = False
        self.client = ""
        self._questions: dict[Id, queue.SimpleQueue[object]] = {}
        self._numbers = itertools.count(1)

    def ask(self, approval: Approval) -> Consent | None:
        """Ask the person in front of the client; None if that is not possible or has no answer."""
        exchange = current.get()
        if exchange is None or not exchange.asking or exchange.send is None:
            return None
        id = f"sutler-{next(self._numbers)}"
        box = self._questions[id] = queue.SimpleQueue()
        try:
            exchange.send(
                {
                    "jsonrpc": "2.0",
                    "id": id,
                    "method": "elicitation/create",
                    "params": question(approval),
                }
            )
            with exchange.aside():
                return verdict(exchange.wait(box))
        finally:
            del self._questions[id]

    def take(self, response: Message) -> None:
        """Deliver a response to the question that waits for it; others are ignored."""
        box = self._questions.get(response.id) if response.id is not None else None
        if box is not None:
            box.put(response.body.get("result"))
