"""HTTP for agents: one POST, one answer, no state between them.

h11 parses and frames; the socket, the limits and the checks are here, because each byte that
arrives before the token is checked must be bounded: heads, bodies, waiting, connections. Checked in
this order: Host and Origin exactly, the token, the method, sizes. Only then is a body parsed.
"""

from __future__ import annotations

import hmac
import re
import secrets
import select
import socket
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from http import HTTPStatus

import h11
from msgspec import Struct

from sutler.fronts.mcp.exchange import Exchange, Peer
from sutler.fronts.mcp.headers import Head, Refusal, head_of, routed
from sutler.fronts.mcp.server import Server
from sutler.fronts.mcp.wire import (
    BAD_PARAMS,
    HEADER_MISMATCH,
    INVALID,
    MAX_MESSAGE,
    NO_METHOD,
    PARSE,
    UNSUPPORTED_VERSION,
    Fault,
    Message,
    encode,
    error,
    parse,
    result,
)  # fmt: skip
from sutler.store.records import BackendProfile, Caller
from sutler.tools import Opener

PATH = "/mcp"
HEALTH = "/healthz"
METRICS = "/metrics"
MAX_HEAD = 32 << 10
SECONDS = 30.0
IDLE = 120.0
LINGER = 2.0
CONNECTIONS = 128
_DOORS = 256
_STATUS = {
    PARSE: 400,
    INVALID: 400,
    BAD_PARAMS: 400,
    HEADER_MISMATCH: 400,
    UNSUPPORTED_VERSION: 400,
    NO_METHOD: 404,
}
_EVENTS = (("Content-Type", "text/event-stream"), ("Cache-Control", "no-store"))
_LOOSE = re.compile(rb"(?<!\r)\n|\n[ \t]")
"""A bare line feed or a folded header: h11 allows both, and proxies read them in different ways."""


class Site(Struct, frozen=True):
    """Where the server stands and whom it lets in. An empty token means that none is asked for."""

    host: str
    port: int
    token: str
    hosts: tuple[str, ...]
    origins: tuple[str, ...]


class Doors:
    """A door for each session that comes by; the session is a label that only this installation can
    sign.
    """

    def __init__(self, door_for: Opener, key: bytes, site: Site, profile: BackendProfile) -> None:
        self._door_for = door_for
        self._key = sha256(key + b"\nsutler http sessions\n" + site.token.encode()).digest()
        self._owner = sha256(site.token.encode()).hexdigest()[:12] if site.token else "open"
        self._profile = profile
        self._peers: OrderedDict[str, Peer] = OrderedDict()
        self._lock = threading.Lock()

    def label(self) -> str:
        return self._signed(secrets.token_hex(16))

    def _signed(self, name: str) -> str:
        return f"{name}.{hmac.new(self._key, name.encode(), 'sha256').hexdigest()[:32]}"

    def peer(self, label: str) -> Peer | None:
        """The peer of a signed label, or of the token where a client sends none."""
        name = label.partition(".")[0]
        if label and not hmac.compare_digest(
            self._signed(name).encode(), label.encode("utf-8", "replace")
        ):
            return None
        session = f"http:{self._owner}:{name}" if name else f"http:{self._owner}"
        with self._lock:
            found = self._peers.get(session)
            if found is None:
                caller = Caller(f"mcp-http:{self._owner}", session, self._profile)
                found = self._peers[session] = Peer(self._door_for, caller)
            self._peers.move_to_end(session)
            while len(self._peers) > _DOORS:
                self._peers.popitem(last=False)
            return found


_LISTENING = 0.5  # seconds


