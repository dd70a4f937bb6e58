"""What the next start makes of writes whose end the disk may not have."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from tests.stores import entry
from tests.writers import free_door

from sutler.access.door import Door
from sutler.access.writing import Writer
from sutler.disk.later import Later
from sutler.disk.replace import held
from sutler.store.sql import SqlStore
from sutler.values.access import AuditEntry
from sutler.values.paths import RelPath

PATH = RelPath("a.txt")


@pytest.fixture
def places(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / PATH).write_text("old\n")
    return str(tmp_path / "tree"), str(tmp_path / "state")


def statement(door: Door, sql: str, *values: str) -> None:
    store = door.gate.store
    assert isinstance(store, SqlStore)
    store._database.transact(lambda query: query(sql, values), write=True)


def write_and_lose(places: tuple[str, str], monkeypatch: pytest.MonkeyPatch, *texts: str, marked: bool = True) -> None:
    """A server answers these writes and the power goes: the file is the old one again, as the first write found it."""
    monkeypatch.setattr(Later, "_run", lambda _: None)  # nothing reaches the disk any more
    with free_door(*places, strict=False) as door:
        for text in texts:
            assert Writer(door).write_file(PATH, text, base="any").success
        first = door.gate.store.pending()[0]
        Path(places[0], PATH).write_text("old\n")
        if marked:  # a test cannot turn back the time of a file, so the mark follows the file
            found = held(door.root, PATH, 100).mark
            statement(door, "UPDATE pending SET mark = ? WHERE call = ?", found, first.row.call)
    monkeypatch.undo()


def after_the_next_start(places: tuple[str, str]) -> tuple[str, int, list[str]]:
    """The file, how many writes are open, and how the history tells of it, the newest first."""
    with free_door(*places) as door:
        store = door.gate.store
        assert door.gate.ledger.verify().ok
        origins = [str(one.origin) for one in store.versions(PATH)]
        return Path(places[0], PATH).read_text(), len(store.pending()), origins


def test_an_answered_write_that_the_disk_lost_is_made_again(
    places: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_and_lose(places, monkeypatch, "new\n")
    assert after_the_next_start(places) == ("new\n", 0, ["written", "seen"])


def test_of_several_lost_writes_the_last_one_counts(places: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    write_and_lose(places, monkeypatch, "new\n", "newer\n", "newest\n")
    assert after_the_next_start(places) == ("newest\n", 0, ["written", "written", "written", "seen"])


def test_who_puts_the_old_file_back_is_left_alone(places: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The same bytes, but not the same file untouched: this was somebody's wish, not the power's."""
    write_and_lose(places, monkeypatch, "new\n", marked=False)
    assert after_the_next_start(places) == ("old\n", 0, ["written", "seen"])


def intend(places: tuple[str, str], start: str) -> None:
    """An intent without an outcome, from this start of the machine or from another."""
    with free_door(*places) as door:
        before = held(door.root, PATH, 100)
        after = sha256(b"new\n").hexdigest()
        row: AuditEntry = entry(
            "1.0", phase="intent", effect="write", path=PATH, before=before.digest, after=after, caller="c"
        )
        blobs = [(after, b"new\n"), (before.digest, before.data)]
        door.gate.store.record([row], blobs=blobs, still={"1.0": before.mark})
        if start:
            statement(door, "UPDATE pending SET boot = ?", start)


def test_a_write_that_a_kill_interrupted_was_not_done(places: tuple[str, str]) -> None:
    intend(places, "")
    assert after_the_next_start(places) == ("old\n", 0, [])


def test_a_write_that_the_power_interrupted_may_have_been_answered_and_is_done(places: tuple[str, str]) -> None:
    """Its outcome's row is lost with the change of names, so nobody can tell: what was intended happens."""
    intend(places, "another start")
    assert after_the_next_start(places) == ("new\n", 0, ["written"])


def test_what_somebody_wrote_after_the_power_came_back_stays(places: tuple[str, str]) -> None:
    intend(places, "another start")
    Path(places[0], PATH).write_text("mine\n")
    assert after_the_next_start(places) == ("mine\n", 0, ["external"])


def test_a_living_servers_writes_are_settled_by_itself(places: tuple[str, str]) -> None:
    with free_door(*places, strict=False) as door:
        Writer(door).write_file(PATH, "new\n", base="any")
        assert [one.done for one in door.gate.store.pending()] in ([True], [])
    assert after_the_next_start(places) == ("new\n", 0, ["written", "seen"])
