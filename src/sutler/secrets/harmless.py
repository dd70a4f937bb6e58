"""Values that stand where a secret could and are none: codecs, algorithms, patterns, positions,
names, documented examples.
"""

from __future__ import annotations

import re
from functools import lru_cache

from sutler.secrets.format_table import words

_CODECS = words("codec")
_PUBLIC = words("public-value")
_ALGORITHMS = words("algorithm")
_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]+")
_PATTERN = re.compile(
    r"\[[^\]\s]{1,40}\][+*{?]|\\[dwsbSDW](?:[+*{]|\\)|\(\?[:=!P<]|\.[*+][)$?]|^\^.*\$$"
)
_POSITION = re.compile(r"\d{1,7}:\d{1,7}(?::|$)")
_IDENTIFIERS = re.compile(
    r"S-1-\d+(?:-\d+)+|[A-Z][A-Za-z]+-\d+(?:\.\d+)*(?:-or-later|-only|-clause)?", re.IGNORECASE
)  # Windows accounts, SPDX licences
_PLACE = re.compile(r"[\w.-]+:\d{2,5}(?:/[\w.-]*)?|(?:\d{1,3}\.){3}\d{1,3}(?:[/,:].*)?")
_FILE = re.compile(r"(?:~|\.{1,2})?(?:/[\w .@+-]+){2,}\.[A-Za-z]\w{0,5}")
_REPEATED = re.compile(r"(.)\1{7}")
_IDENTIFIER = re.compile(r"[A-Za-z]+(?:[_.-][A-Za-z]+)*")
_ABOUT = re.compile(r"(?i:password|passwd|passphrase|secret|token|credential)")
_HUMP = re.compile(r"[a-z][A-Z]|[_.-]")
_GENERATED = re.compile(r"[A-Za-z0-9+/_-]{16,}")


@lru_cache(maxsize=4096)
def is_harmless(value: str) -> bool:
    """Whether the value itself says that it is no secret."""
    lowered = value.lower()
    return (
        (value.isalpha() and not value.isascii())
        or lowered in _CODECS
        or lowered in _PUBLIC
        or _is_algorithm(lowered)
        or _PATTERN.search(value) is not None
        or _POSITION.match(value) is not None
        or _REPEATED.search(value) is not None
        or _IDENTIFIERS.fullmatch(value) is not None
        or _PLACE.fullmatch(value) is not None
        or _FILE.fullmatch(value) is not None
    )


def _is_algorithm(value: str) -> bool:
    """`aes-256-cbc`, `AES/CBC/PKCS5Padding`, `scram-sha-256`: words of ciphers and short numbers."""
    pieces = _PIECE.findall(value) if len(value) <= 40 else []
    named = [piece for piece in pieces if piece.isalpha()]
    return bool(named) and all(
        piece in _ALGORITHMS
        or (piece.isdigit() and len(piece) <= 4)
        or (len(piece) == 1 and piece in "-_/+ :")
        for piece in pieces
    )


def is_address(value: str) -> bool:
    """An address without credentials: nothing before an `@`, and no long run in its path."""
    _, scheme, rest = value.partition("://")
    return (
        bool(scheme)
        and "@" not in rest
        and not any(
            re.search("[0-9]", run) and re.search("[A-Za-z]", run)
            for run in _GENERATED.findall(rest)
        )
    )


def is_compound_name(value: str) -> bool:
    """Letters of several words, one of them about secrets, as names in code are:
    `challengePassword`, `password_field`.
    """
    return (
        _IDENTIFIER.fullmatch(value) is not None
        and _HUMP.search(value) is not None
        and _ABOUT.search(value) is not None
    )