class HttpServer:
    def __init__(self, server: Server, doors: Doors, site: Site, listener: socket.socket) -> None:
        self._server = server
        self._doors = doors
        self._site = site
        self._listener = listener
        self._room = threading.BoundedSemaphore(CONNECTIONS)

    def serve(self) -> None:
        """Accept until the listener is closed. Now and then without a client: a signal that comes
        right before the wait for one is heard after it, and would else be heard never.
        """
        self._listener.settimeout(_LISTENING)
        while True:
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            if not self._room.acquire(blocking=False):
                connection.close()
                continue
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            talk = Talk(connection)
            while self._exchange(talk):
                pass
        except (OSError, h11.RemoteProtocolError):
            pass  # the client closed the connection, was too slow, or broke off a body
        finally:
            connection.close()
            self._room.release()

    def _exchange(self, talk: Talk) -> bool:
        """One request and its answer; whether another may follow."""
        try:
            head = talk.head()
            if head is None:
                return False
            self._admit(head)
        except Refusal as refusal:
            talk.respond(refusal.status, refusal.headers, refusal.text.encode())
            talk.linger()
            return False
        if head.path in (HEALTH, METRICS):
            talk.respond(
                200, (), b"ok\n" if head.path == HEALTH else self._server.metrics().encode()
            )
            return False
        self._reply(talk, head, talk.body())
        return talk.next()

    def _admit(self, head: Head) -> None:
        """Raise Refusal unless all that precedes the body is in order."""
        site = self._site
        if head.get("host").lower() not in site.hosts:
            raise Refusal(403, "this Host is not served here")
        origin = head.get("origin")
        if origin and origin.lower() not in site.origins:
            raise Refusal(403, "this Origin may not call")
        if head.path == HEALTH and head.method == "GET":
            return
        if site.token:
            given = head.get("authorization")
            if not hmac.compare_digest(
                given.encode("latin-1"), f"Bearer {site.token}".encode("latin-1")
            ):
                raise Refusal(401, "a bearer token is needed", (("WWW-Authenticate", "Bearer"),))
        if head.path == METRICS and head.method == "GET":
            return
        if head.path != PATH:
            raise Refusal(404, f"only {PATH} is served")
        if head.method != "POST":
            raise Refusal(405, "only POST is served", (("Allow", "POST"),))
        if head.get("content-type").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "the body must be application/json")
        if not head.accepts("application/json"):
            raise Refusal(406, "the answer is application/json")
        if head.get("transfer-encoding") or not head.get("content-length"):
            raise Refusal(411, "a Content-Length is needed")
        if int(head.get("content-length")) > MAX_MESSAGE:
            raise Refusal(413, f"a body has at most {MAX_MESSAGE:,} bytes")

    def _reply(self, talk: Talk, head: Head, body: bytes) -> None:
        try:
            message = parse(body)
            new = routed(head, message)
        except Fault as fault:
            talk.respond(_STATUS.get(fault.code, 400), (), encode(error(fault)))
            return
        label = "" if new else head.get("mcp-session-id")
        if message.method == "initialize":
            label = self._doors.label()
        peer = self._doors.peer(label)
        if peer is None:
            talk.respond(404, (), b"no such session")
            return
        if not message.method or message.id is None:
            self._take(message, peer)
            talk.respond(202, (), b"")
            return
        events = Events(talk) if head.accepts("text/event-stream") else None
        exchange = Exchange(events.send if events else None, talk.gone)
        status, reply = self._answered(message, peer, exchange, new)
        headers = (("Mcp-Session-Id", label),) if message.method == "initialize" else ()
        # The protocol wants no answer to what was cancelled; clients take 202 for none.
        cancelled = exchange.cancelled.is_set()
        if events is not None and events.started:
            events.end(None if cancelled else reply)
        elif cancelled:
            talk.respond(202, (), b"")
        else:
            talk.respond(status, headers, encode(reply))

    def _take(self, message: Message, peer: Peer) -> None:
        """Act on a response or a notification."""
        if not message.method:
            peer.take(message)
        elif message.method == "notifications/cancelled":
            self._server.cancel(peer, message.params.get("requestId"))

    def _answered(
        self, message: Message, peer: Peer, exchange: Exchange, new: bool
    ) -> tuple[int, dict[str, object]]:
        try:
            return 200, result(message.id, self._server.answer(message, peer, exchange))
        except Fault as fault:
            return _STATUS.get(fault.code, 200) if new else 200, error(fault, message.id)


class Talk:
    """One connection: a deadline for the whole of a head, of a body and of each write."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD)
        self._bodiless = False

    def head(self) -> Head | None:
        """The next request's head; None if the client ends or waits too long. Raises Refusal."""
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

    def next(self) -> bool:
        """Make ready for another request on this connection, if the client keeps it open."""
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            return False
        self._http.start_next_cycle()
        return True

    def _receive(self, until: float) -> bytes:
        """Pass the next bytes to the parser; none are left when the client ends or time is over."""
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
        """Whether the client has closed its end; then no answer is read."""
        if not select.select([self._connection], [], [], 0)[0]:
            return False
        try:
            return not self._connection.recv(1, socket.MSG_PEEK)
        except OSError:
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
    without one it never begins.
    """

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
    return h11.Data(data=b"event: message\ndata: " + encode(message) + b"\n\n")


def _response(status: int, fields: tuple[tuple[str, str], ...]) -> h11.Response:
    reason = HTTPStatus(status).phrase.encode("ascii")
    return h11.Response(status_code=status, headers=list(fields), reason=reason)


Listen = Callable[[str, int], socket.socket]


def listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    listener.listen(128)
    return listener
