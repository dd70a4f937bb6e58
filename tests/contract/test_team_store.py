"""A store that a team shares: one login for each person, fenced by tenant, project and role."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sutler.errors import DeniedError, RefusedError, SutlerError, UsageError
from sutler.paths import RelPath
from sutler.store.connection import Pool
from sutler.store.identity import Identity, address_of, derived, identity_of
from sutler.store.migrations import MIGRATIONS
from sutler.store.postgres import PostgresDatabase, open_postgres
from sutler.store.records import Approval, Version
from sutler.store.sql import Store
from sutler.store.team import Member, add_member, create, members, remove_member, status
from tests.stores import entry, joined

TABLES = ("audit", "heads", "versions", "blobs", "facts", "approvals", "spending", "named")


@contextmanager
def opened(url: str, project: str) -> Iterator[Store]:
    store = open_postgres(url, Identity(project))
    yield store
    store.close()


@pytest.fixture
def team(postgres_admin: str) -> dict[str, str]:
    """URLs of a member of each role in one tenant, and of a writer of another tenant."""
    run = uuid.uuid4().hex[:8]
    roles = ("reader", "writer", "approver", "admin")
    urls = {role: joined(postgres_admin, f"t{run}", f"{role}-{run}", role) for role in roles}
    urls["stranger"] = joined(postgres_admin, f"u{run}", f"stranger-{run}", "admin")
    return urls


def version(origin: str) -> Version:
    return Version(
        id="v",
        path=RelPath("a"),
        digest="d",
        size=1,
        at="t",
        author="x",
        origin=origin,  # type: ignore[arg-type]
    )


def test_each_role_may_do_what_its_name_says(team: dict[str, str]) -> None:
    """Reads leave rows of every member; writes, consent and rotation need a role."""
    with (
        opened(team["reader"], "web") as reader,
        opened(team["writer"], "web") as writer,
        opened(team["approver"], "web") as approver,
        opened(team["admin"], "web") as admin,
    ):
        reader.append(entry("r", person=reader.person))
        writer.append(entry("w", person=writer.person, phase="intent", effect="write"))
        for act in (
            lambda: reader.append(entry("i", person=reader.person, phase="intent", effect="write")),
            lambda: reader.put_blob("d", b"x"),
            lambda: reader.add_version(version("written")),
            lambda: writer.append(entry("forged", person=reader.person)),
        ):
            with pytest.raises(DeniedError, match="no right"):
                act()
        writer.put_blob("d", b"x")
        reader.add_version(version("seen"))
        assert reader.blob("d") == b"x"
        wish = Approval(
            id="1", tool="t", path=version("seen").path, base="", result="", args="", policy="",
            caller="c", session="s", created="1", expires="9",
        )  # fmt: skip
        writer.add_approval(wish)
        with pytest.raises(DeniedError, match="no right"):
            writer.settle("1", "approved", "writer")
        assert approver.settle("1", "approved", "approver")
        assert writer.use("1", "w")
        assert (writer.drop_audit(1), admin.drop_audit(1)) == (0, 1)


def test_another_tenant_sees_nothing(team: dict[str, str]) -> None:
    """Neither by the same name, nor by naming the other's tenant, nor by a session setting."""
    with opened(team["writer"], "web") as store:
        store.append(entry("c", person=store.person))
        name = store.project
    with opened(team["stranger"], "web") as other:
        assert other.project != name
        assert (other.audit(), other.head()[0]) == ((), 0)
    with pytest.raises(RefusedError, match="not a member"):
        open_postgres(team["stranger"], Identity(name))
    raw = PostgresDatabase(Pool(team["stranger"]), name)
    for table in TABLES:
        assert raw.select(f"SELECT 1 FROM {table}") == []  # noqa: S608  # the tables are our own
    for table in ("members", "teams"):
        with pytest.raises(DeniedError):
            raw.select(f"SELECT 1 FROM {table}")  # noqa: S608
    raw.close()


def test_a_member_of_one_project_sees_one(postgres_admin: str, team: dict[str, str]) -> None:
    tenant = status(team["writer"]).memberships[0][0]
    url = joined(postgres_admin, tenant, f"narrow-{tenant}", "writer", "api docs")
    with opened(team["writer"], "web") as web:
        web.append(entry("c", person=web.person))
    with pytest.raises(RefusedError, match="not a member of the project web"):
        open_postgres(url, Identity("web"))
    with opened(url, "api") as store:
        assert store.project == f"{tenant}/api"
    assert status(url).projects == (f"{tenant}/api",)


def test_a_removed_member_is_out(postgres_admin: str, team: dict[str, str]) -> None:
    tenant, _, _ = status(team["writer"]).memberships[0]
    login = status(team["writer"]).login
    assert login in [member.login for member in members(postgres_admin, tenant)]
    assert remove_member(postgres_admin, tenant, login)
    with pytest.raises(SutlerError):
        open_postgres(team["writer"], Identity("web"))
    assert not remove_member(postgres_admin, tenant, login)


