"""One ordered pool of worker processes: the results of `work(0)`, `work(1)` … in order.

Workers are forked, so they inherit the parent's modules and start within a millisecond. The parent
does the first piece of work before it forks, since otherwise every worker would repeat its imports
and compilations. The result does not depend on workers: if a fork is unsafe or not worth it, or a
worker dies, the parent does the work itself. Threads do not help: redaction is mostly Python and
the tokenizer holds the interpreter's lock, so two of them took as long as one."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Generator
from typing import BinaryIO, Generic, TypeVar

import msgspec

from sutler.system import cores, may_fork, widen

_SIZE = 8  # bytes before each answer: its length

T = TypeVar("T")


def workers_for(size: int, enough: int) -> int:
    """Return the number of workers for a job of `size` bytes: none below `enough`, on one core, or
    if a fork is unsafe."""
    return cores() if size > enough and cores() > 1 and may_fork() else 0


def ordered(
    work: Callable[[int], T],
    count: int,
    workers: int,
    kind: type[T],
    again: Callable[[int], T] | None = None,
) -> Generator[T, None, None]:
    """Yield `work(0)` to `work(count - 1)`. Worker `n` of `w` takes the indices 1 + n, 1 + n + w …

    Results travel as MessagePack of `kind`. A worker whose results are not read yet waits at its
    full pipe, so memory stays bounded. Work that a worker failed to do is repeated here, so that
    its error is raised in the caller; `again` does it in another way."""
    if not workers or count < 2:
        yield from map(work, range(count))
        return
    first = work(0)
    pool = _Pool(work, count, min(workers, count - 1))
    decode = msgspec.msgpack.Decoder(kind).decode
    gc.freeze()  # the collector must not touch, and so copy, pages shared with the workers
    try:
        pool.start()
        yield first
        for index in range(1, count):
            data = pool.answer(index)
            yield decode(data) if data else (again or work)(index)
    finally:
        gc.unfreeze()
        pool.close()


def alone(work: Callable[[], T], kind: type[T]) -> T | None:
    """Return the result of `work` in a process of its own; None if that ends without one."""
    pool = _Pool(lambda _: work(), 2, 1)
    try:
        pool.start()
        data = pool.answer(1)
    finally:
        pool.close()
    return msgspec.msgpack.decode(data, type=kind) if data else None


class _Pool(Generic[T]):
    """Forked workers, each with the pipe for its results."""

    def __init__(self, work: Callable[[int], T], count: int, workers: int) -> None:
        self._work = work
        self._count = count
        self._workers = workers
        self._pids: list[int] = []
        self._pipes: list[BinaryIO] = []

    def start(self) -> None:
        for number in range(self._workers):
            pid, pipe = self._forked(number)
            self._pids.append(pid)
            self._pipes.append(pipe)

    def answer(self, index: int) -> bytes:
        """Return the result for `index`; empty if its worker ended without it."""
        pipe = self._pipes[(index - 1) % self._workers]
        size = int.from_bytes(pipe.read(_SIZE), "little")
        answer = pipe.read(size)
        return answer if len(answer) == size else b""

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.close()  # a worker that still writes gets a closed pipe and ends
        for pid in self._pids:
            try:
                os.waitpid(pid, 0)
            except ChildProcessError:  # a parent of ours ignores the end of children, and so do we
                continue

    def _forked(self, number: int) -> tuple[int, BinaryIO]:
        out, into = os.pipe()
        widen(into)
        pid = os.fork()
        if pid:
            os.close(into)
            return pid, open(out, "rb")
        code = 1
        try:
            os.close(out)
            for pipe in self._pipes:
                pipe.close()
            self._serve(number, into)
            code = 0
        except BaseException:  # noqa: S110
            pass  # the parent does the work again and meets the same error
        finally:
            os._exit(code)  # skip the clean-up of files, hooks and buffers: they are the parent's

    def _serve(self, number: int, into: int) -> None:
        encode = msgspec.msgpack.Encoder().encode
        with open(into, "wb") as pipe:
            for index in range(1 + number, self._count, self._workers):
                answer = encode(self._work(index))
                pipe.write(len(answer).to_bytes(_SIZE, "little"))
                pipe.write(answer)
                pipe.flush()
