"""Where the call of this thread comes from, for the ledger: the client program and the trace."""

from __future__ import annotations

import re
from contextvars import ContextVar

from msgspec import Struct

_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_MOST = 100


class Origin(Struct, frozen=True):
    """What a client says of itself. It is recorded and decides nothing: identity comes from the
    transport.
    """

    client: str = ""
    trace: str = ""


def client_of(info: object) -> str:
    """`name/version` of what a client sends as `clientInfo`, printable and short."""
    if not isinstance(info, dict):
        return ""
    words = [info.get("name"), info.get("version")]
    text = "/".join(word for word in words if isinstance(word, str) and word)
    return "".join(letter for letter in text[:_MOST] if letter.isprintable())


def trace_of(value: object) -> str:
    """A W3C `traceparent`, or nothing."""
    return value if isinstance(value, str) and _TRACE.fullmatch(value) else ""


current: ContextVar[Origin] = ContextVar("origin", default=Origin())  # noqa: B039  # frozen
