"""Taking back a call or a session, replaying one, and what goes along with a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sutler.access.door import Door
from sutler.access.policy import PolicyRule, Rules
from sutler.edits.replay import replay
from sutler.edits.writer import Writer
from sutler.errors import ConflictError, RefusedError, UsageError
from tests.doors import OpenDoor

FREE = Rules(rules=(PolicyRule("allow", "**", ("write",)),))
TEXT = "".join(f"line {n}\n" for n in range(12))


@pytest.fixture
def doors(open_door: OpenDoor) -> tuple[Door, Door]:
    tree = {"a.txt": TEXT, "b.txt": "b\n"}
    return open_door(tree, rules=FREE, session="one"), open_door(tree, rules=FREE, session="two")


def at(door: Door, name: str) -> Path:
    return Path(door.root.host_path) / name


def change(door: Door, line: int, word: str) -> str:
    return Writer(door).edit("a.txt", f"line {line}\n", f"{word}\n").call


def test_one_call_is_taken_back_and_later_ones_stay(doors: tuple[Door, Door]) -> None:
    first = change(doors[0], 2, "two")
    change(doors[1], 9, "nine")
    done = Writer(doors[0]).rollback_call(first)
    assert done.merged
    assert at(doors[0], "a.txt").read_text() == TEXT.replace("line 9", "nine")


def test_a_call_that_others_wrote_over_is_a_conflict(doors: tuple[Door, Door]) -> None:
    first = change(doors[0], 2, "two")
    Writer(doors[1]).edit("a.txt", "two\n", "zwei\n")
    with pytest.raises(ConflictError, match="in the same place"):
        Writer(doors[0]).rollback_call(first)
    assert "zwei" in at(doors[0], "a.txt").read_text()


def test_a_call_of_several_files_is_taken_back_whole(doors: tuple[Door, Door]) -> None:
    patch = "*** Begin Patch\n*** Delete File: b.txt\n*** Add File: c.txt\n+c\n*** End Patch"
    done = Writer(doors[0]).apply_patch(patch)
    Writer(doors[0]).rollback_call(f"{done.call}.1")
    assert (at(doors[0], "b.txt").read_text(), at(doors[0], "c.txt").exists()) == ("b\n", False)


def test_what_somebody_created_again_is_not_overwritten_by_an_undo(
    doors: tuple[Door, Door],
) -> None:
    done = Writer(doors[0]).apply_patch("*** Begin Patch\n*** Delete File: b.txt\n*** End Patch")
    at(doors[0], "b.txt").write_text("mine\n")
    with pytest.raises(ConflictError):
        Writer(doors[0]).rollback_call(done.call)
    assert at(doors[0], "b.txt").read_text() == "mine\n"


def test_a_session_is_taken_back_and_what_others_wrote_in_between_stays(
    doors: tuple[Door, Door],
) -> None:
    change(doors[0], 2, "two")
    change(doors[1], 6, "six")
    change(doors[0], 10, "ten")
    Writer(doors[1]).rollback_session("one")
    assert at(doors[0], "a.txt").read_text() == TEXT.replace("line 6", "six")


def test_an_unknown_call_has_nothing_to_undo(doors: tuple[Door, Door]) -> None:
    with pytest.raises(UsageError, match="no writes to undo"):
        Writer(doors[0]).rollback_call("nothing")


# replay


def write_some(doors: tuple[Door, Door]) -> None:
    change(doors[0], 2, "two")
    change(doors[1], 6, "six")
    Writer(doors[0]).write_file("n/new.txt", "new\n", mode="create")
    Writer(doors[0]).apply_patch("*** Begin Patch\n*** Delete File: b.txt\n*** End Patch")


def test_a_replay_onto_a_new_folder_is_the_session_alone(
    doors: tuple[Door, Door], tmp_path: Path
) -> None:
    write_some(doors)
    done = replay(doors[0], "one", str(tmp_path / "copy"))
    found = {
        str(one.relative_to(tmp_path / "copy"))
        for one in (tmp_path / "copy").rglob("*")
        if one.is_file()
    }
    assert (done.success, found) == (True, {"a.txt", "n/new.txt"})
    assert (tmp_path / "copy/a.txt").read_text() == TEXT.replace("line 2", "two")


def test_a_replay_merges_with_what_the_copy_holds(doors: tuple[Door, Door], tmp_path: Path) -> None:
    write_some(doors)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "a.txt").write_text(TEXT.replace("line 11", "eleven"))
    (copy / "b.txt").write_text("b\n")
    assert replay(doors[0], "one", str(copy)).merged
    assert (copy / "a.txt").read_text() == TEXT.replace("line 2", "two").replace(
        "line 11", "eleven"
    )
    assert not (copy / "b.txt").exists()


def test_a_replay_that_does_not_fit_changes_nothing(
    doors: tuple[Door, Door], tmp_path: Path
) -> None:
    write_some(doors)
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "a.txt").write_text(TEXT.replace("line 2", "zwei"))
    with pytest.raises(ConflictError):
        replay(doors[0], "one", str(copy))
    assert [one.name for one in copy.iterdir()] == ["a.txt"]


def test_a_replay_stops_where_it_is_told_and_a_dry_run_makes_nothing(
    doors: tuple[Door, Door], tmp_path: Path
) -> None:
    write_some(doors)
    copy = tmp_path / "copy"
    assert replay(doors[0], "one", str(copy), dry_run=True).dry_run
    assert not copy.exists()
    first = next(row.seq for row in doors[0].gate.store.audit_of("one") if row.phase == "done")
    replay(doors[0], "one", str(copy), until=first)
    assert [one.name for one in copy.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("where", ["", "inside", ".."])
def test_a_copy_lies_apart_from_the_project(doors: tuple[Door, Door], where: str) -> None:
    write_some(doors)
    with pytest.raises(RefusedError, match="not apart"):
        replay(doors[0], "one", os.path.join(doors[0].root.host_path, where))


# what goes along


def test_extended_attributes_stay(doors: tuple[Door, Door]) -> None:
    path = at(doors[0], "a.txt")
    try:
        os.setxattr(path, "user.note", b"keep me")
    except OSError:
        pytest.skip("this file system has no extended attributes")
    change(doors[0], 2, "two")
    assert os.getxattr(path, "user.note") == b"keep me"


def test_an_access_list_stays(doors: tuple[Door, Door]) -> None:
    """Owner rw-, user 1 r--, group ---, mask r--, others ---: the mode shows the mask as the
    group's bits.
    """
    rows = [(1, 6, -1), (2, 4, 1), (4, 0, -1), (16, 4, -1), (32, 0, -1)]
    data = (2).to_bytes(4, "little") + b"".join(
        tag.to_bytes(2, "little")
        + bits.to_bytes(2, "little")
        + (who & 0xFFFFFFFF).to_bytes(4, "little")
        for tag, bits, who in rows
    )
    path = at(doors[0], "a.txt")
    try:
        os.setxattr(path, "system.posix_acl_access", data)
    except OSError:
        pytest.skip("this file system has no access lists")
    mode = path.stat().st_mode
    change(doors[0], 2, "two")
    assert (os.getxattr(path, "system.posix_acl_access"), path.stat().st_mode) == (data, mode)
