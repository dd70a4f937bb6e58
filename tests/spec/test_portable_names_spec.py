"""Names that some platform cannot have are not created, and name nothing that is denied (T17)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sutler.access.policy import PolicyRule, Rules
from sutler.edits.writer import Writer
from sutler.errors import DeniedError, SutlerError
from tests.conftest import Plant, Sutler
from tests.doors import OpenDoor

ALL = Rules(rules=(PolicyRule("allow", "**"),))


@pytest.mark.parametrize(
    "path", ["aux.c", "a.txt:stream", "a.txt::$DATA", "GIT~1/config", "sub/a.", "C:x", "a\\b"]
)
def test_a_name_of_one_platform_only_is_not_created(open_door: OpenDoor, path: str) -> None:
    """By whole file, patch or move, and nothing is left behind."""
    door = open_door({"a.py": "one\n"}, rules=ALL)
    door.read_file("a.py")
    root, writer = Path(door.root.host_path), Writer(door)
    before = sorted(root.rglob("*"))
    moved = f"*** Begin Patch\n*** Update File: a.py\n*** Move to: {path}\n@@\n-one\n+two\n*** End Patch\n"
    added = f"*** Begin Patch\n*** Add File: {path}\n+new\n*** End Patch\n"
    attempts: tuple[Callable[[], object], ...] = (
        lambda: writer.write_file(path, "x", mode="create"),
        lambda: writer.write_file(path, "x", base="any"),
        lambda: writer.apply_patch(added),
        lambda: writer.apply_patch(moved),
    )
    for attempt in attempts:
        with pytest.raises(SutlerError):
            attempt()
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize(
    "char", ["\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u2028", "\u2029", "\u061c"]
)
def test_a_name_with_a_character_that_shows_nothing_is_not_created(
    open_door: OpenDoor, char: str
) -> None:
    """Bidi, zero-width, byte order mark and line separators; `portable_names` does not lift it."""
    door = open_door({"a.py": "one\n"}, rules=msgspec.structs.replace(ALL, portable=False))
    for path in (f"x{char}y.py", f"sub{char}/y.py"):
        with pytest.raises(SutlerError):
            Writer(door).write_file(path, "x", mode="create")
    assert [path.name for path in Path(door.root.host_path).rglob("*")] == ["a.py"]


def test_a_file_that_has_such_a_name_can_be_edited(open_door: OpenDoor) -> None:
    """The Linux kernel has an aux.c; the user may also lift the rule."""
    writer = Writer(open_door({"aux.c": "one\n"}, rules=ALL))
    writer._door.read_file("aux.c")
    assert writer.edit("aux.c", "one", "two").success
    lifted = Writer(open_door({}, rules=msgspec.structs.replace(ALL, portable=False)))
    assert lifted.write_file("con.py", "x\n", mode="create").success


@pytest.mark.parametrize(
    "path", [".env.", ".env ", ".env::$DATA", ".ENV:x", "GIT~1/config", "sub\\.env", ".git./config"]
)
def test_a_denial_holds_in_the_spellings_of_other_platforms(open_door: OpenDoor, path: str) -> None:
    """Existing or not, reading or writing."""
    door = open_door({".env": "x"}, rules=ALL)
    with pytest.raises(DeniedError):
        door.read_file(path)
    with pytest.raises(DeniedError):
        Writer(door).write_file(path, "x", mode="create")


def test_the_command_says_which_rule(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("write", "nul.txt", "--create", cwd=plant({"a.py": "x\n"}), stdin=b"text\n")
    assert ran.code == 3, ran.err
    assert "NUL is a device on Windows" in ran.err
    assert "portable_names" in ran.err


def test_a_project_cannot_lift_it(plant: Plant, sutler: Sutler) -> None:
    ran = sutler("scan", cwd=plant({"sutler.toml": "portable_names = false\n"}))
    assert ran.code == 2
    assert "may not be set by a project" in ran.err
