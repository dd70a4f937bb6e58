"""A refused target: the same answer from every tool, whether it exists or not (T01, T05, T20)."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
import pytest

from bench.door.escapes import arguments, targets
from sutler.access.door import Door
from sutler.access.policy import PolicyRule, Rules
from sutler.errors import SutlerError
from sutler.tools import Tool, call
from tests.conftest import Plant
from tests.doors import OpenDoor

REFUSED = [
    "../secret", "/etc/hostname", "a/../../secret", ".env", "deep/.env", ".ENV", ".git/config", "denied/x",
    "closed/x", "closed", "link/x", "deep/link/x",
]  # fmt: skip
TREE = {".aiexclude": "denied/\n", "a.py": "one\n", "deep/b.py": "two\n"}
RULES = Rules(rules=(PolicyRule("deny", "closed"), PolicyRule("allow", "**")))


def answer(door: Door, tool: Tool, path: str) -> str:
    try:
        return repr(
            msgspec.to_builtins(call(door, tool.name, arguments(tool, path, random.Random(3))))
        )
    except SutlerError as refusal:
        return f"{type(refusal).__name__}: {refusal}"


@pytest.mark.parametrize("tool", targets(), ids=lambda tool: tool.name)
def test_a_refusal_does_not_tell_what_exists(open_door: OpenDoor, plant: Plant, tool: Tool) -> None:
    """Outside the root, credentials, AI denials, the user's denials, behind a link, in every
    tool.
    """
    door = open_door(TREE, rules=RULES)
    root = Path(door.root.host_path)
    for folder in (root, root / "deep"):
        (folder / "link").symlink_to(root.parent / "outside")
    missing = {path: answer(door, tool, path) for path in REFUSED}
    plant(
        dict.fromkeys(
            (".env", "deep/.env", ".ENV", ".git/config", "denied/x", "closed/x"), "now it exists\n"
        )
    )
    (root.parent / "secret").write_text("x")
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "x").write_text("now it exists\n")
    present = {path: answer(door, tool, path) for path in REFUSED}
    assert present == missing
    assert not any("now it exists" in said for said in present.values())
