"""Resources (entry documents, any file, the ledger's tail) and prompts (the shipped goals). All
reads go through the gate; a prompt runs and reads nothing, it only names the tools for the agent to
use."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import quote as percent
from urllib.parse import unquote as unpercent

import msgspec

from sutler.access.door import Door
from sutler.access.registry import ENTRY_DOCUMENTS
from sutler.fronts.mcp.wire import BAD_PARAMS, Fault
from sutler.goals.discovery import Base, Found, list_goals, load_goal, shipped_path
from sutler.goals.params import validate
from sutler.goals.runner import render_goal
from sutler.paths import ROOT
from sutler.store.records import Call, Listing, Outcome, Reading, unseal
from sutler.tools import call

FILES = "sutler://project/"
TAIL = "sutler://ledger/tail"
ROWS = 50

TEMPLATES: list[dict[str, object]] = [
    {
        "uriTemplate": FILES + "{+path}",
        "name": "file",
        "title": "A file of the project",
        "description": "The beginning of a text file, redacted.",
        "mimeType": "text/plain",
    }
]


def listed(door: Door) -> list[dict[str, object]]:
    """Return the existing entry documents, and the ledger's tail."""
    listing = call(door, "list_files", {"globs": [f"/{name}" for name in ENTRY_DOCUMENTS]})
    assert isinstance(listing, Listing)  # noqa: S101  # the table says so
    there = set(listing.paths)
    documents: list[dict[str, object]] = [
        {
            "uri": FILES + percent(name),
            "name": name,
            "title": f"Entry document {name}",
            "mimeType": "text/plain",
        }
        for name in ENTRY_DOCUMENTS
        if name in there
    ]
    tail: dict[str, object] = {
        "uri": TAIL,
        "name": "ledger",
        "title": f"The last {ROWS} calls of this session",
        "mimeType": "application/x-ndjson",
    }
    return [*documents, tail]


def read(door: Door, uri: str) -> list[dict[str, object]]:
    if uri == TAIL:
        return [{"uri": uri, "mimeType": "application/x-ndjson", "text": _tail(door)}]
    if not uri.startswith(FILES):
        raise Fault(BAD_PARAMS, "no such resource", {"next": f"use {TAIL} or {FILES}PATH"})
    reading = call(door, "read_file", {"path": unpercent(uri[len(FILES) :])})
    assert isinstance(reading, Reading)  # noqa: S101  # the table says so
    return [{"uri": uri, "mimeType": "text/plain", "text": reading.text}]


def _tail(door: Door) -> str:
    """Return this session's own rows; other sessions' rows are private."""

    def perform() -> tuple[str, Outcome]:
        rows = door.gate.store.audit_of(door.gate.caller.session, None, ROWS)
        text = "".join(f"{msgspec.json.encode(unseal(row)).decode()}\n" for row in rows)
        return text, Outcome(bytes=len(text))

    return door.gate.enter(
        Call(id=secrets.token_hex(16), tool="ledger_tail", effect="list", path=ROOT), perform
    )


# prompts

_CONTEXT = {
    "files": "(call list_files, and read the files that matter)",
    "change": "(call pack with diff=true to see the change)",
}
"""Tool calls in place of a goal's scripts: a prompt must not read past the gate."""


def _base() -> Base:
    return Base(shipped_path(), "shipped", True)


def prompts() -> list[dict[str, object]]:
    return [_prompt(load_goal(goal.id, _base())) for goal in list_goals((_base(),))]


def _prompt(goal_file: Found) -> dict[str, object]:
    goal = goal_file.goal
    arguments = [
        {
            "name": parameter.name,
            "description": parameter.description,
            "required": bool(parameter.required),
        }
        for parameter in goal.parameters
    ]
    return {
        "name": goal_file.id,
        "title": goal.name,
        "description": goal.description,
        "arguments": arguments,
    }


def prompt(name: str, params: dict[str, Any]) -> dict[str, object]:
    names = {goal.id for goal in list_goals((_base(),))}
    if name not in names:
        raise Fault(
            BAD_PARAMS, f"no prompt {name[:60]!r}", {"next": f"prompts: {', '.join(sorted(names))}"}
        )
    sent = params.get("arguments") or {}
    if not isinstance(sent, dict) or not all(isinstance(value, str) for value in sent.values()):
        raise Fault(BAD_PARAMS, "arguments is not an object of strings")
    goal_file = load_goal(name, _base())
    arguments = validate(goal_file.goal, name, dict(sent))
    if arguments.notes:
        raise Fault(BAD_PARAMS, arguments.notes[0])
    context = {
        script.name: _CONTEXT.get(script.name, "(use the tools)")
        for script in goal_file.goal.scripts
    }
    text = render_goal(goal_file, {"Args": arguments.values, "Context": context}, {})
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": goal_file.goal.description, "messages": [message]}
