"""Declaration of a tool (effect, parameters, answer type, function), and the parts that derive from
it: schemas, the check of arguments, and answers and failures as objects and text."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from sutler.access.door import Door
from sutler.access.search import Found, Hit
from sutler.access.structure import Symbol
from sutler.edits.file_access import delimited
from sutler.edits.writer import Writer
from sutler.errors import ConflictError, DeniedError, SutlerError, UsageError
from sutler.paths import ROOT, json_bytes
from sutler.store.records import (
    Call,
    Conflict,
    Effect,
    Listing,
    PatchResult,
    Reading,
    Version,
)
from sutler.tools.context import PackText, RankedFile

ParamType = Literal["string", "integer", "boolean", "strings"]
MOST = 12
"""Limit of tools that a server offers at once; with more, models choose worse."""


class Param(Struct, frozen=True):
    """A parameter. `help` is the text that an agent reads; it is required, or has a default.
    `aliases` are accepted in place of the name and not listed."""

    name: str
    type: ParamType
    help: str
    default: str | int | bool | tuple[str, ...] | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None
    aliases: tuple[str, ...] = ()


class Tool(Struct, frozen=True, kw_only=True):
    """A tool. Descriptions are constants: no text of a project ever becomes part of one.

    `run` receives the door (a write: its `Writer`) and the checked arguments by name, every
    parameter present. `effect` is what the
    ledger records and policy judges. `answer` is the type of what `run` returns; the schema of the
    answer is made from it. `standard` tools are listed by `sutler mcp` without --tools; clients
    that defer tools keep an `essential` one in the model's context. A `repeatable` write has the
    same result when it is called twice. A `slow` tool may take seconds: a server runs it beside
    other calls."""

    name: str
    effect: Effect
    help: str
    params: tuple[Param, ...]
    returns: str
    answer: Any
    example: Mapping[str, object]
    run: Callable[..., object]
    aliases: tuple[str, ...] = ()
    standard: bool = False
    essential: bool = False
    repeatable: bool = False
    slow: bool = False


def table(*tools: Tool) -> tuple[Tool, ...]:
    """Return the tools in their order. A faulty declaration is a TypeError that names the tool."""
    names = [name for tool in tools for name in (tool.name, *tool.aliases)]
    for tool in tools:
        if names.count(tool.name) > 1:
            raise TypeError(f"tool {tool.name}: the name is declared twice")
        if unclear := [param.name for param in tool.params if not param.help]:
            raise TypeError(f"tool {tool.name}: parameter {unclear[0]} has no help; agents read it")
        if not tool.help or not tool.returns:
            raise TypeError(f"tool {tool.name}: `help` and `returns` are empty; agents read them")
        try:
            checked(tool, tool.example)
        except UsageError as error:
            raise TypeError(
                f"tool {tool.name}: its example is not a valid call: {error.what}"
            ) from None
    if (count := sum(tool.standard for tool in tools)) > MOST:
        raise TypeError(f"{count} tools are `standard`; a server offers at most {MOST}")
    return tools


def checked(tool: Tool, arguments: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments with defaults filled in, each of its type."""
    _refuse_unknown(tool, arguments)
    complete: dict[str, Any] = {}
    for param in tool.params:
        used = [name for name in (param.name, *param.aliases) if name in arguments]
        if len(used) > 1:
            raise UsageError(
                f"{tool.name}: {param.name!r} is given twice, as {' and '.join(map(repr, used))}",
                rule="each argument is given once",
                next_step=f"give {param.name!r} alone",
            )
        if used:
            complete[param.name] = _typed(tool, param, arguments[used[0]])
        elif param.required:
            raise UsageError(f"{tool.name} needs {param.name!r}", next_step=param.help)
        else:
            complete[param.name] = param.default
    return complete


def run(door: Door, tool: Tool, arguments: Mapping[str, object]) -> object:
    """Check the arguments of a call and run the tool."""
    try:
        complete = checked(tool, arguments)
    except UsageError as wrong:
        raise refused(door, tool.name, wrong) from None
    return tool.run(Writer(door) if tool.effect == "write" else door, **complete)


def refused(door: Door, name: str, wrong: UsageError) -> SutlerError:
    """Record a call that was refused before it was a valid Call; return its error with secrets
    removed."""
    attempt = Call(id=secrets.token_hex(16), tool=name, effect="list", path=ROOT)
    door.gate.refused(attempt, "arguments", wrong.what)
    return door.gate.cleaned(wrong)


