"""No spelling of a path, and no race, gets anything from outside the root through any tool.

The long runs are commands of their own: `python -m bench.door.escapes paths` and `… race`.
"""

from __future__ import annotations

import os
import random
from itertools import islice
from pathlib import Path

import pytest

from bench.door import escapes
from sutler.errors import SutlerError
from sutler.tools import TOOLS, Tool, call
from tests.conftest import FUZZ
from tests.doors import OpenDoor

TOOLS_WITH_PATHS = escapes.targets()
by_tool = pytest.mark.parametrize("tool", TOOLS_WITH_PATHS, ids=lambda tool: tool.name)


def some(count: int) -> list[str]:
    return list(islice(escapes.spellings(), count))


def test_every_tool_that_can_be_told_where_to_look_is_asked() -> None:
    assert {tool.name for tool in TOOLS} - {tool.name for tool in TOOLS_WITH_PATHS} == {
        "get_session",
        "rank",
    }


@by_tool
def test_no_spelling_reaches_outside(tool: Tool, tmp_path: Path) -> None:
    found = escapes.fuzz(tmp_path, tool, some(int(100 * FUZZ)), "short")
    assert found["refused"]


@by_tool
def test_a_directory_swapped_for_a_link_leads_nowhere(tool: Tool, tmp_path: Path) -> None:
    """While another process swaps a directory and a link to the outside, no call reaches what lies
    outside.
    """
    found = escapes.race(tmp_path, tool, 0, least=int(60 * FUZZ))
    assert found["swaps"]
    assert found["answered"]


def test_an_answer_from_outside_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the zeros above mean something."""
    monkeypatch.setattr(
        escapes, "ask", lambda door, tool, given: (True, f"text: {escapes.OUTSIDE}")
    )
    with pytest.raises(escapes.EscapeError):
        escapes.fuzz(tmp_path, TOOLS_WITH_PATHS[0], some(10), "x")


def test_a_change_outside_would_be_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(door: object, tool: Tool, given: object) -> tuple[bool, str]:
        (tmp_path / "room" / "outside" / "new").write_text("written through a link")
        return True, ""

    monkeypatch.setattr(escapes, "ask", careless)
    with pytest.raises(escapes.EscapeError, match="outside has changed"):
        escapes.fuzz(tmp_path, TOOLS_WITH_PATHS[0], some(10), "x")


@by_tool
def test_a_chain_of_links_beyond_path_max_leads_nowhere(open_door: OpenDoor, tool: Tool) -> None:
    """The shape of CVE-2025-4517: realpath gives up where the kernel goes on."""
    door = open_door({"z": "x\n"})
    root = Path(door.root.host_path)
    (root.parent / "secret.txt").write_text(escapes.OUTSIDE)
    long, path = "d" * 247, ""
    for letter in "abcdefghijklmnop":
        os.makedirs(os.path.join(root, path, long), exist_ok=True)
        os.symlink(long, os.path.join(root, path, letter))
        path = os.path.join(path, letter)
    os.symlink("../" * 17 + "secret.txt", os.path.join(root, path, "l"))
    try:
        answer = repr(call(door, tool.name, escapes.arguments(tool, f"{path}/l", random.Random(1))))
    except SutlerError as refusal:
        answer = str(refusal)
    assert escapes.OUTSIDE not in answer
    assert (root.parent / "secret.txt").read_text() == escapes.OUTSIDE
