"""Children by fork, and how their answers come back: through pipes, and through memory that two processes share.

A child inherits what its parent has loaded, so it starts within a millisecond. It ends without any clean-up of its
parent's.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain

from sutler.disk.output import write_run
from sutler.values.pack import Octets, Run

RING = 1 << 23
"""Bytes of text that may be on their way from one process to another."""
BACKLOG = 32
"""Answers that may wait to be taken away."""
Answer = Sequence[Octets | Run]
"""What a batch comes to: a few buffers, each whole or in pieces."""
Came = Run
"""An answer on the other side."""

_SIZE = 8  # bytes that tell how long a buffer is
_PIPE = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ
_HERE = (1 << 64) - 1  # the place of a buffer that comes through the pipe


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


def reaped(pid: int, *, wait: bool = True) -> bool:
    """Whether a child has ended; waits for that, unless told not to. Where a parent of ours ignores the end of
    children, and we with it, they leave no trace."""
    try:
        return os.waitpid(pid, 0 if wait else os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def forked(task: Callable[[int], None]) -> tuple[int, int]:
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


def closed(pipe: int) -> int:
    if pipe >= 0:
        os.close(pipe)
    return -1


def has_come(pipe: int, *, patience: float | None = 0) -> bool:
    """Whether there is something to read, be it the end."""
    from select import select

    return bool(select([pipe], [], [], patience)[0])


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
        self._into = closed(self._into)

    def put(self, run: Run, size: int) -> int:
        """In the child: where these pieces lie now, or -1. Waits until there is room."""
        if size > RING // 2:
            size = 0
        skipped = RING - self._at if self._at + size > RING else 0
        while self._free < skipped + size or len(self._held) >= BACKLOG:
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
        self._out, self._into = closed(self._out), closed(self._into)


def send(pipe: int, answer: Answer, ring: Ring | None = None) -> None:
    """The number of buffers, their lengths and where they are, and then those that go this way. The longest goes
    through the ring, if there is one and it has room."""
    texts = runs(answer)
    sizes = [sum(map(len, run)) for run in texts]
    places = [_HERE] * len(texts)
    if ring is not None:
        longest = sizes.index(max(sizes))
        if (place := ring.put(texts[longest], sizes[longest])) >= 0:
            places[longest], texts[longest] = place, ()
    words = [len(texts), *sizes, *places]
    write_run(pipe, [b"".join([word.to_bytes(_SIZE, "little") for word in words]), *chain.from_iterable(texts)])


def runs(answer: Answer) -> list[Run]:
    """Every buffer in pieces."""
    return [(one,) if isinstance(one, bytes | memoryview) else one for one in answer]


def receive(pipe: int, ring: Ring | None = None) -> list[Octets] | None:
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
