"""The tools as each kind of agent loop wants them spelt: one table, three spellings."""

from __future__ import annotations

from typing import Literal

from sutler.toolbox import TOOLS, Tool, schema
from sutler.toolbox.answers import output_schema

Style = Literal["mcp", "openai", "anthropic"]
_REPEATABLE = ("rollback",)


def described(tool: Tool) -> str:
    return f"{tool.help} Answers {tool.returns}."


def definition(tool: Tool) -> dict[str, object]:
    """A tool as `tools/list` shows it."""
    reads = tool.effect != "write"
    return {
        "name": tool.name,
        "title": tool.name.replace("_", " ").capitalize(),
        "description": described(tool),
        "inputSchema": schema(tool),
        "outputSchema": output_schema(tool.name),
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": not reads,
            "idempotentHint": reads or tool.name in _REPEATABLE,
            "openWorldHint": False,
        },
    }


def spelled(style: Style) -> list[dict[str, object]]:
    """Every tool, in the toolbox's order."""
    if style == "mcp":
        return [definition(tool) for tool in TOOLS]
    if style == "anthropic":
        return [{"name": one.name, "description": described(one), "input_schema": schema(one)} for one in TOOLS]
    return [
        {"type": "function", "function": {"name": one.name, "description": described(one), "parameters": schema(one)}}
        for one in TOOLS
    ]
