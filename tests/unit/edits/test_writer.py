from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from sutler.access.door import Door
from sutler.access.policy import PolicyRule, Rules
from sutler.edits.writer import Writer
from sutler.errors import ConflictError, DeniedError, RefusedError, SutlerError
from sutler.store.records import Conflict, unseal
from tests.doors import OpenDoor

FREE = Rules(rules=(PolicyRule("allow", "**", ("write",)),))
PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+TWO\n"


@pytest.fixture
def door(open_door: OpenDoor) -> Door:
    return open_door({"a.txt": "one\ntwo\nthree\nfour\nfive\n", "b.txt": "b\n"}, rules=FREE)


@pytest.fixture
def writer(door: Door) -> Writer:
    return Writer(door)


def _bytes(door: Door, name: str) -> bytes:
    return (Path(door.root.host_path) / name).read_bytes()


def test_a_new_file_is_created_with_its_parents(door: Door, writer: Writer) -> None:
    done = writer.write_file("x/y/z.txt", "hello\n", mode="create")
    assert done.success
    assert _bytes(door, "x/y/z.txt") == b"hello\n"
    assert [one.origin for one in door.gate.store.versions("x/y/z.txt")] == ["written"]


def test_create_writes_over_nothing(door: Door, writer: Writer) -> None:
    with pytest.raises(ConflictError, match="exists already"):
        writer.write_file("a.txt", "x", mode="create")
    assert _bytes(door, "a.txt").startswith(b"one")


def test_a_file_nobody_read_is_not_overwritten(door: Door, writer: Writer) -> None:
    with pytest.raises(ConflictError, match="was not read"):
        writer.write_file("a.txt", "x")
    door.read_file("a.txt")
    assert writer.write_file("a.txt", "x\n").success
    assert _bytes(door, "a.txt") == b"x\n"


def test_append(door: Door, writer: Writer) -> None:
    writer.write_file("b.txt", "c\n", mode="append")
    assert _bytes(door, "b.txt") == b"b\nc\n"


def test_a_patch_and_its_rollback(door: Door, writer: Writer) -> None:
    os.chmod(Path(door.root.host_path) / "a.txt", 0o700)
    before = _bytes(door, "a.txt")
    done = writer.apply_patch(PATCH, path="a.txt", reason="louder")
    assert "+TWO" in done.diff
    assert _bytes(door, "a.txt") == before.replace(b"two", b"TWO")
    history = door.gate.store.versions("a.txt")
    assert [(one.origin, one.note) for one in history] == [
        ("written", "louder"),
        ("seen", "found before a write"),
    ]
    writer.rollback("a.txt", history[1].id)
    assert _bytes(door, "a.txt") == before
    assert (Path(door.root.host_path) / "a.txt").stat().st_mode & 0o777 == 0o700
    assert len(door.gate.store.versions("a.txt")) == 3


def test_a_dry_run_changes_nothing(door: Door, writer: Writer) -> None:
    done = writer.apply_patch(PATCH, dry_run=True)
    assert (done.dry_run, "+TWO" in done.diff) == (True, True)
    assert b"two" in _bytes(door, "a.txt")


def test_an_older_base_is_merged(door: Door, writer: Writer) -> None:
    base = door.read_file("a.txt").version
    writer.edit("a.txt", "five", "FIVE")
    done = writer.apply_patch(PATCH, base=base)
    assert done.merged
    assert _bytes(door, "a.txt") == b"one\nTWO\nthree\nfour\nFIVE\n"


def test_an_outside_edit_is_merged_and_recorded(door: Door, writer: Writer) -> None:
    door.read_file("a.txt")
    (Path(door.root.host_path) / "a.txt").write_text("one\ntwo\nthree\nfour\n5\n")
    assert writer.apply_patch(PATCH).merged
    assert _bytes(door, "a.txt") == b"one\nTWO\nthree\nfour\n5\n"
    assert [one.origin for one in door.gate.store.versions("a.txt")] == [
        "written",
        "external",
        "seen",
    ]


