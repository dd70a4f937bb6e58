"""Values in the place of a secret that are none: codecs, algorithms, patterns, positions, names,
documented examples."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from sutler.secrets.format_table import words

_ACCENT = re.compile(r"\\u(?!00[0-7])[0-9a-fA-F]{4}")  # of a letter outside ASCII, in JSON
_CODECS = words("codec")
_PUBLIC = words("public-value")
_ALGORITHMS = words("algorithm")
_PIECE = re.compile(r"[A-Za-z]+|[0-9]+|[^A-Za-z0-9]+")
_PATTERN = re.compile(
    r"\[[^\]\s]{1,40}\][+*{?]|\[\^?[a-zA-Z0]-[a-zA-Z9][^\]\s]*\]|^\[\^?\w-\w[^\]\s]*\]$|^\w*\[[a-z-]+[*^$|~]?=|\\[dwsbSDW](?:[+*{]|\\)|\(\?[:=!P<]|\.[*+][)$?]|^\^.*\$$|^[a-z]+:\\?\"|^[Mm]-?\d[\d.]*[ ,]-?[\d.]+[ ]?[A-Za-z]"
)
_PUBLIC_KEY = re.compile(
    r"MII..[DTjz]CC|MII[A-Za-z0-9]{2,3}jAN|M(?:FkwEwYHKoZ|HYwEAYHKoZ|IGfMA0GCSq|CowBQYDK2V)|(?:ssh-\w+ )?AAAA(?:[BC]3N|E2V)"
)  # a certificate or a public key, in DER and in the form of SSH
_POSITION = re.compile(r"\d{1,7}:\d{1,7}(?::|$)")
_IDENTIFIERS = re.compile(
    r"\[?(?:TLS|SSL)_\w+(?:,\w*)*|S-1-\d+(?:-\d+)+|[A-Z][A-Za-z]{1,8}-\d+(?:\.\d+)*(?:-or-later|-only|-clause)?"
    r"|[\^~=<>v]{0,3}\d+(?:\.\d+){1,3}(?:[-+.][a-z]+[\d.]*)?(?:\(.*)?|#[0-9a-f]{3,8}|[0-2](?:\.\d+){4,}(?:\\x00)?"
    r"|[\^~<>]=?\d[\d.]*(?:[|, ]{1,3}[\^~<>=]{0,2}\d[\d.]*)*|(?:arn:[a-z-]+|npm):\S+|[\w.]+(?:/\w+)+@\d{4}-\d\d-\d\d\S*"
    r"|[a-z]+(?:[-_][a-z]+)*[-_]v?\d+(?:\.[\dx]+)+|ENC\[[A-Z0-9_]+,data:\S*|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)?|\[?[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){3,7}(?:\]\S*)?",
    re.IGNORECASE,
)  # Windows accounts, SPDX licences, versions, colours, object identifiers, names of resources,
# what sops has encrypted, moments and addresses
_PLACE = re.compile(
    r"(?:[\w-]{0,40}:?@{0,2})?(?:tcp|unix)\(\S*|[\w.-]+:\d{2,5}(?:/[\w.-]*)?(?:,[\w.-]+:\d{2,5})*|(?:\d{1,3}\.){3}\d{1,3}(?:[/,:].*)?"
)
_SEGMENT = r"[a-z]{2,}\d?(?:[._-][a-z]+\d{0,2})*"
_LAST_SEGMENT = r"(?:[0-9a-f]{8,64}|[A-Za-z]{2,}|\d{1,2})(?:[._-](?:[A-Za-z]{2,}|\d{1,4}))*"
_WORDY_PATH = re.compile(
    rf"(?:file:/*|\.{{0,2}}/|~/|@/)?(?:{_SEGMENT}/)+(?:v\d/)?(?:{_SEGMENT}/)*{_LAST_SEGMENT}/?"
)  # words in every part, unlike base64 with a slash
_CHECK = r"[a-z_]+(?::[\w,.]*)?"
_CHECKS = re.compile(
    rf"{_CHECK}(?:\|{_CHECK})+|(?:min|max|size|same|in|required\w*|exists|unique):[\w,.]*"
)  # rules of validation in Laravel's form
_MIGRATION = re.compile(r"\d{4}_[a-z]\w*")  # of Django: `("auth", "0013_auto_20221214_1224")`
_FILE = re.compile(r"(?:~|\.{1,2})?(?:/[\w .@+-]+){2,}\.[A-Za-z]\w{0,5}")
_SCOPE = re.compile(r"[\w<>-]+/\d{8}/[a-z\d-]+/[\w-]+/aws4_request")  # the key's id has a format
_SHORTCUT = re.compile(r"(?:(?:Alt|Ctrl|Shift|Command|Cmd|Meta|Option)-)+\w+(?:\|.*)?")
_REPEATED = re.compile(r"(.)\1{7}")
_IDENTIFIER = re.compile(r"[A-Za-z]+\d?(?:[_.-][A-Za-z]+)+|[A-Za-z]+")
_TRANSLATIONS = re.compile(
    r"(?:^|/)(?:intl|messages|langs?|languages?|locales?|l10n|i18n|localis?z?ations?|translations?)(?:/|\.[a-z]{2}\b)"
    r"|/values-[a-z]{2}[\w-]*/|\.arb\Z|(?:^|/)bundles?/|\.(?:po|pot|xlf|xliff|resx|strings)\Z|messages[\w-]*\.properties\Z|_[a-z]{2}\.properties\Z|(?:^|/)[a-z]{2,3}[-_][a-z]{2}\.[a-z]{2,10}\Z",
    re.IGNORECASE,
)
_ABOUT = re.compile(r"(?i:password|passwd|passphrase|secret|token|creds|credential)")
_HUMP = re.compile(r"[a-z][A-Z]|[_.-]")
_SHORTEST_PART = 8
_GENERATED = re.compile(r"[A-Za-z0-9+_-]{16,}")


@lru_cache(maxsize=4096)
def is_harmless(value: str) -> bool:
    """Return whether the value by itself shows that it is no secret."""
    value = _ACCENT.sub("\u00e9", value)
    lowered = value.lower()
    return (
        (value.isalpha() and not value.isascii())
        or _is_other_script(value)
        or _PUBLIC_KEY.match(value) is not None
        or lowered in _CODECS
        or lowered in _PUBLIC
        or _is_algorithm(lowered)
        or _PATTERN.search(value) is not None
        or _POSITION.match(value) is not None
        or _REPEATED.search(value) is not None
        or _IDENTIFIERS.fullmatch(value) is not None
        or _PLACE.fullmatch(value) is not None
        or _FILE.fullmatch(value) is not None
        or _WORDY_PATH.fullmatch(value) is not None
        or _CHECKS.fullmatch(value) is not None
        or _SCOPE.fullmatch(value) is not None
        or _MIGRATION.fullmatch(value) is not None
        or _SHORTCUT.fullmatch(value) is not None
    )


def _is_other_script(value: str) -> bool:
    """Return whether half of a value or more is letters outside ASCII: words of a language."""
    return not value.isascii() and sum(not char.isascii() for char in value) * 2 >= len(value)


def is_translation(value: str, path: str) -> bool:
    """Return whether a value is the word for a password in a file of translations: `"password":
    "Heslo"`."""
    plain = _ACCENT.sub("", value)
    return _TRANSLATIONS.search(path) is not None and not any(map(str.isdigit, plain))


def _is_algorithm(value: str) -> bool:
    """Return whether a value is words of ciphers and short numbers: `aes-256-cbc`,
    `AES/CBC/PKCS5Padding`, `scram-sha-256`."""
    pieces = _PIECE.findall(value) if len(value) <= 400 else []
    named = [piece for piece in pieces if piece.isalpha()]
    return bool(named) and all(
        piece in _ALGORITHMS
        or (piece.isdigit() and len(piece) <= 4)
        or set(piece) <= set("-_/+ :!")
        for piece in pieces
    )


def is_address(value: str) -> bool:
    """Return whether a value is an address without credentials: nothing before an `@`, and no long
    run in its path."""
    _, scheme, rest = value.partition("://")
    place = rest.partition("/")[2] + rest.partition("?")[2]
    return (
        bool(scheme)
        and "@" not in rest
        and not any(
            len(part) >= _SHORTEST_PART and re.search("[0-9]", part) and re.search("[A-Za-z]", part)
            for run in _GENERATED.findall(place)
            for part in re.split("[-_+]", run)
        )
    )


def is_compound_name(value: str) -> bool:
    """Return whether a value is letters of several words, one of them about secrets, like a name in
    code: `challengePassword`, `password_field`, `PGPASSWORD`."""
    return (
        _IDENTIFIER.fullmatch(value) is not None
        and (_HUMP.search(value) is not None or (value.isupper() and len(value) > len("password")))
        and _ABOUT.search(value) is not None
    )


SEQUENCES = (
    "abcdefghijklmnopqrstuvwxyz",
    "01234567890123456789",
    "qwertyuiopasdfghjklzxcvbnm",
    "zyxwvutsrqponmlkjihgfedcba",
    "98765432109876543210",
)
_IN_ORDER = re.compile(
    "|".join(row[at : at + 4] for row in SEQUENCES[:2] for at in range(len(row) - 3))
)


def typed_in_order(value: str) -> bool:
    """Return whether a value is mostly runs such as 0123456789 or abcdef."""
    if not _IN_ORDER.search(value):
        return False
    steps = sum(ord(right) - ord(left) == 1 for left, right in pairwise(value))
    return len(value) >= 6 and steps * 10 >= len(value) * 7


def counting(word: str) -> bool:
    """Return whether a word is letters or digits in order, as people invent them."""
    return any(
        word[at : at + 5] in sequence
        for sequence in SEQUENCES
        for at in range(0, max(1, len(word) - 4), 5)
    )
