"""The queue of a fleet on both databases: every unit is done once, whatever becomes of workers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from sutler.errors import SutlerError
from sutler.fleet import queue as queues
from sutler.fleet.catalogue import Fleet, Repository
from sutler.fleet.queue import MOST_TRIES, Queue, Unit, open_queue
from tests.limits import LIMIT
from tests.stores import crashed, joined, serving


def units(count: int) -> list[Unit]:
    return [Unit(f"k{n:03}", f"r{n:03}", "t", "index", "v", "p") for n in range(count)]


@pytest.fixture(params=["sqlite", "postgres"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Fleet:
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    return Fleet(str(tmp_path), f"f{uuid4().hex[:8]}", url)


@pytest.fixture
def queue(fleet: Fleet) -> Iterator[Queue]:
    opened = open_queue(fleet)
    yield opened
    opened.close()


def test_a_unit_is_claimed_once(queue: Queue) -> None:
    """Two workers never hold one unit, and an enqueued unit is not added twice."""
    assert (queue.enqueue(units(2)), queue.enqueue(units(3))) == (2, 1)
    claimed = [queue.claim("a"), queue.claim("b"), queue.claim("a"), queue.claim("b")]
    keys = [unit.key for unit in claimed if unit is not None]
    assert keys == ["k000", "k001", "k002"]
    assert claimed[3] is None


def test_workers_side_by_side_do_all_units_once(fleet: Fleet, queue: Queue) -> None:
    queue.enqueue(units(40))
    done: list[str] = []

    def loop(name: str) -> None:
        mine = open_queue(fleet)
        while (unit := mine.claim(name)) is not None:
            assert mine.finish(unit, ("files",))
            done.append(unit.key)
        mine.close()

    threads = [threading.Thread(target=loop, args=(f"w{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert sorted(done) == [unit.key for unit in units(40)]
    assert {unit.state for unit in queue.units()} == {"done"}


def test_a_lost_lease_is_claimed_again_until_the_tries_end(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that dies costs a try; after the last one the unit has failed with its reason."""
    monkeypatch.setattr(queues, "LEASE_SECONDS", -1)
    queue.enqueue(units(1))
    for turn in range(MOST_TRIES):
        unit = queue.claim(f"w{turn}")
        assert unit is not None
        assert unit.tries == turn + 1
    assert queue.claim("last") is None
    (unit,) = queue.units(state="failed")
    assert "without an answer" in unit.reason


def test_only_the_holder_of_a_lease_renews_it_or_records_a_failure(queue: Queue) -> None:
    queue.enqueue(units(1))
    assert queue.claim("a") is not None
    assert not queue.renew("k000", "b")
    assert not queue.fail("k000", "b", "the disk is full", again=False)
    assert queue.renew("k000", "a")


