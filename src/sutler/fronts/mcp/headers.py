"""Head of an HTTP request, and the checks of MCP's own headers."""

from __future__ import annotations

import base64
import binascii
import re

import h11

from sutler.fronts.mcp.server import META, NEW, OLD
from sutler.fronts.mcp.wire import HEADER_MISMATCH, UNSUPPORTED_VERSION, Fault, Message

CLOSE = (("Connection", "close"),)
_ONCE = (
    "host", "origin", "authorization", "content-length", "content-type", "mcp-session-id",
    "mcp-protocol-version", "mcp-method", "mcp-name", "transfer-encoding",
)  # fmt: skip
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")


class Refusal(Exception):  # noqa: N818  # an answer, not a failure
    """A request that is refused before its body is read; the connection ends with it."""

    def __init__(self, status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(text)
        self.status, self.text, self.headers = status, text, (*headers, *CLOSE)


class Head:
    __slots__ = ("_fields", "method", "path")

    def __init__(self, method: str, path: str, fields: dict[str, str]) -> None:
        self.method, self.path, self._fields = method, path, fields

    def get(self, name: str) -> str:
        return self._fields.get(name, "")

    def accepts(self, kind: str) -> bool:
        wanted = {kind.partition(";")[0].strip().lower() for kind in self.get("accept").split(",")}
        return bool(wanted & {kind, f"{kind.partition('/')[0]}/*", "*/*"})


def head_of(request: h11.Request) -> Head:
    """Refuse requests that h11 accepts and this server does not: HTTP/1.0, duplicate headers."""
    if request.http_version != b"1.1":
        raise Refusal(400, "not an HTTP/1.1 request")
    fields: dict[str, str] = {}
    for raw_name, raw_value in request.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        if name in fields and name in _ONCE:
            raise Refusal(400, f"{name} is given twice")
        fields[name] = f"{fields[name]}, {value}" if name in fields else value
    path = request.target.decode("ascii").partition("?")[0]
    return Head(request.method.decode("ascii"), path, fields)


def routed(head: Head, message: Message) -> bool:
    """Return whether a message is of the newer era. Then header and body must agree."""
    version, meant = head.get("mcp-protocol-version"), message.meta.get(f"{META}protocolVersion")
    if meant is None and (not version or version in OLD):
        return False
    if not message.method or message.id is None:
        if version not in (*NEW, *OLD):
            raise _unsupported(version)
        return version in NEW
    if meant is None and version not in NEW:
        raise _unsupported(version, message)
    if version != meant:
        raise Fault(HEADER_MISMATCH, "MCP-Protocol-Version differs from the body", id=message.id)
    if head.get("mcp-method") != message.method:
        raise Fault(HEADER_MISMATCH, "Mcp-Method differs from the body", id=message.id)
    named = message.params.get(_NAMED.get(message.method, ""))
    if named is not None and _plain(head.get("mcp-name")) != named:
        raise Fault(HEADER_MISMATCH, "Mcp-Name differs from the body", id=message.id)
    return True


def _unsupported(version: str, message: Message | None = None) -> Fault:
    versions = {"supported": list(NEW), "requested": version}
    return Fault(
        UNSUPPORTED_VERSION,
        "unsupported protocol version",
        versions,
        id=message.id if message else None,
    )


def _plain(value: str) -> str | None:
    """Return a header's value; values that HTTP cannot carry are in base64."""
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):  # then it equals no name, and the call is refused
        return None
