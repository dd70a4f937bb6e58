"""The same plain client for every server: one stdio process, one request at a time."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from typing import IO, Any

import msgspec
from msgspec import Struct

Arguments = Callable[[int], dict[str, Any]]


class Speed(Struct, frozen=True):
    per_second: float
    p50: float
    p99: float


def speed_of(times: list[float], whole: float) -> Speed:
    count, ordered = len(times), sorted(times)
    return Speed(count / whole, ordered[count // 2] * 1e3, ordered[int(count * 0.99)] * 1e3)


class Server:
    def __init__(self, words: list[str], env: dict[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in: IO[bytes] = self._process.stdin
        self._out: IO[bytes] = self._process.stdout
        self._id = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self._in.write(msgspec.json.encode(message) + b"\n")
        self._in.flush()
        while True:
            found = msgspec.json.decode(self._out.readline())
            if found.get("id") == self._id:
                return dict(found)

    def hello(self) -> None:
        info = {"name": "bench", "version": "1"}
        self.ask(
            "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        )
        self._in.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self._in.flush()

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        found = self.ask("tools/call", {"name": name, "arguments": arguments})
        assert "result" in found, found
        assert not found["result"].get("isError"), found
        return dict(found["result"])

    def speed(
        self, name: str, arguments: Arguments, count: int, *, warm_up: int | None = None
    ) -> Speed:
        """Calls one after the other, after a tenth of them to warm up."""
        for n in range(count // 10 if warm_up is None else warm_up):
            self.call(name, arguments(n))
        times = []
        began = time.perf_counter()
        for n in range(count):
            start = time.perf_counter()
            self.call(name, arguments(n))
            times.append(time.perf_counter() - start)
        return speed_of(times, time.perf_counter() - began)

    def close(self) -> None:
        self._in.close()
        self._process.wait(30)
        self._out.close()
