"""What every store must do, run on SQLite and on a real PostgreSQL."""

from __future__ import annotations

import hashlib
import multiprocessing
import threading
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sutler.errors import DeniedError, SutlerError
from sutler.paths import RelPath
from sutler.store.base import Query
from sutler.store.migrations import MIGRATIONS, Migration, missing
from sutler.store.records import (
    GENESIS,
    Approval,
    Caller,
    Limits,
    RegistryRow,
    Spent,
    Version,
    unseal,
)
from sutler.store.sql import Store
from sutler.store.sqlite import open_sqlite
from tests.limits import joined
from tests.stores import OpenStore, entry

NASTY = RelPath('odd/"na\nme"\x1b\u2028\udcff')


def version(path: str, content: bytes, **changes: Any) -> Version:
    digest = hashlib.sha256(content).hexdigest()
    plain = Version(
        id=digest[:32],
        path=RelPath(path),
        digest=digest,
        size=len(content),
        at="2026-01-01T00:00:00Z",
        author="c",
    )
    return msgspec.structs.replace(plain, **changes)


def approval(id: str) -> Approval:
    return Approval(
        id=id,
        tool="write_file",
        path=NASTY,
        base="b",
        result="r",
        args="{}",
        policy="p",
        caller="c",
        session="s",
        created="2026-01-01T00:00:00Z",
        expires="2026-01-01T00:15:00Z",
    )


def test_registry_returns_sorted_rows_and_forgets_the_gone(store: Store) -> None:
    """The registry survives any file name, replaces rows by path and drops what is gone."""
    rows = [
        RegistryRow(RelPath(path), 1, "d", 2**62, "v", ("code",), "", "python")
        for path in ("b", "a", NASTY)
    ]
    store.update_registry(rows)
    assert [row.path for row in store.registry()] == sorted(["a", "b", NASTY])
    changed = msgspec.structs.replace(rows[0], size=2)
    store.update_registry([changed], gone=["a"])
    assert store.registry() == tuple(sorted((changed, rows[2]), key=lambda row: row.path))


def test_facts_are_found_by_digest_kind_and_tool(store: Store) -> None:
    """A fact of another tool version is not an answer."""
    store.put_fact("d", "summary", "1", b"x")
    assert store.fact("d", "summary", "1") == b"x"
    assert store.fact("d", "summary", "2") is None
    assert store.forget_facts() == 1
    assert store.fact("d", "summary", "1") is None


def test_receipts_come_newest_first(store: Store) -> None:
    """A receipt is stored once and listed by time."""
    old, new = (
        (name, at, f'"{name}"', b"") for name, at in (("p1", "2026-01-01"), ("p2", "2026-01-02"))
    )
    for receipt in (old, new, old):
        store.put_receipt(receipt)
    first, second = ("p2", '"p2"'), ("p1", '"p1"')
    assert store.receipts() == [first, second]
    assert store.receipts(1) == [first]
    assert store.receipts(start="p1") == [second]


def test_what_a_pack_held_is_kept_once(store: Store) -> None:
    """A pack that leaves again brings a receipt, and its list of files is there already."""
    for at in ("2026-01-01", "2026-01-02"):
        store.put_receipt(("p", at, at, b"files"))
    assert store.receipts() == [("p", "2026-01-02"), ("p", "2026-01-01")]
    assert (store.sent("p"), store.sent("q")) == (b"files", b"")


def test_versions_number_upward_and_skip_repeats(store: Store) -> None:
    """History holds each change once, newest first, also when a content comes back."""
    for content in (b"1", b"1", b"2", b"1"):
        store.add_version(version(NASTY, content))
    assert [found.size for found in store.versions(NASTY)] == [1, 1, 1]
    assert [found.digest for found in store.versions(NASTY, limit=2)] == [
        hashlib.sha256(content).hexdigest() for content in (b"1", b"2")
    ]
    assert store.versions(NASTY)[0].path == NASTY


def test_compaction_keeps_the_newest_and_their_contents(store: Store) -> None:
    """Compaction drops old versions and only the contents that nothing names any more."""
    for content in (b"1", b"2", b"3"):
        store.put_blob(hashlib.sha256(content).hexdigest(), content)
        store.add_version(version("a", content))
    assert store.keep_versions(2) == 1
    assert [store.blob(hashlib.sha256(c).hexdigest()) for c in (b"1", b"2", b"3")] == [
        None,
        b"2",
        b"3",
    ]


