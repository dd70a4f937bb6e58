"""The marker that stands for a secret: `[REDACTED:rule:tag]`, and how to tell ours from a
look-alike.

The tag is twelve hex digits. Eight are a keyed digest of the value: equal secrets show as equal
within one installation and nothing can be guessed from them without the key. Four are a keyed check
over rule and digest, so that a marker that a scanned file brings along (T42) is not taken for one
of ours.
"""

from __future__ import annotations

import re
from hashlib import blake2b

MARKER = re.compile(r"\[REDACTED:([a-z0-9-]{1,40}):([0-9a-f]{12})\]")
LOOKS_LIKE = "[REDACTED:"
"""What every marker begins with."""
LOOK_ALIKE = "[REDACTED-LITERAL:"


def tag_of(value: str, rule: str, key: bytes) -> str:
    """The tag of a value under this key and rule."""
    digest = _keyed(key, b"value", value)[:8]
    return digest + _check(rule, digest, key)


def value_digest(tag: str) -> str:
    """The part of a tag that depends on the value alone: what an allow-list holds."""
    return tag[:8]


def digest_of(value: str, key: bytes) -> str:
    return _keyed(key, b"value", value)[:8]


def marker(rule: str, tag: str) -> str:
    return f"[REDACTED:{rule}:{tag}]"


def is_ours(found: re.Match[str], key: bytes) -> bool:
    rule, tag = found.groups()
    return tag[8:] == _check(rule, tag[:8], key)


def own_spans(text: str, key: bytes) -> list[tuple[int, int]]:
    """Where this installation's markers stand in `text`."""
    if LOOKS_LIKE not in text:
        return []
    return [found.span() for found in MARKER.finditer(text) if is_ours(found, key)]


def set_apart(text: str, key: bytes) -> tuple[str, list[int]]:
    """Rewrite look-alikes (marker-shaped text whose check fails) so that no reader takes them for
    ours; and where.
    """
    if LOOKS_LIKE not in text:
        return text, []
    fakes = [found.start() for found in MARKER.finditer(text) if not is_ours(found, key)]
    if not fakes:
        return text, []
    parts: list[str] = []
    lines: list[int] = []
    at, line = 0, 1
    for start in fakes:
        line += text.count("\n", at, start)
        parts += (text[at:start], LOOK_ALIKE)
        lines.append(line)
        at = start + len(LOOKS_LIKE)
    parts.append(text[at:])
    return "".join(parts), lines


def _check(rule: str, digest: str, key: bytes) -> str:
    return _keyed(key, b"check", f"{rule}:{digest}")[:4]


def _keyed(key: bytes, purpose: bytes, value: str) -> str:
    return blake2b(
        value.encode("utf-8", "surrogatepass"),
        key=key[:64],
        person=purpose.ljust(16, b"."),
        digest_size=8,
    ).hexdigest()
