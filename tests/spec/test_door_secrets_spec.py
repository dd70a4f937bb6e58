"""The real redactor at the real door: nothing secret in any answer, error, row, cache, summary or
state file.
"""

from __future__ import annotations

import os
import random
import string
from pathlib import Path

import msgspec
import pytest

from sutler.access.registry import opening
from sutler.errors import SutlerError
from sutler.store.records import REVIEW, Caller
from sutler.tools import TOOLS, call, open_door
from tests.conftest import Plant

COUNT = 200
ALNUM = string.ascii_letters + string.digits


def secrets(rng: random.Random) -> list[str]:
    """Credentials of formats that nothing else has."""

    def text(length: int, alphabet: str = ALNUM) -> str:
        return "".join(rng.choices(alphabet, k=length))

    makers = (
        lambda: "ghp_" + text(36),
        lambda: "AKIA" + text(16, string.ascii_uppercase + "234567"),
        lambda: "glpat-" + text(20),
        lambda: "sk_live_" + text(24),
        lambda: "xoxb-" + text(12, string.digits) + "-" + text(12, string.digits) + "-" + text(24),
    )
    return [makers[n % len(makers)]() for n in range(COUNT)]


def test_no_secret_leaves_by_any_tool(
    plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In code, config, long lines, UTF-16, removed lines, arguments: every byte said or written is
    searched.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    found = secrets(random.Random(4))
    parts = [found[n::4] for n in range(4)]
    tree: dict[str, str | bytes] = {
        "code.py": "".join(
            f'def f_{n}():\n    return connect("{one}")\n' for n, one in enumerate(parts[0])
        ),
        "settings.toml": "".join(
            f'[section_{n}]\napi_token = "{one}"\n' for n, one in enumerate(parts[1])
        ),
        "wide.txt": "".join(f"password: {one}\n" for one in parts[2]).encode("utf-16"),
        "removed.md": "".join(f"# Use {one} here\n" for one in parts[3]),
        "README.md": f"# Read\n\nexport TOKEN={found[0]}\n",
    }
    root = plant(tree)
    said: list[str] = []

    with open_door(str(root), Caller("c", "s", REVIEW)) as door:

        def say(tool: str, arguments: dict[str, object]) -> None:
            try:
                said.append(repr(msgspec.to_builtins(call(door, tool, arguments))))
            except SutlerError as refusal:
                said.append(str(refusal))

        said.append(repr(msgspec.to_builtins(opening(door))))
        for name in tree:
            for tool in TOOLS:
                say(
                    tool.name,
                    {**tool.example, **({"path": name} if "path" in tool.example else {})},
                )
        (root / "removed.md").write_text("gone\n")
        say("get_diff", {"path": "removed.md"})
        for one in found[:40]:
            say("search", {"query": one})
            say("read_file", {"path": f"../{one}"})
            say("read_file", {"path": "code.py", one: one})
            say("get_diff", {"path": "code.py", "version1": one})
    written = b"".join(
        Path(folder, name).read_bytes()
        for folder, _, names in os.walk(tmp_path / "state")
        for name in names
    )
    everything = "\n".join(said).encode("utf-8", "replace") + written
    assert len(said) > 150
    assert [
        one for one in found if one.encode() in everything or one.encode("utf-16-le") in everything
    ] == []


def test_a_range_inside_a_private_key_shows_nothing_of_it(plant: Plant) -> None:
    """Whatever two lines are asked for, no line of the key's body is among them."""
    rng = random.Random(5)
    body = ["".join(rng.choices(ALNUM + "+/", k=64)) for _ in range(24)]
    key = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *body, "-----END RSA PRIVATE KEY-----"])
    root = plant({"notes.txt": f"before\n{key}\nafter\n"})
    with open_door(str(root), Caller("c", "s")) as door:
        for line in range(1, 29):
            text = door.read_lines("notes.txt", line, line + 1).text
            assert not any(part in text for part in body)
        assert door.read_lines("notes.txt", 28, 28).text == "after\n"


def test_outlines_come_from_the_parsers(plant: Plant) -> None:
    """A class with its methods, nested, as the language has them."""
    root = plant(
        {
            "a.py": "import os\n\n\nclass A:\n    def b(self) -> int:\n        return 1\n",
            "c.txt": "words\n",
        }
    )
    with open_door(str(root), Caller("c", "s")) as door:
        shown = [(one.line, one.level, one.text) for one in door.outline("a.py")]
        assert (4, 0) in [one[:2] for one in shown]
        assert any(line == 5 and level == 1 and "def b" in text for line, level, text in shown)
        assert door.outline("c.txt") == ()
