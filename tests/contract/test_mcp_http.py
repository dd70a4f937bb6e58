"""HTTP: who is let in, and how much of what they send is looked at. T53, T54, T56 and T57."""

from __future__ import annotations

import itertools
import json
import socket
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Sutler, grow
from tests.mcpkit import ENVELOPE, META, NEW, Site, body, http_server

PING = json.dumps(body("ping")).encode()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("http")
    with http_server(
        grow(folder / "project", {"a.py": "x = 1\n"}),
        "--allow-origin",
        "https://app.example",
        env={"XDG_STATE_HOME": str(folder / "state"), "HOME": str(folder)},
    ) as found:
        yield found


def test_the_token_is_asked_for(site: Site) -> None:
    """No token, a wrong one and a cut one are 401; the right one is let in."""
    for given in (
        "",
        "Bearer ",
        "Bearer x",
        f"Bearer {site.token[:-1]}",
        f"Basic {site.token}",
        f"bearer {site.token}",
    ):
        status, _, headers = site.post(PING, {"Authorization": given})
        assert (status, headers["www-authenticate"]) == (401, "Bearer"), given
    assert site.post(PING)[0] == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST:{port}", 200),
        ("[::1]:{port}", 200),
        ("localhost", 403),
        ("127.0.0.1", 403),
        ("localhost:1", 403),
        ("evil.example", 403),
        ("evil.example:{port}", 403),
        ("127.0.0.1.evil.example:{port}", 403),
        ("localhost:{port}.evil.example", 403),
        ("user@localhost:{port}", 403),
        ("0.0.0.0:{port}", 403),
    ],
)
def test_the_host_is_compared_exactly(host: str, status: int, site: Site) -> None:
    assert site.post(PING, {"Host": host.format(port=site.port)})[0] == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("", 200),
        ("http://127.0.0.1:{port}", 200),
        ("http://localhost:{port}", 200),
        ("https://app.example", 200),
        ("null", 403),
        ("http://localhost:1", 403),
        ("http://localhost", 403),
        ("https://localhost:{port}", 403),
        ("https://app.example.evil", 403),
        ("https://evil.example", 403),
        ("http://app.example", 403),
    ],
)
def test_the_origin_is_compared_exactly(origin: str, status: int, site: Site) -> None:
    assert site.post(PING, {"Origin": origin.format(port=site.port)})[0] == status


def test_only_what_is_served_is_answered(site: Site) -> None:
    """Methods, paths, types and sizes."""
    assert site.post(b"", method="GET")[0] == 405
    assert site.post(PING, path="/")[0] == 404
    assert site.post(PING, {"Content-Type": "text/plain"})[0] == 415
    assert site.post(PING, {"Accept": "text/html"})[0] == 406
    deep = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 70 + b"1" + b"}" * 71
    status, data, _ = site.post(deep)
    assert (status, json.loads(data)["error"]["code"]) == (400, -32600)
    assert site.post(b"\xff\xfe")[0] == 400
    assert site.post(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')[0] == 202


def test_a_message_that_is_too_large_is_answered_under_its_id(site: Site) -> None:
    """413 with the limit; the id is read from the head of the message, of 100 MB one chunk."""
    start = b'{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"'
    status, data, _ = site.post(start + b"y" * (4 << 20) + b'"}}')
    found = json.loads(data)
    assert (status, found["id"], found["error"]["data"]["limit"]) == (413, "big", 4 << 20)
    assert json.loads(site.post(b" " * ((4 << 20) + 1))[1])["id"] is None
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost:{site.port}\r\nAuthorization: Bearer {site.token}\r\n"
        "Content-Type: application/json\r\nAccept: */*\r\nContent-Length: 104857600\r\n"
    )
    before = resident(site)
    for extra, id in (("\r\n", "big"), ("Expect: 100-continue\r\n\r\n", None)):
        with socket.create_connection(("127.0.0.1", site.port), timeout=30) as connection:
            connection.sendall(head.encode() + extra.encode() + (start if id else b""))
            if id:
                connection.sendall(b"y" * (1 << 20))
            answer = connection.makefile("rb").read().partition(b"\r\n\r\n")
        assert answer[0].startswith(b"HTTP/1.1 413 ")
        assert json.loads(answer[2])["id"] == id
    assert resident(site) - before < 20_000
    assert site.post(PING)[0] == 200


def resident(site: Site) -> int:
    """Kilobytes in memory."""
    status = Path(f"/proc/{site.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if "VmRSS" in line))


def combinations(site: Site) -> Iterator[tuple[dict[str, str], str, int]]:
    """Headers, method and status: the first thing that is wrong decides."""
    hosts = {f"localhost:{site.port}": 0, "evil.example": 403, f"localhost:{site.port + 1}": 403}
    origins = {"": 0, "https://app.example": 0, "https://evil.example": 403, "null": 403}
    tokens = {f"Bearer {site.token}": 0, "": 401, "Bearer wrong": 401}
    kinds = {"application/json": 0, "text/plain": 415, "": 415}
    for host, origin, token, method, kind in itertools.product(
        hosts, origins, tokens, ("POST", "GET", "DELETE", "OPTIONS"), kinds
    ):
        wrong = hosts[host], origins[origin], tokens[token], 405 * (method != "POST"), kinds[kind]
        headers = {"Host": host, "Origin": origin, "Authorization": token, "Content-Type": kind}
        yield headers, method, next(filter(None, wrong), 200)


def test_every_combination_gets_the_code_of_its_first_fault(site: Site) -> None:
    """3 hosts, 4 origins, 3 tokens, 4 methods and 3 content types; nothing else is let in."""
    rows = list(combinations(site))
    assert len(rows) == 432
    for headers, method, status in rows:
        assert site.post(PING, headers, method=method)[0] == status, (headers, method)


def test_half_a_message_and_a_client_that_never_reads_wait_alone(site: Site) -> None:
    """Others are served at once, and no memory grows with what is not taken."""
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: localhost:{site.port}\r\nAuthorization: Bearer {site.token}\r\n"
        "Content-Type: application/json\r\nAccept: */*\r\n"
    )
    data = json.dumps(body("tools/list")).encode()
    one = f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data
    before = resident(site)
    silent = socket.create_connection(("127.0.0.1", site.port), timeout=30)
    silent.sendall(one[:-10])
    deaf = socket.create_connection(("127.0.0.1", site.port), timeout=2)
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    with silent, deaf:
        with pytest.raises(TimeoutError):  # the server stops reading from who does not read
            deaf.sendall(one * 20_000)
        start = time.monotonic()
        assert site.post(PING)[0] == 200
        assert time.monotonic() - start < 5
        assert resident(site) - before < 20_000