def test_two_changes_of_one_line_are_a_conflict_with_all_sides(door: Door, writer: Writer) -> None:
    base = door.read_file("a.txt").version
    writer.edit("a.txt", "two", "zwei")
    with pytest.raises(ConflictError) as caught:
        writer.apply_patch(PATCH, base=base)
    assert isinstance(caught.value.conflict, Conflict)
    clash = caught.value.conflict.clashes[0]
    assert (clash.line, clash.base, clash.ours, clash.theirs) == (2, "two", "zwei", "TWO")
    assert b"zwei" in _bytes(door, "a.txt")


def test_a_patch_of_several_files_is_all_or_nothing(door: Door, writer: Writer) -> None:
    bad = f"{PATCH}--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-nope\n+c\n"
    with pytest.raises(ConflictError):
        writer.apply_patch(bad)
    assert b"two" in _bytes(door, "a.txt")
    good = f"{PATCH}--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n--- /dev/null\n+++ b/c.txt\n@@ -0,0 +1 @@\n+c\n"
    assert len(writer.apply_patch(good).files) == 3
    assert not (Path(door.root.host_path) / "b.txt").exists()
    assert _bytes(door, "c.txt") == b"c\n"
    writer.rollback("b.txt", door.gate.store.versions("b.txt")[1].id)
    assert _bytes(door, "b.txt") == b"b\n"


@pytest.mark.parametrize("path", ["../x", "/etc/x", "x/../../y", ".git/hooks/post-commit", ".env"])
def test_paths_in_patches_go_through_the_gate(door: Door, writer: Writer, path: str) -> None:
    for patch in (
        f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n",
        f"*** Begin Patch\n*** Add File: {path}\n+x\n*** End Patch\n",
    ):
        with pytest.raises((RefusedError, DeniedError)):
            writer.apply_patch(patch)


@pytest.mark.parametrize(
    "path",
    ["AGENTS.md", ".github/workflows/x.yml", ".vscode/settings.json", "conftest.py", "Claude.MD"],
)
def test_files_that_give_power_need_approval_even_when_all_is_allowed(
    door: Door, writer: Writer, path: str
) -> None:
    with pytest.raises(DeniedError, match="needs approval"):
        writer.write_file(path, "x", mode="create")
    assert not (Path(door.root.host_path) / path).exists()


def test_an_approval_is_for_these_bytes(open_door: OpenDoor) -> None:
    door = open_door({"a.txt": "one\n"})
    writer = Writer(door)
    with pytest.raises(DeniedError, match="needs approval"):
        writer.edit("a.txt", "one", "two")
    (waiting,) = door.gate.store.approvals("pending")
    assert "+two" in waiting.preview
    assert door.gate.store.settle(waiting.id, "approved", "person")
    with pytest.raises(DeniedError):
        writer.edit("a.txt", "one", "three")
    (Path(door.root.host_path) / "a.txt").write_text("one\nmore\n")
    with pytest.raises(DeniedError):
        writer.edit("a.txt", "one", "two")
    (Path(door.root.host_path) / "a.txt").write_text("one\n")
    assert writer.edit("a.txt", "one", "two").success
    (Path(door.root.host_path) / "a.txt").write_text("one\n")
    with pytest.raises(DeniedError):
        writer.edit("a.txt", "one", "two", base="any")


def test_a_secret_survives_an_edit_beside_it(open_door: OpenDoor) -> None:
    raw = "a\nkey = canary-0123456789ab\nlast\n"
    door = open_door({"a.txt": raw}, rules=FREE)
    shown = door.read_file("a.txt").text
    assert "canary" not in shown
    done = Writer(door).write_file("a.txt", shown.replace("last", "LAST"))
    assert _bytes(door, "a.txt") == raw.replace("last", "LAST").encode()
    assert "canary" not in done.diff
    with pytest.raises(RefusedError, match="markers on line 2"):
        Writer(door).write_file("a.txt", shown.replace("key", "token"))


