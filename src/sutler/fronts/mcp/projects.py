"""One HTTP server for many projects and people over a team's store: `/mcp/PROJECT`.

The server logs in once, with the role `server`, over a pool of connections. Each member has a view
of the store of their own: the database fences every transaction by the member's name. Rows of reads
are committed in groups."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    ExitStack,
    closing,
    contextmanager,
    nullcontext,
)

import msgspec
from msgspec import Struct

from sutler.access.audit import Ledger
from sutler.access.quotas import Quota, Usage, exceeded, parse_quota
from sutler.edits.recovery import recover
from sutler.errors import RefusedError, UsageError
from sutler.fronts.mcp.exchange import Metrics, current
from sutler.fronts.mcp.headers import Head, Refusal
from sutler.fronts.mcp.http import METRICS, PATH, Doors, Service
from sutler.fronts.mcp.issuer import WRITE_SCOPE, Issuer
from sutler.fronts.mcp.people import People, Visitor
from sutler.fronts.mcp.server import Server
from sutler.store import home
from sutler.store.connection import Pool
from sutler.store.group_commit import GroupCommit
from sutler.store.identity import identity_of
from sutler.store.postgres import PostgresDatabase
from sutler.store.records import BackendProfile, Caller, stamp
from sutler.store.sql import Store
from sutler.tools import Opener, Tool, open_doors

CONNECTIONS = 8
"""Connections to PostgreSQL for all projects: with group commit few transactions run at once."""
_MOST_DOORS = 1_024  # members and sessions come and go; an evicted door is opened again
WELL_KNOWN = "/.well-known/oauth-protected-resource"


class Team(Struct, frozen=True):
    """A team's store by its URL, the folders by name of the project, the issuer of tokens, if any,
    and the address that clients use if a proxy stands before the server."""

    url: str
    folders: Mapping[str, str]
    issuer: Issuer | None = None
    public: str = ""


def named_folders(words: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return folders by project, from `NAME=DIR` or `DIR`, which is named by its identity."""
    folders: dict[str, str] = {}
    for word in words:
        name, equals, folder = word.partition("=")
        root = os.path.abspath(folder if equals else word)
        if not os.path.isdir(root):
            raise UsageError(f"{word} names no folder", next_step="give NAME=DIR or DIR")
        plain = {key: value for key, value in environ.items() if key != "SUTLER_PROJECT"}
        name = name if equals else identity_of(root, plain, "").name
        if not name:
            raise UsageError(
                f"{word} has no name", rule="a project has a remote or a name", next_step="NAME=DIR"
            )
        if name in folders:
            raise UsageError(f"two folders are the project {name}", next_step="NAME=DIR")
        folders[name] = root
    if not folders:
        raise UsageError("no project was named", next_step="sutler serve --store URL DIR…")
    return folders


class Quotas:
    """Use of this day by person, and the limits; both from the store."""

    def __init__(self, database: PostgresDatabase, tenant: str) -> None:
        self._limits: dict[str, Quota] = {}
        self._database, self._tenant = database, tenant
        self._used: dict[tuple[str, str], Usage] = {}
        self._day = ""

    def load(self) -> None:
        """Read limits and use again, at the start of the server and of each day."""
        rows = self._database.select("SELECT person, quota FROM sutler_quotas()")
        self._limits = {row[0]: parse_quota(row[1]) for row in rows}
        rows = self._database.select(
            "SELECT person, day, calls, bytes, tokens FROM usage WHERE tenant = ?", (self._tenant,)
        )
        self._used = {(row[0], row[1]): Usage(*row[2:]) for row in rows}

    def add(self, person: str, day: str, calls: int, size: int, tokens: int) -> None:
        """Update the totals from a transaction."""
        self._used[person, day] = Usage(calls, size, tokens)

    def refuse(self, person: str, now: float) -> None:
        """Raise Refusal if the member's or the tenant's quota of today is used up."""
        day = stamp(now)[:10]
        if day != self._day:
            self._day = day
            self.load()
        for name in (person, ""):
            limit = self._limits.get(name)
            rule = exceeded(self._used.get((name, day), Usage()), limit) if limit else ""
            if rule:
                owner = f"of {person}" if name else "of the tenant"
                raise Refusal(
                    429, f"the quota {owner} is used up; {rule}", (("Retry-After", "3600"),)
                )


class Hall:
    """A served project, with its doors by member and token."""

    def __init__(
        self, door_for: Opener, ledger: Ledger, profile: BackendProfile, server: Server
    ) -> None:
        store = ledger.store
        self.name = store.project.rpartition("/")[2]
        self._database = store.database
        self._door_for, self._key = door_for, ledger.key
        self._profile, self._server = profile, server
        self._doors: OrderedDict[tuple[str, str], Doors] = OrderedDict()
        self._lock = threading.Lock()

    def service(self, visitor: Visitor) -> Service | None:
        """Return None if the visitor is not a member of this project."""
        key = visitor.person, visitor.token
        with self._lock:
            doors = self._doors.get(key)
            if doors is None:
                # Later calls are fenced by the database: a member that was removed reads nothing.
                if not self._database.select("SELECT sutler_right_of(?)", (visitor.person,))[0][0]:
                    return None
                secret, reads = f"{visitor.person} {visitor.token}", visitor.scope == "read"
                doors = self._doors[key] = Doors(
                    self._door_for,
                    self._key,
                    secret,
                    self._profile,
                    visitor.person,
                    reads_only=reads,
                )
            self._doors.move_to_end(key)
            while len(self._doors) > _MOST_DOORS:
                self._doors.popitem(last=False)
        return Service(self._server, doors)


