"""stdio: one message a line. stdout is the protocol's alone: whatever else prints, prints to
stderr.

Calls are answered one after the other by the thread that reads, so that a cancelled write is either
whole or was never begun. While a call reports progress or waits for a person, what arrives is read
and kept: a cancellation is heeded at once, everything else afterwards.
"""

from __future__ import annotations

import os
import select
from collections import deque
from typing import Any

from sutler.fronts.mcp.approvals import question, verdict
from sutler.fronts.mcp.server import CancelledError, Peer, Server
from sutler.fronts.mcp.wire import (
    MAX_MESSAGE,
    Fault,
    Id,
    Message,
    encode,
    error,
    parse,
    result,
    too_large,
)
from sutler.store.records import Approval

_CHUNK = 1 << 16
_WAITING = 1_000
"""Messages that are kept while a call waits; more than that is a flood, and the reader stops
reading.
"""


class Lines:
    """Lines from a descriptor. One that is too long is thrown away while it comes in, and reported
    once.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._rest = bytearray()
        self._ready: deque[bytes | Fault] = deque()
        self._skipping = False
        self.ended = False

    def next(self) -> bytes | Fault | None:
        """The next line, waiting for it; None at the end."""
        while not self._ready and not self.ended:
            self._fill()
        return self._ready.popleft() if self._ready else None

    def waiting(self) -> bool:
        """Whether something is there to be read without waiting."""
        return bool(self._ready) or bool(select.select([self._fd], [], [], 0)[0])

    def _fill(self) -> None:
        chunk = os.read(self._fd, _CHUNK)
        if not chunk:
            self.ended = True
            if self._rest.strip() and not self._skipping:
                self._ready.append(bytes(self._rest))
            return
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._line(chunk[start:end])
            start = end + 1
        self._rest += chunk[start:]
        if len(self._rest) > MAX_MESSAGE:
            self._rest.clear()
            self._skipping = True

    def _line(self, tail: bytes) -> None:
        if self._skipping or len(self._rest) + len(tail) > MAX_MESSAGE:
            self._ready.append(too_large())
        else:
            line = bytes(self._rest) + tail if self._rest else tail
            if line.strip():
                self._ready.append(line)
        self._rest.clear()
        self._skipping = False


class Stdio:
    def __init__(self, server: Server, incoming: int, outgoing: int) -> None:
        self._server = server
        self._lines = Lines(incoming)
        self._out = outgoing
        self._kept: deque[bytes | Fault | Message] = deque()
        self._current: Id | None = None
        self._asked = 0
        self._cancelled = False
        self._stopped = False

    def stop(self, *_: object) -> None:
        """End after the call that is being answered; at once when there is none."""
        self._stopped = True
        if self._current is None:
            raise SystemExit(0)

    def serve(self, peer: Peer) -> None:
        """Answer until the client closes its end."""
        while not self._stopped:
            line = self._kept.popleft() if self._kept else self._lines.next()
            if line is None:
                return
            try:
                message = self._message(line)
            except Fault as fault:
                self._send(error(fault))
                continue
            if message.method and message.id is not None:
                self._answer(message, peer)

    def _message(self, line: bytes | Fault | Message) -> Message:
        if isinstance(line, Fault):
            raise line
        return line if isinstance(line, Message) else parse(line)

    def _answer(self, message: Message, peer: Peer) -> None:
        self._current, self._cancelled = message.id, False
        try:
            reply = result(message.id, self._server.answer(message, peer, self._notify))
        except Fault as fault:
            reply = error(fault, message.id)
        self._current = None
        if not self._cancelled:  # the protocol wants no answer to what was cancelled
            self._send(reply)

    def _notify(self, method: str, params: dict[str, object]) -> None:
        while len(self._kept) < _WAITING and self._lines.waiting() and not self._lines.ended:
            if self._keep() is None:
                break
        if self._cancelled:
            raise CancelledError
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _keep(self, wanted: Id | None = None) -> Message | None:
        """Read one message; it is the wanted response, or a cancellation, or kept for later."""
        line = self._lines.next()
        if line is None:
            return None
        try:
            message = self._message(line)
        except Fault as fault:
            self._send(error(fault))
            return Message({})
        if (
            message.method == "notifications/cancelled"
            and message.params.get("requestId") == self._current
        ):
            self._cancelled = True
        if not message.method and message.id == wanted and wanted is not None:
            return message
        if message.method and message.id is not None:
            self._kept.append(message)
        return Message({})

    def ask(self, approval: Approval) -> bool | None:
        """Put the question to the person in front of the client, in the middle of a call."""
        self._asked += 1
        id = f"sutler-{self._asked}"
        self._send(
            {
                "jsonrpc": "2.0",
                "id": id,
                "method": "elicitation/create",
                "params": question(approval),
            }
        )
        while len(self._kept) < _WAITING:
            message = self._keep(id)
            if message is None or self._cancelled:
                return None
            if message.id == id and not message.method:
                return verdict(message.body.get("result"))
        return None

    def _send(self, message: dict[str, Any]) -> None:
        data = encode(message) + b"\n"
        while data:
            data = data[os.write(self._out, data) :]
