"""What a server has done: counters for Prometheus, and a line of JSON for each request."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable

import msgspec
from msgspec import Struct

from sutler.store.records import stamp

BOUNDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0)
"""Upper bounds of the histogram's buckets, in seconds."""


class Served(Struct, frozen=True, omit_defaults=True):
    """One request that was answered. `outcome` is ok, failed, error or cancelled."""

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
        self._buckets: Counter[float] = Counter()
        self._seconds = 0.0
        self._started = time.time()

    def add(self, served: Served) -> None:
        seconds = served.milliseconds / 1_000
        with self._lock:
            self._counts[served.method, served.tool, served.outcome] += 1
            self._seconds += seconds
            for bound in BOUNDS:
                self._buckets[bound] += seconds <= bound
        if self._log is not None:
            self._log(msgspec.json.encode(served).decode())

    def text(self, running: int) -> str:
        """The Prometheus text format."""
        with self._lock:
            counts, buckets = sorted(self._counts.items()), dict(self._buckets)
            seconds, started = self._seconds, self._started
        total = sum(count for _, count in counts)
        rows = ["# TYPE sutler_requests_total counter"]
        for (method, tool, outcome), count in counts:
            labels = f'method="{method}",tool="{tool}",outcome="{outcome}"'
            rows.append(f"sutler_requests_total{{{labels}}} {count}")
        rows.append("# TYPE sutler_request_seconds histogram")
        for bound in BOUNDS:
            rows.append(f'sutler_request_seconds_bucket{{le="{bound}"}} {buckets.get(bound, 0)}')
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


def now() -> str:
    return stamp(time.time())