def test_an_approval_is_settled_once_and_used_once(store: Store) -> None:
    """The first answer stands; one call may spend it, and may ask twice whether it did."""
    store.add_approval(approval("x"))
    assert store.approval("x") == approval("x")
    assert not store.use("x", "call-1")
    assert store.settle("x", "approved", "ann")
    assert not store.settle("x", "denied", "bob")
    assert [store.use("x", call) for call in ("call-1", "call-1", "call-2")] == [True, True, False]
    assert store.approvals("used")[0].used_by == "call-1"
    assert not store.settle("missing", "approved", "ann")


def test_entries_are_chained(store: Store) -> None:
    """Each row names the hash of the one before, from a fixed beginning; the head is the last."""
    rows = [store.append(entry(f"c{n}")) for n in range(3)]
    entries = [unseal(row) for row in rows]
    assert [found.prev for found in entries] == [GENESIS, rows[0].hash, rows[1].hash]
    assert store.head() == (3, rows[2].hash)
    assert store.audit() == tuple(rows)
    assert store.audit(after=1, limit=1) == (rows[1],)


def test_appending_the_same_call_again_changes_nothing(store: Store) -> None:
    """A retry after a lost reply is not a second row and is not charged twice."""
    first = store.append(entry("c", bytes=5))
    assert store.append(entry("c", bytes=5)) == first
    assert store.spent("c", "s") == Spent(reads=1, bytes=5)
    assert store.head()[0] == 1


def test_a_budget_is_never_overdrawn(store: Store) -> None:
    """An entry that would overdraw its caller's budget is refused and leaves no row and no
    charge.
    """
    caller = Caller(id="c", session="s", limits=Limits(reads=2, bytes=10))
    store.append(entry("1", bytes=4), caller)
    with pytest.raises(DeniedError, match="bytes <= 10"):
        store.append(entry("2", bytes=7), caller)
    store.append(entry("3", bytes=6), caller)
    with pytest.raises(DeniedError, match="reads <= 2"):
        store.append(entry("4"), caller)
    assert (store.spent("c", "s"), store.head()[0]) == (Spent(reads=2, bytes=10), 2)
    assert store.tally() == (("c", "s", Spent(reads=2, bytes=10)),)


def test_a_session_finds_its_own_rows(store: Store) -> None:
    """Rows are found by session and path, oldest first, the newest when there are too many."""
    for n, (session, path) in enumerate([("s", "a"), ("s", "b"), ("t", "a"), ("s", "a")]):
        store.append(entry(str(n), session=session, path=path))
    assert [row.call for row in store.audit_of("s")] == ["0", "1", "3"]
    assert [row.call for row in store.audit_of("s", "a")] == ["0", "3"]
    assert [row.call for row in store.audit_of("s", "a", limit=1)] == ["3"]


def test_dropping_old_rows_keeps_the_chain_going(store: Store) -> None:
    """Rotation removes rows from the front; numbering and chaining go on."""
    rows = [store.append(entry(str(n))) for n in range(4)]
    assert store.drop_audit(through=2) == 2
    assert unseal(store.append(entry("x"))).prev == rows[3].hash
    assert [row.seq for row in store.audit()] == [3, 4, 5]


def test_projects_do_not_meet(open_store: OpenStore) -> None:
    """Nothing that one project stores is visible to another in the same database."""
    one, two = open_store("one"), open_store("two")
    one.put_blob("d", b"x")
    one.put_fact("d", "k", "1", b"x")
    one.add_version(version("a", b"x"))
    one.add_approval(approval("x"))
    one.append(entry("c", bytes=1))
    one.update_registry([RegistryRow(RelPath("a"), 1, "d", 1, "v")])
    one.put_receipt(("p", "t", "{}", b""))
    seen = (two.blob("d"), two.fact("d", "k", "1"), two.approval("x"))
    assert seen == (None, None, None)
    assert (two.versions("a"), two.registry(), two.receipts(), two.audit(), two.tally()) == (
        (),
        (),
        [],
        (),
        (),
    )
    assert two.head() == (0, GENESIS)


@pytest.mark.parametrize("text", ["'; DROP TABLE audit; --", "%s ? $1", "a\\", 'x" OR 1=1'])
def test_text_is_only_ever_a_parameter(store: Store, text: str) -> None:
    """No value can become part of a statement."""
    store.append(entry(text, session=text, path=text))
    assert [row.call for row in store.audit_of(text, text)] == (
        [text] if '"' not in text and "\\" not in text else []
    )
    assert store.audit_of(text)[0].call == text


