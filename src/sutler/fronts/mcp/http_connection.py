"""One HTTP connection: reading heads and bodies within limits, writing answers and events."""

from __future__ import annotations

import re
import select
import socket
import time
from http import HTTPStatus

import h11

from sutler.fronts.mcp.headers import Head, Refusal, head_of
from sutler.fronts.mcp.wire import MAX_MESSAGE
from sutler.paths import json_bytes

MAX_HEAD = 32 << 10  # a head is read before the token is checked
SECONDS = 30.0  # a client that sends a byte a second must not hold a thread
IDLE = 120.0  # agents think for a minute between two calls on one connection
LINGER = 2.0  # a client on this machine or network has sent its body by then
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_EVENTS = (("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"))
_LOOSE = re.compile(rb"(?<!\r)\n|\n[ \t]")
"""A bare line feed or a folded header: h11 allows both, and proxies parse them differently."""


class Talk:
    """One connection, with a deadline for a whole head, for a body and for each write."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        name = connection.getpeername()
        self.peer: str = name[0] if isinstance(name, tuple) else ""
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._bodiless = False

    def head(self) -> Head | None:
        """Return the next request's head; None if the client ends or waits too long. Raise
        Refusal."""
        seen = self._http.trailing_data[0]
        until = time.monotonic() + (SECONDS if seen else IDLE)
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA:
                data = self._receive(until)
                if not data:
                    return None
                if not seen:
                    until = time.monotonic() + SECONDS
                seen += data
        except h11.RemoteProtocolError as error:
            raise Refusal(error.error_status_hint, "not a request that can be read") from None
        if not isinstance(event, h11.Request):
            return None
        self._bodiless = event.method == b"HEAD"
        if _LOOSE.search(seen[: len(seen) - len(self._http.trailing_data[0])]):
            raise Refusal(400, "a header cannot be read")
        return head_of(event)

    def body(self) -> bytes:
        until = time.monotonic() + SECONDS
        if self._http.they_are_waiting_for_100_continue:
            self.send(h11.InformationalResponse(status_code=100, headers=[], reason=b"Continue"))
        parts: list[bytes] = []
        while not isinstance(event := self._http.next_event(), h11.EndOfMessage):
            if isinstance(event, h11.Data):
                parts.append(bytes(event.data))
            elif not self._receive(until):
                raise OSError("the body ended early")
        return b"".join(parts)

    def beginning(self, size: int) -> bytes:
        """Return the first bytes of a body that is not read; empty if the client waits for a
        100-continue or sends nothing for a moment."""
        if self._http.they_are_waiting_for_100_continue:
            return b""
        until, start = time.monotonic() + LINGER, b""
        try:
            while len(start) < size:
                event = self._http.next_event()
                if isinstance(event, h11.Data):
                    start += bytes(event.data)
                elif event is not h11.NEED_DATA or not self._receive(until):
                    break
        except (OSError, h11.RemoteProtocolError):
            pass  # too slow or not a body: then the answer has no id
        return start[:size]

    def next(self) -> bool:
        """Prepare for another request on this connection, if the client keeps it open."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def _receive(self, until: float) -> bytes:
        """Pass the next bytes to the parser; none at the end of the stream or after the
        deadline."""
        left = until - time.monotonic()
        if left <= 0:
            return b""
        self._connection.settimeout(left)
        data = self._connection.recv(1 << 16)
        self._http.receive_data(data)
        return data

    def send(self, *events: h11.Event) -> None:
        data = b"".join(self._http.send(event) or b"" for event in events)
        self._connection.settimeout(SECONDS)
        self._connection.sendall(data)

    def gone(self) -> bool:
        """Return whether the client has closed its end, so that no answer can be read."""
        if not select.select([self._connection], [], [], 0)[0]:
            return False
        try:
            return not self._connection.recv(1, socket.MSG_PEEK)
        except OSError:  # reset: the answer has no reader
            return True

    def linger(self) -> None:
        """Read on for a moment: a client that still sends would lose the answer to a reset."""
        self._connection.shutdown(socket.SHUT_WR)
        until, left = time.monotonic() + LINGER, 2 * MAX_MESSAGE
        while left > 0 and (wait := until - time.monotonic()) > 0:
            self._connection.settimeout(wait)
            data = self._connection.recv(1 << 16)
            if not data:
                return
            left -= len(data)

    def respond(self, status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> None:
        kind = "application/json" if body[:1] == b"{" else "text/plain"
        fields = (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Cache-Control", "no-store"),
            *headers,
        )
        data = () if self._bodiless else (h11.Data(data=body),)
        self.send(_response(status, fields), *data, h11.EndOfMessage())


class Events:
    """An answer as server-sent events: it begins with the first notification or question, and
    without one it never begins."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self.started = False

    def send(self, message: dict[str, object]) -> None:
        if not self.started:
            self.started = True
            self._talk.send(_response(200, _EVENTS))
        self._talk.send(_event(message))

    def end(self, reply: dict[str, object] | None) -> None:
        last = () if reply is None else (_event(reply),)
        self._talk.send(*last, h11.EndOfMessage())


def _event(message: dict[str, object]) -> h11.Data:
    return h11.Data(data=b"event: message\ndata: " + json_bytes(message) + b"\n\n")


def _response(status: int, fields: tuple[tuple[str, str], ...]) -> h11.Response:
    reason = HTTPStatus(status).phrase.encode("ascii")
    return h11.Response(status_code=status, headers=list(fields), reason=reason)


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(128)
    return listener
