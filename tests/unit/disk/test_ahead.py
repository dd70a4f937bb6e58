"""Work that a thread does before it is asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sutler.disk.ahead import WAITING, Ahead

MANY = 5_000


class Work:
    """Squares numbers, and remembers who asked for which."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.gate = threading.Event()
        self.gate.set()

    def do(self, number: int) -> int:
        self.asked.append((threading.get_ident(), number))
        self.gate.wait(10)
        return number * number


@pytest.fixture(autouse=True)
def _left_as_it_was() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def test_everything_comes_in_turn_and_is_done_once() -> None:
    work = Work()
    ahead = Ahead(work.do, MANY)
    assert [ahead.next() for _ in range(MANY)] == [number * number for number in range(MANY)]
    ahead.close()
    assert sorted(number for _, number in work.asked) == list(range(MANY))


def test_nobody_works_far_ahead() -> None:
    """What waits to be asked for has an end, or a large tree would lie in memory."""
    work = Work()
    ahead = Ahead(work.do, MANY)
    for _ in range(200):
        if len(work.asked) >= WAITING:
            break
        threading.Event().wait(0.01)
    threading.Event().wait(0.05)
    assert len(work.asked) == WAITING
    ahead.close()


def test_who_would_have_to_wait_works_too() -> None:
    work = Work()
    work.gate.clear()
    ahead = Ahead(work.do, MANY)
    while not work.asked:
        threading.Event().wait(0.001)
    threading.Timer(0.05, work.gate.set).start()
    assert ahead.next() == 0
    ahead.close()
    assert threading.get_ident() in {who for who, _ in work.asked}


def test_it_can_be_closed_before_anybody_asked() -> None:
    Ahead(Work().do, MANY).close()
    Ahead(Work().do, 0).close()


@pytest.mark.parametrize("error", [MemoryError, OSError, ValueError])
def test_who_asks_hears_what_went_wrong(error: type[Exception]) -> None:
    """And does not wait for ever: the thread goes on with the next piece."""

    def work(number: int) -> int:
        if number % 2:
            raise error(f"piece {number}")
        return number

    ahead = Ahead(work, MANY)
    for number in range(0, MANY, 2):
        assert ahead.next() == number
        with pytest.raises(error, match=f"piece {number + 1}$"):
            ahead.next()
    ahead.close()