def test_an_unknown_migration_is_refused(open_store: OpenStore) -> None:
    """A store of a newer sutler, or one whose history was edited, is not touched."""
    store = open_store("p")
    database = store.database

    def check(migrations: tuple[Migration, ...]) -> tuple[Migration, ...]:
        return database.transact(
            lambda query: missing(query, database.dialect, migrations), write=False
        )

    with pytest.raises(SutlerError, match="differs"):
        check((Migration(1, "edited", ("SELECT 1",)), *MIGRATIONS[1:]))
    with pytest.raises(SutlerError, match="does not know"):
        check(())
    assert check(MIGRATIONS) == ()


def test_a_store_of_the_seven_steps_is_kept(tmp_path: Path) -> None:
    """Its ledger goes on, although the steps have become one."""
    path = str(tmp_path / "state.db")
    with closing(open_sqlite(path, "p")) as store:
        store.append(entry("before"))
        steps = [(number, "a step", "of another digest") for number in range(1, 7)]
        former = "6c153ad47ce6aec262ebc5890fe764edae196d5530591740ed3b82018fe71e8a"

        def age(query: Query) -> None:
            query("ALTER TABLE pending ADD COLUMN boot TEXT NOT NULL DEFAULT ''")
            query("DELETE FROM sutler_migrations")
            for step in (*steps, (7, "the last step", former)):
                query("INSERT INTO sutler_migrations VALUES (?, ?, ?)", step)

        store.database.transact(age, write=True)
    with closing(open_sqlite(path, "p")) as store:
        store.append(entry("after"))
        assert [row.call for row in store.audit()] == ["before", "after"]


def _append_many(open_one: OpenStore, worker: int, count: int) -> None:
    mine = open_one("p")
    for n in range(count):
        mine.append(entry(f"{worker}-{n}", session=str(worker)))


def test_threads_share_one_store(store: Store) -> None:
    """One store may be used by several threads; no row is lost and the chain holds."""
    work = [threading.Thread(target=_append_many, args=(lambda _: store, n, 20)) for n in range(4)]
    for thread in work:
        thread.start()
    joined(*work)
    rows = store.audit()
    assert [row.seq for row in rows] == list(range(1, 81))
    assert all(unseal(after).prev == before.hash for before, after in pairwise(rows))


def _carried(store: Store, answer: Any) -> None:
    try:
        store.head()
        answer.put("no error")
    except SutlerError as error:
        answer.put(error.what)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_store_carried_through_a_fork_says_so(store: Store) -> None:
    """A connection shared by two processes corrupts both; the child gets a clear error instead."""
    context = multiprocessing.get_context("fork")
    answer: Any = context.Queue()
    child = context.Process(target=_carried, args=(store, answer))
    child.start()
    assert answer.get(timeout=120) == "a store was carried into another process"
    joined(child)


def test_a_path_is_held_by_one(open_store: OpenStore) -> None:
    """Two stores, as of two processes: whoever holds a path has it alone, and its release lets the
    next one in.
    """
    one, two = open_store("p"), open_store("p")
    with one.hold(["a.py", "b.py"]):
        with (
            pytest.raises(SutlerError, match="another process holds this file"),
            two.hold(["b.py"], wait=0),
        ):
            pass
        assert (
            sum(_free(two, f"elsewhere{number}.py") for number in range(8)) > 4
        )  # paths share a few hundred slots
    with two.hold(["b.py"]):
        pass


def _free(store: Store, path: str) -> bool:
    try:
        with store.hold([path], wait=0):
            return True
    except SutlerError:
        return False


def test_an_intent_waits_until_its_outcome(store: Store) -> None:
    """Entries, contents and versions are recorded together, and an intent is pending until its
    outcome is there.
    """
    version = Version(
        id="v", path=RelPath("a.py"), digest="d", size=1, at="t", author="c", call="1", mode=0o644
    )
    store.record([entry("1", phase="intent", effect="write")], blobs=[("d", b"x")])
    assert ([row.call for row in store.pending()], store.blob("d")) == (["1"], b"x")
    store.record([entry("1", effect="write")], versions=[version, version])
    assert (store.pending(), store.versions("a.py")) == ((), (version,))
