"""Batches of work on every core, with the outcome that one core would have.

A child is told only which batch is its own. Nothing depends on it: where forking is not safe or not worth it, and where
a child dies, the parent does the work.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING, TypeVar, cast

from sutler.engine import forks
from sutler.engine.forks import (
    BACKLOG,
    Answer,
    Came,
    Ring,
    closed,
    forked,
    has_come,
    reaped,
    receive,
    runs,
    send,
)
from sutler.values.pack import Octets

if TYPE_CHECKING:
    from threading import Thread

T = TypeVar("T")

_WORD = 4  # bytes of a batch's number
_WAITING = 512  # batches that wait to be taken: as many as fit into the smallest pipe, and are written at once
_MANY = 1 << 20
_TRIES, _MOMENT = 400, 0.0005


class Beside:
    """A piece of work that a thread does beside this one: native work, which lets go of Python's lock. Settled,
    it leaves no thread, so that one may fork again."""

    __slots__ = ("_thread", "_work")

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._thread: Thread | None = None

    def begin(self) -> None:
        if forks.cores() > 1 and forks.may_fork():
            from threading import Thread

            self._thread = Thread(target=self._work, daemon=True)
            self._thread.start()

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def settle(self) -> None:
        if self._thread is None:
            return
        self._thread.join()
        self._thread = None
        for _ in range(_TRIES):  # a thread that has been joined is still there for a moment
            if forks.may_fork():
                return
            time.sleep(_MOMENT)


def in_children(count: int, work: Callable[[int], Answer], children: int) -> Generator[Came, None, None]:
    """`work(0)`, `work(1)` … `work(count - 1)`, in order. Who is free takes the next batch; children have begun when
    this returns. What a child could not do, for whatever reason, is done here, so that errors are raised where they can
    be handled."""
    answers = _answers(count, work, children)
    next(answers)
    return answers


def _answers(count: int, work: Callable[[int], Answer], children: int) -> Generator[Came, None, None]:
    """First an empty answer, when the children have started; then theirs."""
    children = min(children, count)
    pids: list[int] = []
    pipes: list[int] = []
    queue = _Queue()
    gc.freeze()  # what is shared with the children need not be looked at, and so not copied
    try:
        for number in range(children):
            pid, pipe = _start(number, queue, work, pipes)
            pids.append(pid)
            pipes.append(pipe)
        queue.begin(children, count, min(count, _WAITING))
        yield ()
        for index in range(count):
            holder = queue.holder(index)
            answer = receive(pipes[holder]) if holder >= 0 and pipes[holder] >= 0 else None
            if answer is None and holder >= 0 and pipes[holder] >= 0:
                os.close(pipes[holder])
                pipes[holder] = -1
            yield [b"".join(run) for run in runs(work(index))] if answer is None else answer
            queue.more()
    finally:
        gc.unfreeze()
        queue.close()
        for pipe in pipes:
            if pipe >= 0:
                os.close(pipe)  # a child that still writes meets a closed pipe and ends
        for pid in pids:
            reaped(pid)


def in_halves(
    count: int, work: Callable[[int], Answer], finish: Callable[[Came], T], whole: Callable[[int], T]
) -> Generator[T, None, None]:
    """`finish(work(0))`, `finish(work(1))` …, in order: a child works and this process finishes. Each has its own
    tables in its core's cache then, where two that did both would keep throwing them out. When there is nothing to
    finish, a `whole` batch is made here, with the same outcome. What an answer holds is good until the next batch is
    asked for."""
    halves = _halves(count, work, finish, whole)
    next(halves)  # the child has begun
    return halves


def _halves(
    count: int, work: Callable[[int], Answer], finish: Callable[[Came], T], whole: Callable[[int], T]
) -> Generator[T, None, None]:
    queue, into = os.pipe()  # batches that nobody has taken yet
    ring = Ring()

    def child(pipe: int) -> None:
        os.close(into)
        ring.fill()
        number = b"\0" * _WORD  # the first is the child's, whoever comes first to the others
        while number:
            send(pipe, [number, *work(int.from_bytes(number, "little"))], ring)
            number = os.read(queue, _WORD)

    gc.freeze()
    pid, pipe = forked(child)
    alive, given = True, 1
    came: dict[int, Came] = {}
    made: dict[int, T] = {}
    try:
        yield cast("T", None)  # to whoever started this
        for index in range(count):
            while given < min(count, index + _WAITING):
                os.write(into, given.to_bytes(_WORD, "little"))
                given += 1
            if given == count:
                into = closed(into)
            while index not in came and index not in made:
                if alive and has_come(pipe):
                    answer = receive(pipe, ring)
                    if answer is None:
                        alive = False
                    else:
                        came[int.from_bytes(answer[0], "little")] = answer[1:]
                elif len(made) < BACKLOG and (number := os.read(queue, _WORD)):  # or one slow batch fills the memory
                    made[int.from_bytes(number, "little")] = whole(int.from_bytes(number, "little"))
                elif alive:
                    has_come(pipe, patience=None)
                else:
                    made[index] = whole(index)
            if index in made:
                yield made.pop(index)
            else:
                yield finish(came.pop(index))
                ring.free()
    finally:
        gc.unfreeze()
        ring.close()
        for end in (queue, into, pipe):
            closed(end)
        reaped(pid)


def sharing() -> Callable[..., None] | None:
    """`shared_out`, where there is a core for somebody to share with."""
    return shared_out if forks.cores() > 1 and forks.may_fork() else None


def shared_out(
    count: int, work: Callable[[int], None], outcome: Callable[[], bytes], add: Callable[[Octets], None]
) -> None:
    """`work(0)`, `work(1)` … `work(count - 1)`, in any order, some here and some in a child: who is free takes the
    next. What the child's part came to, its `outcome`, is given to `add` here; what it could not do is done here. At
    most `_WAITING`."""
    queue, into = os.pipe()
    os.write(into, b"".join([number.to_bytes(_WORD, "little") for number in range(count)]))
    os.close(into)

    def taken() -> bytes:
        numbers: list[bytes] = []
        while number := os.read(queue, _WORD):
            work(int.from_bytes(number, "little"))
            numbers.append(number)
        return b"".join(numbers)

    gc.freeze()
    pid, pipe = forked(lambda pipe: send(pipe, [taken(), outcome()]))
    try:
        done = taken()
        if (answer := receive(pipe)) is not None:
            add(answer[1])
            done += answer[0]
        numbers = {int.from_bytes(done[at : at + _WORD], "little") for at in range(0, len(done), _WORD)}
        for number in range(count):
            if number not in numbers:
                work(number)
    finally:
        gc.unfreeze()
        while os.read(queue, _MANY):  # after an error here nobody need go on
            pass
        os.close(queue)
        os.close(pipe)
        reaped(pid)


class _Queue:
    """Batches on their way to the children, and their word of who took which. Batches are taken in order, so whoever
    waits for the first that is not taken yet waits for a child that has nothing else to do."""

    def __init__(self) -> None:
        self._out, self._into = os.pipe()
        self._told, self._tell = os.pipe()
        self._holders: dict[int, int] = {}
        self._next = self._end = 0

    def begin(self, children: int, count: int, ahead: int) -> None:
        """In the parent, when every child is there: each begins with the batch of its own number, and as many more wait
        as may be made `ahead`."""
        self._out, self._tell = closed(self._out), closed(self._tell)
        self._holders = {number: number for number in range(children)}
        self._next, self._end = children, count
        for _ in range(ahead):
            self.more()

    def more(self) -> tuple[int, ...]:
        """Let one more batch be taken, if there is one: which."""
        given: tuple[int, ...] = ()
        try:
            if self._next < self._end and self._into >= 0:
                os.write(self._into, self._next.to_bytes(_WORD, "little"))
                given = (self._next,)
                self._next += 1
        except BrokenPipeError:  # no child is left
            self._into = closed(self._into)
        if self._next >= self._end:
            self._into = closed(self._into)
        return given

    def holder(self, index: int) -> int:
        """Which child has this batch; -1 when there is none left to take it."""
        while index not in self._holders:
            told = os.read(self._told, 2 * _WORD)
            if not told:
                return -1
            self._holders[int.from_bytes(told[:_WORD], "little")] = int.from_bytes(told[_WORD:], "little")
        return self._holders.pop(index)

    def taken(self, number: int) -> Iterator[int]:
        """In a child: the batches that it takes, one after the other."""
        self._into, self._told = closed(self._into), closed(self._told)
        yield number
        while index := os.read(self._out, _WORD):
            os.write(self._tell, index + number.to_bytes(_WORD, "little"))  # so short a text arrives in one piece
            yield int.from_bytes(index, "little")

    def close(self) -> None:
        for pipe in (self._out, self._into, self._told, self._tell):
            closed(pipe)


def _start(number: int, queue: _Queue, work: Callable[[int], Answer], others: list[int]) -> tuple[int, int]:
    """A child that takes batches, and the end of the pipe from which its answers are read."""

    def batches(pipe: int) -> None:
        for other in others:
            os.close(other)
        for index in queue.taken(number):
            send(pipe, work(index))

    return forked(batches)
