"""One server for both eras: a request in, a result out; the transports carry them.

The older era (up to 2025-11-25) begins with `initialize` and remembers the client's abilities. In
the newer one (2026-07-28) every request declares them, and a question to the person is a result
that the client answers by repeating the request. The request alone decides its era."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from sutler import system
from sutler.access import grants
from sutler.access.audit import Ledger
from sutler.access.door import Door
from sutler.access.gate import Origin, origin
from sutler.access.grants import DECLINED, DO_NOT_RETRY
from sutler.access.setup import Progress
from sutler.errors import SutlerError, UsageError
from sutler.fronts import bug_report
from sutler.fronts.mcp import child, resources
from sutler.fronts.mcp.approvals import Sealed, can_ask, question, verdict
from sutler.fronts.mcp.background import EXTENSION, Tasks, has_tasks
from sutler.fronts.mcp.child import CancelledError
from sutler.fronts.mcp.exchange import Exchange, Metrics, Peer, Served, current
from sutler.fronts.mcp.instructions import INSTRUCTIONS
from sutler.fronts.mcp.wire import (
    BAD_PARAMS,
    INTERNAL,
    NO_METHOD,
    UNSUPPORTED_VERSION,
    Fault,
    Id,
    Message,
    client_of,
    trace_of,
)
from sutler.store.records import stamp
from sutler.tools import ALIASES, BY_NAME, Tool
from sutler.tools.declaration import Failure, Trouble, as_object, failure, refused, run, text_of
from sutler.tools.spelling import definition
from sutler.version import VERSION

OLD = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEW = ("2026-07-28",)
META = "io.modelcontextprotocol/"
_INFO = {"name": "sutler", "title": "sutler", "version": VERSION}
_HOUR = 3_600_000  # the tools change with the program alone
_GRACE = 10.0  # seconds for which an ending server waits for calls that have begun
ENGINES = 4
"""Limit of slow calls at once; each of them is a process."""

T = TypeVar("T")
Method = Callable[[Message, Peer], dict[str, object]]


class Server:
    def __init__(
        self,
        ledger: Ledger,
        listed: tuple[Tool, ...],
        served: tuple[Tool, ...],
        metrics: Metrics | None = None,
    ) -> None:
        self._key = ledger.key
        self._metrics = metrics or Metrics()
        self._served = {name for tool in served for name in (tool.name, *tool.aliases)}
        self._tools = [definition(tool) for tool in listed]
        self._lists = self._tools, [definition(tool) for tool in listed if tool.effect != "write"]
        self._lock = threading.Lock()
        self._engines = threading.BoundedSemaphore(ENGINES)
        self._underway: dict[tuple[str, Id | None], Exchange] = {}
        self._running: set[Exchange] = set()
        self._ending = False
        self._tasks = Tasks()
        self._methods: dict[str, Method] = {
            "tools/list": lambda _, peer: {"tools": self._lists[peer.reads_only]},
            "tools/call": self._call,
            "resources/list": lambda _, peer: {"resources": resources.listed(peer.door)},
            "resources/templates/list": lambda *_: {"resourceTemplates": resources.TEMPLATES},
            "resources/read": lambda message, peer: {
                "contents": resources.read(peer.door, _text(message, "uri"))
            },
            "prompts/list": lambda *_: {"prompts": resources.prompts()},
            "prompts/get": lambda message, _: resources.prompt(
                _text(message, "name"), message.params
            ),
            "tasks/get": lambda message, peer: self._tasks.get(message, peer.session),
            "tasks/update": lambda message, peer: self._tasks.update(message, peer.session),
            "tasks/cancel": lambda message, peer: self._tasks.cancel(message, peer.session),
        }
        self._countable = {*self._methods, "initialize", "ping", "server/discover"}

    def slow(self, message: Message) -> bool:
        """Return whether a request may take seconds, so that a transport answers it beside
        others."""
        tool = _tool_of(message)
        return tool is not None and tool.slow

    def writes(self, message: Message) -> bool:
        tool = _tool_of(message)
        return tool is not None and tool.effect == "write"

    def cancel(self, peer: Peer, id: object) -> None:
        """Withdraw a request: one that has not begun never begins; a slow one or one that waits for
        a person ends; any other is completed."""
        if isinstance(id, str | int):
            exchange = self._underway.get((peer.session, id))
            if exchange is not None:
                exchange.cancelled.set()

    def expect(self, message: Message, peer: Peer, exchange: Exchange) -> None:
        """Register a request, so that it can be cancelled before it is answered."""
        self._underway[peer.session, message.id] = exchange

    def answer(self, message: Message, peer: Peer, exchange: Exchange) -> dict[str, object]:
        """Return the result of a request, or raise a Fault."""
        self.expect(message, peer, exchange)
        exchange.interruptible = self.slow(message)
        self._running.add(exchange)
        here = self._origin(message, peer)
        tokens = current.set(exchange), origin.set(here)
        begun, outcome = time.perf_counter(), "error"
        try:
            answered = self._answered(message, peer, exchange)
            outcome = "failed" if answered.get("isError") else "ok"
            return answered
        finally:
            current.reset(tokens[0])
            origin.reset(tokens[1])
            self._underway.pop((peer.session, message.id), None)
            self._running.discard(exchange)
            tool = _tool_of(message)
            self._metrics.add(
                Served(
                    at=stamp(time.time()),
                    method=message.method if message.method in self._countable else "other",
                    outcome="cancelled" if exchange.cancelled.is_set() else outcome,
                    milliseconds=round((time.perf_counter() - begun) * 1_000, 3),
                    tool=tool.name if tool else "",
                    session=peer.session,
                    client=here.client,
                    trace=here.trace,
                )
            )

    def metrics(self) -> str:
        return self._metrics.text(len(self._running))

    def _origin(self, message: Message, peer: Peer) -> Origin:
        """Return the client's own name, from this request or the handshake, and its trace."""
        if message.method == "initialize":
            peer.client = client_of(message.params.get("clientInfo"))
        client = client_of(message.meta.get(f"{META}clientInfo")) or peer.client
        return Origin(client, trace_of(message.meta.get("traceparent")))

    def _answered(self, message: Message, peer: Peer, exchange: Exchange) -> dict[str, object]:
        new = f"{META}protocolVersion" in message.meta
        if new:
            self._check(message)
        exchange.begin(message)
        exchange.asking = peer.shows_forms and not new
        exchange.turn = self._lock
        peer.door.aside = self._aside
        try:
            with self._lock:  # one call at a time: a store has one writer, and so has a door
                exchange.check()
                if self._ending:
                    raise Fault(INTERNAL, "the server is ending")
                if not new:
                    return self._old(message, peer)
                body = self._new(message, peer)
        except SutlerError as error:
            raise Fault(
                BAD_PARAMS, str(error), {"rule": error.rule, "next": error.next_step}
            ) from None
        except Fault:
            raise
        except Exception as fault:  # a failing call must neither end the server nor reveal the host
            raise _internal(message, fault) from fault
        body.setdefault("resultType", "complete")
        body["_meta"] = {f"{META}serverInfo": _INFO}
        return body

    def finish(self) -> None:
        """Wait for the calls that have begun, and answer no others. Slow calls and those that wait
        for a person are cancelled."""
        self._ending = True
        until = time.monotonic() + _GRACE
        while self._running and time.monotonic() < until:
            for exchange in tuple(self._running):
                if exchange.interruptible:
                    exchange.cancelled.set()
            time.sleep(child.POLL / 10)
        self._tasks.end()
        for _ in range(ENGINES):
            self._engines.acquire()
        self._lock.acquire()

    def _aside(self, work: Callable[[Progress], T], kind: type[T], *, fork: bool = True) -> T:
        """Run long work while the server answers others: in a child process, which is forked while
        no other call runs; or in this thread, if a fork is unsafe or not worth its time."""
        exchange = current.get() or Exchange()
        if not (fork and "fork" in system.offered):
            with exchange.aside():
                return work(exchange.progress)
        with exchange.aside():
            while not self._engines.acquire(timeout=child.POLL):
                exchange.check()
        try:
            engine = child.Child(work)
            with exchange.aside():
                try:
                    return engine.result(kind, exchange.progress, exchange.check)
                finally:
                    engine.end()
        finally:
            self._engines.release()

    # the older era

    def _old(self, message: Message, peer: Peer) -> dict[str, object]:
        if message.method == "initialize":
            wanted = message.params.get("protocolVersion")
            peer.shows_forms = can_ask(message.params.get("capabilities"))
            version = wanted if wanted in OLD else OLD[-1]
            return {
                "protocolVersion": version,
                "capabilities": _CAPABILITIES,
                "serverInfo": _INFO,
                "instructions": INSTRUCTIONS,
            }
        if message.method == "ping":
            return {}
        return self._method(message)(message, peer)

    # the newer era

    def _check(self, message: Message) -> None:
        version = message.meta[f"{META}protocolVersion"]
        if not isinstance(version, str):
            raise Fault(BAD_PARAMS, "the protocol version is not a string")
        if f"{META}clientCapabilities" not in message.meta:
            raise Fault(BAD_PARAMS, f"params._meta has no {META}clientCapabilities")
        if version not in NEW:
            raise Fault(
                UNSUPPORTED_VERSION,
                "unsupported protocol version",
                {"supported": list(NEW), "requested": version},
            )

    def _new(self, message: Message, peer: Peer) -> dict[str, object]:
        if message.method == "server/discover":
            return {
                "supportedVersions": list(NEW),
                "capabilities": {**_CAPABILITIES, "extensions": {EXTENSION: {}}},
                "instructions": INSTRUCTIONS,
                "ttlMs": _HOUR,
                "cacheScope": "public",
            }
        body = dict(self._method(message)(message, peer))
        if message.method in ("tools/list", "prompts/list", "resources/templates/list"):
            body |= {"ttlMs": _HOUR, "cacheScope": "public"}
        elif message.method.startswith("resources/"):
            body |= {"ttlMs": 0, "cacheScope": "private"}
        return body

    def _method(self, message: Message) -> Method:
        method = self._methods.get(message.method)
        if method is None:
            raise Fault(NO_METHOD, f"no method {message.method[:60]!r}")
        return method

    # calls

    def _call(self, message: Message, peer: Peer) -> dict[str, object]:
        name, sent = _text(message, "name"), message.params.get("arguments")
        arguments = {} if sent is None else sent
        if not isinstance(arguments, dict):
            raise Fault(BAD_PARAMS, "arguments is not an object")
        if name not in self._served or (peer.reads_only and self.writes(message)):
            listed = ", ".join(str(tool["name"]) for tool in self._tools)
            wrong = UsageError(f"no tool {name[:60]!r}; tools: {listed}")
            refused(peer.door, "unknown", wrong)  # for the ledger
            raise Fault(BAD_PARAMS, wrong.what)
        capabilities = message.meta.get(f"{META}clientCapabilities")
        seal = partial(Sealed, self._key, peer.session, name, arguments)
        refusal = (
            self._settled(message, peer, seal()) if "inputResponses" in message.params else None
        )
        if self.slow(message) and has_tasks(capabilities):
            return self._as_task(message, peer, name, arguments)
        answer = refusal or _run_tool(peer.door, name, arguments)
        if (
            isinstance(answer, Failure)
            and answer.pending_approval
            and refusal is None
            and can_ask(capabilities)
        ):
            approval = peer.door.gate.store.approval(answer.pending_approval)
            if approval is not None:
                asked = {"method": "elicitation/create", "params": question(approval)}
                return {
                    "resultType": "input_required",
                    "inputRequests": {"approval": asked},
                    "requestState": seal().state(approval.id),
                }
        return _result_of(answer)

    def _as_task(
        self, message: Message, peer: Peer, name: str, arguments: dict[str, object]
    ) -> dict[str, object]:
        """Run a slow call in a thread, so that its request can be answered before it is done."""

        def work() -> dict[str, object]:
            with self._lock:
                return _result_of(_run_tool(peer.door, name, arguments))

        with (request := current.get() or Exchange()).aside():
            return self._tasks.answer(message, peer.session, request, work)

    def _settled(self, message: Message, peer: Peer, sealed: Sealed) -> Failure | None:
        """Apply the person's answer to the question; a refusal is a result of the call."""
        id = sealed.approval(message.params.get("requestState"))
        if not id:
            what = "this is not an answer to a question of this server"
            return _failure("denied", what, "repeat the call without it")
        answers = message.params.get("inputResponses")
        consent = verdict(answers.get("approval")) if isinstance(answers, dict) else None
        gate, now = peer.door.gate, peer.door.gate.clock()
        by = f"front:{gate.caller.id}"
        # Read before it is settled: a repeated answer must give no second grant.
        asked = gate.store.approval(id)
        settled = None if consent is None else grants.answered(gate.store, id, consent, by)
        if settled is None:
            what = "this member may not approve" if consent else "the person has not answered"
            waits = f"a person can run `sutler approve {id}`; then repeat the very same call"
            return _failure("approval_needed", what, waits, id)
        fresh = asked is not None and asked.state == "pending" and stamp(now) < asked.expires
        if asked and fresh and settled and consent == "session" and grants.grantable(asked):
            grants.give(gate.store, asked, by, now)
        return None if consent else _failure("denied", DECLINED, DO_NOT_RETRY)


