"""One level of decoding: a secret in base64, percent-encoding or \\u escapes is still a secret.

A run that decodes to readable text is searched like any other text; when that finds something, the whole run goes.
"""

from __future__ import annotations

import base64
import binascii
import re

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{40,}+={0,2}")
_ESCAPED = re.compile(r"(?:\\u00[0-7][0-9a-fA-F]|\\x[0-7][0-9a-fA-F])++")
_PERCENT = re.compile(r"(?:%[0-7][0-9A-Fa-f]|[\w.~-])++", re.ASCII)
_LONGEST_PREFIX = 400
_ODD = re.compile(r"[^\x09\x0a\x0d\x20-\x7e]")

BASE64_HEAD = r"(?:^|[^a-z0-9+/_-])[a-z0-9+/_-]{40}"
ESCAPED_HEAD = r"(?:\\u00[0-7][0-9a-f]|\\x[0-7][0-9a-f]){8}"
PERCENT_HEAD = r"%(?:2[bdf]|3[ad]|40|5f|7e)[\w.~-]{0,200}%[0-7][0-9a-f]"


def run_at(text: str, kind: int, end: int) -> tuple[int, int, str]:
    """(start, end, decoded) of the run that a trigger of this kind (base64, escapes, percent) ended in at `end`."""
    if kind == 0:
        found = _BASE64.match(text, max(0, end - 40))
        return (*found.span(), _from_base64(found.group())) if found else (end, end, "")
    pattern, decode = ((_ESCAPED, _from_escapes), (_PERCENT, _from_percent))[kind - 1]
    for found in pattern.finditer(text, max(0, end - _LONGEST_PREFIX)):
        if found.end() >= end:
            return (*found.span(), decode(found.group()))
    return end, end, ""


def _from_base64(run: str) -> str:
    if len(run) > 1_000_000 or run[:60].lower() == run[:60] or run[:60].upper() == run[:60]:
        return ""  # the encoding of readable text has letters of either case: this is a digest or a path
    body = run.rstrip("=").replace("-", "+").replace("_", "/")
    if len(body) % 4 == 1:
        body = body[:-1]
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except (binascii.Error, ValueError):
        return ""
    if raw[1:8:2] == b"\0\0\0\0":  # UTF-16, as PowerShell's -EncodedCommand has it
        raw = raw[::2]
    text = raw.decode("latin-1")
    return text if len(_ODD.findall(text[:400])) * 20 <= len(text[:400]) else ""


def _from_escapes(run: str) -> str:
    return re.sub(r"\\(?:u00|x)([0-9a-fA-F]{2})", lambda one: chr(int(one[1], 16)), run)


def _from_percent(run: str) -> str:
    return re.sub(r"%([0-7][0-9A-Fa-f])", lambda one: chr(int(one[1], 16)), run)
