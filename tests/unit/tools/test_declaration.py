"""A faulty row of the table of tools is refused when the table is made."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sutler.tools import BY_NAME
from sutler.tools.declaration import MOST, Param, Tool, table, text_of

ROW: dict[str, Any] = {
    "name": "count_lines",
    "effect": "read",
    "help": "Count the lines of a file.",
    "params": (Param("path", "string", "a path", required=True),),
    "returns": "the number of lines",
    "answer": int,
    "example": {"path": "a.py"},
    "run": lambda door, path: 0,
}


def test_a_complete_row_is_a_tool() -> None:
    assert table(Tool(**ROW))[0].standard is False


@pytest.mark.parametrize("field", ROW)
def test_a_field_that_is_missing_is_named(field: str) -> None:
    with pytest.raises(TypeError, match=f"Missing required argument '{field}'"):
        Tool(**{name: value for name, value in ROW.items() if name != field})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"example": {}}, "its example is not a valid call: count_lines needs 'path'"),
        ({"example": {"path": 5}}, "count_lines: path is not of type string"),
        ({"params": (Param("path", "string", "", required=True),)}, "parameter path has no help"),
        ({"returns": ""}, "are empty"),
    ],
)
def test_a_faulty_field_is_named_with_the_tool(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=f"tool count_lines: .*{message}"):
        table(Tool(**{**ROW, **change}))


def test_a_name_is_declared_once() -> None:
    with pytest.raises(TypeError, match="declared twice"):
        table(Tool(**ROW), Tool(**ROW))


def test_a_server_offers_a_dozen_tools_at_most() -> None:
    rows = [Tool(**{**ROW, "name": f"tool_{n}", "standard": True}) for n in range(MOST + 1)]
    with pytest.raises(TypeError, match="13 tools are `standard`"):
        table(*rows)


def test_the_standard_tools_stay_as_they_are() -> None:
    names = [name for name, tool in BY_NAME.items() if tool.standard]
    assert names == [
        *("list_files", "read_file", "read_lines", "search", "outline", "summarize_file"),
        *("get_diff", "write_file", "apply_patch", "edit", "pack", "rank"),
    ]


def test_an_answer_without_a_form_is_json_whatever_bytes_a_name_has() -> None:
    assert json.loads(text_of({"path": "caf\udce9"})) == {"path": "caf\\udce9"}