def test_a_head_that_is_not_one_ends_the_connection(site: Site) -> None:
    """Smuggled lengths, doubled headers, endless heads."""
    start = f"POST /mcp HTTP/1.1\r\nHost: localhost:{site.port}\r\nAuthorization: Bearer {site.token}\r\n"
    sound = f"{start}Content-Type: application/json\r\nAccept: */*\r\n"
    for head in (
        b"\x16\x03\x01\x02\x00\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        f"{sound}Content-Length: 4\r\nContent-Length: 5\r\n\r\n".encode(),
        f"{sound}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n".encode(),
        f"{sound}Content-Length: -1\r\n\r\n".encode(),
        f"{start}Host: localhost:{site.port}\r\n\r\n".encode(),
        f"{start} folded\r\n\r\n".encode(),
        start.encode() + b"X: " + b"y" * (40 << 10),
    ):
        with socket.create_connection(("127.0.0.1", site.port), timeout=30) as connection:
            connection.sendall(head)
            answer = connection.recv(1 << 16)
            assert answer[9:12] in (b"400", b"411", b"431"), (head, answer)
            assert connection.recv(1 << 16) == b""
    assert site.post(PING)[0] == 200


def test_many_who_say_nothing_do_not_keep_others_out(site: Site) -> None:
    """Half-open heads wait alone."""
    held = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(60)]
    for one in held:
        one.sendall(b"POST /mcp HT")
    start = time.monotonic()
    assert site.post(PING)[0] == 200
    assert time.monotonic() - start < 5
    for one in held:
        one.close()


def test_the_newer_era_checks_its_headers(site: Site) -> None:
    """Header and body say the same, or -32020; a version nobody knows is -32022 with those that
    are.
    """
    data = json.dumps(body("tools/list", 1, _meta=ENVELOPE)).encode()
    good = {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/list"}
    status, found, headers = site.post(data, good)
    assert (status, json.loads(found)["result"]["resultType"]) == (200, "complete")
    assert "mcp-session-id" not in headers
    for bad in (
        {**good, "Mcp-Method": "tools/call"},
        {**good, "MCP-Protocol-Version": "2025-11-25"},
        {},
    ):
        status, found, _ = site.post(data, bad)
        assert (status, json.loads(found)["error"]["code"]) == (400, -32020)
    future = {**ENVELOPE, f"{META}protocolVersion": "2099-01-01"}
    status, found, _ = site.post(
        json.dumps(body("tools/list", 1, _meta=future)).encode(),
        {**good, "MCP-Protocol-Version": "2099-01-01"},
    )
    error = json.loads(found)["error"]
    assert (status, error["code"], error["data"]["supported"]) == (400, -32022, [NEW])
    call = json.dumps(
        body("tools/call", 1, _meta=ENVELOPE, name="why", arguments={"path": "a.py"})
    ).encode()
    named = {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call"}
    assert site.post(call, {**named, "Mcp-Name": "read_file"})[0] == 400
    assert site.post(call, {**named, "Mcp-Name": "=?base64?d2h5?="})[0] == 200
    unknown = json.dumps(body("no/such", 1, _meta=ENVELOPE)).encode()
    assert site.post(unknown, {**good, "Mcp-Method": "no/such"})[0] == 404


def test_a_session_is_a_label_that_only_the_server_can_sign(site: Site) -> None:
    """A guessed or a changed one is 404; two clients have two."""
    hello = json.dumps(
        body("initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo={})
    ).encode()
    labels = [site.post(hello)[2]["mcp-session-id"] for _ in range(2)]
    assert labels[0] != labels[1]
    assert site.post(PING, {"Mcp-Session-Id": labels[0]})[0] == 200
    for forged in (
        "x",
        "0" * 65,
        labels[0][:-1] + ("0" if labels[0][-1] != "0" else "1"),
        labels[0] + "0",
    ):
        assert site.post(PING, {"Mcp-Session-Id": forged})[0] == 404


def test_the_token_file_is_private_and_shown_once(tmp_path: Path, sutler: Sutler) -> None:
    """0600, made at the first start, silent at the second; an unprotected bind without it is
    refused.
    """
    project = grow(tmp_path / "p", {"a.py": "x\n"})
    env = {"XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    with http_server(project, env=env) as first:
        assert len(first.token) >= 43
    kept = tmp_path / "state/sutler/mcp.token"
    assert (stat.S_IMODE(kept.stat().st_mode), kept.read_text()) == (0o600, first.token)
    with http_server(project, env=env) as again:
        assert again.token == ""
        again.token = first.token
        assert again.post(PING)[0] == 200
    everywhere = "0.0.0.0"  # noqa: S104  # refused, as it should be
    refused = sutler("mcp", "--http", "--host", everywhere, "--no-token", cwd=project, env=env)
    assert (refused.code, "only this machine" in refused.err) == (3, True)
