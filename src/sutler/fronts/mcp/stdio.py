"""stdio: one message a line. Only the protocol writes to stdout; all other output goes to stderr.

The reader thread answers calls in their order, so that a cancelled write either completes or never
begins. Slow calls are answered beside it, each in a thread that waits for a child process. While a
person is asked, the reader handles everything but writes."""

from __future__ import annotations

import os
import queue
import threading
from collections import deque
from functools import partial
from typing import Any

from sutler.fronts.mcp import wire
from sutler.fronts.mcp.exchange import Exchange, Peer
from sutler.fronts.mcp.server import Server
from sutler.paths import json_bytes

_CHUNK = 1 << 16
_WAITING = 1_000
"""Limit of queued writes while a person is asked; more is a flood, and ends the question."""
_SLOW = 32
"""Limit of slow calls that wait or run at once."""


class Lines:
    """Lines from a descriptor. One that is too long is discarded as it arrives, and reported
    once."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = bytearray()
        self._ready: deque[bytes | wire.Fault] = deque()
        self._skipped = b"", b""  # head and tail of a line that is too long; empty for none
        self.ended = False

    def next(self) -> bytes | wire.Fault | None:
        """Wait for the next line and return it; None at the end."""
        while not self._ready and not self.ended:
            self._fill()
        return self._ready.popleft() if self._ready else None

    def _fill(self) -> None:
        chunk = os.read(self._fd, _CHUNK)
        if not chunk:
            self.ended = True
            if self._rest.strip() and not self._skipped[0]:
                self._ready.append(bytes(self._rest))
            return
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._line(chunk[start:end])
            start = end + 1
        self._rest += chunk[start:]
        if self._skipped[0] or len(self._rest) > wire.MAX_MESSAGE:
            self._skip(bytes(self._rest[: wire.EDGE]))

    def _skip(self, head: bytes) -> None:
        """Discard all of a long line but its edges."""
        head, tail = self._skipped[0] or head, self._skipped[1] + bytes(self._rest[-wire.EDGE :])
        self._skipped = head, tail[-wire.EDGE :]
        self._rest.clear()

    def _line(self, tail: bytes) -> None:
        self._rest += tail
        if self._skipped[0] or len(self._rest) > wire.MAX_MESSAGE:
            self._skip(bytes(self._rest[: wire.EDGE]))
            self._ready.append(wire.too_large(*self._skipped))
            self._skipped = b"", b""
        elif self._rest.strip():
            self._ready.append(bytes(self._rest))
        self._rest.clear()


class Stdio:
    def __init__(self, server: Server, incoming: int, outgoing: int) -> None:
        self._server = server
        self._lines = Lines(incoming)
        self._out = outgoing
        self._sending = threading.Lock()
        self._delayed: deque[wire.Message] = deque()
        self._slow: set[threading.Thread] = set()
        self._busy = self._asking = self._stopped = False

    def stop(self, *_: object) -> None:
        """End after the current call, or at once without one."""
        self._stopped = True
        if not self._busy:
            raise SystemExit(0)

    def serve(self, peer: Peer) -> None:
        """Answer until the client closes its end; requests from before that are answered."""
        while not self._stopped:
            if self._delayed:
                self._answer(self._delayed.popleft(), peer)
            elif (line := self._lines.next()) is not None:
                self._take(line, peer)
            else:
                break
        for thread in () if self._stopped else tuple(self._slow):
            thread.join()

    def _take(self, line: bytes | wire.Fault, peer: Peer) -> None:
        """Handle one line. While a person is asked, writes are queued."""
        try:
            if isinstance(line, wire.Fault):
                raise line
            message = wire.parse(line)
        except wire.Fault as fault:
            self._send(wire.error(fault))
            return
        if message.method == "notifications/cancelled":
            self._server.cancel(peer, message.params.get("requestId"))
        elif not message.method:
            peer.take(message)
        elif message.id is None:
            return
        elif self._server.slow(message):
            self._answer_beside(message, peer)
        elif self._asking and self._server.writes(message):
            self._delayed.append(message)
        else:
            self._answer(message, peer)

    def _answer(self, message: wire.Message, peer: Peer) -> None:
        nested, self._busy = self._busy, True
        exchange = Exchange(self._send)
        if not nested:  # a second question waits until the first is settled
            exchange.wait = partial(self._answers_until, peer, exchange)
        try:
            self._reply(message, peer, exchange)
        finally:
            self._busy = nested

    def _answer_beside(self, message: wire.Message, peer: Peer) -> None:
        """Answer a slow call in a thread of its own, which waits for a child process."""
        if len(self._slow) >= _SLOW:
            self._send(
                wire.error(wire.Fault(wire.INTERNAL, "too many slow calls at once"), message.id)
            )
            return
        exchange = Exchange(self._send)
        self._server.expect(message, peer, exchange)

        def answer() -> None:
            try:
                self._reply(message, peer, exchange)
            finally:
                self._slow.discard(threading.current_thread())

        # A daemon thread ends with the server, whatever its child does.
        thread = threading.Thread(target=answer, daemon=True)
        self._slow.add(thread)
        thread.start()

    def _reply(self, message: wire.Message, peer: Peer, exchange: Exchange) -> None:
        try:
            reply = wire.result(message.id, self._server.answer(message, peer, exchange))
        except wire.Fault as fault:
            reply = wire.error(fault, message.id)
        if not exchange.cancelled.is_set():  # the protocol forbids an answer to a cancelled request
            self._send(reply)

    def _answers_until(
        self, peer: Peer, exchange: Exchange, box: queue.SimpleQueue[object]
    ) -> object:
        """Serve the client until it delivers what `box` waits for, or cancels the call."""
        self._asking = True
        try:
            while box.empty() and not exchange.over() and len(self._delayed) < _WAITING:
                line = self._lines.next()
                if line is None:
                    return None
                self._take(line, peer)
        finally:
            self._asking = False
        return None if box.empty() else box.get()

    def _send(self, message: dict[str, Any]) -> None:
        data = json_bytes(message) + b"\n"
        with self._sending:
            while data:
                data = data[os.write(self._out, data) :]
