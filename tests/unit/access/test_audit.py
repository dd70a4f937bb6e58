from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from sutler.access.audit import EVERY, Ledger, export, verify_export
from sutler.errors import RefusedError, SutlerError
from sutler.store.home import private_dir
from sutler.store.records import AuditRow, canonical, seal, sha256, unseal
from sutler.store.sqlite import open_sqlite
from tests.conftest import FUZZ
from tests.stores import entry

KEY = b"k" * 32
AT = "2026-01-01T00:00:00Z"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    home = private_dir(str(tmp_path / "state"))
    return Ledger(open_sqlite(f"{home}/state.db", "p"), home, KEY)


def fill(ledger: Ledger, rows: int, first: int = 0) -> None:
    for n in range(first, first + rows):
        ledger.store.append(entry(f"c{n}", args=(("path", f"f{n}"),)))


def sql(ledger: Ledger, *statements: tuple[str, tuple[str | int, ...]]) -> None:
    store = ledger.store
    store.database.transact(
        lambda query: [query(*statement) for statement in statements], write=True
    )


@pytest.mark.parametrize("rows", [0, 1, EVERY - 1, EVERY, EVERY + 1])
def test_an_untouched_ledger_verifies(ledger: Ledger, rows: int) -> None:
    fill(ledger, rows)
    assert ledger.verify().ok
    ledger.close(AT)
    checked = ledger.verify()
    assert (checked.ok, checked.rows, checked.checkpoint) == (True, rows, rows)


# Mutations. Each takes the rows and a random source, and changes the database as someone who can
# write it would.

Mutation = Callable[[Ledger, list[AuditRow], random.Random], None]
PUT = "INSERT INTO audit VALUES ('p', ?, ?, ?, ?, ?, ?, ?)"


def row_values(row: AuditRow) -> tuple[str | int, ...]:
    return (row.seq, row.call, row.phase, row.session, row.path, row.hash, row.body)


def edit_a_byte(ledger: Ledger, rows: list[AuditRow], rng: random.Random) -> None:
    row = rng.choice(rows)
    column = rng.choice(["body", "hash", "call", "phase", "session", "path"])
    old = getattr(row, column)
    at = rng.randrange(len(old))
    new = old[:at] + chr((ord(old[at]) - 32 + rng.randrange(1, 90)) % 95 + 32) + old[at + 1 :]
    if column == "call":
        new += "?"  # the database itself refuses a call that is already there
    sql(ledger, (f"UPDATE audit SET {column} = ? WHERE seq = ?", (new, row.seq)))  # noqa: S608  # a column of our own


def edit_and_rehash(ledger: Ledger, rows: list[AuditRow], rng: random.Random) -> None:
    row = rng.choice(rows)
    body = canonical(msgspec.structs.replace(unseal(row), caller=f"someone else {rng.random()}"))
    sql(
        ledger, ("UPDATE audit SET body = ?, hash = ? WHERE seq = ?", (body, sha256(body), row.seq))
    )


def delete_one(ledger: Ledger, rows: list[AuditRow], rng: random.Random) -> None:
    sql(ledger, ("DELETE FROM audit WHERE seq = ?", (rng.choice(rows).seq,)))


def delete_the_front(ledger: Ledger, rows: list[AuditRow], rng: random.Random) -> None:
    sql(ledger, ("DELETE FROM audit WHERE seq <= ?", (rng.randrange(1, len(rows)),)))


def swap_two(ledger: Ledger, rows: list[AuditRow], rng: random.Random) -> None:
    one, two = rng.sample(rows, 2)
    moved = [msgspec.structs.replace(one, seq=two.seq), msgspec.structs.replace(two, seq=one.seq)]
    sql(
        ledger,
        ("DELETE FROM audit WHERE seq IN (?, ?)", (one.seq, two.seq)),
        *((PUT, row_values(r)) for r in moved),
    )


def insert_one(ledger: Ledger, rows: list[AuditRow], rng: random.Random) -> None:
    sql(
        ledger,
        (PUT, row_values(seal(entry(f"forged {rng.random()}"), len(rows) + 1, rows[-1].hash))),
    )


