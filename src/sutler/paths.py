"""Relative POSIX paths, their display form, and line spans.

Identity and display never share a field. A `RelPath` is the path as the file system has it (bytes
that are not UTF-8 are surrogates); `quote` returns the one-line form for people, models and
logs."""

from __future__ import annotations

import re
from functools import cache
from typing import NewType

import msgspec
from msgspec import Struct

from sutler.errors import RefusedError

RelPath = NewType("RelPath", str)
"""A POSIX path relative to the root: never absolute, no `..`, no `.`, no empty component, no NUL.
"""

ROOT = RelPath("")


class Span(Struct, frozen=True, gc=False):
    """Lines `start` to `end`, 1-based and inclusive."""

    start: int
    end: int


_PLACE = re.compile(r"(.+?):(\d+)(?:-(\d+))?", re.DOTALL)


def parse_place(text: str) -> tuple[str, Span | None]:
    """Split `a.py:3-9` or `a.py:3` into the path and the lines; without lines the span is None."""
    place = _PLACE.fullmatch(text)
    if place is None:
        return text, None
    return place[1], Span(int(place[2]), int(place[3] or place[2]))


def parse_relpath(raw: str) -> RelPath:
    """Parse an untrusted spelling to a RelPath, or refuse it. Purely lexical: nothing is
    expanded."""
    if "\0" in raw:
        raise RefusedError(f"path {quote(raw)} holds a NUL byte", rule="paths are plain names")
    if raw.startswith("/"):
        raise RefusedError(f"path {quote(raw)} is absolute", rule="paths are relative to the root")
    parts = [part for part in raw.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise RefusedError(
            f"path {quote(raw)} climbs out with '..'", rule="paths stay inside the root"
        )
    return RelPath("/".join(parts))


_DRIVE = re.compile(r"^(?:[/\\\\]{2}[?.][/\\\\])?[A-Za-z]:")


def normalize_path(raw: str) -> str:
    """Apply seed 004's normalizePath: backslashes become slashes; a drive letter, `.` and empty
    parts are dropped.

    For spellings that people and tools write; a RelPath from a scan is normalized already."""
    plain = _DRIVE.sub("", raw.strip()).replace("\\", "/")
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    return ("/" if plain.startswith("/") else "") + "/".join(parts)


def join(parent: str, name: str) -> RelPath:
    return RelPath(f"{parent}/{name}" if parent else name)


def basename(path: str) -> str:
    return path[path.rfind("/") + 1 :]


def dirname(path: str) -> RelPath:
    cut = path.rfind("/")
    return RelPath(path[:cut] if cut > 0 else "")


def extension(path: str) -> str:
    """Return the last extension without its dot, lower-case; empty for `.bashrc` and `Makefile`."""
    name = basename(path)
    dot = name.rfind(".")
    return name[dot + 1 :].lower() if dot > 0 else ""


@cache  # compiling this takes a millisecond, and most runs meet plain names only
def _unsafe() -> re.Pattern[str]:
    """Compile all characters that could break out of one line, hide, or reorder what a reader sees.

    Controls, separators, blanks that are no plain space, surrogates (bytes that are not UTF-8),
    bidi and zero-width characters, tags, private use and non-characters. Fixed ranges:
    `str.isprintable` changes with Python's Unicode tables."""
    planes = range(0x10000, 0xE0000, 0x10000)
    return re.compile(
        '[\x00-\x1f\x7f-\xa0"\\\\\u00ad\u034f\u061c\u115f\u1160'
        "\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
        "\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164"
        "\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0"
        "\ufff0-\ufffb\ufffe\uffff\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
        + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in planes)
        + "\U000e0000-\U0010ffff]"
    )


_SURROGATE = "[\ud800-\udfff]"
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ESCAPE = r"\\(?:([abfnrtv\"\\])|([0-3][0-7]{2})|u\{((?:10|[0-9a-f])?[0-9a-f]{1,4})\})"
_LONG = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    '"': '"',
    "\\": "\\",
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "v": "\v",
}


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if char in _SHORT:
        return _SHORT[char]
    if (
        0xDC80 <= code <= 0xDCFF
    ):  # a byte that is not UTF-8, carried as a surrogate: octal, as git shows it
        return f"\\{code - 0xDC00:03o}"
    return f"\\{code:03o}" if code < 0x80 else f"\\u{{{code:x}}}"


def quote(path: str) -> str:
    """Return the display form: unchanged if harmless, else C-style in double quotes on one line."""
    if (
        path.isascii()
        and path.isprintable()
        and '"' not in path
        and "\\" not in path
        and path
        and " " not in (path[0], path[-1])
    ):
        return path  # printable ASCII is the rule, and this is several times faster than a pattern
    escaped = _unsafe().sub(_escape, path)
    return f'"{escaped}"' if not path or escaped != path or " " in (path[0], path[-1]) else path


def wire_path(path: str) -> str:
    """Encode a path for JSON: unchanged, or quoted if its bytes are not UTF-8, or if it could be
    taken for a quoted one. `rel_of` decodes it."""
    looks_quoted = len(path) > 1 and path[0] == path[-1] == '"'
    if looks_quoted or (not path.isascii() and re.search(_SURROGATE, path)):
        return quote(path)
    return path


def _unescape(match: re.Match[str]) -> str:
    short, octal, code = match.groups()
    if short:
        return _LONG[short]
    if octal:
        byte = int(octal, 8)
        return chr(byte) if byte < 0x80 else chr(0xDC00 + byte)
    return chr(int(code, 16))


def unquote(shown: str) -> str:
    """Invert `quote`."""
    if len(shown) >= 2 and shown[0] == shown[-1] == '"':
        return re.sub(_ESCAPE, _unescape, shown[1:-1])
    return shown


def rel_of(wire: str) -> RelPath:
    """Decode a document's path: the inverse of `wire_path`."""
    plain = unquote(wire)
    return RelPath(plain if wire_path(plain) == wire else wire)


def json_bytes(value: object) -> bytes:
    """Encode a value as JSON, with surrogates spelled out wherever one stands."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:  # a rule, a message or a line with bytes that are not UTF-8
        return msgspec.json.encode(_spelled_out(msgspec.to_builtins(value)))


def _spelled_out(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_spelled_out(name): _spelled_out(item) for name, item in value.items()}
    return [_spelled_out(item) for item in value] if isinstance(value, list | tuple) else value


def counted(count: int, noun: str, more: str = "") -> str:
    """Format a number with its noun: `1 file`, `2 files`; `1,000+ files` if counting stopped."""
    return f"{count:,}{more} {noun}{'' if count == 1 and not more else 's'}"