def _tool_of(message: Message) -> Tool | None:
    name = message.params.get("name") if message.method == "tools/call" else None
    return BY_NAME.get(ALIASES.get(name, name)) if isinstance(name, str) else None


def _run_tool(door: Door, name: str, arguments: dict[str, object]) -> object:
    """Call a tool; a refusal is a result too, since the model must see it."""
    try:
        return run(door, BY_NAME[ALIASES.get(name, name)], arguments)
    except SutlerError as error:
        return failure(error)


def _result_of(answer: object) -> dict[str, object]:
    """Return an answer as a tool result: text for the model, and the same as structured content."""
    body: dict[str, object] = {
        "content": [{"type": "text", "text": text_of(answer)}],
        "structuredContent": as_object(answer),
    }
    if isinstance(answer, Failure):
        body["isError"] = True
    return body


def _internal(message: Message, fault: Exception) -> Fault:
    """Return the exception's type alone for the client; the bug report is for the operator of the
    server."""
    if not isinstance(fault, CancelledError | OSError | MemoryError):
        bug_report.log(bug_report.explain(["mcp", message.method[:60]], fault))
    next_step = "a bug report was written for the person who runs the server; see its log"
    return Fault(INTERNAL, f"the call failed: {type(fault).__name__}", {"next": next_step})


_CAPABILITIES: dict[str, object] = {"tools": {}, "resources": {}, "prompts": {}}


def _failure(kind: str, what: str, next_step: str, approval: str = "") -> Failure:
    trouble = Trouble(kind, what, "approvals come from a person", next_step)
    return Failure(success=False, error=trouble, pending_approval=approval)


def _text(message: Message, name: str) -> str:
    value = message.params.get(name)
    if not isinstance(value, str):
        raise Fault(BAD_PARAMS, f"params.{name} is not a string")
    return value
