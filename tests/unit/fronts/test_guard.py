"""Who may speak to the server: tables of requests."""

from __future__ import annotations

from typing import Any

import pytest

from sutler.fronts.web.guard import COOKIE, Guard, Keys, foreign

HOST = "127.0.0.1:4321"
OWN = {"host": HOST}


@pytest.mark.parametrize(
    ("method", "headers", "status"),
    [
        ("GET", {}, 421),
        ("GET", {"host": "localhost:4321"}, 421),
        ("GET", {"host": "127.0.0.1"}, 421),
        ("GET", {"host": "127.0.0.1:4321.evil.example"}, 421),
        ("GET", {"host": "rebound.example:4321"}, 421),
        ("GET", OWN | {"origin": "http://evil.example"}, 403),
        ("GET", OWN | {"origin": "null"}, 403),
        ("GET", OWN | {"origin": "http://127.0.0.1:9999"}, 403),
        ("GET", OWN | {"origin": "https://127.0.0.1:4321"}, 403),
        ("GET", OWN | {"sec-fetch-site": "cross-site"}, 403),
        ("GET", OWN | {"sec-fetch-site": "same-site"}, 403),
        ("POST", OWN, 403),
        ("POST", OWN | {"origin": ""}, 403),
    ],
)
def test_strangers_are_turned_away_before_any_key(
    method: str, headers: dict[str, str], status: int
) -> None:
    found = foreign(method, headers, Keys(HOST))
    assert found is not None
    assert found[0] == status


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("GET", OWN),
        ("GET", OWN | {"sec-fetch-site": "none"}),
        ("GET", OWN | {"sec-fetch-site": "same-origin"}),
        ("POST", OWN | {"origin": f"http://{HOST}"}),
    ],
)
def test_the_page_itself_may_speak(method: str, headers: dict[str, str]) -> None:
    assert foreign(method, headers, Keys(HOST)) is None


async def _app(scope: Any, receive: Any, send: Any) -> None:
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [(b"x-path", scope["path"].encode())],
        }
    )
    await send({"type": "http.response.body", "body": b""})


def reply(
    keys: Keys, path: str, *headers: tuple[str, str], method: str = "GET"
) -> tuple[int, dict[str, str]]:
    """The status and headers that the guard lets out."""
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        raise AssertionError("nobody reads a body here")

    where, _, query = path.partition("?")
    given = [(name.encode(), value.encode()) for name, value in (("host", HOST), *headers)]
    scope = {
        "type": "http",
        "method": method,
        "path": where,
        "query_string": query.encode(),
        "headers": given,
    }
    with pytest.raises(StopIteration):  # nothing here waits for anything: one step is all
        Guard(_app, keys)(scope, receive, send).__await__().__next__()
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


def test_the_key_works_once_and_becomes_a_cookie() -> None:
    keys = Keys(HOST)
    first = keys.url.removeprefix(keys.origin)
    status, headers = reply(keys, first)
    assert status == 303
    assert headers["location"] == keys.folder
    cookie = headers["set-cookie"]
    assert f"Path={keys.folder}; HttpOnly; SameSite=Strict" in cookie
    assert reply(keys, first)[0] == 401
    status, headers = reply(
        keys, f"{keys.folder}api/pack", ("cookie", f"other=1; {cookie.partition(';')[0]}")
    )
    assert status == 200
    assert headers["x-path"] == "/api/pack"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/api/pack", "/?key=", "/?key=wrong", "/favicon.ico"])
def test_without_key_or_cookie_there_is_nothing(path: str) -> None:
    assert reply(Keys(HOST), path)[0] == 401


def test_a_wrong_cookie_is_no_cookie() -> None:
    keys = Keys(HOST)
    for value in ("", "x", keys.cookie[:-1], keys.cookie + "x"):
        assert reply(keys, keys.folder, ("cookie", f"{COOKIE}={value}"))[0] == 401


def test_the_key_in_another_folder_or_another_method_is_not_spent() -> None:
    keys = Keys(HOST)
    query = keys.url.partition("?")[2]
    assert reply(keys, f"/?{query}")[0] == 401
    assert reply(keys, f"{keys.folder}?{query}", ("origin", keys.origin), method="POST")[0] == 401
    assert reply(keys, f"{keys.folder}?{query}")[0] == 303


def test_outside_the_folder_even_the_cookie_finds_nothing() -> None:
    keys = Keys(HOST)
    assert reply(keys, "/api/pack", ("cookie", f"{COOKIE}={keys.cookie}"))[0] == 404


@pytest.mark.parametrize("name", ["host", "origin", "cookie"])
def test_a_header_that_is_there_twice_is_refused(name: str) -> None:
    keys = Keys(HOST)
    value = (
        HOST if name == "host" else keys.origin if name == "origin" else f"{COOKIE}={keys.cookie}"
    )
    pair = (name, value)
    assert reply(keys, keys.folder, pair, *(() if name == "host" else (pair,)))[0] == 400
