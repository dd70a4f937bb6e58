"""JSON-RPC on the wire: bytes to messages and back, with limits, and no exception other than
Fault."""

from __future__ import annotations

import re
from typing import Any

import msgspec

MAX_MESSAGE = 4 << 20  # a whole file in a write fits; it is held in memory before it is checked
MAX_DEPTH = 64  # the parser recurses
_MAX_ID = 200  # it is kept while the call runs, and repeated in the answer
_SAFE = 1 << 53  # clients in JavaScript lose larger integers
_ID = rb'-?\d{1,16}|"[^"\\]{1,200}"'
EDGE = 1_000
"""Bytes of the head and of the tail of a message that is too large, to read its id from."""

PARSE, INVALID, NO_METHOD, BAD_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022

Id = str | int


class Fault(Exception):  # noqa: N818  # an answer on the wire, not a failure of ours
    """A message that gets an error and no result. `id` is the message's own, if it is readable."""

    def __init__(self, code: int, message: str, data: object = None, id: Id | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data, self.id = code, message, data, id


class Message:
    """One checked message: a request has a method and an id, a notification a method, a response an
    id."""

    __slots__ = ("body", "id", "method", "params")

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.id: Id | None = body.get("id")
        self.method: str = body.get("method", "")
        self.params: dict[str, Any] = body.get("params") or {}

    @property
    def meta(self) -> dict[str, Any]:
        meta = self.params.get("_meta")
        return meta if isinstance(meta, dict) else {}


def parse(line: bytes) -> Message:
    """Parse a message; raise a Fault with its id if there is a usable one."""
    if len(line) > MAX_MESSAGE:
        raise too_large(line[:EDGE], line[-EDGE:])
    try:
        body = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as fault:
        raise Fault(PARSE, f"not JSON: {type(fault).__name__}") from None
    if not isinstance(body, dict):
        raise Fault(INVALID, "not one JSON-RPC object; batches are not part of this protocol")
    id = body.get("id")
    if not _usable(id):
        raise Fault(INVALID, f"an id is an integer or a string of at most {_MAX_ID} characters")
    if body.get("jsonrpc") != "2.0":
        raise Fault(INVALID, 'jsonrpc is not "2.0"', id=id)
    # as many brackets are needed for as many levels, and to count them in the bytes takes no time
    if line.count(b"{") + line.count(b"[") > MAX_DEPTH and _deeper(body, MAX_DEPTH):
        raise Fault(INVALID, f"nested deeper than {MAX_DEPTH} levels", id=id)
    method = body.get("method")
    if method is None:
        if id is None or not ("result" in body or "error" in body):
            raise Fault(INVALID, "neither a request nor a response", id=id)
    elif not isinstance(method, str) or len(method) > _MAX_ID:
        raise Fault(INVALID, "the method is not a short string", id=id)
    elif "id" in body and id is None:
        raise Fault(INVALID, "the id of a request is not null")
    if not isinstance(body.get("params", {}), dict):
        raise Fault(BAD_PARAMS, "params is not an object", id=id)
    # A colon after a quotation mark ends each name. Text may hold that too, so a surplus only
    # triggers the exact check.
    if line.count(b'":') != _names(body) and (twice := _given_twice(line)):
        raise Fault(BAD_PARAMS, f"{twice[:60]!r} is given twice in one object", id=id)
    return Message(body)


_HEAD_ID = re.compile(
    rb'^\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*\s*"id"\s*:\s*(%s)' % _ID
)
_TAIL_ID = re.compile(
    rb'[}\]]\s*,(?:\s*"jsonrpc"\s*:\s*"2.0"\s*,)?\s*"id"\s*:\s*(%s)\s*\}\s*$' % _ID
)


def too_large(head: bytes = b"", tail: bytes = b"") -> Fault:
    """Return the error for a message that is discarded; its id stands before or behind the
    params."""
    match = _HEAD_ID.match(head) or _TAIL_ID.search(tail)
    id = msgspec.json.decode(match[1]) if match else None
    return Fault(
        INVALID,
        f"a message has at most {MAX_MESSAGE:,} bytes",
        {"limit": MAX_MESSAGE, "next": "send the content in parts"},
        id=id if _usable(id) else None,
    )


def _usable(id: object) -> bool:
    if isinstance(id, str):
        return len(id) <= _MAX_ID
    return id is None or (type(id) is int and -_SAFE <= id <= _SAFE)


def _names(value: object) -> int:
    """Count the names of the objects in a value."""
    if isinstance(value, dict):
        return len(value) + sum(map(_names, value.values()))
    return sum(map(_names, value)) if isinstance(value, list) else 0


def _given_twice(line: bytes) -> str:
    """Return a name that occurs twice in one object, or ""."""
    import json

    doubled: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for name, _ in items:
            if name in seen:
                doubled.append(name)
            seen.add(name)

    json.loads(line, object_pairs_hook=pairs, parse_int=len)
    return doubled[0] if doubled else ""


def _deeper(value: object, levels: int) -> bool:
    layer: list[Any] = [value]
    for _ in range(levels):
        below: list[Any] = []
        for outer in layer:
            below += outer.values() if type(outer) is dict else outer
        layer = [inner for inner in below if type(inner) is dict or type(inner) is list]
        if not layer:
            return False
    return True


_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_MAX_CLIENT = 100  # it is written into every row of the ledger


def client_of(info: object) -> str:
    """Return `name/version` of a client's `clientInfo`, printable and short."""
    if not isinstance(info, dict):
        return ""
    words = [info.get("name"), info.get("version")]
    text = "/".join(word for word in words if isinstance(word, str) and word)
    return "".join(letter for letter in text[:_MAX_CLIENT] if letter.isprintable())


def trace_of(value: object) -> str:
    """Return a W3C `traceparent`, or ""."""
    return value if isinstance(value, str) and _TRACE.fullmatch(value) else ""


def result(id: Id | None, body: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id, "result": body}


def error(fault: Fault, id: Id | None = None) -> dict[str, object]:
    body: dict[str, object] = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        body["data"] = fault.data
    return {"jsonrpc": "2.0", "id": id if id is not None else fault.id, "error": body}
