"""Administration of a team's store: schema, tenants, members and their roles.

These functions connect as the owner of the tables, who may create roles. Members never do."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from msgspec import Struct

from sutler.errors import RefusedError, UsageError
from sutler.store.connection import Pool, connect, explain, no_store, require_driver
from sutler.store.fences import GROUP, ROLES
from sutler.store.identity import require_name
from sutler.store.migrations import migrate
from sutler.store.postgres import PostgresDatabase

if TYPE_CHECKING:
    from sutler.store.connection import Connection


class Member(Struct, frozen=True):
    """A member of a tenant. `quota` limits a day, as `calls=1000 bytes=10m`."""

    login: str
    role: str
    projects: str
    quota: str


class Status(Struct, frozen=True):
    """A store as a login sees it."""

    server: str
    schema: int
    login: str
    superuser: bool
    memberships: tuple[tuple[str, str, str], ...]
    projects: tuple[str, ...]


@contextmanager
def administrator(url: str) -> Iterator[Connection]:
    """Open a connection in one transaction, with errors in our words."""
    require_driver()
    import psycopg

    try:
        with connect(url) as connection, connection.transaction():
            yield connection
    except psycopg.errors.InsufficientPrivilege as fault:
        raise RefusedError(
            "this login may not administer the store",
            rule="the owner of the tables, with CREATEROLE, makes schema and members",
            next_step="use the URL that 'sutler store init' was run with",
        ) from fault
    except psycopg.Error as fault:
        raise explain(fault) from fault


def create(url: str, tenant: str, quota: str) -> int:
    """Bring the schema up to date and add the tenant, with this login as its administrator. Return
    the number of the newest schema step."""
    require_name(tenant, "tenant")
    with administrator(url) as connection:
        _require_creator(connection)
    database = PostgresDatabase(Pool(url), "")
    try:
        schema = migrate(database)
    finally:
        database.close()
    with administrator(url) as connection:
        connection.execute(
            "INSERT INTO teams VALUES (%s, %s) ON CONFLICT (tenant) DO UPDATE SET quota ="
            " CASE WHEN excluded.quota = '' THEN teams.quota ELSE excluded.quota END",
            (tenant, quota),
        )
        _put_member(connection, tenant, Member(connection.info.user, "admin", "*", ""))
        connection.execute(f'GRANT {GROUP} TO "{connection.info.user}"')
    return schema


def _require_creator(connection: Connection) -> None:
    row = connection.execute(
        "SELECT rolsuper OR rolcreaterole, rolsuper OR has_schema_privilege(current_schema(),"
        " 'CREATE') FROM pg_roles WHERE rolname = session_user"
    ).fetchone()
    lacking = [
        word
        for word, right in zip(("CREATEROLE", "CREATE on the schema"), row or (), strict=True)
        if not right
    ]
    if lacking:
        raise RefusedError(
            f"this login lacks {' and '.join(lacking)}",
            rule="making a store creates tables and roles",
            next_step="use the URL of an administrator of the database",
        )


def add_member(url: str, tenant: str, member: Member, *, login: bool) -> str:
    """Add a member or change the role; return the password of a new login role, or ""."""
    require_name(member.login, "member")
    if member.role not in ROLES:
        raise UsageError(f"no role {member.role!r}", next_step=f"use one of {', '.join(ROLES)}")
    password = ""
    with administrator(url) as connection:
        _require_tenant(connection, tenant)
        if login:
            rows = connection.execute(
                "SELECT rolsuper FROM pg_roles WHERE rolname = %s", (member.login,)
            ).fetchall()
            if not rows:
                password = secrets.token_urlsafe(24)
                # Utility statements take no parameters; both values are plain by construction.
                connection.execute(
                    f"CREATE ROLE \"{member.login}\" LOGIN PASSWORD '{password}'".encode()
                )
            connection.execute(f'GRANT {GROUP} TO "{member.login}"'.encode())
        _put_member(connection, tenant, member)
    return password


def _put_member(connection: Connection, tenant: str, member: Member) -> None:
    connection.execute(
        "INSERT INTO members VALUES (%s, %s, %s, %s, %s) ON CONFLICT (tenant, login) DO UPDATE SET"
        " role = excluded.role, projects = excluded.projects, quota = excluded.quota",
        (tenant, member.login, member.role, member.projects, member.quota),
    )


def remove_member(url: str, tenant: str, login: str) -> bool:
    """End a membership and the member's tokens; the login role stays, but opens nothing here. The
    group is kept while the login is a member of another tenant."""
    with administrator(url) as connection:
        _require_tenant(connection, tenant)
        gone = connection.execute(
            "DELETE FROM members WHERE tenant = %s AND login = %s", (tenant, login)
        ).rowcount
        rows = connection.execute(
            "SELECT 1 FROM members WHERE login = %s UNION ALL SELECT 1 WHERE NOT EXISTS"
            " (SELECT 1 FROM pg_roles WHERE rolname = %s)",
            (login, login),
        ).fetchall()
        if gone and not rows:
            connection.execute(f'REVOKE {GROUP} FROM "{require_name(login, "member")}"'.encode())
    return bool(gone)


def members(url: str, tenant: str) -> tuple[Member, ...]:
    with administrator(url) as connection:
        _require_tenant(connection, tenant)
        rows = connection.execute(
            "SELECT login, role, projects, quota FROM members WHERE tenant = %s ORDER BY login",
            (tenant,),
        ).fetchall()
    return tuple(Member(*row) for row in rows)


def _require_tenant(connection: Connection, tenant: str) -> None:
    rows = connection.execute("SELECT tenant FROM teams ORDER BY tenant").fetchall()
    if (tenant,) not in rows:
        names = ", ".join(row[0] for row in rows) or "none"
        raise UsageError(
            f"the store has no tenant {tenant!r}",
            next_step=f"name one with --tenant: {names}; 'sutler store init' adds one",
        )


def status(url: str) -> Status:
    """Return the view of this login: server, schema, memberships, and the projects of each
    tenant."""
    with administrator(url) as connection:
        user = connection.info.user
        (superuser,) = connection.execute(
            "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = session_user"
        ).fetchone() or (False,)
        (schema,) = connection.execute(
            "SELECT coalesce(max(number), 0) FROM sutler_migrations"
        ).fetchone() or (0,)
        if not schema:
            raise no_store()
        rows = connection.execute("SELECT * FROM sutler_memberships()").fetchall()
        projects: list[str] = []
        for tenant, _, _ in rows:
            names = connection.execute("SELECT * FROM sutler_projects(%s)", (tenant,)).fetchall()
            projects += [row[0] for row in names]
        version = str(connection.info.server_version // 10_000)
    memberships = tuple((row[0], row[1], row[2]) for row in rows)
    return Status(version, schema, user, superuser, memberships, tuple(projects))


def url_of(url: str, login: str, password: str) -> str:
    """Return the URL with another login."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    user = quote(login) + (f":{quote(password, safe='')}" if password else "")
    query = urlencode([pair for pair in parse_qsl(parts.query) if pair[0] not in _LOGIN], safe="/")
    return urlunsplit((parts.scheme, f"{user}@{host}", parts.path, query, ""))


_LOGIN = ("user", "password")
