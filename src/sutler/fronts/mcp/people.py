"""Members behind HTTP requests: bearer tokens of the store, or access tokens of an issuer."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from hashlib import sha256

from msgspec import Struct

from sutler.fronts.mcp.issuer import Issuer, Oidc
from sutler.store import tokens
from sutler.store.base import Database
from sutler.store.records import stamp
from sutler.store.tokens import Scope

_REMEMBERED = 1_024  # invalid tokens must not fill the memory
_FRESH = 5.0
"""Seconds for which an accepted token is cached: a revoked one ends that much later."""


class Visitor(Struct, frozen=True):
    """An authenticated member: the name in the store, the rights of the token, and a name for the
    token that does not reveal it."""

    person: str
    scope: Scope
    projects: str
    token: str

    def enters(self, project: str) -> bool:
        return self.projects == "*" or project in self.projects.split()


class People:
    """Authenticates the Authorization header."""

    def __init__(self, database: Database, tenant: str, issuer: Issuer | None) -> None:
        self._database = database
        self._tenant = tenant
        self._oidc = Oidc(issuer) if issuer else None
        self._recent: OrderedDict[bytes, tuple[float, Visitor]] = OrderedDict()
        self._lock = threading.Lock()

    def visitor(self, authorization: str) -> Visitor | None:
        """Return the member of a `Bearer` header; None if the token has no rights now."""
        kind, _, text = authorization.partition(" ")
        if kind.lower() != "bearer" or not text:
            return None
        key, now = sha256(text.encode("latin-1", "replace")).digest(), time.monotonic()
        with self._lock:
            at, visitor = self._recent.get(key, (0.0, None))
        if visitor is not None and now - at < _FRESH:
            return visitor
        visitor = self._identify(text, key.hex()[:12])
        if visitor is not None:
            with self._lock:
                self._recent[key] = now, visitor
                while len(self._recent) > _REMEMBERED:
                    self._recent.popitem(last=False)
        return visitor

    def _identify(self, text: str, name: str) -> Visitor | None:
        token = tokens.identify(self._database, self._tenant, text)
        if token is not None:
            if token.revoked or token.expires <= stamp(time.time()):
                return None
            return Visitor(token.person, token.scope, token.projects, name)
        claimed = self._oidc.claimed(text) if self._oidc else None
        if claimed is None:
            return None
        person, writes = claimed
        return Visitor(person, "write" if writes else "read", "*", name)
