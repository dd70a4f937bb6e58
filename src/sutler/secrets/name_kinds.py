"""Kinds of secrets that the name of a setting, a variable or a parameter indicates."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from sutler.secrets.format_table import words

Kind = Literal["password", "secret", "weak", "none"]

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
"""A word of a name in any case, or a number."""
_PASSWORD_WORDS = words("password")
_SECRET_WORDS = words("secret")
_WEAK_WORDS = words("weak")
_KEY_PARTNERS = words("key-partner")
_NEGATIVE_LAST = words("not-last")
_NEGATIVE_FIRST = words("not-first")
_AFTER_PASS = words("after-pass")
_IN_OTHER_ALPHABETS = ("密码", "密碼", "口令", "ароль", "パスワード", "비밀번호")
_WRITTEN_AS = re.compile(r"_?(?:base64|b64)_?url\Z", re.IGNORECASE)


@lru_cache(maxsize=4096)
def kind_of(name: str) -> Kind:
    """Return what a name indicates: a password, a secret, possibly a secret, or none."""
    plain = _WRITTEN_AS.sub("", name)
    parts = [word.lower() for word in WORD.findall(plain) if not word.isdigit()]
    if name.endswith(_IN_OTHER_ALPHABETS):
        return "password"
    if not parts or name == "$PWD":
        return "none"
    last, joined = parts[-1], "".join(parts)
    if "secwebsocket" in joined or joined.endswith(("publickey", "pubkey")):  # RFC 6455: in clear
        return "none"
    if "public" in parts and last in ("key", "keys", "token"):
        return "none"
    if name.startswith("data-") and not {"token", "secret", "api"} & {*parts}:
        return "none"
    if last == "hash" and _says_password(parts[:-1]):  # of MD5 and the like: has no form of its own
        return "weak"
    if last in _NEGATIVE_LAST or (
        len(parts) > 1 and {parts[0], parts[-2]} & _NEGATIVE_FIRST and last in _WEAK_WORDS
    ):
        return "none"
    if _says_password(parts) or joined.endswith(("password", "passwd", "pwd", "passphrase")):
        return "password"
    if any(word in _SECRET_WORDS for word in parts) or joined.endswith(
        ("secret", "token", "apikey", "secretkey", "accesskey", "privatekey")
    ):
        return "secret"
    if last in ("key", "keys") and len(parts) > 1 and parts[-2] in _KEY_PARTNERS:
        return "secret"
    if any(word in _WEAK_WORDS for word in parts) or joined.endswith(("key", "auth")):
        return "weak"
    return "none"


def _says_password(parts: list[str]) -> bool:
    """Return whether a name's words mean a password. Short ambiguous words, such as a pass over a
    file, count at the end only."""
    last = len(parts) - 1
    return any(
        word in _PASSWORD_WORDS
        and (len(word) > len("pass") or at == last or parts[at + 1] in _AFTER_PASS)
        for at, word in enumerate(parts)
    )


@lru_cache(maxsize=4096)
def is_setter(name: str) -> bool:
    """Return whether a name ends in a secret's name, as it must in `name(value)` and `"name",
    value`: set_password, setApiKey, SECRET_KEY."""
    parts = [word.lower() for word in WORD.findall(name) if not word.isdigit()]
    while len(parts) > 1 and parts[-1] in ("new", "of", "from", "create"):
        parts.pop()
    return (
        bool(parts)
        and parts[0] not in ("check", "verify", "validate", "is", "has")
        and (
            parts[-1] in _PASSWORD_WORDS
            or parts[-1] in _SECRET_WORDS
            or parts[-1] in ("key", "auth", "salt")
        )
    )


def is_negative(name: str) -> bool:
    """Return whether the name of a service's setting indicates no secret: `trello_list_id`."""
    parts = [word.lower() for word in WORD.findall(name) if not word.isdigit()]
    return bool(parts) and parts[-1] in _NEGATIVE_LAST and parts[-1] not in ("url", "uri")