class ManyProjects:
    """Entrance to all projects of a tenant."""

    def __init__(
        self,
        halls: Mapping[str, Hall],
        people: People,
        quotas: Quotas,
        team: Team,
        server: Server,
    ) -> None:
        self._halls, self._people, self._quotas = halls, people, quotas
        self._team, self._server = team, server

    def page(self, head: Head) -> bytes | None:
        """Return the metadata of a protected resource: the issuer from which a client gets a
        token."""
        issuer = self._team.issuer
        path = head.path.removeprefix(WELL_KNOWN)
        if issuer is None or path == head.path or head.method != "GET":
            return None
        if path.removeprefix(f"{PATH}/") not in self._halls:
            return None
        return msgspec.json.encode(
            {
                "resource": f"{self._base(head)}{path}",
                "authorization_servers": [issuer.url],
                "bearer_methods_supported": ["header"],
                "scopes_supported": [WRITE_SCOPE],
            }
        )

    def service(self, head: Head) -> Service:
        visitor = self._people.visitor(head.get("authorization"))
        if visitor is None:
            raise Refusal(401, "a bearer token of a member is needed", self._challenge(head))
        if (head.path, head.method) == (METRICS, "GET"):
            services = (hall.service(visitor) for hall in self._halls.values())
            service = next((service for service in services if service), None)
        else:
            hall = self._halls.get(head.path.removeprefix(f"{PATH}/"))
            if (
                hall is None
                or not head.path.startswith(f"{PATH}/")
                or not visitor.enters(hall.name)
            ):
                service = None
            else:
                service = hall.service(visitor)
        # The same words for a project that is not served and one that is closed to this token: a
        # name must not be revealed.
        if service is None:
            raise Refusal(404, "no such project for this token")
        self._quotas.refuse(visitor.person, time.time())
        return service

    def _challenge(self, head: Head) -> tuple[tuple[str, str], ...]:
        if self._team.issuer is None:
            return (("WWW-Authenticate", "Bearer"),)
        place = f"{self._base(head)}{WELL_KNOWN}{head.path}"
        safe = "".join(letter for letter in place if letter not in '"\\\r\n')
        return (("WWW-Authenticate", f'Bearer resource_metadata="{safe}"'),)

    def _base(self, head: Head) -> str:
        return self._team.public or f"http://{head.get('host')}"

    def metrics(self) -> str:
        return self._server.metrics()


@contextmanager
def open_projects(
    team: Team,
    tools: tuple[tuple[Tool, ...], tuple[Tool, ...]],
    profile: BackendProfile,
    metrics: Metrics,
) -> Iterator[ManyProjects]:
    """Open all projects; at the end finish their calls, sign their ledgers and close the pool."""
    pool = Pool(team.url, CONNECTIONS)
    first = next(iter(team.folders))
    with ExitStack() as stack:
        stack.callback(pool.close)
        login = PostgresDatabase(pool, first)
        tenant = _tenant_of(login)
        login.project, login.person = f"{tenant}/{first}", ""
        quotas = Quotas(login, tenant)
        openers = {
            name: stack.enter_context(_opened(name, folder, tenant, pool, team, quotas))
            for name, folder in team.folders.items()
        }
        # One server: one call computes at a time, whatever its project; commits overlap.
        server = Server(openers[first][1], *tools, metrics)
        halls = {
            name: Hall(door_for, ledger, profile, server)
            for name, (door_for, ledger) in openers.items()
        }
        people = People(login, tenant, team.issuer)
        try:
            yield ManyProjects(halls, people, quotas, team, server)
        finally:
            server.finish()


@contextmanager
def _opened(
    name: str, folder: str, tenant: str, pool: Pool, team: Team, quotas: Quotas
) -> Iterator[tuple[Opener, Ledger]]:
    project = f"{tenant}/{name}"
    group = GroupCommit(PostgresDatabase(pool, project), project, quotas.add, _aside)
    env = {**os.environ, "SUTLER_STORE": team.url, "SUTLER_PROJECT": project}
    views = _views(pool, group, folder, env)
    with (
        closing(group),
        open_doors(folder, environ=env, strict=False, ledger_for=views) as (door_for, ledger),
    ):
        recover(door_for(Caller("mcp-http", "recovery"), None))
        yield door_for, ledger


def _tenant_of(login: PostgresDatabase) -> str:
    rows = [row.tenant for row in login.memberships() if row.role == "server"]
    if len(rows) != 1:
        raise RefusedError(
            "this login serves no tenant" if not rows else "this login serves several tenants",
            rule="a server logs in with the role `server` of one tenant",
            next_step="sutler store members add NAME --role server",
        )
    return rows[0]


def _aside() -> AbstractContextManager[None]:
    """Release the server to other calls while this one waits for its commit."""
    exchange = current.get()
    return exchange.aside() if exchange is not None else nullcontext()


def _views(
    pool: Pool, group: GroupCommit, folder: str, env: Mapping[str, str]
) -> Callable[[Ledger, Caller], Ledger]:
    directory, _, key = home.project_folder(folder, env)

    def view(ledger: Ledger, caller: Caller) -> Ledger:
        """Return the ledger with the caller's own rights; the server's own without a person."""
        if not caller.person:
            return ledger
        database = PostgresDatabase(pool, ledger.store.project, caller.person)
        store = Store(database, ledger.store.project, group)
        return Ledger(store, directory, key, shared=True)

    return view
