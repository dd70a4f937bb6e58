"""Access to the server: one browser of the user who started it, from the server's own page.

The printed address holds a key that works once and becomes a cookie. The cookie's path is a random
folder, because cookies ignore ports: another server on this machine must not receive ours. Host and
Origin are compared whole, so neither a page of another origin nor a name that points here from
outside gets an answer."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "sutler"
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
USED = (
    "this address was used already, or is not the one that was printed; start 'sutler ui' again for"
    " a new one\n"
)


class Keys:
    """Secrets of one run. `host` is the only name that this server answers to."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.origin = f"http://{host}"
        self.folder = f"/{secrets.token_urlsafe(16)}/"
        self.cookie = secrets.token_urlsafe(32)
        self._once = secrets.token_urlsafe(32)

    @property
    def url(self) -> str:
        return f"{self.origin}{self.folder}?key={self._once}"

    def spend(self, key: str) -> bool:
        """Return whether this is the printed key, which works once."""
        if not self._once or not hmac.compare_digest(key.encode(), self._once.encode()):
            return False
        self._once = ""
        return True

    def holds(self, cookies: str) -> bool:
        """Return whether a Cookie header holds our cookie."""
        for pair in cookies.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == COOKIE and hmac.compare_digest(value.encode(), self.cookie.encode()):
                return True
        return False


def foreign(method: str, headers: Mapping[str, str], keys: Keys) -> tuple[int, str] | None:
    """Return the refusal of a request before its key is checked: another host name, another origin,
    another site."""
    if headers.get("host") != keys.host:
        return 421, "this server answers to its own address only\n"
    origin = headers.get("origin")
    if origin is not None and origin != keys.origin:
        return 403, "requests from another origin are refused\n"
    if origin is None and method not in ("GET", "HEAD"):
        return 403, "a request that changes something must name its origin\n"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return 403, "requests from another site are refused\n"
    return None


class Guard:
    """Middleware before the application; adds the headers that keep a browser strict to every
    answer."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return None
        headers = {
            name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]
        }
        refusal = foreign(scope["method"], headers, self._keys) or self._doubled(scope)
        if refusal:
            return await _answer(send, *refusal)
        if not self._keys.holds(headers.get("cookie", "")):
            return await self._first(scope, send)
        if not scope["path"].startswith(self._keys.folder):
            return await _answer(send, 404, "nothing is here\n")
        inner = {**scope, "path": "/" + scope["path"][len(self._keys.folder) :], "raw_path": None}
        return await self._app(inner, receive, _strict(send))

    def _doubled(self, scope: Scope) -> tuple[int, str] | None:
        """Refuse two Host or Origin headers: this server could read one and a proxy the other."""
        names = [name for name, _ in scope["headers"] if name in (b"host", b"origin", b"cookie")]
        return None if len(names) == len(set(names)) else (400, "a header is there twice\n")

    async def _first(self, scope: Scope, send: Send) -> None:
        """Handle the one request that has the key instead of the cookie."""
        key = parse_qs(scope["query_string"].decode("latin-1")).get("key", [""])[0]
        if (
            scope["method"] == "GET"
            and scope["path"] == self._keys.folder
            and key
            and self._keys.spend(key)
        ):
            cookie = (
                f"{COOKIE}={self._keys.cookie}; Path={self._keys.folder}; HttpOnly; SameSite=Strict"
            )
            home = (b"location", self._keys.folder.encode())
            return await _answer(send, 303, "", home, (b"set-cookie", cookie.encode()))
        return await _answer(
            send, 401, USED if key else "no key: open the address that 'sutler ui' printed\n"
        )


async def _answer(send: Send, status: int, text: str, *more: tuple[bytes, bytes]) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS, *more]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text.encode()})


def _strict(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *HEADERS]
        await send(message)

    return sending
