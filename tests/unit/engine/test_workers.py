"""Work in children: the same answers in the same order, whatever happens to a child."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from sutler.engine.forks import RING, Came, cores, may_fork
from sutler.engine.workers import in_children, in_halves, shared_out


def flat(answers: list[Came]) -> list[list[bytes]]:
    return [[bytes(buffer) for buffer in answer] for answer in answers]


def work(index: int) -> list[bytes]:
    return [str(index).encode(), b"", b"x" * (index * 70_000)]


def failing(index: int) -> list[bytes]:
    if index == 3:
        raise ValueError("the third")
    return work(index)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40])
@pytest.mark.parametrize("children", [1, 2, 3])
def test_answers_come_in_order(count: int, children: int) -> None:
    assert flat(list(in_children(count, work, children))) == flat([work(index) for index in range(count)])


def test_the_work_is_done_elsewhere() -> None:
    pids = {bytes(answer[0]) for answer in in_children(6, lambda _: [str(os.getpid()).encode()], 2)}
    assert len(pids) == 2
    assert str(os.getpid()).encode() not in pids


def test_a_child_that_is_killed_loses_nothing() -> None:
    mother = os.getpid()

    def deadly(index: int) -> list[bytes]:
        if index == 5 and os.getpid() != mother:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(index)

    assert flat(list(in_children(12, deadly, 2))) == flat([work(index) for index in range(12)])


def test_all_children_may_be_killed() -> None:
    mother = os.getpid()

    def deadly(index: int) -> list[bytes]:
        if index in (3, 4) and os.getpid() != mother:
            os.kill(os.getpid(), signal.SIGKILL)
        return [b"%d" % index]

    assert [bytes(answer[0]) for answer in in_children(9000, deadly, 2)] == [b"%d" % index for index in range(9000)]


def test_more_batches_than_wait_at_once() -> None:
    assert [bytes(answer[0]) for answer in in_children(9000, lambda index: [b"%d" % index], 2)] == [
        b"%d" % index for index in range(9000)
    ]


def test_a_slow_batch_holds_nobody_else_up() -> None:
    """The first ends only when the last has begun: the other child goes on, and everything still comes in order."""
    out, into = os.pipe()

    def uneven(index: int) -> list[bytes]:
        if index == 0:
            os.read(out, 1)
        elif index == 7:
            os.write(into, b"x")
        return [str(os.getpid()).encode()]

    pids = [bytes(answer[0]) for answer in in_children(8, uneven, 2)]
    os.close(out)
    os.close(into)
    assert pids[0] not in pids[1:]


def test_an_error_is_raised_here() -> None:
    with pytest.raises(ValueError, match="the third"):
        list(in_children(8, failing, 2))


def test_who_stops_early_leaves_no_child_behind() -> None:
    answers = in_children(40, lambda _: [str(os.getpid()).encode()], 2)
    child = int(bytes(next(answers)[0]))
    answers.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)


def test_no_fork_beside_another_thread() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert not may_fork()
    finally:
        done.set()
        thread.join()


def test_who_ignores_the_end_of_children_has_their_work_all_the_same() -> None:
    """As everybody does who was started by somebody that ignores it."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    added: list[bytes] = []
    try:
        answers = flat(list(in_children(7, work, 2)))
        halves = list(in_halves(7, work, joined, whole))
        shared_out(50, lambda _: None, lambda: b"done", lambda told: added.append(bytes(told)))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert answers == flat([work(index) for index in range(7)])
    assert halves == [whole(index) for index in range(7)]
    assert added == [b"done"]


