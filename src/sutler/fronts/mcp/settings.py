"""Settings files as text: read them, and insert one entry without changing the rest. JSON may hold
comments."""

from __future__ import annotations

import json
import re
from typing import Any

Entry = dict[str, Any]

_STRING = r'"(?:[^"\\\x00-\x1f]|\\.)*"'
_COMMENT = r"//[^\n]*|/\*.*?\*/"
_LOOSE = re.compile(rf"{_STRING}|{_COMMENT}|,(?=(?:\s|{_COMMENT})*[}}\]])", re.DOTALL)
_NAME = re.compile(rf"[\s,]*({_STRING})\s*:\s*")
_DECODER = json.JSONDecoder()


def _strict(text: str) -> str:
    """Blank out comments and trailing commas, so that every other character keeps its place."""
    return _LOOSE.sub(
        lambda hit: hit[0] if hit[0][0] == '"' else re.sub(r"[^\n]", " ", hit[0]), text
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"{name} stands there twice")
        members[name] = value
    return members


def read_json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(_strict(text), object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not one JSON object")
    return value


def _members(strict: str, at: int) -> dict[str, tuple[int, int]]:
    """Return where the values of the object that begins at `at` begin and end."""
    places: dict[str, tuple[int, int]] = {}
    at += 1
    while name := _NAME.match(strict, at):
        _, at = _DECODER.raw_decode(strict, name.end())
        places[json.loads(name[1])] = name.end(), at
    return places


def with_json(text: str, key: str, name: str, entry: Entry) -> str:
    """Return the text with `key.name` set to the entry, and everything else as it was."""
    if not text.strip():
        return json.dumps({key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
    strict, step = _strict(text), _indent(text)
    start = strict.index("{")
    top = _members(strict, start)
    if key not in top:
        return _added(text, start, not top, key, {name: entry}, step, 1)
    inner, _ = top[key]
    servers = _members(strict, inner)
    if name not in servers:
        return _added(text, inner, not servers, name, entry, step, 2)
    begin, end = servers[name]
    if json.loads(strict[begin:end]) == entry:
        return text
    return text[:begin] + _spelled(entry, step, 2) + text[end:]


def _added(text: str, at: int, empty: bool, name: str, value: object, step: str, level: int) -> str:
    """Return the text with one more member, first in the object that begins at `at`: there no
    comment can be in the way."""
    comma = f"\n{step * (level - 1)}" if empty else ","
    before, after = text[: at + 1], text[at + 1 :]
    if empty and after.lstrip()[:1] == "}":
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
