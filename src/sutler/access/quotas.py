"""Quotas of a day: calls, bytes and tokens that a member, or a whole tenant, may use over HTTP."""

from __future__ import annotations

from msgspec import Struct

from sutler.config import parse_size
from sutler.errors import UsageError


class Quota(Struct, frozen=True):
    """Limits of one day; None means unbounded."""

    calls: int | None = None
    bytes: int | None = None
    tokens: int | None = None

    def text(self) -> str:
        """Return the form that the store holds: `calls=100 bytes=5000`."""
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return " ".join(f"{name}={value}" for name, value in values if value is not None)


class Usage(Struct, frozen=True):
    """Use of one day."""

    calls: int = 0
    bytes: int = 0
    tokens: int = 0


def parse_quota(text: str) -> Quota:
    """Read `calls=10k,bytes=100m`, with commas or spaces."""
    values: dict[str, int] = {}
    for word in text.replace(",", " ").split():
        name, _, size = word.partition("=")
        if name not in Quota.__struct_fields__:
            raise UsageError(
                f"no quota {name[:40]!r}", next_step=f"use {', '.join(Quota.__struct_fields__)}"
            )
        values[name] = parse_size(size, "quota")
    return Quota(**values)


def exceeded(usage: Usage, quota: Quota) -> str:
    """Return the rule of the quota that is used up; empty if none is."""
    for name in Quota.__struct_fields__:
        limit = getattr(quota, name)
        if limit is not None and getattr(usage, name) >= limit:
            return f"quota: {name} of a day <= {limit}"
    return ""
