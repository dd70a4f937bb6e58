"""Start and stop of a server: at the end the current calls finish, then the ledger's head is
signed."""

from __future__ import annotations

import gc
import os
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sutler.edits.recovery import recover
from sutler.errors import RefusedError, UsageError
from sutler.fronts import bug_report
from sutler.fronts.mcp.exchange import Metrics, Peer
from sutler.fronts.mcp.http import PATH, Doors, Entrance, HttpServer, OneProject, Site
from sutler.fronts.mcp.http_connection import LOOPBACK, listen
from sutler.fronts.mcp.server import Server
from sutler.fronts.mcp.stdio import Stdio
from sutler.store import home
from sutler.store.records import PROFILES, BackendProfile, Caller
from sutler.system import fs
from sutler.tokens.counter import expect_much
from sutler.tools import ALIASES, BY_NAME, DEFAULT, Tool, open_doors

if TYPE_CHECKING:
    from sutler.fronts.mcp.projects import Team

Note = Callable[[str], None]


class Plan(Struct, frozen=True, kw_only=True):
    """Configuration of a server: its tools and project, the kind of model, and for HTTP the
    address. Without names of tools the standard ones are listed and all of them are answered."""

    root: str
    tools: tuple[str, ...]
    profile: str = "cloud"
    max_tokens: int = 25_000
    strict: bool = False
    writable: tuple[str, ...] = ()
    log_json: bool = False
    host: str = "127.0.0.1"
    port: int = 0
    token_file: str = ""
    tokenless: bool = False
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()

    @property
    def lists(self) -> tuple[tuple[Tool, ...], tuple[Tool, ...]]:
        """The tools that are listed, and those that are answered."""
        return chosen(self.tools or DEFAULT), chosen(self.tools or ("all",))

    @property
    def backend(self) -> BackendProfile:
        profile = PROFILES[self.profile]
        return replace(profile, max_tokens=min(profile.max_tokens, self.max_tokens))


def chosen(names: Sequence[str]) -> tuple[Tool, ...]:
    """Return the tools by name, in the table's order: a list that never changes keeps prompt caches
    valid. `all` stands for every tool."""
    names = tuple(BY_NAME) if "all" in names else [ALIASES.get(name, name) for name in names]
    if unknown := [name for name in names if name not in BY_NAME]:
        raise UsageError(f"no tool {unknown[0][:60]!r}", next_step=f"tools: {', '.join(BY_NAME)}")
    return tuple(tool for tool in BY_NAME.values() if tool.name in names)


def serve_stdio(plan: Plan, streams: tuple[int, int]) -> None:
    incoming, outgoing = streams
    with open_doors(plan.root, strict=plan.strict, writable=plan.writable, ahead=True) as (
        door_for,
        ledger,
    ):
        server = Server(ledger, *plan.lists, _metrics(plan))
        stdio = Stdio(server, incoming, outgoing)
        signal.signal(signal.SIGTERM, stdio.stop)
        session = os.environ.get("SUTLER_SESSION") or f"mcp:{secrets.token_hex(16)}"
        peer = Peer(door_for, Caller(f"mcp-stdio:uid{fs.getuid()}", session, plan.backend))
        recover(peer.door)
        _settle_in()
        try:
            stdio.serve(peer)
        finally:
            server.finish()


def serve_http(plan: Plan, note: Note) -> None:
    token = "" if plan.tokenless else _token(plan, note)
    if plan.host not in LOOPBACK and not token:
        raise RefusedError(
            f"{plan.host} can be reached from other machines",
            rule="without a token only this machine is served",
            next_step="leave --no-token out, or bind to 127.0.0.1",
        )
    with (
        _listening(plan, note) as listener,
        open_doors(plan.root, strict=plan.strict, writable=plan.writable, ahead=True) as (
            door_for,
            ledger,
        ),
    ):
        server = Server(ledger, *plan.lists, _metrics(plan))
        doors = Doors(door_for, ledger.key, token, plan.backend)
        _serve(plan, OneProject(server, doors, token), listener, note, PATH)
        server.finish()