def _refuse_unknown(tool: Tool, arguments: Mapping[str, object]) -> None:
    """Refuse a name that is no parameter, and suggest the nearest parameter."""
    names = {name: param.name for param in tool.params for name in (param.name, *param.aliases)}
    unknown = sorted(str(name)[:60] for name in arguments if name not in names)
    if not unknown:
        return
    from difflib import get_close_matches

    close = get_close_matches(unknown[0].lower(), names, 1)
    listed = ", ".join(param.name for param in tool.params)
    raise UsageError(
        f"{tool.name} has no argument {unknown[0]!r}",
        next_step=(f"use {names[close[0]]!r}; " if close else "") + f"arguments: {listed}",
    )


_TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool}


def _typed(tool: Tool, param: Param, value: object) -> object:
    what = f"{tool.name}: {param.name}"
    if param.type == "strings":
        if isinstance(value, str):
            return (value,)
        if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
            return tuple(value)
        raise UsageError(f"{what} is not a list of strings")
    if type(value) is not _TYPES[param.type]:  # bool is an int to isinstance
        raise UsageError(f"{what} is not of type {param.type}")
    if param.choices and value not in param.choices:
        raise UsageError(f"{what} is not one of {', '.join(param.choices)}")
    if param.least is not None and isinstance(value, int) and value < param.least:
        raise UsageError(f"{what} is less than {param.least}")
    return value


def schema(tool: Tool) -> dict[str, object]:
    """Return a tool's parameters as a JSON Schema that admits no others."""
    properties: dict[str, object] = {}
    for param in tool.params:
        body: dict[str, object] = {"description": param.help}
        if param.type == "strings":
            body |= {"type": "array", "items": {"type": "string"}}
        else:
            body |= {"type": param.type}
        if param.choices:
            body["enum"] = list(param.choices)
        if param.least is not None:
            body["minimum"] = param.least
        if not param.required:
            body["default"] = msgspec.to_builtins(param.default)
        properties[param.name] = body
    required = [param.name for param in tool.params if param.required]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


class Trouble(Struct, frozen=True, omit_defaults=True):
    """An error as data: what happened, which rule or limit, what to do next."""

    kind: str
    what: str
    rule: str = ""
    next: str = ""
    conflict: Conflict | None = None


