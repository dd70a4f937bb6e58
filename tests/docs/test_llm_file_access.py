from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from docs.make_file_access import manual
from sutler.tools import BY_NAME, TOOLS, checked

PAGE = Path(__file__).parents[2] / "docs" / "LLM_FILE_ACCESS.md"
SECTIONS = [
    "Overview and purpose",
    "Registry schema",
    "Tool-call definitions",
    "Permission and approval policy",
    "Conflict resolution workflow",
    "Logging and audit format",
    "Usage guidelines for LLMs",
    "Examples",
    "Safety notes",
    "Reset and rotation",
]


def test_the_page_is_what_the_table_says() -> None:
    """Run `python -m docs.make_file_access > docs/LLM_FILE_ACCESS.md` after changing a tool."""
    assert PAGE.read_text() == manual()


def test_every_section_of_the_seed_is_there_in_its_order() -> None:
    assert re.findall(r"^## (.+)$", PAGE.read_text(), re.MULTILINE) == SECTIONS


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_is_described_and_its_example_is_valid(tool: object) -> None:
    name = getattr(tool, "name", "")
    assert f"### `{name}`" in PAGE.read_text()
    assert set(checked(BY_NAME[name], BY_NAME[name].example)) == {
        param.name for param in BY_NAME[name].params
    }


def test_every_example_call_on_the_page_is_valid() -> None:
    blocks = re.findall(r"```json\n(.*?)\n```", PAGE.read_text(), re.DOTALL)
    calls = [found for found in map(msgspec.json.decode, blocks) if "arguments" in found]
    assert len(calls) >= len(TOOLS) + 3
    for found in calls:
        checked(BY_NAME[found["name"]], found["arguments"])
