"""HTTP for agents: one POST, one answer, no state between them.

h11 parses and frames; the socket, the limits and the checks are here, because each byte before the
check of the token must be bounded: heads, bodies, waiting, connections. The order of checks: Host
and Origin exactly, the token, the method, sizes. Only then is a body parsed."""

from __future__ import annotations

import hmac
import secrets
import socket
import threading
from collections import OrderedDict
from hashlib import sha256
from typing import NamedTuple, Protocol

import h11
from msgspec import Struct

from sutler.fronts.mcp import wire
from sutler.fronts.mcp.exchange import Exchange, Peer
from sutler.fronts.mcp.headers import Head, Refusal, routed
from sutler.fronts.mcp.http_connection import Events, Talk
from sutler.fronts.mcp.server import Server
from sutler.paths import json_bytes
from sutler.store.records import BackendProfile, Caller
from sutler.tools import Opener

PATH = "/mcp"
HEALTH = "/healthz"
METRICS = "/metrics"
# Each has a thread; more would let clients without a token exhaust the machine.
CONNECTIONS = 128
_DOORS = 256  # each initialize opens one, and clients disconnect without notice
_STATUS = {
    wire.PARSE: 400,
    wire.INVALID: 400,
    wire.BAD_PARAMS: 400,
    wire.HEADER_MISMATCH: 400,
    wire.UNSUPPORTED_VERSION: 400,
    wire.NO_METHOD: 404,
}


class Site(Struct, frozen=True):
    """Address of the server, and the Host and Origin that it accepts. `proxies` are addresses whose
    `X-Forwarded-Host` counts as the Host."""

    host: str
    port: int
    hosts: tuple[str, ...]
    origins: tuple[str, ...]
    proxies: tuple[str, ...] = ()


class Doors:
    """A door for each session; the session is a label that only this installation can sign."""

    def __init__(
        self,
        door_for: Opener,
        key: bytes,
        token: str,
        profile: BackendProfile,
        person: str = "",
        *,
        reads_only: bool = False,
    ) -> None:
        self._door_for = door_for
        self._key = sha256(key + b"\nsutler http sessions\n" + token.encode()).digest()
        self._owner = sha256(token.encode()).hexdigest()[:12] if token else "open"
        self._profile = profile
        self._person = person
        self._reads_only = reads_only
        self._peers: OrderedDict[str, Peer] = OrderedDict()
        self._lock = threading.Lock()

    def label(self) -> str:
        return self._signed(secrets.token_hex(16))

    def _signed(self, name: str) -> str:
        return f"{name}.{hmac.new(self._key, name.encode(), 'sha256').hexdigest()[:32]}"

    def peer(self, label: str) -> Peer | None:
        """Return the peer of a signed label, or of the token if a client sends no label."""
        name = label.partition(".")[0]
        if label and not hmac.compare_digest(
            self._signed(name).encode(), label.encode("utf-8", "replace")
        ):
            return None
        session = f"http:{self._owner}:{name}" if name else f"http:{self._owner}"
        with self._lock:
            peer = self._peers.get(session)
            if peer is None:
                caller = Caller(
                    f"mcp-http:{self._owner}", session, self._profile, person=self._person
                )
                peer = self._peers[session] = Peer(
                    self._door_for, caller, reads_only=self._reads_only
                )
            self._peers.move_to_end(session)
            while len(self._peers) > _DOORS:
                self._peers.popitem(last=False)
            return peer


_LISTENING = 0.5  # seconds


class Service(NamedTuple):
    """The parts that answer a request: the server of a project, and the doors of its caller."""

    server: Server
    doors: Doors


class Entrance(Protocol):
    """Chooses a service by a request's head."""

    def page(self, head: Head) -> bytes | None:
        """Return a document that needs no token; None if the path names none."""
        ...

    def service(self, head: Head) -> Service:
        """Return the service for this path and token. Raise Refusal."""
        ...

    def metrics(self) -> str: ...


class OneProject:
    """Entrance to one project, with one token or none."""

    def __init__(self, server: Server, doors: Doors, token: str) -> None:
        self._service = Service(server, doors)
        self._token = token

    def page(self, head: Head) -> bytes | None:
        return None

    def service(self, head: Head) -> Service:
        if self._token:
            sent = head.get("authorization").encode("latin-1")
            if not hmac.compare_digest(sent, f"Bearer {self._token}".encode("latin-1")):
                raise Refusal(401, "a bearer token is needed", (("WWW-Authenticate", "Bearer"),))
        if head.path != PATH and (head.path, head.method) != (METRICS, "GET"):
            raise Refusal(404, f"only {PATH} is served")
        return self._service

    def metrics(self) -> str:
        return self._service.server.metrics()


