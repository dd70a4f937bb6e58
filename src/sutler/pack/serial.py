"""Documents to bytes and back: JSON and MessagePack, with a schema version and published JSON
Schemas.

Reading tolerates unknown fields and converts older versions; writing refuses fields the schema does
not have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from sutler.errors import UsageError
from sutler.formats.transparency import SCHEMA_VERSION, ContextPackInfo
from sutler.survey.wire import FullPack, PackDiff, ProjectSnapshot, SummaryPack
from sutler.tasks.wire import ContextPack, ContractViolation, FileContract, TaskSpec

WireFormat = Literal["json", "msgpack"]

DOCUMENTS: dict[str, type[Struct]] = {
    "ProjectSnapshot": ProjectSnapshot,
    "FullPack": FullPack,
    "SummaryPack": SummaryPack,
    "ContextPack": ContextPack,
    "ContextPackInfo": ContextPackInfo,
    "TaskSpec": TaskSpec,
    "FileContract": FileContract,
    "ContractViolation": ContractViolation,
    "PackDiff": PackDiff,
}


def _named(name: str) -> tuple[str, type[Struct]]:
    wanted = re.sub(r"[^a-z]", "", name.lower())
    for known, kind in DOCUMENTS.items():
        if known.lower() == wanted:
            return known, kind
    raise UsageError(
        f"no document is called {name!r}",
        rule=f"documents: {', '.join(DOCUMENTS)}",
        next_step="name one of these",
    )


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document: `full-pack`, `FullPack` and `full_pack` are the same
    name."""
    known, kind = _named(name)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": known,
        "x-schema-version": SCHEMA_VERSION,
        **msgspec.json.schema(kind),
    }


def serialize(
    document: Struct | Mapping[str, Any], format: WireFormat = "json", name: str = ""
) -> bytes:
    """Encode a document. A mapping must be a document of its schema, field for field."""
    value = (
        document
        if isinstance(document, Struct)
        else _strict(document, name or _recognise(document))
    )
    return msgspec.json.encode(value) if format == "json" else msgspec.msgpack.encode(value)


def deserialize(data: bytes | str, format: WireFormat | None = None, name: str = "") -> Any:
    """Decode a document. Its kind follows from its fields unless `name` gives it."""
    raw = data.encode() if isinstance(data, str) else data
    chosen = format or ("json" if raw.lstrip()[:1] in (b"{", b"[") else "msgpack")
    try:
        plain = msgspec.json.decode(raw) if chosen == "json" else msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError) as error:
        raise _unreadable(f"the data is not {chosen}: {error}") from None
    if not isinstance(plain, dict):
        raise _unreadable("the data is not a document: a mapping is expected")
    return _convert(plain, name or _recognise(plain))


def _unreadable(what: str) -> UsageError:
    return UsageError(
        what,
        rule=f"schema version {SCHEMA_VERSION}",
        next_step="check the file against `sutler schema`",
    )


def _convert(plain: Mapping[str, Any], name: str) -> Any:
    known, kind = _named(name)
    try:
        return msgspec.convert(_upgraded(dict(plain), known), kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _unreadable(f"not a {known}: {error}") from None


_MARKS = (
    ("ProjectSnapshot", "directory_tree"),
    ("ContextPack", "totalChars"),
    ("ContextPack", "total_chars"),
    ("ContextPackInfo", "selection_reason"),
    ("PackDiff", "level_changed"),
    ("ContractViolation", "reason"),
    ("FileContract", "forbidden"),
    ("TaskSpec", "goal"),
)


def _recognise(plain: Mapping[str, Any]) -> str:
    if plain.get("type") in ("full", "summary") and "manifest" in plain:
        return "FullPack" if plain["type"] == "full" else "SummaryPack"
    for name, mark in _MARKS:
        if mark in plain:
            return name
    raise _unreadable("the document's kind cannot be seen from its fields")


def _upgraded(plain: dict[str, Any], name: str) -> dict[str, Any]:
    """Convert a document step by step from its version to this one. Without a version it is 0."""
    given = plain.get("schema_version", plain.get("schemaVersion", 0))
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise _unreadable(f"schema version {given!r} is not a version")
    if given > SCHEMA_VERSION:
        raise UsageError(
            f"the document has schema version {given}, newer than this program's {SCHEMA_VERSION}",
            rule="older versions are converted, newer ones are not guessed",
            next_step="read it with a newer sutler",
        )
    for version in range(given, SCHEMA_VERSION):
        step = _STEPS.get((name, version))
        plain = step(plain) if step else plain
    plain.pop("schema_version", None)
    plain.pop("schemaVersion", None)
    return plain


def _flatten_content(plain: dict[str, Any]) -> dict[str, Any]:
    """Move the parts of a pack up from `content`, where version 0 had them."""
    content = plain.pop("content", None)
    return {**content, **plain} if isinstance(content, dict) else plain


def _camel_keys(value: Any) -> Any:
    """Convert the snake case of a task pack of version 0."""
    if isinstance(value, list):
        return [_camel_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {_camel(key): _camel_keys(item) for key, item in value.items()}


def _camel(key: str) -> str:
    if key == "must_include_files":
        return key
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), key)


_STEPS: dict[tuple[str, int], Callable[[dict[str, Any]], dict[str, Any]]] = {
    ("FullPack", 0): _flatten_content,
    ("SummaryPack", 0): _flatten_content,
    ("ContextPack", 0): _camel_keys,
}


def _strict(document: Mapping[str, Any], name: str) -> Struct:
    known, kind = _named(name)
    try:
        value: Struct = msgspec.convert(dict(document), kind)
    except msgspec.ValidationError as error:
        raise _unreadable(f"not a {known}: {error}") from None
    extra = _unknown(document, value, known)
    if extra:
        raise UsageError(
            f"{known} has no field {', '.join(extra)}",
            rule="unknown fields are not written",
            next_step="remove them, or correct their spelling",
        )
    return value


def _unknown(given: Any, kept: Any, where: str) -> list[str]:
    """Return the fields of `given` that the document `kept` lacks, as dotted paths."""
    if isinstance(kept, Struct) and isinstance(given, Mapping):
        config = kept.__struct_config__
        names = dict(zip(kept.__struct_encode_fields__, kept.__struct_fields__, strict=True))
        extra = [f"{where}.{key}" for key in given if key not in names and key != config.tag_field]
        nested = [
            _unknown(given[key], getattr(kept, names[key]), f"{where}.{key}")
            for key in given
            if key in names
        ]
        return sorted(extra + [item for items in nested for item in items])
    if isinstance(kept, tuple) and isinstance(given, list | tuple):
        pairs = enumerate(zip(given, kept, strict=False))
        return [
            item
            for index, (one, other) in pairs
            for item in _unknown(one, other, f"{where}[{index}]")
        ]
    return []
