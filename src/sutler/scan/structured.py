"""Bounded readers for untrusted documents: JSON, YAML, TOML and XML.

Each takes text and returns plain values, or raises `DocumentError`; limits of size, depth and nodes
apply before any expansion. YAML is built from parser events, so an alias costs as much as its
target, and a bomb is detected without expansion."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

MAX_CHARS = 2_000_000  # plain values take many times the text in memory
MAX_YAML_CHARS = 500_000  # its parser is much slower than that of JSON
MAX_DEPTH = 64  # the parsers recurse, and a crash of C code cannot be caught
MAX_NODES = 100_000  # aliases of aliases grow by powers ("billion laughs")


class DocumentError(ValueError):
    """The text is not a document of its kind, or exceeds a limit. The message says which."""


def _bounded(text: str, limit: int) -> str:
    if len(text) > limit:
        raise DocumentError(f"{len(text):,} characters exceed the limit of {limit:,}")
    return text.removeprefix("\ufeff")


def parse_json(text: str) -> Any:
    import json

    text = _bounded(text, MAX_CHARS)
    _check_brackets(text)
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not JSON: {_first_line(error)}") from None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check_brackets(text: str) -> None:
    """Limit the nesting, strings skipped, before the parser recurses."""
    depth = 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', text):
        char = match.group()[0]
        if char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise DocumentError(f"nested deeper than {MAX_DEPTH} levels")
        elif char in "]}":
            depth -= 1


def parse_toml(text: str) -> dict[str, Any]:
    import tomllib

    text = _bounded(text, MAX_CHARS)
    if any(
        len(line) > 2_000 and line.count(".", 0, 2_000) > 300 and "=" not in line[:2_000]
        for line in text.split("\n")
    ):
        raise DocumentError("a key of hundreds of parts, which takes tomllib for ever")
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"not TOML: {_first_line(error)}") from None


def parse_xml(text: str) -> Element:
    """Return the root element. Entity declarations are refused: no manifest needs them, every bomb
    does."""
    import xml.etree.ElementTree as ElementTree

    text = _bounded(text, MAX_CHARS)
    if "<!ENTITY" in text:
        raise DocumentError("declares XML entities, which are not read")
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text, count=1)
    try:
        return ElementTree.fromstring(text)  # noqa: S314 entities are refused above
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise DocumentError(f"not XML: {_first_line(error)}") from None


def parse_yaml(text: str) -> Any:
    """Return the first document. Scalars are text, except plain null, true, false and whole
    numbers."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder()
    try:
        for event in yaml.parse(_bounded(text, MAX_YAML_CHARS), Loader=loader):
            if isinstance(event, yaml.DocumentEndEvent):
                break
            builder.feed(event)
    except yaml.YAMLError as error:
        raise DocumentError(f"not YAML: {_yaml_message(error)}") from None
    return builder.root


def _yaml_message(error: Exception) -> str:
    problem, mark = getattr(error, "problem", None), getattr(error, "problem_mark", None)
    return (
        f"{problem} at line {mark.line + 1}" if problem and mark is not None else _first_line(error)
    )


_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})$")
_PLAIN: dict[str, bool | None] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip


def _scalar(text: str, plain: bool) -> str | int | bool | None:
    if not plain:
        return text
    if text in _PLAIN:
        return _PLAIN[text]
    return int(text) if _WHOLE.match(text) else text


class _Frame:
    """An open mapping or sequence; `key` waits for its value."""

    __slots__ = ("anchor", "key", "value", "waiting", "weight")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None) -> None:
        self.value, self.anchor, self.key, self.waiting, self.weight = value, anchor, "", False, 1


class _Builder:
    def __init__(self) -> None:
        self.root: Any = None
        self.frames: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}

    def feed(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            plain = event.style in (None, "") and event.tag in (None, "!", "")
            self._add(_scalar(event.value, plain), 1, event.anchor)
        elif kind == "AliasEvent":
            if event.anchor not in self.anchors:
                raise DocumentError(f"alias *{event.anchor} has no anchor, or stands inside it")
            self._add(*self.anchors[event.anchor], None)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if len(self.frames) >= MAX_DEPTH:
                raise DocumentError(f"nested deeper than {MAX_DEPTH} levels")
            self.frames.append(_Frame({} if kind[0] == "M" else [], event.anchor))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            frame = self.frames.pop()
            self._add(frame.value, frame.weight, frame.anchor)

    def _add(self, value: Any, weight: int, anchor: str | None) -> None:
        if anchor is not None:
            self.anchors[anchor] = (value, weight)
        if not self.frames:
            self.root = value
            return
        frame = self.frames[-1]
        frame.weight += weight
        if frame.weight > MAX_NODES:
            raise DocumentError(f"expands to more than {MAX_NODES:,} nodes")
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.waiting:
            frame.value.setdefault(frame.key, value)
            frame.waiting = False
        else:
            frame.key, frame.waiting = _key(value), True


def _key(value: Any) -> str:
    if isinstance(value, dict | list):
        raise DocumentError("a mapping key is not a plain word")
    return "" if value is None else str(value)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["malformed"])[0][:200]


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is a mapping, else an empty one, since manifests may have wrong
    types."""
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> list[str]:
    """Return the strings of a list, a lone string as a list of one, else nothing."""
    if isinstance(value, str):
        return [value]
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""
