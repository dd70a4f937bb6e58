"""Settings files as text: read them, and insert one entry without changing the rest. JSON may hold
comments."""

from __future__ import annotations

import json
import re
from typing import Any

Entry = dict[str, Any]

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"[-+0-9.eEa-z]+")


class _Json:
    """Parser for JSON with comments and trailing commas that records positions."""

    def __init__(self, text: str) -> None:
        self.text = text

    def blank(self, at: int) -> int:
        match = _BLANK.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int = 0) -> tuple[Any, int]:
        """Return the value at a position, and its end."""
        if depth > 100:  # the file is the client's and may be damaged; this function recurses
            raise ValueError("nested too deeply")
        at = self.blank(at)
        letter = self.text[at : at + 1]
        if letter == "{":
            members, end = self.members(at, depth)
            return {name: value for name, (value, _, _) in members.items()}, end
        if letter == "[":
            return self._list(at, depth)
        match = (_STRING if letter == '"' else _PLAIN).match(self.text, at)
        if match is None:
            raise ValueError(f"not JSON at character {at}")
        return json.loads(match[0]), match.end()

    def members(self, at: int, depth: int = 0) -> tuple[dict[str, tuple[Any, int, int]], int]:
        """Return the members of the object that begins at `at`, each with the position of its
        value; and the object's end."""
        members: dict[str, tuple[Any, int, int]] = {}
        at = self.blank(at + 1)
        while self.text[at : at + 1] != "}":
            name = _STRING.match(self.text, at)
            colon = self.blank(name.end()) if name else 0
            if name is None or self.text[colon : colon + 1] != ":":
                raise ValueError(f"not JSON at character {at}")
            start = self.blank(colon + 1)
            value, end = self.value(start, depth + 1)
            key = json.loads(name[0])
            if key in members:
                raise ValueError(f"{key} stands there twice")
            members[key] = value, start, end
            at = self._comma(end, "}")
        return members, at + 1

    def _list(self, at: int, depth: int) -> tuple[list[Any], int]:
        items: list[Any] = []
        at = self.blank(at + 1)
        while self.text[at : at + 1] != "]":
            value, end = self.value(at, depth + 1)
            items.append(value)
            at = self._comma(end, "]")
        return items, at + 1

    def _comma(self, at: int, closing: str) -> int:
        at = self.blank(at)
        if self.text[at : at + 1] == ",":
            return self.blank(at + 1)
        if self.text[at : at + 1] != closing:
            raise ValueError(f"not JSON at character {at}")
        return at


def read_json(text: str) -> dict[str, Any]:
    walk = _Json(text)
    value, end = walk.value(0)
    if not isinstance(value, dict) or walk.blank(end) != len(text):
        raise ValueError("not one JSON object")
    return value


def with_json(text: str, key: str, name: str, entry: Entry) -> str:
    """Return the text with `key.name` set to the entry, and everything else unchanged."""
    if not text.strip():
        return json.dumps({key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
    walk = _Json(text)
    start = walk.blank(0)
    top, _ = walk.members(start)
    step = _indent(text)
    if key not in top:
        return _added(walk, start, key, {name: entry}, step, 1)
    _, inner, _ = top[key]
    servers, _ = walk.members(inner)
    if name not in servers:
        return _added(walk, inner, name, entry, step, 2)
    entry_before, begin, end = servers[name]
    if entry_before == entry:
        return text
    return text[:begin] + _spelled(entry, step, 2) + text[end:]


def _added(walk: _Json, at: int, name: str, value: object, step: str, level: int) -> str:
    """Insert a member at the start of the object that begins at `at`: no comment can be in the way
    there."""
    members, _ = walk.members(at)
    comma = "," if members else f"\n{step * (level - 1)}"
    before, after = walk.text[: at + 1], walk.text[at + 1 :]
    if not members and after.lstrip()[:1] == "}":
        after = after.lstrip(" \t\r\n")
    member = f"{json.dumps(name)}: {_spelled(value, step, level)}"
    return f"{before}\n{step * level}{member}{comma}{after}"


def _spelled(value: object, step: str, level: int) -> str:
    return json.dumps(value, indent=step, ensure_ascii=False).replace("\n", f"\n{step * level}")


def _indent(text: str) -> str:
    indent = re.search(r"\n([ \t]+)\S", text)
    return indent[1] if indent and len(indent[1]) <= 8 else "  "


# TOML


def read_toml(text: str) -> dict[str, Any]:
    import tomllib

    return tomllib.loads(text)


def with_toml(text: str, key: str, name: str, entry: Entry) -> str:
    """Return the text with the table `[key.name]`: in the place of the old one, else at the end."""
    bare = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)
    rows = [f"[{key}.{bare}]", *(f"{name} = {_toml(value)}" for name, value in entry.items())]
    block = "\n".join(rows) + "\n"
    header = re.compile(
        rf"^\[\s*{re.escape(key)}\s*\.\s*(?:{re.escape(bare)}|\"{re.escape(name)}\")\s*\].*$", re.M
    )
    match = header.search(text)
    if match is None:
        gap = "" if not text.strip() else "\n" if text.endswith("\n") else "\n\n"
        return f"{text}{gap}{block}"
    after = re.compile(r"^\s*\[", re.M).search(text, match.end())
    end = after.start() if after else len(text)
    lines = text[match.end() : end].splitlines(keepends=True)
    # Comments and blanks after the old entry belong to the next one.
    ours = next(
        (n for n in range(len(lines), 0, -1) if lines[n - 1].strip()[:1] not in ("", "#")), 0
    )
    return text[: match.start()] + block + "".join(lines[max(ours, 1) :]) + text[end:]


def _toml(value: object) -> str:
    """Encode strings and lists of strings, the contents of an entry. JSON's strings are TOML's,
    without its short escapes."""
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
