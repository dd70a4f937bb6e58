"""Access tokens of an OpenID Connect issuer.

The server is a resource server: it issues nothing, validates signature, issuer, audience and times
of a JWT, and publishes where clients get one (RFC 9728). Keys come from a file or from the issuer's
JWKS, read again when a token names an unknown key, at most once a minute."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from sutler.errors import UsageError
from sutler.fronts.mcp.http_connection import LOOPBACK

_KEYS_FRESH = 60.0  # tokens with made-up key ids must not make us ask the issuer each time
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures by a private key alone: with HMAC every holder of the key could sign."""
_MOST_BYTES = 1 << 20  # the address is configured, but its answer is untrusted
_LEEWAY = 30  # clocks of two machines differ by seconds
WRITE_SCOPE = "sutler.write"


class Issuer(Struct, frozen=True):
    """An OIDC issuer. `claim` holds the member's name; `jwks` is a file, or empty for the issuer's
    own document."""

    url: str
    audience: str
    claim: str = "sub"
    jwks: str = ""


class Oidc:
    """Validates access tokens of one issuer."""

    def __init__(self, issuer: Issuer, fetch: Callable[[str], bytes] | None = None) -> None:
        try:
            import jwt  # noqa: F401
        except ImportError:
            raise UsageError(
                "tokens of an issuer need PyJWT", next_step="run pip install 'PyJWT[crypto]'"
            ) from None
        self._issuer = issuer
        self._fetch = fetch or _fetch
        self._lock = threading.Lock()
        self._keys: dict[str, Any] = {}
        self._read_at = 0.0

    def claimed(self, text: str) -> tuple[str, bool] | None:
        """Return the member that a valid token names, and whether it permits writes."""
        import jwt

        try:
            head = jwt.get_unverified_header(text)
            key = self._key(str(head.get("kid", "")))
            if key is None:
                return None
            claims = jwt.decode(
                text,
                key,
                algorithms=list(_ALGORITHMS),
                audience=self._issuer.audience,
                issuer=self._issuer.url,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud"]},
            )
        except (jwt.PyJWTError, ValueError):  # an unauthenticated client gets no reason
            return None
        person, words = claims.get(self._issuer.claim), str(claims.get("scope", "")).split()
        if not isinstance(person, str) or not person:
            return None
        return person, WRITE_SCOPE in words

    def _key(self, id: str) -> Any:
        """Return the public key of an id; read the keys again if it is unknown."""
        with self._lock:
            if id not in self._keys and time.monotonic() - self._read_at > _KEYS_FRESH:
                self._read_at = time.monotonic()
                self._keys = self._read()
            return self._keys.get(id)

    def _read(self) -> dict[str, Any]:
        import jwt

        body = self._document()
        keys: dict[str, Any] = {}
        for entry in body.get("keys", ()):
            # Keys for encryption, or of a kind that this library lacks, sign no token of ours.
            try:
                keys[str(entry.get("kid", ""))] = jwt.PyJWK(entry).key
            except jwt.PyJWTError:  # keys of kinds that this library lacks do not spoil the others
                continue
        return keys

    def _document(self) -> dict[str, Any]:
        if self._issuer.jwks:
            with open(self._issuer.jwks, "rb") as file:
                return msgspec.json.decode(file.read(_MOST_BYTES), type=dict[str, Any])
        base = self._issuer.url.rstrip("/")
        try:
            about = self._fetch(f"{base}/.well-known/openid-configuration")
            place = msgspec.json.decode(about, type=dict[str, Any]).get("jwks_uri")
            return msgspec.json.decode(self._fetch(str(place)), type=dict[str, Any])
        except (OSError, msgspec.MsgspecError):
            self._read_at -= _KEYS_FRESH - 1  # try again in a second: the issuer may be restarting
            return {}


def _fetch(url: str) -> bytes:
    from sutler.remote.redirect import opener

    require_secure(url)
    with opener().open(url, timeout=5) as answer:
        body: bytes = answer.read(_MOST_BYTES)
    return body


def require_secure(url: str) -> None:
    """Raise UsageError unless keys from this address cannot be replaced on the way."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
        raise UsageError(
            "the issuer's address is not https",
            rule="keys come over TLS, or from this machine",
            next_step="use https://…, or keys from a file with --oidc-jwks",
        )
