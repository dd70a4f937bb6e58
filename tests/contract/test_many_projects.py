"""One server for many projects and people, over a team's store."""

from __future__ import annotations

import http.client
import http.server
import json
import os
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from sutler.access.quotas import parse_quota
from sutler.store import tokens
from sutler.store.postgres import member_database
from sutler.store.records import unseal
from sutler.store.team import Member, add_member, create
from sutler.tools import open_ledger
from tests.conftest import grow
from tests.limits import LIMIT
from tests.limits import joined as joined_threads
from tests.mcpkit import ENVELOPE, META, NEW, Site, body, served
from tests.stores import joined, restart, serving

DAY = 86_400


class Team:
    """A tenant with two projects, their folders, and URLs of an administrator and a server."""

    def __init__(self, admin: str, folder: Path) -> None:
        self.admin, self.tenant = admin, f"s{uuid.uuid4().hex[:8]}"
        self.boss = joined(admin, self.tenant, f"boss-{self.tenant}", "admin")
        self.server = joined(admin, self.tenant, f"server-{self.tenant}", "server")
        self.folders = {
            name: grow(folder / name, {"a.py": f"{name} = 1\n"}) for name in ("web", "api")
        }
        self.words = tuple(f"{name}={path}" for name, path in self.folders.items())

    def person(self, name: str, role: str, quota: str = "", projects: str = "*") -> str:
        login = f"{name}-{self.tenant}"
        member = Member(login, role, projects, quota)
        add_member(self.admin, self.tenant, member, login=False)
        return login

    def token(self, person: str, scope: tokens.Scope = "read", projects: str = "*") -> str:
        database, tenant = member_database(self.boss, self.tenant)
        try:
            return tokens.issue(database, tenant, person, scope, projects, 1, time.time())
        finally:
            database.close()

    def revoke(self, token: str) -> None:
        database, tenant = member_database(self.boss, self.tenant)
        tokens.revoke(database, tenant, token.split("_")[1], time.time())
        database.close()

    def rows(self, project: str) -> list[Any]:
        environ = {
            **os.environ,
            "SUTLER_STORE": self.boss,
            "SUTLER_PROJECT": f"{self.tenant}/{project}",
        }
        with open_ledger(str(self.folders[project]), environ) as ledger:
            assert ledger.verify().ok
            return [unseal(row) for row in ledger.store.audit()]


@pytest.fixture
def team(postgres_admin: str, tmp_path: Path) -> Team:
    return Team(postgres_admin, tmp_path)


def call(
    site: Site, token: str, project: str, name: str, **arguments: Any
) -> tuple[int, dict[str, Any]]:
    message = body("tools/call", 1, name=name, arguments=arguments)
    status, data, _ = site.post(
        json.dumps(message).encode(), {"Authorization": f"Bearer {token}"}, path=f"/mcp/{project}"
    )
    return status, dict(json.loads(data)) if status == 200 else {"text": data.decode()}


def test_people_reach_their_projects(team: Team) -> None:
    """A path for each project; the token decides who calls, the ledger says so."""
    ann, bob = team.person("ann", "writer"), team.person("bob", "reader", projects="api")
    tokens_of = {ann: team.token(ann, "write"), bob: team.token(bob)}
    with served("serve", "--store", team.server, *team.words) as site:
        assert site.post(b"", {"Authorization": ""}, path="/healthz", method="GET")[0] == 200
        status, answer = call(site, tokens_of[ann], "web", "read_file", path="a.py")
        assert (status, "web = 1" in str(answer)) == (200, True)
        status, answer = call(site, tokens_of[bob], "api", "read_file", path="a.py")
        assert (status, "api = 1" in str(answer)) == (200, True)
        assert call(site, tokens_of[ann], "nowhere", "read_file", path="a.py")[0] == 404
        assert call(site, tokens_of[bob], "web", "read_file", path="a.py")[0] == 404
        assert call(site, "sutler_000000000000_wrong", "web", "read_file", path="a.py")[0] == 401
        assert call(site, "", "web", "read_file", path="a.py")[0] == 401
        status, data, _ = site.post(
            b"", {"Authorization": f"Bearer {tokens_of[ann]}"}, path="/metrics", method="GET"
        )
        assert (status, b"sutler_requests_total" in data) == (200, True)
    assert [(row.person, row.path) for row in team.rows("web") if row.success] == [(ann, "a.py")]
    assert [(row.person, row.path) for row in team.rows("api")] == [(bob, "a.py")]