@pytest.mark.parametrize(
    "data",
    [
        b"a\r\nb\nc\r\n",
        b"\xef\xbb\xbfa\nb\nc",
        b"a\x0c\nb\nc\n",
        b"a \xe9\nb\nc\n",
        "a\nb\nc\n".encode("utf-16"),
    ],
    ids=["mixed", "bom", "form feed", "latin-1", "utf-16"],
)
def test_bytes_outside_the_edit_stay(open_door: OpenDoor, data: bytes) -> None:
    door = open_door({"a.txt": data}, rules=FREE)
    Writer(door).edit("a.txt", "b", "x")
    wide = "utf-16-le" if data.startswith(b"\xff\xfe") else "ascii"
    assert _bytes(door, "a.txt") == data.replace("b".encode(wide), "x".encode(wide), 1)


def test_what_is_not_text_is_not_edited(open_door: OpenDoor) -> None:
    door = open_door({"a.bin": b"\0\1b\2"}, rules=FREE)
    with pytest.raises(RefusedError, match="not text"):
        Writer(door).edit("a.bin", "b", "x")


def test_links_are_not_followed(open_door: OpenDoor, tmp_path: Path) -> None:
    door = open_door({"a.txt": "a\n"}, rules=FREE)
    (tmp_path / "outside").write_text("o")
    os.symlink(tmp_path / "outside", Path(door.root.host_path) / "link")
    with pytest.raises(SutlerError, match="symbolic link"):
        Writer(door).write_file("link", "x")
    assert (tmp_path / "outside").read_text() == "o"


def test_every_write_has_an_intent_and_an_outcome(door: Door, writer: Writer) -> None:
    writer.apply_patch(PATCH)
    rows = [unseal(row) for row in door.gate.store.audit()]
    assert [(row.phase, row.effect) for row in rows] == [("intent", "write"), ("done", "write")]
    assert rows[1].after == door.pages.digest(rows[1].path)  # type: ignore[arg-type]  # typed loosely here
    assert door.gate.ledger.verify().ok
    assert door.gate.store.pending() == ()


PY = "import os\n\n\ndef one():\n    return 1\n"


def _meet(door: Door) -> ConflictError:
    """Two sessions add a function each at the same place."""
    Path(door.root.host_path, "m.py").write_text(PY)
    base = door.read_file("m.py").version
    Writer(door).write_file("m.py", f"{PY}\n\ndef two():\n    return 2\n", base=base)
    with pytest.raises(ConflictError) as caught:
        Writer(door).write_file("m.py", f"{PY}\n\ndef three():\n    return 3\n", base=base)
    return caught.value


def test_a_conflict_suggests_what_the_structure_allows_and_applies_nothing(door: Door) -> None:
    fault = _meet(door)
    assert isinstance(fault.conflict, Conflict)
    assert fault.sides is None
    (one,) = fault.conflict.suggestions
    assert (one.by, "three" in one.diff) == ("structure", True)
    assert b"three" not in _bytes(door, "m.py")
    done = Writer(door).apply_patch(one.diff, base=fault.conflict.current_version)
    assert done.success
    assert _bytes(door, "m.py").endswith(
        b"def two():\n    return 2\n\n\ndef three():\n    return 3\n"
    )


def test_the_review_command_is_asked_and_only_asked(door: Door) -> None:
    asked: list[tuple[str, str, str, str]] = []

    def review(path: str, base: str, ours: str, theirs: str) -> str:
        asked.append((path, base, ours, theirs))
        return f"{ours}# reviewed canary-0123456789ab\n"

    door.setup = msgspec.structs.replace(door.setup, review=review)
    fault = _meet(door)
    assert isinstance(fault.conflict, Conflict)
    assert asked[0][:2] == ("m.py", PY)
    found = {one.by: one.diff for one in fault.conflict.suggestions}
    assert "+# reviewed [REDACTED]" in found["review"]
    assert b"reviewed" not in _bytes(door, "m.py")
    assert any(unseal(row).tool == "review" for row in door.gate.store.audit())


def test_a_review_command_that_fails_is_said(door: Door) -> None:
    def review(path: str, base: str, ours: str, theirs: str) -> str:
        raise SutlerError("the review command failed: exit status: 3")

    door.setup = msgspec.structs.replace(door.setup, review=review)
    fault = _meet(door)
    assert isinstance(fault.conflict, Conflict)
    assert fault.conflict.proposals[-1] == "the review command failed: exit status: 3"
