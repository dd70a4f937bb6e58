"""What is shown is what is approved, whole and unchanged, or nothing is."""

from __future__ import annotations

import time

import msgspec
import pytest

from sutler.access.door import Door
from sutler.edits.consent import Waiting, settle, waiting, whole
from sutler.edits.replacement import held
from sutler.edits.writer import Writer
from sutler.errors import ConflictError, DeniedError, UsageError
from sutler.paths import RelPath
from tests.doors import OpenDoor

OLD, NEW = "x = 1\n", "x = 2\n"


def asked(door: Door, content: str = NEW, path: str = "a.py") -> Waiting:
    """A write that needs approval, and what a person would be shown of it."""
    with pytest.raises(DeniedError, match="needs approval"):
        Writer(door).write_file(path, content, base="any")
    [one] = waiting(door.gate.store, time.time())
    return one


def text(door: Door, path: str = "a.py") -> bytes:
    return held(door.root, RelPath(path), 1 << 20).data


def test_what_was_shown_is_what_gets_written(open_door: OpenDoor) -> None:
    door = open_door({"a.py": OLD})
    one = asked(door)
    assert one.whole
    assert "+x = 2" in one.approval.preview
    settle(door, one.approval.id, "approved", "person", one.digest)
    Writer(door).write_file("a.py", NEW, base="any")
    assert text(door) == NEW.encode()


def test_other_bytes_are_not_what_was_approved(open_door: OpenDoor) -> None:
    door = open_door({"a.py": OLD})
    one = asked(door)
    settle(door, one.approval.id, "approved", "person", one.digest)
    with pytest.raises(DeniedError, match="needs approval"):
        Writer(door).write_file("a.py", "x = 3\n", base="any")
    assert text(door) == OLD.encode()


def test_an_approval_that_was_not_shown_so_is_not_settled(open_door: OpenDoor) -> None:
    door = open_door({"a.py": OLD})
    one = asked(door)
    for seen in ("", "0" * 64, one.digest[:-1]):
        with pytest.raises(ConflictError, match="not the approval that was shown"):
            settle(door, one.approval.id, "approved", "person", seen)
    assert len(waiting(door.gate.store, time.time())) == 1


def test_a_file_that_moved_on_cannot_be_approved(open_door: OpenDoor) -> None:
    door = open_door({"a.py": OLD})
    one = asked(door)
    with open(f"{door.root.host_path}/a.py", "w") as file:
        file.write("x = 9\n")
    with pytest.raises(ConflictError, match="has moved on"):
        settle(door, one.approval.id, "approved", "person", one.digest)
    settle(door, one.approval.id, "denied", "person", one.digest)
    assert waiting(door.gate.store, time.time()) == []


@pytest.mark.parametrize(
    "content",
    ["y = 1\n" * 900, f"x = '{'a' * 600}'\n"],
    ids=["too many lines", "a line too long"],
)
def test_what_is_not_shown_whole_is_not_approved(open_door: OpenDoor, content: str) -> None:
    door = open_door({"a.py": OLD})
    one = asked(door, content)
    assert not one.whole
    assert "not shown" in one.approval.preview
    with pytest.raises(ConflictError, match="too long to be shown"):
        settle(door, one.approval.id, "approved", "person", one.digest)
    settle(door, one.approval.id, "denied", "person", one.digest)


def test_a_change_of_what_is_redacted_is_not_shown_and_so_not_approved(open_door: OpenDoor) -> None:
    door = open_door({"a.py": "key = canary-000000000000\n"})
    assert not asked(door, "key = canary-111111111111\n").whole


def test_settled_once_and_only_while_it_waits(open_door: OpenDoor) -> None:
    door = open_door({"a.py": OLD})
    one = asked(door)
    settle(door, one.approval.id, "denied", "person", one.digest)
    for id in (one.approval.id, "nothing"):
        with pytest.raises(UsageError, match="waits"):
            settle(door, id, "approved", "person", one.digest)
    late = msgspec.structs.replace(one.approval, id="late", expires="2000-01-01T00:00:00.000000Z")
    door.gate.store.add_approval(late)
    assert waiting(door.gate.store, time.time()) == []


def test_settling_leaves_a_row(open_door: OpenDoor) -> None:
    from sutler.store.records import unseal

    door = open_door({"a.py": OLD})
    one = asked(door)
    settle(door, one.approval.id, "approved", "person", one.digest)
    last = unseal(door.gate.store.audit()[-1])
    assert (last.tool, last.args) == ("approval_approved", (("id", one.approval.id),))


@pytest.mark.parametrize(
    "text", ["3 changed lines; 12 lines of the diff are not shown", "a.bin: not text"]
)
def test_previews_say_themselves_what_they_leave_out(text: str) -> None:
    assert not whole(f"change a: 1 -> 2 bytes\n{text}\n+x")
    assert whole("change a: 1 -> 2 bytes\n1 changed lines\n+x")