BESIDE = """
import os, threading
from sutler.engine.workers import Beside

seen = []
beside = Beside(lambda: seen.append(threading.get_ident()))
beside.settle()  # never begun
assert seen == []
before = len(os.listdir("/proc/self/task"))
for _ in range(20):
    beside.begin()
    beside.settle()
    assert len(os.listdir("/proc/self/task")) <= before
assert len(seen) in (0, 20)  # none where there is one core
assert threading.get_ident() not in seen
print(len(seen), before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no /proc to count threads in")
def test_what_is_done_beside_leaves_no_thread() -> None:
    """In a process of its own: a test runner may have threads, and then nothing is done beside it."""
    done = subprocess.run([sys.executable, "-c", BESIDE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ("20 1\n" if cores() > 1 else "0 1\n")


def joined(answer: Came) -> bytes:
    return b"".join(answer)


def whole(index: int) -> bytes:
    return joined(work(index))


@pytest.mark.parametrize("count", [0, 1, 2, 7, 40, 150])
def test_halves_come_in_order(count: int) -> None:
    assert list(in_halves(count, work, joined, whole)) == [whole(index) for index in range(count)]


def test_halves_in_pieces_come_whole_whatever_their_size() -> None:
    """Longer and shorter than the memory that they go through, so that it is gone round many times."""
    sizes = [(index * 977_777) % (RING // 3) for index in range(60)]
    sizes[7], sizes[31] = RING // 2 + 1, RING + 5

    def pieces(index: int) -> list[bytes]:
        third = bytes([index]) * (sizes[index] // 3)
        return [third, b"", third, third]

    def here(index: int) -> bytes:
        return b"".join([b"first", *pieces(index), b"last"])

    made = in_halves(60, lambda index: [b"first", pieces(index), b"last"], joined, here)
    assert list(made) == [here(index) for index in range(60)]


def test_what_came_is_there_until_the_next_is_asked_for() -> None:
    """A child that has made more than fits does not write over what has not been taken away."""
    out, into = os.pipe()
    seen: list[bytes] = []

    def text(index: int) -> bytes:
        return bytes([index]) * (RING // 8)

    def work(index: int) -> list[bytes]:
        os.write(into, b".")
        return [text(index)]

    for view in in_halves(40, work, lambda answer: answer[0], text):
        for _ in range(0 if seen else 9):
            os.read(out, 1)
        seen.append(bytes(view))
    os.close(out)
    os.close(into)
    assert seen == [text(index) for index in range(40)]


def test_more_halves_than_fit_into_a_pipe() -> None:
    made = in_halves(20_000, lambda index: [b"%d" % index], joined, lambda index: b"%d" % index)
    assert list(made) == [b"%d" % index for index in range(20_000)]


def test_who_waits_for_a_half_makes_a_whole() -> None:
    """The child's first batch ends only when a later one has been made here."""
    out, into = os.pipe()
    mother = os.getpid()

    def slow(index: int) -> list[bytes]:
        if index == 0:
            os.read(out, 1)
        return [b"%d" % os.getpid()]

    def here(index: int) -> bytes:
        os.write(into, b"x")
        return b"%d" % os.getpid()

    pids = list(in_halves(40, slow, joined, here))
    os.close(out)
    os.close(into)
    assert int(pids[0]) != mother
    assert b"%d" % mother in pids


@pytest.mark.parametrize("last", [0, 3])
def test_a_child_that_is_killed_leaves_its_halves_to_us(last: int) -> None:
    def deadly(index: int) -> list[bytes]:
        if index >= last:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(index)

    assert list(in_halves(30, deadly, joined, whole)) == [whole(index) for index in range(30)]


def test_an_error_in_a_half_is_raised_here() -> None:
    with pytest.raises(ValueError, match="the third"):
        list(in_halves(9, failing, joined, lambda index: joined(failing(index))))


def test_halves_that_nobody_wants_any_more_end() -> None:
    def who(index: int) -> int:
        return os.getpid()

    halves = in_halves(5_000, lambda index: [b"%d" % who(index)], lambda answer: int(joined(answer)), who)
    child = next(pid for pid in halves if pid != os.getpid())
    halves.close()
    with pytest.raises(ChildProcessError):
        os.waitpid(child, os.WNOHANG)


def test_what_is_made_ahead_of_a_slow_half_has_an_end() -> None:
    """The child's first batch lasts until we have stopped making others: not all of them wait for it."""
    out, into = os.pipe()
    seen: list[int] = []

    def slow(index: int) -> list[bytes]:
        if index == 0:
            os.read(out, 1)
        return [b"."]

    def here(index: int) -> bytes:
        seen.append(index)
        if len(seen) == 32:
            os.write(into, b"x")
        return b"."

    halves = in_halves(4_000, slow, joined, here)
    next(halves)
    assert len(seen) == 32
    halves.close()
    os.close(out)
    os.close(into)