def cut_the_tail(ledger: Ledger, rows: list[AuditRow], rng: random.Random) -> None:
    """Below the last checkpoint, with the head set to match, as a careful forger would."""
    last = rng.randrange(0, EVERY * (len(rows) // EVERY) - 1)
    hash = rows[last - 1].hash if last else "0" * 64
    sql(
        ledger,
        ("DELETE FROM audit WHERE seq > ?", (last,)),
        ("UPDATE heads SET seq = ?, hash = ?", (last, hash)),
    )


def rewrite_from_here(ledger: Ledger, rows: list[AuditRow], rng: random.Random) -> None:
    """A whole new chain from some row on, valid in itself."""
    start = rng.randrange(0, EVERY * (len(rows) // EVERY) - 1)
    prev = rows[start - 1].hash if start else "0" * 64
    sql(ledger, ("DELETE FROM audit WHERE seq > ?", (start,)))
    for old in rows[start:]:
        fresh = seal(msgspec.structs.replace(unseal(old), caller="someone else"), old.seq, prev)
        sql(ledger, (PUT, row_values(fresh)))
        prev = fresh.hash
    sql(ledger, ("UPDATE heads SET hash = ?", (prev,)))


MUTATIONS: list[Mutation] = [
    edit_a_byte,
    edit_a_byte,
    edit_and_rehash,
    delete_one,
    delete_the_front,
    swap_two,
    insert_one,
    cut_the_tail,
    rewrite_from_here,
]


def test_every_mutation_is_detected(ledger: Ledger) -> None:
    """The long run is SUTLER_FUZZ=100: 10^4 mutations."""
    rng = random.Random(5)
    fill(ledger, 2 * EVERY + 9)
    rows = list(ledger.store.audit())
    head = ledger.store.head()
    for n in range(int(100 * FUZZ)):
        mutate = MUTATIONS[n % len(MUTATIONS)]
        mutate(ledger, rows, rng)
        checked = ledger.verify()
        assert not checked.ok, mutate.__name__
        assert checked.bad, mutate.__name__
        restore = [(PUT, row_values(row)) for row in rows]
        sql(
            ledger,
            ("DELETE FROM audit", ()),
            *restore,
            ("UPDATE heads SET seq = ?, hash = ?", head),
        )
    assert ledger.verify().ok


def checkpoint_file(ledger: Ledger) -> Path:
    return Path(ledger.directory) / "checkpoints.jsonl"


def test_every_byte_of_the_checkpoints_counts(ledger: Ledger) -> None:
    fill(ledger, 2 * EVERY)
    good = checkpoint_file(ledger).read_bytes()
    rng = random.Random(6)
    for _ in range(int(100 * FUZZ)):
        bad = bytearray(good)
        bad[rng.randrange(len(bad) - 1)] ^= 1 << rng.randrange(7)
        checkpoint_file(ledger).write_bytes(bad)
        assert not ledger.verify().ok
    checkpoint_file(ledger).write_bytes(b"")
    assert ledger.verify().detail == "checkpoints that must exist are missing"


def test_a_checkpoint_is_there_with_the_row_that_is_due(ledger: Ledger) -> None:
    """Nothing but the transaction itself signs: whatever happens after its commit, the checkpoint
    is there.
    """
    fill(ledger, EVERY)
    assert [one.seq for one in ledger.checkpoints()] == [EVERY - 1]
    checkpoint_file(ledger).unlink()
    assert ledger.verify().detail == "checkpoints that must exist are missing"


def test_a_transaction_that_fails_leaves_no_row_and_no_contradiction(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ledger, EVERY - 1)
    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "injected")))
        with pytest.raises(SutlerError, match="checkpoint cannot be written"):
            ledger.store.append(entry("due"))
    assert (ledger.store.head()[0], ledger.verify().ok) == (EVERY - 1, True)
    ledger.store.append(entry("due"))
    assert ledger.verify().ok


def test_one_call_may_append_many_rows_at_once(ledger: Ledger) -> None:
    fill(ledger, 3)
    ledger.store.record([entry(f"patch.{n}") for n in range(3 * EVERY)])
    assert ledger.verify().ok
    ledger.store.append(entry("after"))
    assert ledger.verify().ok


def test_a_torn_last_line_is_nobodys_checkpoint(ledger: Ledger) -> None:
    fill(ledger, EVERY)
    with checkpoint_file(ledger).open("ab") as file:
        file.write(b'{"at":"2026')
    assert ledger.verify().ok
    ledger.check()
    ledger.close(AT)
    assert [one.seq for one in ledger.checkpoints()] == [EVERY - 1, EVERY]


def test_other_machines_sign_elsewhere(ledger: Ledger) -> None:
    fill(ledger, EVERY)
    checkpoint_file(ledger).unlink()
    assert Ledger(ledger.store, ledger.directory, KEY, shared=True).verify().ok


def test_a_checkpoint_of_another_installation_does_not_count(ledger: Ledger) -> None:
    fill(ledger, EVERY)
    assert "not signed" in Ledger(ledger.store, ledger.directory, b"x" * 32).verify().detail


def test_rotation_archives_and_the_rest_still_verifies(ledger: Ledger) -> None:
    fill(ledger, 2 * EVERY)
    path = ledger.rotate(10, AT)
    assert len(ledger.store.audit()) == 10
    assert ledger.verify().ok
    assert verify_export(Path(path).read_text().splitlines()) == (2 * EVERY - 10, "")
    fill_more = ledger.store.append(entry("after"))
    assert (fill_more.seq, ledger.verify().ok) == (2 * EVERY + 1, True)
    assert ledger.rotate(0, AT)
    assert (ledger.verify().ok, ledger.store.audit()) == (True, ())
    ledger.store.append(entry("again"))
    assert ledger.verify().ok


def test_an_interrupted_rotation_leaves_a_sound_ledger(ledger: Ledger) -> None:
    """The base is signed but the rows are still there: nothing is missing."""
    fill(ledger, EVERY)
    ledger.sign("base", 5, ledger.store.audit()[4].hash, AT)
    assert ledger.verify().ok


def test_removing_more_than_was_archived_is_detected(ledger: Ledger) -> None:
    fill(ledger, EVERY)
    ledger.rotate(20, AT)
    sql(ledger, ("DELETE FROM audit WHERE seq <= ?", (EVERY - 14,)))
    assert not ledger.verify().ok


def test_an_unsound_ledger_is_not_rotated(ledger: Ledger) -> None:
    fill(ledger, 5)
    sql(ledger, ("DELETE FROM audit WHERE seq = 3", ()))
    with pytest.raises(RefusedError, match="does not verify at row 3"):
        ledger.rotate(0, AT)


def test_an_export_verifies_alone_and_shows_a_change(ledger: Ledger) -> None:
    fill(ledger, 3)
    lines = list(export(ledger.store.audit()))
    assert verify_export(lines) == (3, "")
    assert verify_export([lines[0], lines[2]])[0] == 1
    assert verify_export([lines[0].replace("f0", "f9")])[1]


@pytest.mark.parametrize("rows", [0, 5, EVERY, EVERY + 5])
def test_a_sound_ledger_passes_the_check_at_start(ledger: Ledger, rows: int) -> None:
    fill(ledger, rows)
    ledger.close(AT)
    ledger.check()
    if rows:
        ledger.rotate(2, AT)
        ledger.check()
        ledger.rotate(0, AT)
        ledger.check()


@pytest.mark.parametrize("damage", [cut_the_tail, rewrite_from_here])
def test_a_replaced_ledger_is_noticed_at_start(ledger: Ledger, damage: Mutation) -> None:
    fill(ledger, EVERY + 9)
    damage(ledger, list(ledger.store.audit()), random.Random(1))
    with pytest.raises(RefusedError, match=f"does not hold its signed row {EVERY - 1}"):
        ledger.check()


def test_an_older_copy_of_the_store_is_noticed_at_start(ledger: Ledger) -> None:
    ledger.close(AT)
    fill(ledger, EVERY)
    sql(ledger, ("DELETE FROM audit", ()), ("UPDATE heads SET seq = 0, hash = ?", ("0" * 64,)))
    with pytest.raises(RefusedError):
        ledger.check()
