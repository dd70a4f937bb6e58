"""Recovery: the next start gives every interrupted write its outcome."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from sutler.edits.replacement import held
from sutler.edits.writer import Writer
from sutler.paths import RelPath
from sutler.store.records import AuditEntry
from tests.stores import entry
from tests.writers import free_door

PATH = RelPath("a.txt")


@pytest.fixture
def places(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / PATH).write_text("old\n")
    return str(tmp_path / "tree"), str(tmp_path / "state")


def after_the_next_start(places: tuple[str, str]) -> tuple[str, int, list[str]]:
    """The file, how many writes are open, and how the history tells of it, the newest first."""
    with free_door(*places) as door:
        store = door.gate.store
        assert door.gate.ledger.verify().ok
        origins = [str(one.origin) for one in store.versions(PATH)]
        return Path(places[0], PATH).read_text(), len(store.pending()), origins


def intend(places: tuple[str, str]) -> None:
    """An intent without an outcome."""
    with free_door(*places) as door:
        before = held(door.root, PATH, 100)
        after = sha256(b"new\n").hexdigest()
        row: AuditEntry = entry(
            "1.0",
            phase="intent",
            effect="write",
            path=PATH,
            before=before.digest,
            after=after,
            caller="c",
        )
        door.gate.store.record([row], blobs=[(after, b"new\n"), (before.digest, before.data)])


def test_a_write_that_was_interrupted_before_the_exchange_was_not_done(
    places: tuple[str, str],
) -> None:
    intend(places)
    assert after_the_next_start(places) == ("old\n", 0, [])


def test_a_write_that_was_interrupted_after_the_exchange_was_done(places: tuple[str, str]) -> None:
    intend(places)
    Path(places[0], PATH).write_text("new\n")
    assert after_the_next_start(places) == ("new\n", 0, ["written"])


def test_what_another_program_wrote_after_the_interruption_stays(places: tuple[str, str]) -> None:
    intend(places)
    Path(places[0], PATH).write_text("mine\n")
    assert after_the_next_start(places) == ("mine\n", 0, ["external"])


@pytest.mark.parametrize("strict", [True, False])
def test_an_answered_write_is_settled(places: tuple[str, str], strict: bool) -> None:
    """Nothing is open when a write was answered, in a server as on the command line."""
    with free_door(*places, strict=strict) as door:
        Writer(door).write_file(PATH, "new\n", base="any")
        assert door.gate.store.pending() == ()
    assert after_the_next_start(places) == ("new\n", 0, ["written", "seen"])