class HttpServer:
    def __init__(self, entrance: Entrance, site: Site, listener: socket.socket) -> None:
        self._entrance = entrance
        self._site = site
        self._listener = listener
        self._room = threading.BoundedSemaphore(CONNECTIONS)

    def serve(self) -> None:
        """Accept connections until the listener is closed. The wait for a connection has a timeout,
        because a signal that arrives right before a wait is handled only after it."""
        self._listener.settimeout(_LISTENING)
        while True:
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:  # so that a signal is handled: see above
                continue
            except OSError:  # closed by the thread that ends the server
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
        """Handle one request; return whether another may follow."""
        try:
            head = talk.head()
            if head is None:
                return False
            service = self._admit(talk, head)
        except Refusal as refusal:
            talk.respond(refusal.status, refusal.headers, refusal.text.encode())
            talk.linger()
            return False
        if isinstance(service, bytes):
            talk.respond(200, (), service)
            return False
        self._reply(talk, head, talk.body(), service)
        return talk.next()

    def _admit(self, talk: Talk, head: Head) -> Service | bytes:
        """Return the service, or a document. Raise Refusal unless everything before the body is
        valid."""
        site = self._site
        if talk.peer in site.proxies and head.get("x-forwarded-host"):
            host = head.get("x-forwarded-host")
        else:
            host = head.get("host")
        if host.lower() not in site.hosts:
            raise Refusal(403, "this Host is not served here")
        origin = head.get("origin")
        if origin and origin.lower() not in site.origins:
            raise Refusal(403, "this Origin may not call")
        if head.path == HEALTH and head.method == "GET":
            return b"ok\n"
        page = self._entrance.page(head)
        if page is not None:
            return page
        service = self._entrance.service(head)
        if head.path == METRICS and head.method == "GET":
            return self._entrance.metrics().encode()
        if head.method != "POST":
            raise Refusal(405, "only POST is served", (("Allow", "POST"),))
        if head.get("content-type").partition(";")[0].strip().lower() != "application/json":
            raise Refusal(415, "the body must be application/json")
        if not head.accepts("application/json"):
            raise Refusal(406, "the answer is application/json")
        if head.get("transfer-encoding") or not head.get("content-length"):
            raise Refusal(411, "a Content-Length is needed")
        if int(head.get("content-length")) > wire.MAX_MESSAGE:
            fault = wire.too_large(talk.beginning(wire.EDGE))
            raise Refusal(413, json_bytes(wire.error(fault)).decode())
        return service

    def _reply(self, talk: Talk, head: Head, body: bytes, service: Service) -> None:
        try:
            message = wire.parse(body)
            new = routed(head, message)
        except wire.Fault as fault:
            talk.respond(_STATUS.get(fault.code, 400), (), json_bytes(wire.error(fault)))
            return
        label = "" if new else head.get("mcp-session-id")
        if message.method == "initialize":
            label = service.doors.label()
        peer = service.doors.peer(label)
        if peer is None:
            talk.respond(404, (), b"no such session")
            return
        if not message.method or message.id is None:
            _take(service.server, message, peer)
            talk.respond(202, (), b"")
            return
        events = Events(talk) if head.accepts("text/event-stream") else None
        exchange = Exchange(events.send if events else None, talk.gone)
        status, reply = _answered(service.server, message, peer, exchange, new)
        headers = (("Mcp-Session-Id", label),) if message.method == "initialize" else ()
        # The protocol forbids an answer to a cancelled request; clients accept 202 as none.
        cancelled = exchange.cancelled.is_set()
        if events is not None and events.started:
            events.end(None if cancelled else reply)
        elif cancelled:
            talk.respond(202, (), b"")
        else:
            talk.respond(status, headers, json_bytes(reply))


def _take(server: Server, message: wire.Message, peer: Peer) -> None:
    """Act on a response or a notification."""
    if not message.method:
        peer.take(message)
    elif message.method == "notifications/cancelled":
        server.cancel(peer, message.params.get("requestId"))


def _answered(
    server: Server, message: wire.Message, peer: Peer, exchange: Exchange, new: bool
) -> tuple[int, dict[str, object]]:
    try:
        return 200, wire.result(message.id, server.answer(message, peer, exchange))
    except wire.Fault as fault:
        return _STATUS.get(fault.code, 200) if new else 200, wire.error(fault, message.id)