def test_a_reading_token_cannot_write(team: Team) -> None:
    """By scope of the token, and by role of the member behind a writing token."""
    ann, bob = team.person("ann", "writer"), team.person("bob", "reader")
    (team.folders["web"] / "sutler.toml").write_text("")
    with served("serve", "--store", team.server, *team.words) as site:
        for token in (team.token(ann, "read"), team.token(bob, "write")):
            call(site, token, "web", "write_file", path="b.py", content="b = 2\n")
            assert not (team.folders["web"] / "b.py").exists()
        listed = site.post(
            json.dumps(body("tools/list", 1)).encode(),
            {"Authorization": f"Bearer {team.token(ann, 'read')}"},
            path="/mcp/web",
        )[1]
        assert b"write_file" not in listed
        assert b"read_file" in listed


def test_a_writer_gives_no_consent(team: Team) -> None:
    """A yes of a member without the right to approve leaves the approval waiting, and says so; an
    approver's is one.
    """
    ability = {**ENVELOPE, f"{META}clientCapabilities": {"elicitation": {}}}
    given = {"name": "write_file", "arguments": {"path": "b.py", "content": "", "mode": "create"}}

    def ask(token: str, **more: Any) -> dict[str, Any]:
        message = body("tools/call", 1, **given, **more, _meta=ability)
        head = {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": "write_file"}
        fields = {"Authorization": f"Bearer {token}", **head}
        _, data, _ = site.post(json.dumps(message).encode(), fields, path="/mcp/web")
        return dict(json.loads(data)["result"])

    yes = {"approval": {"action": "accept", "content": {"approve": True}}}
    with served("serve", "--store", team.server, *team.words) as site:
        for role, done in (("writer", False), ("approver", True)):
            token = team.token(team.person(role, role), "write")
            state = ask(token)["requestState"]
            answer = ask(token, requestState=state, inputResponses=yes)["structuredContent"]
            assert answer["success"] is done
            assert done or answer["error"]["what"] == "this member may not approve"
            assert (team.folders["web"] / "b.py").exists() is done


def test_a_token_ends(team: Team) -> None:
    """Revoked, it is refused within seconds; one of another tenant opens nothing."""
    ann = team.person("ann", "reader")
    token = team.token(ann)
    other = Team(team.admin, team.folders["web"].parent / "other")
    foreign = other.token(other.person("eve", "admin"))
    with served("serve", "--store", team.server, *team.words) as site:
        assert call(site, token, "web", "read_file", path="a.py")[0] == 200
        assert call(site, foreign, "web", "read_file", path="a.py")[0] == 401
        team.revoke(token)
        until = time.monotonic() + 30
        while call(site, token, "web", "read_file", path="a.py")[0] == 200:
            assert time.monotonic() < until
            time.sleep(0.2)
        assert call(site, token, "web", "read_file", path="a.py")[0] == 401


def test_quotas_of_a_day_hold(team: Team) -> None:
    """A member's calls end at the quota; others go on; a new server knows of the use."""
    ann, bob = team.person("ann", "reader", "calls=3"), team.person("bob", "reader")
    mine, other = team.token(ann), team.token(bob)
    for expected in ([200, 200, 200, 429, 429], [429]):
        with served("serve", "--store", team.server, *team.words) as site:
            codes = [call(site, mine, "web", "read_file", path="a.py")[0] for _ in expected]
            assert codes == expected
            assert call(site, other, "web", "read_file", path="a.py")[0] == 200


def test_quotas_of_a_tenant_hold_for_all_its_members(team: Team) -> None:
    """Calls, bytes or tokens, whoever of the tenant uses them; another tenant goes on."""
    other = Team(team.admin, team.folders["web"].parent / "other")
    tokens_of = [team.token(team.person(name, "reader")) for name in ("ann", "bob")]
    free = other.token(other.person("eve", "reader"))
    create(team.admin, team.tenant, parse_quota("calls=3").text())
    with (
        served("serve", "--store", team.server, *team.words) as site,
        served("serve", "--store", other.server, *other.words) as beside,
    ):
        codes = [call(site, token, "web", "read_file", path="a.py") for token in tokens_of * 2]
        assert [code for code, _ in codes] == [200, 200, 200, 429]
        assert "the quota of the tenant is used up; quota: calls of a day <= 3" in str(codes[-1])
        assert call(site, tokens_of[0], "api", "list_files")[0] == 429
        assert call(beside, free, "web", "read_file", path="a.py")[0] == 200
    for limit in ("bytes=9", "tokens=4"):
        create(other.admin, other.tenant, parse_quota(limit).text())
        with served("serve", "--store", other.server, *other.words) as site:
            codes = [call(site, free, "web", "read_file", path="a.py") for _ in range(3)]
            assert (codes[-1][0], limit.replace("=", " of a day <= ") in str(codes)) == (429, True)


def test_calls_outlast_a_restart_of_postgresql(tmp_path: Path) -> None:
    """Under load, once orderly and once as a crash: calls wait or fail with the cause, and each
    answered read has its row in a chain that verifies.
    """
    with serving() as admin:
        team = Team(admin, tmp_path)
        token = team.token(team.person("ann", "reader"))
        answers: list[str] = []
        stop = threading.Event()

        def work() -> None:
            while not stop.is_set():
                answers.append(str(call(site, token, "web", "read_file", path="a.py")[1]))

        with served("serve", "--store", team.server, *team.words) as site:
            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for mode in ("fast", "immediate"):
                grown = len(answers) + 40
                restart(admin, mode)
                until = time.monotonic() + LIMIT
                while len(answers) < grown and time.monotonic() < until:
                    time.sleep(0.05)
                assert len(answers) >= grown
            stop.set()
            joined_threads(*threads)
            assert "web = 1" in str(call(site, token, "web", "read_file", path="a.py"))
        answered = sum("web = 1" in answer for answer in answers) + 1
        failed = [answer for answer in answers if "web = 1" not in answer]
        assert all("the PostgreSQL store cannot be used" in answer for answer in failed)
        assert len([row for row in team.rows("web") if row.success]) >= answered


def test_a_server_that_ends_answers_what_it_has_begun(team: Team) -> None:
    """SIGTERM under load: a call is answered or refused, every answer has its row, and the exit
    code is 0.
    """
    token = team.token(team.person("ann", "reader"))
    answers: list[tuple[int, str]] = []

    def work() -> None:
        with suppress(OSError, http.client.HTTPException):
            while True:
                status, answer = call(site, token, "web", "read_file", path="a.py")
                answers.append((status, str(answer)))

    with served("serve", "--store", team.server, *team.words) as site:
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        while len(answers) < 50:
            time.sleep(0.01)
        site.process.terminate()
        assert site.process.wait(LIMIT) == 0
        joined_threads(*threads)
    read = [answer for _, answer in answers if "web = 1" in answer]
    refused = [answer for _, answer in answers if "the server is ending" in answer]
    assert {status for status, _ in answers} == {200}
    assert len(read) + len(refused) == len(answers)
    assert len(team.rows("web")) >= len(read)


def test_many_clients_leave_every_row(team: Team) -> None:
    """Group commit: each answered read has its row, once, and the chain verifies."""
    names = [team.person(f"p{n}", "reader") for n in range(8)]
    tokens_of = [team.token(name) for name in names]
    answers: list[int] = []

    def work(token: str) -> None:
        for _ in range(10):
            answers.append(call(site, token, "web", "read_file", path="a.py")[0])

    with served("serve", "--store", team.server, *team.words) as site:
        threads = [threading.Thread(target=work, args=(token,)) for token in tokens_of]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert answers == [200] * 80
    rows = team.rows("web")
    assert sorted(row.person for row in rows) == sorted(names * 10)


def test_a_proxy_is_believed_only_if_named(team: Team) -> None:
    token = team.token(team.person("ann", "reader"))
    message = json.dumps(body("tools/list", 1)).encode()
    fields = {
        "Authorization": f"Bearer {token}",
        "Host": "inner.example",
        "X-Forwarded-Host": "agents.example:443",
    }
    words = ("--allow-host", "agents.example:443")
    for proxy, status in (("127.0.0.1", 200), ("10.1.1.1", 403)):
        options = ("--forwarded-allow", proxy, *words)
        with served("serve", "--store", team.server, *options, *team.words) as site:
            assert site.post(message, fields, path="/mcp/web")[0] == status


@pytest.fixture
def issuer() -> Iterator[tuple[str, RSAPrivateKey]]:
    """An issuer on this machine: its discovery document, its keys, and the private key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    documents: dict[str, Any] = {"/keys": {"keys": [{**public, "kid": "k1", "use": "sig"}]}}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = documents.get(self.path)
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(json.dumps(found).encode())

        def log_message(self, *_: Any) -> None: ...

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    documents["/.well-known/openid-configuration"] = {"issuer": url, "jwks_uri": f"{url}/keys"}
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield url, key
    server.shutdown()
    server.server_close()


def test_tokens_of_an_issuer(team: Team, issuer: tuple[str, RSAPrivateKey]) -> None:
    """A valid access token of a member is accepted; any wrong part of it is not."""
    url, key = issuer
    ann = team.person("ann", "reader")
    claims = {"iss": url, "aud": "sutler", "sub": ann, "exp": time.time() + DAY}
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def signed(by: RSAPrivateKey = key, kid: str = "k1", **changes: Any) -> str:
        return jwt.encode({**claims, **changes}, by, algorithm="RS256", headers={"kid": kid})

    options = ("--oidc-issuer", url, "--oidc-audience", "sutler")
    with served("serve", "--store", team.server, *options, *team.words) as site:
        status, answer = call(site, signed(), "web", "read_file", path="a.py")
        assert (status, "web = 1" in str(answer)) == (200, True)
        _, _, headers = site.post(b"", {"Authorization": ""}, path="/mcp/web")
        place = headers["www-authenticate"].partition('resource_metadata="')[2].rstrip('"')
        path = "/" + place.split("/", 3)[3]
        status, data, _ = site.post(b"", {"Authorization": ""}, path=path, method="GET")
        assert (status, json.loads(data)["authorization_servers"]) == (200, [url])
        assert json.loads(data)["resource"].endswith("/mcp/web")
        for wrong in (
            signed(aud="another"),
            signed(iss="http://127.0.0.1:1"),
            signed(exp=time.time() - DAY),
            signed(nbf=time.time() + DAY),
            signed(by=stranger),
            signed(kid="k2"),
            jwt.encode(claims, None, algorithm="none"),  # type: ignore[arg-type]
            jwt.encode(claims, "x" * 32, algorithm="HS256", headers={"kid": "k1"}),
        ):
            assert call(site, wrong, "web", "read_file", path="a.py")[0] == 401
        assert call(site, signed(sub="nobody"), "web", "read_file", path="a.py")[0] == 404
    assert [row.person for row in team.rows("web")] == [ann]
