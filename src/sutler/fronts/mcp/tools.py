"""The toolbox as protocol tools: a chosen dozen, with schemas, annotations, and answers a model can act on."""

from __future__ import annotations

from collections.abc import Sequence

from sutler.access.door import Door
from sutler.toolbox import BY_NAME, Tool, call
from sutler.toolbox.answers import Failure, as_object, failure, text_of
from sutler.values.errors import SutlerError, UsageError

MOST = 12
DEFAULT = (
    "list_files", "read_file", "read_lines", "summarize_file", "get_diff", "get_file_history", "write_file",
    "apply_patch", "rollback", "pack", "rank", "why",
)  # fmt: skip
"""Seed 003's eight, the way back, and what a context engine is for; in this order, always."""


def chosen(names: Sequence[str]) -> tuple[Tool, ...]:
    """The tools by name, in the toolbox's order: a list that never changes keeps prompt caches warm."""
    if unknown := [name for name in names if name not in BY_NAME]:
        raise UsageError(f"no tool {unknown[0][:60]!r}", next_step=f"tools: {', '.join(BY_NAME)}")
    if len(set(names)) > MOST:
        raise UsageError(f"{len(set(names))} tools", rule=f"at most {MOST}: more of them confuse a model")
    return tuple(tool for tool in BY_NAME.values() if tool.name in names)


def run(door: Door, name: str, arguments: dict[str, object]) -> object:
    """Call a tool; a refusal is an answer too, since the model must see it."""
    try:
        return call(door, name, arguments)
    except SutlerError as error:
        return failure(error)


def result_of(answer: object) -> dict[str, object]:
    """An answer as a tool result: text for the model, and the same as structure."""
    body: dict[str, object] = {
        "content": [{"type": "text", "text": text_of(answer)}],
        "structuredContent": as_object(answer),
    }
    if isinstance(answer, Failure):
        body["isError"] = True
    return body
