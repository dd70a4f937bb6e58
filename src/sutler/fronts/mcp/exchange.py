"""One current request, its client, and the record of answered requests."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec
from msgspec import Struct

from sutler.access.grants import Consent
from sutler.fronts.mcp.approvals import question, verdict
from sutler.fronts.mcp.child import POLL, CancelledError
from sutler.fronts.mcp.wire import Id, Message
from sutler.store.records import Approval, Caller
from sutler.tools import Opener

Send = Callable[[dict[str, Any]], None]
"""Sends a message to the client, about the current request."""
_TICK = 0.1  # more notices than a person can see only cost the client time
BOUNDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Upper bounds of the histogram's buckets, in seconds."""


class Exchange:
    """A request: the channel to its client, `wait` for an answer of the client, and whether the
    client has withdrawn it. An `interruptible` one is withdrawn when the server ends."""

    def __init__(self, send: Send | None = None, gone: Callable[[], bool] | None = None) -> None:
        self.send = send
        self.cancelled = threading.Event()
        self.asking = self.interruptible = False
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
        """Release the server to other calls while this one waits."""
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

    def check(self) -> None:
        """Raise CancelledError if the client has withdrawn the request."""
        if self.over():
            raise CancelledError

    def progress(self, done: int, total: int) -> None:
        """Notify the client at most ten times a second, with increasing values; raise if the
        request was withdrawn."""
        self.check()
        now = time.monotonic()
        if self.send is None or self._token is None:
            return
        # The protocol wants values that increase.
        if now - self._last[0] >= _TICK and done > self._last[1]:
            self._last = now, done
            params = {"progressToken": self._token, "progress": done, "total": total}
            self.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def _poll(self, box: queue.SimpleQueue[object]) -> object:
        """Return the client's answer to a question; None if the request ends first."""
        while not self.over():
            try:
                return box.get(timeout=POLL)
            except queue.Empty:  # check for a cancelled call, then wait on
                continue
        return None


current: ContextVar[Exchange | None] = ContextVar("current", default=None)
"""The current request of this thread."""


class Peer:
    """The client of one session: its door, whether it shows forms, and its open questions."""

    def __init__(self, door_for: Opener, caller: Caller, *, reads_only: bool = False) -> None:
        self.door = door_for(caller, self.ask)
        self.reads_only = reads_only
        self.session = caller.session
        self.shows_forms = False
        self.client = ""
        self._questions: dict[Id, queue.SimpleQueue[object]] = {}
        self._numbers = itertools.count(1)

    def ask(self, approval: Approval) -> Consent | None:
        """Ask the person at the client; None without a form or an answer."""
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
            exchange.interruptible = True
            with exchange.aside():
                return verdict(exchange.wait(box))
        finally:
            exchange.interruptible = False
            del self._questions[id]

    def take(self, response: Message) -> None:
        """Deliver a response to the question that waits for it; ignore others."""
        box = self._questions.get(response.id) if response.id is not None else None
        if box is not None:
            box.put(response.body.get("result"))


class Served(Struct, frozen=True, omit_defaults=True):
    """One answered request. `outcome` is ok, failed, error or cancelled."""

    at: str
    method: str
    outcome: str
    milliseconds: float
    tool: str = ""
    session: str = ""
    client: str = ""
    trace: str = ""
    level: str = "info"


class Metrics:
    def __init__(self, log: Callable[[str], None] | None = None) -> None:
        """`log` receives each request as one line of JSON."""
        self._log = log
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._buckets: Counter[int] = Counter()
        self._seconds = 0.0
        self._started = time.time()

    def add(self, served: Served) -> None:
        seconds = served.milliseconds / 1_000
        with self._lock:
            self._counts[served.method, served.tool, served.outcome] += 1
            self._seconds += seconds
            self._buckets[bisect_left(BOUNDS, seconds)] += 1
        if self._log is not None:
            self._log(msgspec.json.encode(served).decode())

    def text(self, running: int) -> str:
        """Return the metrics in the Prometheus text format."""
        with self._lock:
            counts, buckets = sorted(self._counts.items()), dict(self._buckets)
            seconds, started = self._seconds, self._started
        total = sum(count for _, count in counts)
        rows = ["# TYPE sutler_requests_total counter"]
        for (method, tool, outcome), count in counts:
            labels = f'method="{method}",tool="{tool}",outcome="{outcome}"'
            rows.append(f"sutler_requests_total{{{labels}}} {count}")
        rows.append("# TYPE sutler_request_seconds histogram")
        below = 0
        for number, bound in enumerate(BOUNDS):
            below += buckets.get(number, 0)
            rows.append(f'sutler_request_seconds_bucket{{le="{bound}"}} {below}')
        rows += [
            f'sutler_request_seconds_bucket{{le="+Inf"}} {total}',
            f"sutler_request_seconds_sum {seconds:.6f}",
            f"sutler_request_seconds_count {total}",
            "# TYPE sutler_requests_running gauge",
            f"sutler_requests_running {running}",
            "# TYPE process_start_time_seconds gauge",
            f"process_start_time_seconds {started:.3f}",
        ]
        return "\n".join(rows) + "\n"