class Failure(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Answer of a tool that failed. `pending_approval` is the id that waits for a person."""

    error: Trouble
    success: bool
    pending_approval: str = ""


_KINDS = {1: "failed", 2: "usage", 3: "refused", 4: "conflict", 5: "denied", 6: "model_command"}


def failure(error: SutlerError) -> Failure:
    conflict = error.conflict if isinstance(error, ConflictError) else None
    approval = error.approval if isinstance(error, DeniedError) else ""
    kind = "approval_needed" if approval else _KINDS.get(error.exit_code, "failed")
    details = conflict if isinstance(conflict, Conflict) else None
    trouble = Trouble(kind, error.what, error.rule, error.next_step, details)
    return Failure(success=False, error=trouble, pending_approval=approval)


def as_object(answer: object) -> object:
    """Return an answer that is an object in JSON; any other value is wrapped under `result`."""
    return answer if isinstance(answer, Struct | dict) else {"result": answer}


def output_schema(tool: Tool) -> dict[str, object]:
    """Return a tool's answer, or a failure, as a JSON Schema whose root is an object."""
    kind = tool.answer
    (schema, failed), components = msgspec.json.schema_components(
        [kind, Failure], ref_template="#/$defs/{name}"
    )
    if not (isinstance(kind, type) and issubclass(kind, Struct)):
        schema = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
    return {"type": "object", "anyOf": [schema, failed], "$defs": components}


def text_of(answer: object) -> str:
    """Render an answer for a model: content between delimiters, rows, errors as sentences, each
    once. Answers without a form of their own become JSON."""
    if isinstance(answer, str):
        return answer
    if answer == ():
        return "[none]\n"
    for kind, text in _TEXTS.items():
        if isinstance(answer, kind):
            return str(text(answer))
        if isinstance(answer, tuple) and answer and isinstance(answer[0], kind):
            return "".join(f"{text(row)}\n" for row in answer)
    return json_bytes(answer).decode()


def _more(cursor: str) -> str:
    return f"[more: cursor {cursor}]\n" if cursor else ""


def _listing(listing: Listing) -> str:
    paths = "".join(f"{path}\n" for path in listing.paths) or "[no files]\n"
    withheld = f"[{listing.withheld:,} withheld]\n" if listing.withheld else ""
    unread = f"[{listing.problems:,} could not be read]\n" if listing.problems else ""
    return f"{paths}{withheld}{unread}{_more(listing.next)}"


def _reading(reading: Reading) -> str:
    if reading.unchanged:
        place = f"{reading.path}:{reading.first}-{reading.last}"
        return f"{place}: unchanged, version {reading.version}\n"
    notes = "".join(f"[note: {note}]\n" for note in reading.notes)
    return f"{delimited(reading)}{notes}{_more(reading.next)}"


def _pack(pack: PackText) -> str:
    return f"{pack.text}\n{_more(pack.next)}" if pack.next else pack.text


def _symbol(symbol: Symbol) -> str:
    return f"{symbol.line}: {'  ' * symbol.level}{symbol.text}"


def _ranked(file: RankedFile) -> str:
    named = f" (named: {', '.join(map(str, file.lines))})" if file.lines else ""
    regions = "".join(f"\n  {file.path}:{region}" for region in file.regions)
    return f"{file.score:.3f} {file.path}{named}: {'; '.join(file.reasons)}{regions}"


def _version(version: Version) -> str:
    note = f": {version.note}" if version.note else ""
    what = f"{version.origin} by {version.author}, {version.size:,} bytes"
    return f"{version.id} {version.at} {what}{note}"


def _written(result: PatchResult) -> str:
    states = [f"version {file.version}" if file.version else "deleted" for file in result.files]
    files = "".join(
        f"{file.path}: {state}\n" for file, state in zip(result.files, states, strict=True)
    )
    notes = "".join(f"[note: {note}]\n" for note in result.notes)
    return f"{result.message}\n{files}{notes}{result.diff}"


def _failure(failure: Failure) -> str:
    error = failure.error
    lines = [error.what, *([f"rule: {error.rule}"] if error.rule else [])]
    lines += [f"next: {error.next}"] if error.next else []
    if error.conflict is not None:
        for conflict in (error.conflict, *error.conflict.others):
            if conflict.region and conflict.region not in error.next:
                lines.append(f"{conflict.path} holds:\n{conflict.region}")
            lines.append(f"{conflict.path} is version {conflict.current_version or 'none'}")
    return "\n".join(lines)


def _found(found: Found) -> str:
    """Render hits below their places, as grep does: `12:` for a matching line, `13-` for one beside
    it. Hits that touch are one block."""
    blocks: list[list[Hit]] = []
    for hit in found.hits:
        last = blocks[-1][-1] if blocks else None
        if last is not None and last.path == hit.path and hit.first <= _end(last) + 1:
            blocks[-1].append(hit)
        else:
            blocks.append([hit])
    skipped = f", {found.skipped:,} skipped" if found.skipped else ""
    ended = f"; stopped at {found.stopped}, narrow the search" if found.stopped else ""
    matches = "1 match" if len(found.hits) == 1 else f"{len(found.hits):,} matches"
    files = "1 file" if found.files == 1 else f"{found.files:,} files"
    total = f"[{matches} in {files}{skipped}{ended}]\n"
    return "\n\n".join([*map(_block, blocks), total])


def _end(hit: Hit) -> int:
    return hit.first + hit.text.count("\n")


def _block(hits: list[Hit]) -> str:
    rows = {hit.first + at: line for hit in hits for at, line in enumerate(hit.text.split("\n"))}
    matching = {hit.line for hit in hits}
    queries = ", ".join(dict.fromkeys(query for hit in hits for query in hit.queries))
    place = f"{hits[0].path}:{hits[0].first}-{max(rows)}{f' ({queries})' if queries else ''}"
    shown = (f"{n}{':' if n in matching else '-'} {rows[n]}" for n in sorted(rows))
    return "\n".join([place, *shown])


_TEXTS: dict[type, Callable[[Any], str]] = {
    Listing: _listing, Reading: _reading, Found: _found, PackText: _pack, Symbol: _symbol,
    RankedFile: _ranked, Version: _version, PatchResult: _written, Failure: _failure,
}  # fmt: skip
"""Renderer of each kind of answer, or of its rows."""
