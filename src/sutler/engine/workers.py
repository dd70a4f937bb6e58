"""Batches of work on every core: children by fork, answers in order through pipes.

A child inherits what its parent has loaded, so it starts within a millisecond and is told only which batch is its own.
Nothing depends on it: where forking is not safe or not worth it, and where a child dies, the parent does the work.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar, cast

if TYPE_CHECKING:
    from threading import Thread

T = TypeVar("T")
Answer = Sequence[bytes | memoryview]
"""What a batch comes to: a few buffers."""

_SIZE = 8  # bytes that tell how long a buffer is
_PIPE = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ
_WORD = 4  # bytes of a batch's number
_WAITING = 4096  # batches that wait to be taken: fewer than fit into a pipe
_AHEAD = 4  # batches that a single child may take without asking
_BACKLOG = 32  # of its answers, and of our own batches, that may wait
_TRIES, _MOMENT = 400, 0.0005


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def may_fork() -> bool:
    """Whether a fork is safe here: on Linux, with no other thread whose locks a child would inherit."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(os.listdir("/proc/self/task")) == 1
    except OSError:
        return False


class Beside:
    """A piece of work that a thread does beside this one: native work, which lets go of Python's lock. Settled,
    it leaves no thread, so that one may fork again."""

    __slots__ = ("_thread", "_work")

    def __init__(self, work: Callable[[], object]) -> None:
        self._work = work
        self._thread: Thread | None = None

    def begin(self) -> None:
        if cores() > 1 and may_fork():
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
            if may_fork():
                return
            time.sleep(_MOMENT)


def in_children(count: int, work: Callable[[int], Answer], children: int) -> Generator[Answer, None, None]:
    """`work(0)`, `work(1)` … `work(count - 1)`, in order. Who is free takes the next batch; children have begun when
    this returns. What a child could not do, for whatever reason, is done here, so that errors are raised where they can
    be handled."""
    answers = _answers(count, work, children)
    next(answers)
    return answers


def _answers(count: int, work: Callable[[int], Answer], children: int) -> Generator[Answer, None, None]:
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
            answer = _receive(pipes[holder]) if holder >= 0 and pipes[holder] >= 0 else None
            if answer is None and holder >= 0 and pipes[holder] >= 0:
                os.close(pipes[holder])
                pipes[holder] = -1
            yield work(index) if answer is None else answer
            queue.more()
    finally:
        gc.unfreeze()
        queue.close()
        for pipe in pipes:
            if pipe >= 0:
                os.close(pipe)  # a child that still writes meets a closed pipe and ends
        for pid in pids:
            os.waitpid(pid, 0)


def in_halves(
    count: int, work: Callable[[int], Answer], finish: Callable[[Answer], T], whole: Callable[[int], T]
) -> Generator[T, None, None]:
    """`finish(work(0))`, `finish(work(1))` …, in order: a child works and this process finishes. Each has its own
    tables in its core's cache then, where two that did both would keep throwing them out. When there is nothing to
    finish, a `whole` batch is made here, with the same outcome."""
    halves = _halves(count, work, finish, whole)
    next(halves)  # the child has begun
    return halves


def _halves(
    count: int, work: Callable[[int], Answer], finish: Callable[[Answer], T], whole: Callable[[int], T]
) -> Generator[T, None, None]:
    queue = _Queue()
    gc.freeze()
    pid, pipe = _start(0, queue, work, [])
    try:
        queue.begin(1, count, _AHEAD)
        yield cast("T", None)  # to whoever started this
        given = deque(range(min(count, 1 + _AHEAD)))
        came: dict[int, Answer | None] = {}
        made: dict[int, T] = {}
        for index in range(count):
            while True:
                while given and len(came) < _BACKLOG and _has_come(pipe):
                    took = given.popleft()
                    came[took] = _receive(pipe) if queue.holder(took) >= 0 else None
                    given.extend(queue.more())
                if index in came or index in made:
                    break
                own = queue.take() if len(made) < _BACKLOG else -1  # or a single slow batch would fill the memory
                if own >= 0:
                    made[own] = whole(own)
                else:
                    _has_come(pipe, patience=None)
            answer = came.pop(index, None)
            yield made.pop(index) if index in made else whole(index) if answer is None else finish(answer)
    finally:
        gc.unfreeze()
        queue.close()
        os.close(pipe)
        os.waitpid(pid, 0)


