"""Formats that carry a checksum: a value that passes is certain; one that fails may be invented,
and is replaced all the same."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from zlib import crc32

_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_WELL_FORMED, _CERTAIN = 0.9, 0.99


def confidence(rule: str, value: str) -> float:
    """Return the confidence of a well-formed value of this format."""
    check = _CHECKS.get(rule)
    return _CERTAIN if check is not None and check(value) else _WELL_FORMED


def base62(number: int, width: int) -> str:
    digits = ""
    while number:
        number, rest = divmod(number, 62)
        digits = _BASE62[rest] + digits
    return digits.rjust(width, "0")


def _crc_base62(value: str) -> bool:
    """Check GitHub and npm: the last six characters are the CRC-32, in base 62, of those between
    prefix and checksum."""
    body = value.partition("_")[2]
    return base62(crc32(body[:-6].encode()), 6) == body[-6:]


def _crc_hex(value: str) -> bool:
    """Check Grafana: the last eight hex digits are the CRC-32 of the text before the last
    underscore."""
    body, _, check = value.rpartition("_")
    return f"{crc32(body.encode()):08x}" in (check.lower(), bytes.fromhex(check)[::-1].hex())


def _crc16(value: str) -> bool:
    """Check NATS: base32 whose last two bytes are the CRC-16 (XMODEM) of the others."""
    try:
        raw = base64.b32decode(value + "=" * (-len(value) % 8))
    except binascii.Error:
        return False
    return binascii.crc_hqx(raw[:-2], 0) == int.from_bytes(raw[-2:], "little")


def _jwt(value: str) -> bool:
    """Return whether the first part of a JSON Web Token decodes to an object that names an
    algorithm."""
    head = value.partition(".")[0]
    try:
        raw = base64.urlsafe_b64decode(head + "=" * (-len(head) % 4))
    except (binascii.Error, ValueError):
        return False
    return re.search(rb'"(?:alg|typ|enc)"', raw) is not None


_CHECKS: dict[str, Callable[[str], bool]] = {
    "github-pat": _crc_base62,
    "github-oauth": _crc_base62,
    "github-user-token": _crc_base62,
    "github-server-token": _crc_base62,
    "github-refresh-token": _crc_base62,
    "npm-token": _crc_base62,
    "grafana-service-account": _crc_hex,
    "nkey-seed": _crc16,
    "jwt": _jwt,
}