def test_clients_need_no_right_to_create(team: dict[str, str], postgres_admin: str) -> None:
    """A member opens a new project without CREATE, and cannot make tables."""
    with opened(team["reader"], f"new-{uuid.uuid4().hex}") as store:
        assert store.head()[0] == 0
        with pytest.raises(DeniedError):
            store.database.transact(lambda query: query("CREATE TABLE x (y TEXT)"), write=True)
    with pytest.raises(RefusedError, match="superuser"):
        open_postgres(postgres_admin, Identity("web"))
    with pytest.raises(RefusedError, match="lacks CREATEROLE and CREATE on the schema"):
        create(team["admin"], "mine", "")
    with pytest.raises(RefusedError, match="may not administer"):
        add_member(team["admin"], "x", Member("y", "reader", "*", ""), login=True)
    assert status(team["reader"]).schema == len(MIGRATIONS)


def test_failures_are_told_apart(postgres_admin: str, team: dict[str, str]) -> None:
    """No server, no database, no such user, no store: each has its own message, without the URL."""
    import psycopg

    database = f"empty_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(postgres_admin, autocommit=True) as admin:
        admin.execute(f"CREATE DATABASE {database}".encode())
    login = status(team["writer"]).login
    for url, what in (
        ("postgresql://ann:hunter2@localhost:1/x", "no server at that address"),
        (postgres_admin.replace("/postgres?", "/nowhere?"), "no such database"),
        (postgres_admin.replace("postgres:@", "ghost:@"), "no such user"),
        (team["writer"].replace("/postgres?", f"/{database}?"), "no sutler store"),
    ):
        with pytest.raises(SutlerError, match=what) as caught:
            open_postgres(url, Identity("p"))
        assert not {"hunter2", "ghost", "nowhere", login} & set(str(caught.value).split())


def test_a_wrong_password_is_named(postgres_admin: str, tmp_path: Path) -> None:
    """The development server trusts local logins; one line of its rules asks for a password."""
    import psycopg

    login = f"pw-{uuid.uuid4().hex[:8]}"
    url = joined(postgres_admin, "pw", login, "reader")
    with psycopg.connect(postgres_admin, autocommit=True) as admin:
        row = admin.execute("SHOW hba_file").fetchone()
        assert row is not None
        rules = Path(row[0])
        before = rules.read_text()
        rules.write_text(f'local all "{login}" scram-sha-256\n{before}')
        admin.execute("SELECT pg_reload_conf()")
        try:
            _until_asked(url.replace(f"{login}:", f"{login}:not-"))
            open_postgres(url, Identity("p")).close()
        finally:
            rules.write_text(before)
            admin.execute("SELECT pg_reload_conf()")


def _until_asked(url: str) -> None:
    """A reload takes effect some milliseconds later, so that the first logins may still pass."""
    for _ in range(200):
        try:
            open_postgres(url, Identity("p")).close()
        except SutlerError as refused:
            assert "wrong user or password" in str(refused)
            return
    raise AssertionError("the server asked for no password")


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("remote", "name"),
    [
        ("https://user:pass@Example.org/acme/web.git", "acme.web"),
        ("git@example.org:acme/web", "acme.web"),
        ("ssh://git@example.org:2222/group/sub/api.git", "sub.api"),
        ("https://example.org/", ""),
        ("../local/mirror.git", "local.mirror"),
    ],
)
def test_a_name_comes_from_the_remote(tmp_path: Path, remote: str, name: str) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", remote)
    assert derived(address_of(str(tmp_path))) == name
    assert "pass" not in address_of(str(tmp_path))


def test_names_are_explicit_first(tmp_path: Path) -> None:
    """Variable before configuration before remote before the folder's id."""
    assert identity_of(str(tmp_path), {}, "f00").name == "f00"
    git(tmp_path, "init", "-q")
    git(tmp_path, "remote", "add", "origin", "git@example.org:acme/web")
    assert identity_of(str(tmp_path), {}, "f00").name == "acme.web"
    (tmp_path / "sutler.toml").write_text('project = "web"\n')
    assert identity_of(str(tmp_path), dict(os.environ), "f00").name == "web"
    assert identity_of(str(tmp_path), {"SUTLER_PROJECT": "api"}, "f00") == Identity(
        "api", "example.org/acme/web", sure=True
    )


def test_a_name_belongs_to_one_repository(team: dict[str, str]) -> None:
    """A repository cannot take over the history of another by naming it in its configuration."""
    open_postgres(team["writer"], Identity("web", "host/acme/web")).close()
    with pytest.raises(RefusedError, match="belongs to the repository host/acme/web"):
        open_postgres(team["writer"], Identity("web", "host/evil/web"))
    open_postgres(team["writer"], Identity("web", "host/evil/web", sure=True)).close()


def test_several_tenants_need_a_name(postgres_admin: str, team: dict[str, str]) -> None:
    login = status(team["writer"]).login
    joined(postgres_admin, f"more-{login}", login, "writer")
    with pytest.raises(UsageError, match="several tenants"):
        open_postgres(team["writer"], Identity("web"))
    with opened(team["writer"], f"more-{login}/web") as store:
        assert store.project == f"more-{login}/web"
