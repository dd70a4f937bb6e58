"""Bearer tokens of members: random, stored as a digest, with a scope, projects and an end.

A token is `sutler_ID_SECRET`. The id finds the row; the database holds the SHA-256 of the secret,
which has 256 bits, so that a copy of the table opens nothing."""

from __future__ import annotations

import hmac
import secrets
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from sutler.errors import UsageError
from sutler.store.base import Database, Query
from sutler.store.records import stamp

Scope = Literal["read", "write"]
MOST_DAYS = 366  # not every lost token is revoked, so each has to end by itself
_PREFIX = "sutler"
_COLUMNS = "id, person, scope, projects, created, expires, revoked"


class Token(Struct, frozen=True):
    """A token in a list. `projects` are names with spaces between, or `*`."""

    id: str
    person: str
    scope: Scope
    projects: str
    created: str
    expires: str
    revoked: str

    def admits(self, project: str, at: str) -> bool:
        named = self.projects == "*" or project in self.projects.split()
        return named and not self.revoked and at < self.expires


def issue(
    database: Database, tenant: str, person: str, scope: Scope, projects: str, days: int, now: float
) -> str:
    """Store a new token; return its text, which cannot be shown again."""
    if not 1 <= days <= MOST_DAYS:
        raise UsageError(f"{days} days", rule=f"a token lives 1 to {MOST_DAYS} days")
    id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
    row = (tenant, id, person, _digest(secret), scope, projects)
    times = (stamp(now), stamp(now + days * 86_400), "")
    database.transact(
        lambda query: query("INSERT INTO tokens VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row + times),
        write=True,
    )
    return f"{_PREFIX}_{id}_{secret}"


def listed(database: Database, tenant: str) -> tuple[Token, ...]:
    rows = database.select(
        f"SELECT {_COLUMNS} FROM tokens WHERE tenant = ? ORDER BY created",  # noqa: S608
        (tenant,),
    )
    return tuple(Token(*row) for row in rows)


def revoke(database: Database, tenant: str, id: str, now: float) -> bool:
    """End a token at once; return whether there was one."""

    def work(query: Query) -> bool:
        query(
            "UPDATE tokens SET revoked = ? WHERE tenant = ? AND id = ? AND revoked = ''",
            (stamp(now), tenant, id),
        )
        return query.changes() == 1

    return database.transact(work, write=True)


def identify(database: Database, tenant: str, text: str) -> Token | None:
    """Return the token of a text, whether or not it has ended; None if there is no such token."""
    prefix, _, rest = text.partition("_")
    id, _, secret = rest.partition("_")
    if prefix != _PREFIX or not secret:
        return None
    rows = database.select(
        f"SELECT digest, {_COLUMNS} FROM tokens WHERE tenant = ? AND id = ?",  # noqa: S608
        (tenant, id),
    )
    # A missing row is compared too: the time of an answer must not tell ids apart.
    digest = rows[0][0] if rows else ""
    same = hmac.compare_digest(digest, _digest(secret))
    return Token(*rows[0][1:]) if same and rows else None


def _digest(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