def test_slow_workers_that_take_a_unit_from_each_other_do_not_lose_it(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first result counts, though its worker lost the lease and the last try is used up."""
    monkeypatch.setattr(queues, "LEASE_SECONDS", -1)
    queue.enqueue(units(2))
    claims = [queue.claim(f"w{turn}") for turn in range(2 * MOST_TRIES)]
    first = claims[0]
    assert first is not None
    assert queue.finish(first, ("files", "runs"))
    assert queue.finish(first, ("files", "runs"))  # of another worker; a reply was lost
    assert queue.claim("last") is None
    (last,) = queue.units(state="failed")
    assert queue.finish(last, ("files",))
    assert queue.counts() == {"done": 2}
    queue.forget([first.key])
    assert not queue.finish(first, ("files",))


def test_a_result_replaces_that_of_the_older_tree_at_once(queue: Queue) -> None:
    """Until the new unit is done the old one counts; then its facts of the tree go with it."""
    old, new = (Unit(key, "web", key, "index", "v", "p") for key in ("k1", "k2"))
    for unit in (old, new):
        queue.enqueue([unit])
        claimed = queue.claim("a")
        assert claimed is not None
        queue.put_facts([(unit.key, "card", "v", b"x")])
        before = [done.key for done in queue.units(state="done")]
        assert queue.finish(claimed, ("files",))
        assert _cleared(queue) == before
    assert [unit.key for unit in queue.units()] == [new.key]
    assert queue.fact(old.key, "card", "v") is None
    assert queue.fact(new.key, "card", "v") == b"x"


def test_a_tree_that_returns_keeps_its_new_files(queue: Queue) -> None:
    """HEAD returns to an older tree after its unit was replaced and before its files were removed:
    the removal may no longer touch them, for they may be new."""
    old, new = (Unit(key, "web", key, "index", "v", "p") for key in ("k1", "k2"))
    for unit in (old, new):
        queue.enqueue([unit])
        assert queue.finish(unit, ("files",))
    assert not queue.finish(old, ("files",))  # of a slow worker: it must not replace the newer
    assert queue.enqueue([old]) == 1
    assert _cleared(queue) == []
    assert queue.finish(old, ("files",))
    assert _cleared(queue) == [new.key]
    assert [unit.key for unit in queue.units()] == [old.key]


def test_a_unit_is_not_queued_while_its_files_are_removed(fleet: Fleet, queue: Queue) -> None:
    old, new = (Unit(key, "web", key, "index", "v", "p") for key in ("k1", "k2"))
    for unit in (old, new):
        queue.enqueue([unit])
        assert queue.finish(unit, ("files",))

    def again() -> None:
        mine = open_queue(fleet)
        mine.enqueue([old])
        mine.close()

    driver = threading.Thread(target=again)

    def remove(_: Unit) -> None:
        driver.start()
        driver.join(0.5)
        assert driver.is_alive()

    queue.clear(remove)
    driver.join(LIMIT)
    assert [unit.key for unit in queue.units(state="waiting")] == [old.key]


def test_a_worker_that_starts_while_the_server_restarts_waits_for_it(tmp_path: Path) -> None:
    """A command is told at once that there is no server."""
    opened: list[Queue] = []
    with serving() as admin:
        fleet = Fleet(str(tmp_path), "f", joined(admin, "fleet", "fay", "writer"))
        with crashed(admin):
            with pytest.raises(SutlerError, match="no server at that address"):
                open_queue(fleet)
            start = threading.Thread(target=lambda: opened.append(open_queue(fleet, wait=True)))
            start.start()
            start.join(0.5)
            assert start.is_alive()
        start.join(LIMIT)
        assert opened[0].units() == ()
        opened[0].close()


def test_the_files_of_a_unit_that_was_dropped_meanwhile_are_removed(queue: Queue) -> None:
    """Its result counts nowhere, and is gone before the unit can be queued again."""
    (unit,) = units(1)
    queue.enqueue([unit])
    assert queue.claim("a") is not None
    queue.forget([unit.key])
    assert not queue.finish(unit, ("files", "runs"))
    assert queue.units() == ()
    removed: list[Unit] = []
    queue.clear(removed.append)
    assert [(item.key, item.tables) for item in removed] == [(unit.key, ("files", "runs"))]
    assert queue.enqueue([unit]) == 1


def _cleared(queue: Queue) -> list[str]:
    removed: list[str] = []
    queue.clear(lambda unit: removed.append(unit.key))
    return removed


def test_facts_stay_as_long_as_a_repository_holds_the_blob(queue: Queue) -> None:
    """A fork shares the facts of a blob, so that they go when the last of both drops it."""
    names = [(blob, "facts:x.py") for blob in ("a", "b", "c")]
    web, fork = (Unit(repo, repo, "t", "index", "v", "p") for repo in ("web", "fork"))
    queue.enqueue([web, fork])
    queue.put_facts([(*name, "v", b"x") for name in names])
    queue.put_facts([("a", "facts:x.py", "older", b"x")])
    queue.hold(web, ["a", "b"])
    queue.hold(fork, ["b"])
    assert queue.tidy("v") == 0  # a worker may count on them
    for unit in (web, fork):
        queue.finish(unit, ())
    assert queue.tidy("v") == 2
    queue.hold(web, ["a"])
    assert queue.tidy("v") == 0
    queue.hold(fork, [])
    assert queue.tidy("v") == 1
    assert queue.facts_of(names, "v") == {("a", "facts:x.py"): b"x"}


def test_work_of_an_older_tree_does_not_drop_what_the_newer_index_needs(queue: Queue) -> None:
    """Late secrets of the tree before, and a unit that was dropped while a worker had it."""
    index, late, gone = (
        Unit(f"{kind}-{tree}", "web", tree, kind, "v", "p")
        for kind, tree in (("index", "new"), ("secrets", "old"), ("index", "old"))
    )
    queue.enqueue([index, late])
    queue.put_facts([(blob, "facts:x.py", "v", b"x") for blob in ("a", "b")])
    queue.hold(index, ["a", "b"])
    queue.hold(late, ["a"])
    queue.hold(gone, ["a"])
    for unit in (index, late):
        queue.finish(unit, ())
    assert queue.tidy("v") == 0
    queue.hold(index, ["a"])
    assert queue.tidy("v") == 1


def test_a_failure_waits_for_another_try_and_retry_starts_over(queue: Queue) -> None:
    queue.enqueue(units(1))
    queue.claim("a")
    queue.fail("k000", "a", "the disk is full", again=True)
    assert queue.units()[0].state == "waiting"
    queue.claim("a")
    queue.fail("k000", "a", "not a repository", again=False)
    assert queue.units()[0].state == "failed"
    assert queue.retry() == 1
    assert queue.units()[0].tries == 0


def test_repositories_and_facts(queue: Queue) -> None:
    assert queue.add_repositories([Repository("a", "/x"), Repository("b", "/y")]) == 2
    assert queue.add_repositories([Repository("a", "/z")]) == 0
    assert queue.repositories() == (Repository("a", "/z"), Repository("b", "/y"))
    queue.put_facts([("blob", "facts:py", "1", b"one"), ("blob", "facts:py", "1", b"two")])
    assert queue.fact("blob", "facts:py", "1") == b"one"
    assert queue.fact("blob", "facts:py", "2") is None
