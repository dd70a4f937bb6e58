"""A faulty row of the table of output formats is refused when the table is made."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest

from sutler.formats import FORMATS, json, markdown, recognized, table


def variant(**changes: Any) -> Any:
    """The markdown module under another name, with these changes; None removes a member."""
    module = ModuleType("sutler.formats.plain")
    vars(module).update(
        {
            **vars(markdown),
            "__name__": module.__name__,
            "NAME": "plain",
            "ENDING": ".txt",
            **changes,
        }
    )
    for name in [name for name, value in changes.items() if value is None]:
        delattr(module, name)
    return module


def test_a_complete_module_is_a_row() -> None:
    assert list(table(markdown, variant())) == ["markdown", "plain"]


@pytest.mark.parametrize("member", ["NAME", "ENDING", "opening", "manifest_line", "read"])
def test_what_a_module_lacks_is_named(member: str) -> None:
    with pytest.raises(TypeError, match=f"sutler.formats.plain is not .*lacks {member}"):
        table(markdown, variant(**{member: None}))


@pytest.mark.parametrize("change", [{"NAME": "markdown"}, {"ENDING": ".md"}])
def test_names_and_endings_are_distinct(change: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="another output format"):
        table(markdown, variant(**change))


def test_every_format_is_named_as_its_module() -> None:
    assert {f"sutler.formats.{name}" for name in FORMATS} == {
        getattr(module, "__name__", "") for module in FORMATS.values()
    }


def test_a_file_is_recognized_by_how_it_begins() -> None:
    assert recognized(markdown.SIGNATURE.encode()) == "markdown"
    assert recognized(b" {") == json.NAME
    assert recognized(b"text") is None
