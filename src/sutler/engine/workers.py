"""Batches of work on every core: children by fork, answers in order through pipes and memory that two processes share.

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
from itertools import chain
from typing import TYPE_CHECKING, TypeVar, cast

from sutler.disk.output import write_run

if TYPE_CHECKING:
    from threading import Thread

RING = 1 << 23
"""Bytes of text that may be on their way from one half to the other."""
T = TypeVar("T")
Octets = bytes | memoryview
Answer = Sequence[Octets | Sequence[Octets]]
"""What a batch comes to: a few buffers, each whole or in pieces."""
Came = Sequence[Octets]
"""An answer on the other side."""

_SIZE = 8  # bytes that tell how long a buffer is
_PIPE = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ
_WORD = 4  # bytes of a batch's number
_HERE = (1 << 64) - 1  # the place of a buffer that comes through the pipe
_WAITING = 4096  # batches that wait to be taken: fewer than fit into a pipe
_BACKLOG = 32  # batches of a child, and of our own, that may wait to be taken away
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
            answer = _receive(pipes[holder]) if holder >= 0 and pipes[holder] >= 0 else None
            if answer is None and holder >= 0 and pipes[holder] >= 0:
                os.close(pipes[holder])
                pipes[holder] = -1
            yield [b"".join(run) for run in _runs(work(index))] if answer is None else answer
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
            _send(pipe, [number, *work(int.from_bytes(number, "little"))], ring)
            number = os.read(queue, _WORD)

    gc.freeze()
    pid, pipe = _forked(child)
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
                into = _closed(into)
            while index not in came and index not in made:
                if alive and _has_come(pipe):
                    answer = _receive(pipe, ring)
                    if answer is None:
                        alive = False
                    else:
                        came[int.from_bytes(answer[0], "little")] = answer[1:]
                elif len(made) < _BACKLOG and (number := os.read(queue, _WORD)):  # or one slow batch fills the memory
                    made[int.from_bytes(number, "little")] = whole(int.from_bytes(number, "little"))
                elif alive:
                    _has_come(pipe, patience=None)
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
            _closed(end)
        os.waitpid(pid, 0)


class Ring:
    """Memory that a child fills and its parent reads, both in the same order: a text that goes this way is copied once.
    What does not fit goes through the pipe."""

    def __init__(self) -> None:
        from mmap import mmap

        self._memory = mmap(-1, RING)  # takes room when it is written to
        self._out, self._into = os.pipe()  # the parent's word that it has read one more
        self._held: deque[int] = deque()
        self._at, self._free = 0, RING

    def fill(self) -> None:
        """This process is the child."""
        self._into = _closed(self._into)

    def put(self, run: Sequence[Octets], size: int) -> int:
        """In the child: where these pieces lie now, or -1. Waits until there is room."""
        if size > RING // 2:
            size = 0
        skipped = RING - self._at if self._at + size > RING else 0
        while self._free < skipped + size or len(self._held) >= _BACKLOG:
            if not os.read(self._out, 1):
                raise BrokenPipeError
            self._free += self._held.popleft()
        self._held.append(skipped + size)
        self._free -= skipped + size
        start = at = 0 if skipped else self._at
        self._at = start + size
        if not size:
            return -1
        for piece in run:
            self._memory[at : at + len(piece)] = piece
            at += len(piece)
        return start

    def read(self, start: int, size: int) -> memoryview:
        """In the parent: good until `free` is called for it."""
        return memoryview(self._memory)[start : start + size]

    def free(self) -> None:
        """In the parent: the oldest text that has come is not needed any more."""
        os.write(self._into, b".")

    def close(self) -> None:
        self._out, self._into = _closed(self._out), _closed(self._into)


def sharing() -> Callable[..., None] | None:
    """`shared_out`, where there is a core for somebody to share with."""
    return shared_out if cores() > 1 and may_fork() else None


def shared_out(
    count: int, work: Callable[[int], None], outcome: Callable[[], bytes], add: Callable[[Octets], None]
) -> None:
    """`work(0)`, `work(1)` … `work(count - 1)`, in any order, some here and some in a child: who is free takes the
    next. What the child's part came to, its `outcome`, is given to `add` here; what it could not do is done here. At
    most as many as fit into a pipe."""
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
    pid, pipe = _forked(lambda pipe: _send(pipe, [taken(), outcome()]))
    try:
        done = taken()
        if (answer := _receive(pipe)) is not None:
            add(answer[1])
            done += answer[0]
        numbers = {int.from_bytes(done[at : at + _WORD], "little") for at in range(0, len(done), _WORD)}
        for number in range(count):
            if number not in numbers:
                work(number)
    finally:
        gc.unfreeze()
        while os.read(queue, _PIPE):  # after an error here nobody need go on
            pass
        os.close(queue)
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

    def batches(pipe: int) -> None:
        for other in others:
            os.close(other)
        for index in queue.taken(number):
            _send(pipe, work(index))

    return _forked(batches)


def _forked(task: Callable[[int], None]) -> tuple[int, int]:
    """A child at its task, which is given the pipe for its answers; and the end from which they are read."""
    out, into = os.pipe()
    _widen(into)
    pid = os.fork()
    if pid:
        os.close(into)
        return pid, out
    code = 1
    try:
        os.close(out)
        task(into)
        code = 0
    except BaseException:  # noqa: S110  # the parent does the work again and meets the same error, in the right place
        pass
    finally:
        os._exit(code)  # no clean-up of the parent's: its files, hooks and buffers are not ours


def _widen(pipe: int) -> None:
    try:
        import fcntl

        fcntl.fcntl(pipe, _SET_PIPE_SIZE, _PIPE)
    except OSError:
        pass  # over the user's limit for pipes: slower, nothing else


def _send(pipe: int, answer: Answer, ring: Ring | None = None) -> None:
    """The number of buffers, their lengths and where they are, and then those that go this way. The longest goes
    through the ring, if there is one and it has room."""
    runs = _runs(answer)
    sizes = [sum(map(len, run)) for run in runs]
    places = [_HERE] * len(runs)
    if ring is not None:
        longest = sizes.index(max(sizes))
        if (place := ring.put(runs[longest], sizes[longest])) >= 0:
            places[longest], runs[longest] = place, ()
    words = [len(runs), *sizes, *places]
    write_run(pipe, [b"".join([word.to_bytes(_SIZE, "little") for word in words]), *chain.from_iterable(runs)])


def _runs(answer: Answer) -> list[Sequence[Octets]]:
    return [(one,) if isinstance(one, bytes | memoryview) else one for one in answer]


def _receive(pipe: int, ring: Ring | None = None) -> list[Octets] | None:
    """One answer, or None when the child has ended."""
    head = _exactly(pipe, _SIZE)
    count = 0 if head is None else int.from_bytes(head, "little")
    words = None if head is None else _exactly(pipe, _SIZE * 2 * count)
    if words is None:
        return None
    numbers = [int.from_bytes(words[at : at + _SIZE], "little") for at in range(0, len(words), _SIZE)]
    answer: list[Octets] = []
    here = [size if place == _HERE else 0 for size, place in zip(numbers[:count], numbers[count:], strict=True)]
    body = _exactly(pipe, sum(here))
    if body is None:
        return None
    at = 0
    for size, place in zip(numbers[:count], numbers[count:], strict=True):
        if place == _HERE:
            answer.append(body[at : at + size])
            at += size
        elif ring is not None:
            answer.append(ring.read(place, size))
    return answer


def _exactly(pipe: int, size: int) -> memoryview | None:
    answer = memoryview(bytearray(size))
    rest = answer
    while rest:
        got = os.readv(pipe, [rest])
        if not got:
            return None
        rest = rest[got:]
    return answer
