"""Batches of work on every core: children by fork, answers in order through pipes.

A child inherits what its parent has loaded, so it starts within a millisecond and is told only which batch is its own.
Nothing depends on it: where forking is not safe or not worth it, and where a child dies, the parent does the work.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator, Sequence
from itertools import pairwise

Answer = Sequence[bytes | memoryview]
"""What a batch comes to: a few buffers."""

_SIZE = 8  # bytes that tell how long a buffer is
_PIPE = 1 << 20
_SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ


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


def in_children(count: int, work: Callable[[int], Answer], children: int) -> Generator[Answer, None, None]:
    """`work(0)`, `work(1)` … `work(count - 1)`, in order. Each child does every n-th batch, and has begun when this
    returns. What a child could not do, for whatever reason, is done here, so that errors are raised where they can be
    handled."""
    answers = _answers(count, work, children)
    next(answers)
    return answers


def _answers(count: int, work: Callable[[int], Answer], children: int) -> Generator[Answer, None, None]:
    """First an empty answer, when the children have started; then theirs."""
    pipes: list[int] = []
    pids: list[int] = []
    gc.freeze()  # what is shared with the children need not be looked at, and so not copied
    try:
        for number in range(min(children, count)):
            pid, pipe = _start(range(number, count, children), work, pipes)
            pids.append(pid)
            pipes.append(pipe)
        yield ()
        for index in range(count):
            pipe = pipes[index % children]
            answer = _receive(pipe) if pipe >= 0 else None
            if answer is None and pipe >= 0:
                os.close(pipe)
                pipes[index % children] = -1
            yield work(index) if answer is None else answer
    finally:
        gc.unfreeze()
        for pipe in pipes:
            if pipe >= 0:
                os.close(pipe)  # a child that still writes meets a closed pipe and ends
        for pid in pids:
            os.waitpid(pid, 0)


def _start(batches: range, work: Callable[[int], Answer], others: list[int]) -> tuple[int, int]:
    """A child that does these batches, and the end of the pipe from which its answers are read."""
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
        for index in batches:
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
