"""Work in worker processes: the same answers in the same order, whatever happens to a worker."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from sutler.parallel import alone, ordered
from sutler.system import may_fork


def work(index: int) -> bytes:
    return b"%d " % index + b"x" * (index * 70_000)


def pid(_: int) -> int:
    return os.getpid()


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_answers_come_in_order(count: int, workers: int) -> None:
    assert list(ordered(work, count, workers, bytes)) == list(map(work, range(count)))


def test_the_work_is_done_elsewhere() -> None:
    _, *pids = ordered(pid, 6, 2, int)
    assert len(set(pids)) == 2
    assert os.getpid() not in pids


def test_workers_inherit_what_the_first_piece_of_work_loaded() -> None:
    loaded: list[int] = []

    def lazy(index: int) -> int:
        if not loaded:
            loaded.append(os.getpid())
        return loaded[0]

    assert set(ordered(lazy, 6, 2, int)) == {os.getpid()}


def test_a_worker_that_is_killed_loses_nothing() -> None:
    parent = os.getpid()

    def deadly(index: int) -> bytes:
        if index == 5 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(index)

    assert list(ordered(deadly, 12, 2, bytes)) == list(map(work, range(12)))


def test_all_workers_may_be_killed() -> None:
    parent = os.getpid()

    def deadly(index: int) -> int:
        if index in (3, 4) and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return index

    assert list(ordered(deadly, 9_000, 2, int)) == list(range(9_000))


def test_more_answers_than_fit_into_a_pipe() -> None:
    assert list(ordered(lambda index: index, 20_000, 2, int)) == list(range(20_000))


def test_an_error_is_raised_here() -> None:
    def failing(index: int) -> int:
        if index == 3:
            raise ValueError("the third")
        return index

    with pytest.raises(ValueError, match="the third"):
        list(ordered(failing, 8, 2, int))


def test_stopping_early_leaves_no_worker_behind() -> None:
    answers = ordered(pid, 5_000, 2, int)
    next(answers)
    worker = next(answers)
    answers.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(worker, os.WNOHANG)


def test_no_fork_beside_another_thread() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert not may_fork()
    finally:
        done.set()
        thread.join()


def test_a_process_that_ignores_the_end_of_children_gets_every_answer() -> None:
    """The setting is inherited from a parent that ignores SIGCHLD."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        answers = list(ordered(work, 7, 2, bytes))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert answers == list(map(work, range(7)))


def test_failed_work_may_be_done_in_another_way() -> None:
    parent = os.getpid()

    def deadly(index: int) -> int:
        if index == 3 and os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return index

    assert list(ordered(deadly, 6, 2, int, lambda index: -index)) == [0, 1, 2, -3, 4, -5]


def test_work_alone_has_a_result_or_none() -> None:
    assert alone(lambda: b"x" * 1_000_000, bytes) == b"x" * 1_000_000

    def deadly() -> bytes:
        os.kill(os.getpid(), signal.SIGKILL)
        return b"never"

    assert alone(deadly, bytes) is None
