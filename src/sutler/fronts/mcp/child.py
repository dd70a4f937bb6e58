"""Long work in a child process: the server stays responsive, and a cancelled call ends at once.

A forked child has the caller's policy and all loaded modules, with an interpreter of its own. Only
its result crosses the pipe; the gate records the call in the server, before and after."""

from __future__ import annotations

import os
import select
import signal
import stat
import time
from collections.abc import Callable, Iterable
from typing import Literal, NoReturn, TypeVar

import msgspec
from msgspec import Struct

from sutler import errors
from sutler.access.setup import Progress
from sutler.errors import SutlerError

T = TypeVar("T")

POLL = 0.05
"""Seconds between two checks for a cancelled call."""
_GRACE = 0.2  # time for the child to close its files
_TICK = 0.1  # more notices than a person can see only cost the client time
_SIZE = 8


class CancelledError(Exception):
    """The client has withdrawn the current request."""


class Frame(Struct, frozen=True, array_like=True):
    """A message of a child: progress (two numbers), its result in MessagePack, or an error."""

    kind: Literal["progress", "answer", "error"]
    numbers: tuple[int, int] = (0, 0)
    data: bytes = b""
    error: tuple[str, str, str, str] = ("", "", "", "")


class Child:
    def __init__(self, work: Callable[[Progress], object]) -> None:
        self._pipe, into = os.pipe()
        # The server's own handler must not run in the child before `_serve` replaces it: it closes
        # what both share, so that a call cancelled right after the fork ended the server.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        try:
            self.pid = os.fork()
            if not self.pid:
                _serve(work, into, mask)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(into)
        self._data = bytearray()

    def result(self, kind: type[T], progress: Progress, check: Callable[[], None]) -> T:
        """Return the result of the child. `check` raises if the call was cancelled."""
        while True:
            check()
            if not select.select([self._pipe], [], [], POLL)[0]:
                continue
            chunk = os.read(self._pipe, 1 << 20)
            if not chunk:
                raise SutlerError(
                    "the process that did the work ended early",
                    next_step="try again; a smaller request needs less memory",
                )
            self._data += chunk
            while (frame := self._frame()) is not None:
                if frame.kind == "answer":
                    return msgspec.msgpack.decode(frame.data, type=kind)
                if frame.kind == "error":
                    raise _error(frame)
                progress(*frame.numbers)

    def _frame(self) -> Frame | None:
        """Return the next complete frame of the data read so far."""
        size = int.from_bytes(self._data[:_SIZE], "little")
        if len(self._data) < _SIZE or len(self._data) < _SIZE + size:
            return None
        frame = msgspec.msgpack.decode(self._data[_SIZE : _SIZE + size], type=Frame)
        del self._data[: _SIZE + size]
        return frame

    def end(self) -> None:
        """End the child and its workers. It may take a moment to remove its temporary files."""
        os.close(self._pipe)
        _signal(os.kill, self.pid, signal.SIGTERM)
        until = time.monotonic() + _GRACE
        while not (ended := _ended(self.pid)) and time.monotonic() < until:
            time.sleep(0.005)
        _signal(os.killpg, self.pid, signal.SIGKILL)
        if not ended:
            os.waitpid(self.pid, 0)


def _signal(send: Callable[[int, int], None], pid: int, number: int) -> None:
    try:
        send(pid, number)
    except ProcessLookupError:  # it ended between the check and the signal
        return


def _ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # another thread has waited for it
        return True


def _error(frame: Frame) -> Exception:
    """Return the child's error; for errors that are not ours, with the type's name alone."""
    name, what, rule, next_step = frame.error
    kind = getattr(errors, name, None)
    if isinstance(kind, type) and issubclass(kind, SutlerError):
        return kind(what, rule=rule, next_step=next_step)
    return RuntimeError(name)


# in the child


def _serve(
    work: Callable[[Progress], object], into: int, mask: Iterable[signal.Signals | int]
) -> NoReturn:
    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGTERM, _stop)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        # Ctrl-C reaches the whole group; the parent decides.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _close_channels(into)
        last = [0.0]

        def progress(done: int, total: int) -> None:
            now = time.monotonic()
            if now - last[0] >= _TICK:
                last[0] = now
                _put(into, Frame("progress", (done, total)))

        _put(into, Frame("answer", data=msgspec.msgpack.encode(work(progress))))
        code = 0
    except SutlerError as error:
        texts = type(error).__name__, error.what, error.rule, error.next_step
        _put(into, Frame("error", error=texts))
    except CancelledError:  # the parent has cancelled
        pass
    except Exception as fault:  # the server reports it as one of its own
        _put(into, Frame("error", error=(type(fault).__name__, "", "", "")))
    finally:
        os._exit(code)  # skip the clean-up of files, hooks and buffers: they are the server's


def _stop(*_: object) -> None:
    raise CancelledError


def _close_channels(own: int) -> None:
    """Close inherited pipes and sockets: a client must see the end of a dead server in spite of its
    children."""
    for fd in range(3, 1_024):
        try:
            mode = os.fstat(fd).st_mode
        except OSError:  # most numbers are not open
            continue
        if fd != own and (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            os.close(fd)


def _put(pipe: int, frame: Frame) -> None:
    body = msgspec.msgpack.encode(frame)
    left = memoryview(len(body).to_bytes(_SIZE, "little") + body)
    while left:
        left = left[os.write(pipe, left) :]
