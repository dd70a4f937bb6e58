"""Files that a thread reads before they are asked for."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from sutler.disk.ahead import BATCH, BATCH_FILES, WAITING, Ahead
from sutler.disk.calls import Contents

FILES = [(f"f{number}", number * 977 % 4_000) for number in range(5_000)]


def contents(path: str, size: int) -> Contents:
    return path.encode(), size, 0, 0, 0, 0, 1, "", -1


class Disk:
    """Answers for files that are not there, and remembers who asked for how many."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        self.gate = threading.Event()
        self.gate.set()

    def read(self, fd: int, paths: list[str], sizes: list[int]) -> list[Contents | None]:
        assert fd == 7
        self.asked.append((threading.get_ident(), len(paths)))
        self.gate.wait(10)
        return [contents(*pair) for pair in zip(paths, sizes, strict=True)]


def ahead_of(disk: Disk) -> Ahead:
    return Ahead(disk.read, 7, [path for path, _ in FILES], [size for _, size in FILES])


@pytest.fixture(autouse=True)
def _left_as_it_was() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def test_every_file_comes_in_turn() -> None:
    disk = Disk()
    ahead = ahead_of(disk)
    assert [ahead.take(path) for path, _ in FILES] == [contents(*one) for one in FILES]
    ahead.close()
    assert max(count for _, count in disk.asked) <= BATCH_FILES
    assert sum(count for _, count in disk.asked) == len(FILES)


def test_who_skips_some_gets_the_others_and_nothing_twice() -> None:
    ahead = ahead_of(Disk())
    assert ahead.take("unexpected") is None
    wanted = FILES[::7]
    assert [ahead.take(path) for path, _ in wanted] == [contents(*one) for one in wanted]
    assert ahead.take(wanted[-1][0]) is None
    assert ahead.take(FILES[0][0]) is None  # long gone by
    ahead.close()


def test_large_files_fill_a_batch_each() -> None:
    disk = Disk()
    ahead = Ahead(disk.read, 7, ["a", "b", "c", "d"], [BATCH, BATCH, 1, 1])
    assert [ahead.take(name) is not None for name in "abcd"] == [True] * 4
    ahead.close()
    assert sorted(count for _, count in disk.asked) == [1, 1, 2]


def test_nobody_reads_far_ahead() -> None:
    """What waits to be asked for has an end, or a large tree would lie in memory."""
    disk = Disk()
    ahead = ahead_of(disk)
    for _ in range(200):
        if len(disk.asked) >= WAITING:
            break
        threading.Event().wait(0.01)
    threading.Event().wait(0.05)
    assert len(disk.asked) == WAITING
    ahead.close()


def test_who_would_have_to_wait_reads_too() -> None:
    disk = Disk()
    disk.gate.clear()
    ahead = ahead_of(disk)
    while not disk.asked:
        threading.Event().wait(0.001)
    threading.Timer(0.05, disk.gate.set).start()
    assert ahead.take("f0") == contents("f0", 0)
    ahead.close()
    assert threading.get_ident() in {who for who, _ in disk.asked}


def test_it_can_be_closed_before_anybody_asked() -> None:
    ahead_of(Disk()).close()
    Ahead(Disk().read, 7, [], []).close()


def test_without_memory_files_are_left_to_others() -> None:
    def read(fd: int, paths: list[str], sizes: list[int]) -> list[Contents | None]:
        raise MemoryError

    ahead = Ahead(read, 7, [path for path, _ in FILES], [size for _, size in FILES])
    assert {ahead.take(path) for path, _ in FILES} == {None}
    ahead.close()
