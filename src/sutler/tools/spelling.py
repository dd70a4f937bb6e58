"""The tools in the shape that each kind of agent loop expects: MCP, OpenAI or Anthropic."""

from __future__ import annotations

from typing import Literal

from sutler.tools import TOOLS, Tool, schema
from sutler.tools.answers import output_schema

Style = Literal["mcp", "openai", "anthropic"]


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
        "outputSchema": output_schema(tool),
        "annotations": {
            "readOnlyHint": reads,
            "destructiveHint": not reads,
            "idempotentHint": reads or tool.repeatable,
            "openWorldHint": False,
        },
    }


def spelled(style: Style) -> list[dict[str, object]]:
    """Every tool, in the table's order."""
    if style == "mcp":
        return [definition(tool) for tool in TOOLS]
    if style == "anthropic":
        return [
            {"name": one.name, "description": described(one), "input_schema": schema(one)}
            for one in TOOLS
        ]
    return [
        {
            "type": "function",
            "function": {
                "name": one.name,
                "description": described(one),
                "parameters": schema(one),
            },
        }
        for one in TOOLS
    ]
