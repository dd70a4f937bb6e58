"""The marker that stands for a secret, and the check that tells ours from a look-alike.

Redaction writes `[REDACTED:rule:tag]`. The tag is twelve hex digits. Eight are a keyed digest of
the value: equal secrets show as equal within one installation, and without the key they allow no
guess. Four are a keyed check over rule and digest, so that a marker in a scanned file (T42) does
not pass for one of ours. The tools for agents, the cache and the ledger use tags.

A pack must be the same on every machine, so `cleaner.Numbering` rewrites tags to ordinals when a
text enters a pack: `[REDACTED:rule:1]`."""

from __future__ import annotations

import re
from hashlib import blake2b

MARKER = re.compile(r"\[REDACTED:([a-z0-9-]{1,40}):([0-9a-f]{12}|[1-9][0-9]{0,8})\]")
"""A marker of either form."""
TAGGED = re.compile(r"\[REDACTED:([a-z0-9-]{1,40}):([0-9a-f]{12})\]")
LOOKS_LIKE = "[REDACTED:"
"""Prefix of every marker."""
LOOK_ALIKE = "[REDACTED-LITERAL:"
_TAG = 12  # hex digits of a tag


def tag_of(value: str, rule: str, key: bytes) -> str:
    """Return the tag of a value under this key and rule."""
    digest = _keyed(key, b"value", value)[:8]
    return digest + _check(rule, digest, key)


def value_digest(tag: str) -> str:
    """Return the part of a tag that depends on the value alone, as an allow-list holds it."""
    return tag[:8]


def digest_of(value: str, key: bytes) -> str:
    return _keyed(key, b"value", value)[:8]


def marker(rule: str, tag: str) -> str:
    return f"[REDACTED:{rule}:{tag}]"


def is_ours(match: re.Match[str], key: bytes, packed: bool = False) -> bool:
    """Return whether a marker has a valid tag, or an ordinal in a text from a pack (`packed`)."""
    rule, tag = match.groups()
    if len(tag) != _TAG:
        return packed
    return tag[8:] == _check(rule, tag[:8], key)


def own_spans(text: str, key: bytes, packed: bool = False) -> list[tuple[int, int]]:
    """Return the spans of this installation's markers in `text`."""
    if LOOKS_LIKE not in text:
        return []
    return [match.span() for match in MARKER.finditer(text) if is_ours(match, key, packed)]


def set_apart(text: str, key: bytes, packed: bool = False) -> tuple[str, list[int]]:
    """Rewrite look-alikes (marker-shaped text whose check fails) so that no reader takes them for
    ours; and return their lines."""
    if LOOKS_LIKE not in text:
        return text, []
    fakes = [match.start() for match in MARKER.finditer(text) if not is_ours(match, key, packed)]
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


def markers_in(text: str) -> tuple[str, ...]:
    """Return the tagged markers of a redacted text, in order."""
    return tuple([match[0] for match in TAGGED.finditer(text)])


def shows(packed: str, raw: str, clean: str) -> bool:
    """Return whether a packed text is this file: each line as it is or as redacted alone, except
    for markers, which may stand for a secret of another file."""
    lines = packed.split("\n"), raw.split("\n"), clean.split("\n")
    if len({len(part) for part in lines}) > 1:
        return False
    return all(
        packed_line in (before, after)
        or _stands_for(packed_line, before)
        or _stands_for(packed_line, after)
        for packed_line, before, after in zip(*lines, strict=True)
    )


def _stands_for(packed_line: str, line: str) -> bool:
    if LOOKS_LIKE not in packed_line:
        return False
    shape = ".*?".join(re.escape(piece) for piece in MARKER.split(packed_line)[::3])
    return re.fullmatch(shape, line) is not None


def _check(rule: str, digest: str, key: bytes) -> str:
    return _keyed(key, b"check", f"{rule}:{digest}")[:4]


def _keyed(key: bytes, purpose: bytes, value: str) -> str:
    return blake2b(
        value.encode("utf-8", "surrogatepass"),
        key=key[:64],
        person=purpose.ljust(16, b"."),
        digest_size=8,
    ).hexdigest()