def serve_projects(plan: Plan, team: Team, note: Note) -> None:
    """Serve several projects of a tenant over HTTP, to members with tokens."""
    from sutler.fronts.mcp.projects import open_projects

    opened = open_projects(team, plan.lists, plan.backend, _metrics(plan))
    with _listening(plan, note) as listener, opened as entrance:
        _serve(plan, entrance, listener, note, f"{PATH}/{'|'.join(team.folders)}")


@contextmanager
def _listening(plan: Plan, note: Note) -> Iterator[socket.socket]:
    if plan.host not in LOOPBACK:
        note(
            "this address can be reached from other machines: put TLS in front of it, tokens"
            " travel in clear"
        )
    try:
        listener = listen(plan.host, plan.port)
    except OSError as fault:
        raise UsageError(f"cannot listen on {plan.host}:{plan.port}: {fault.strerror}") from None
    with listener:
        yield listener


def _serve(plan: Plan, entrance: Entrance, listener: socket.socket, note: Note, path: str) -> None:
    """Answer until a signal ends it."""
    site = _site(plan, listener.getsockname()[1])
    signal.signal(signal.SIGTERM, lambda *_: _close(listener))
    signal.signal(signal.SIGINT, lambda *_: _close(listener))
    note(f"serving http://{_bracketed(plan.host)}:{site.port}{path}")
    _settle_in()
    # A thread that returns from the database waits for the interpreter's lock up to this long, and
    # the commit of a whole group waits with it.
    sys.setswitchinterval(0.001)
    bug_report.guard_threads(["mcp", "--http"])
    HttpServer(entrance, site, listener).serve()


def _metrics(plan: Plan) -> Metrics:
    return Metrics(_log_line if plan.log_json else None)


def _log_line(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _settle_in() -> None:
    """Exclude loaded modules from garbage collection, which would scan them in the middle of a
    call. The tokenizer is loaded with the first answer, and not in the middle of a later one."""
    expect_much()
    gc.collect()
    gc.freeze()


def _close(listener: socket.socket) -> None:
    # Not from the handler itself: accept() holds the socket's lock in the very thread that runs the
    # handler.
    threading.Thread(target=listener.shutdown, args=(socket.SHUT_RDWR,), daemon=True).start()


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _site(plan: Plan, port: int) -> Site:
    names = [*(LOOPBACK if plan.host in LOOPBACK else (plan.host,)), *plan.hosts]
    hosts = tuple(
        dict.fromkeys(name if _has_port(name) else f"{_bracketed(name)}:{port}" for name in names)
    )
    own = tuple(f"http://{name}" for name in hosts)
    return Site(
        plan.host,
        port,
        tuple(map(str.lower, hosts)),
        tuple(map(str.lower, (*own, *plan.origins))),
        plan.proxies,
    )


def _has_port(name: str) -> bool:
    return name.rpartition(":")[2].isdecimal() and name.count(":") == 1


def _token(plan: Plan, note: Note) -> str:
    """Return the token of its file, which is created and shown the first time."""
    path = plan.token_file or os.path.join(home.home(os.environ), "mcp.token")
    if not os.path.lexists(path):
        home.private_file(path, secrets.token_urlsafe(32).encode())
        note(f"a token was made and is kept in {path}; it is shown this once:")
        note(_read(path))
    else:
        home.private_file(path)  # readable by its owner only
    return _read(path)


def _read(path: str) -> str:
    fd = fs.open(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC)
    # A letter that is not ASCII becomes a sign that the check below refuses.
    with os.fdopen(fd, encoding="ascii", errors="replace") as file:
        token = file.read(1_000).strip()
    # 22 letters of base64 hold 128 bits.
    if len(token) < 22 or not token.isprintable() or not token.isascii():
        raise UsageError(
            "the token file holds no token of 128 bits",
            next_step="remove it, a new one will be made",
        )
    return token