def _has_come(pipe: int, *, patience: float | None = 0) -> bool:
    """Whether there is something to read, be it the end."""
    from select import select

    return bool(select([pipe], [], [], patience)[0])


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
        self._out, self._tell = _closed(self._out), _closed(self._tell)
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
            self._into = _closed(self._into)
        if self._next >= self._end:
            self._into = _closed(self._into)
        return given

    def take(self) -> int:
        """In the parent: the next batch that no child has been given, or -1."""
        if self._next >= self._end:
            return -1
        self._next += 1
        return self._next - 1

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
        self._into, self._told = _closed(self._into), _closed(self._told)
        yield number
        while index := os.read(self._out, _WORD):
            os.write(self._tell, index + number.to_bytes(_WORD, "little"))  # so short a text arrives in one piece
            yield int.from_bytes(index, "little")

    def close(self) -> None:
        for pipe in (self._out, self._into, self._told, self._tell):
            _closed(pipe)


def _closed(pipe: int) -> int:
    if pipe >= 0:
        os.close(pipe)
    return -1


def _start(number: int, queue: _Queue, work: Callable[[int], Answer], others: list[int]) -> tuple[int, int]:
    """A child that takes batches, and the end of the pipe from which its answers are read."""
    out, into = os.pipe()
    _widen(into)
    pid = os.fork()
    if pid:
        os.close(into)
        return pid, out
    code = 1
    try:
        os.close(out)
        for other in others:
            os.close(other)
        for index in queue.taken(number):
            _send(into, work(index))
        code = 0
    except BaseException:  # noqa: S110  # the parent does the batch again and meets the same error, in the right place
        pass
    finally:
        os._exit(code)  # no clean-up of the parent's: its files, hooks and buffers are not ours


def _widen(pipe: int) -> None:
    try:
        import fcntl

        fcntl.fcntl(pipe, _SET_PIPE_SIZE, _PIPE)
    except OSError:
        pass  # over the user's limit for pipes: slower, nothing else


def _send(pipe: int, answer: Answer) -> None:
    """The number of buffers, their lengths, and then they themselves."""
    sizes = [len(answer), *map(len, answer)]
    waiting = [
        memoryview(b"".join([size.to_bytes(_SIZE, "little") for size in sizes])),
        *(memoryview(buffer) for buffer in answer),
    ]
    while waiting:
        sent = os.writev(pipe, waiting)
        while waiting and sent >= len(waiting[0]):
            sent -= len(waiting.pop(0))
        if waiting:
            waiting[0] = waiting[0][sent:]


def _receive(pipe: int) -> Answer | None:
    """One answer, or None when the child has ended."""
    count = _exactly(pipe, _SIZE)
    sizes = None if count is None else _exactly(pipe, _SIZE * int.from_bytes(count, "little"))
    if sizes is None:
        return None
    ends = [0]
    for at in range(0, len(sizes), _SIZE):
        ends.append(ends[-1] + int.from_bytes(sizes[at : at + _SIZE], "little"))
    body = _exactly(pipe, ends[-1])
    return None if body is None else [body[start:end] for start, end in pairwise(ends)]


def _exactly(pipe: int, size: int) -> memoryview | None:
    answer = memoryview(bytearray(size))
    rest = answer
    while rest:
        got = os.readv(pipe, [rest])
        if not got:
            return None
        rest = rest[got:]
    return answer
