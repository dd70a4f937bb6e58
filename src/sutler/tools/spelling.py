"""Definitions of the tools in the format of each kind of agent loop: MCP, OpenAI or Anthropic."""

from __future__ import annotations

from typing import Literal

from sutler.tools import TOOLS, Tool, schema
from sutler.tools.declaration import output_schema

Style = Literal["mcp", "openai", "anthropic"]


def described(tool: Tool) -> str:
    return f"{tool.help} Answers {tool.returns}."


def definition(tool: Tool) -> dict[str, object]:
    """Return a tool as `tools/list` shows it. The list is part of every conversation, so it omits
    schemas of answers, which are four times as long as all the rest."""
    reads = tool.effect != "write"
    listed: dict[str, object] = {
        "name": tool.name,
        "title": tool.name.replace("_", " ").capitalize(),
        "description": described(tool),
        "inputSchema": schema(tool),
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": not reads,
            "idempotentHint": reads or tool.repeatable,
            "openWorldHint": False,
        },
    }
    if tool.essential:
        listed["_meta"] = {"anthropic/alwaysLoad": True}
    return listed


def spelled(style: Style) -> list[dict[str, object]]:
    """Return every tool, in the table's order."""
    if style == "mcp":
        return [{**definition(tool), "outputSchema": output_schema(tool)} for tool in TOOLS]
    if style == "anthropic":
        return [
            {"name": tool.name, "description": described(tool), "input_schema": schema(tool)}
            for tool in TOOLS
        ]
    return [
        {
            "type": "function",
            "function": {
                "name": tool.name,
                "description": described(tool),
                "parameters": schema(tool),
            },
        }
        for tool in TOOLS
    ]
