"""HTTP heads, read strictly, and what the protocol's own headers must say."""

from __future__ import annotations

import base64
import binascii
import re

from sutler.fronts.mcp.server import META, NEW, OLD
from sutler.fronts.mcp.wire import HEADER_MISMATCH, UNSUPPORTED_VERSION, Fault, Message

CLOSE = (("Connection", "close"),)
_LINE = re.compile(r"([A-Z]{3,10}) (/[!-~]{0,500}) HTTP/1\.1")
_FIELD = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}):[ \t]*([\t\x20-\x7e\x80-\xff]{0,8000})")
_ONCE = (
    "host", "origin", "authorization", "content-length", "content-type", "mcp-session-id", "mcp-protocol-version",
    "mcp-method", "mcp-name", "transfer-encoding",
)  # fmt: skip
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_WRAPPED = re.compile(r"=\?base64\?(.*)\?=")


class Refusal(Exception):  # noqa: N818  # an answer, not a failure
    """A request that is turned away before its body is read; the connection ends with it."""

    def __init__(self, status: int, text: str, headers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(text)
        self.status, self.text, self.headers = status, text, (*headers, *CLOSE)


class Head:
    __slots__ = ("_fields", "method", "path")

    def __init__(self, method: str, path: str, fields: dict[str, str]) -> None:
        self.method, self.path, self._fields = method, path, fields

    def get(self, name: str) -> str:
        return self._fields.get(name, "")

    @property
    def closing(self) -> bool:
        return self.get("connection").lower() == "close"

    def accepts(self, kind: str) -> bool:
        wanted = {one.partition(";")[0].strip().lower() for one in self.get("accept").split(",")}
        return bool(wanted & {kind, f"{kind.partition('/')[0]}/*", "*/*"})


def parse_head(raw: bytes) -> Head:
    first, *rest = raw.decode("latin-1").split("\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise Refusal(400, "not an HTTP/1.1 request")
    fields: dict[str, str] = {}
    for text in rest:
        field = _FIELD.fullmatch(text)
        if field is None:
            raise Refusal(400, "a header cannot be read")
        name = field[1].lower()
        if name in fields and name in _ONCE:
            raise Refusal(400, f"{name} is given twice")
        fields[name] = f"{fields[name]}, {field[2].strip()}" if name in fields else field[2].strip()
    return Head(line[1], line[2].partition("?")[0], fields)


def routed(head: Head, message: Message) -> bool:
    """Whether a message is of the newer era. Then header and body must say the same."""
    said, meant = head.get("mcp-protocol-version"), message.meta.get(f"{META}protocolVersion")
    if meant is None and (not said or said in OLD):
        return False
    if not message.method or message.id is None:
        if said not in (*NEW, *OLD):
            raise _unsupported(said)
        return said in NEW
    if meant is None and said not in NEW:
        raise _unsupported(said, message)
    if said != meant:
        raise Fault(HEADER_MISMATCH, "MCP-Protocol-Version is not what the body says", id=message.id)
    if head.get("mcp-method") != message.method:
        raise Fault(HEADER_MISMATCH, "Mcp-Method is not what the body says", id=message.id)
    named = message.params.get(_NAMED.get(message.method, ""))
    if named is not None and _plain(head.get("mcp-name")) != named:
        raise Fault(HEADER_MISMATCH, "Mcp-Name is not what the body says", id=message.id)
    return True


def _unsupported(said: str, message: Message | None = None) -> Fault:
    known = {"supported": list(NEW), "requested": said}
    return Fault(UNSUPPORTED_VERSION, "unsupported protocol version", known, id=message.id if message else None)


def _plain(value: str) -> str | None:
    """A header's value; one that HTTP cannot carry comes in base64."""
    wrapped = _WRAPPED.fullmatch(value)
    if wrapped is None:
        return value
    try:
        return base64.b64decode(wrapped[1], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return None
