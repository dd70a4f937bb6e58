"""Run programs and capture their output, with limits on time, output and disk. Descendants are
killed with the child."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from types import FrameType
from typing import Literal

from msgspec import Struct

_CHUNK = 1 << 16
_TURN = 0.05  # seconds; limits other than those of output are checked this often


def status(code: int) -> str:
    """Exit status in the original's spelling."""
    if code >= 0:
        return f"exit status: {code}"
    name = signal.Signals(-code).name if -code in list(signal.Signals) else "unknown"
    return f"signal: {-code} ({name})"


class Finished(Struct, frozen=True):
    """Result of a child. `stopped` is the limit that it exceeded, for which it was killed."""

    code: int
    out: bytes
    err: bytes
    stopped: Literal["", "time", "size", "room"] = ""

    @property
    def status(self) -> str:
        return status(self.code)


class Bounds(Struct, frozen=True):
    """Limits of a run. `patience`: seconds without output after which a descendant that holds a
    pipe of an ended child is not waited for. `fits` is called in each turn, and ends the run by
    False."""

    seconds: float = 60.0
    out_bytes: int = 16 * 1024 * 1024
    patience: float = math.inf
    fits: Callable[[], bool] = lambda: True


DEFAULT_BOUNDS = Bounds()


def capture(
    words: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    stdin: bytes = b"",
    bounds: Bounds = DEFAULT_BOUNDS,
) -> Finished:
    """Run a program in its own process group, feed it, and capture its output. Raise OSError if it
    cannot be started. An interrupt kills the group and propagates."""
    # An interrupt between the fork and the assignment of `child` would leave an orphan.
    with _Held() as held:
        child = subprocess.Popen(
            list(words),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a group of its own: its descendants end with it
        )
        try:
            held.release()
            return _captured(child, stdin, bounds)
        finally:
            end_group(child)


class _TooLongError(Exception):
    """Raised by a taker of output when a limit is exceeded."""


class _NoRoomError(Exception):
    """Raised between two blocks when the limit of the caller is exceeded."""


def _captured(child: subprocess.Popen[bytes], stdin: bytes, bounds: Bounds) -> Finished:
    texts = bytearray(), bytearray()

    def keep(text: bytearray, block: bytes) -> None:
        text += block
        if len(text) > bounds.out_bytes:
            raise _TooLongError

    def check() -> None:
        if not bounds.fits():
            raise _NoRoomError

    stopped: Literal["", "time", "size", "room"] = ""
    try:
        takers = [partial(keep, text) for text in texts]
        converse(child, stdin, takers, bounds.seconds, bounds.patience, check)
    except subprocess.TimeoutExpired:
        stopped = "time"
    except _TooLongError:
        stopped = "size"
    except _NoRoomError:
        stopped = "room"
    end_group(child)
    return Finished(child.returncode, bytes(texts[0]), bytes(texts[1]), stopped)


class _Held:
    """Defer Ctrl-C until `release`. No effect outside the main thread, where Python raises no
    interrupts."""

    def __enter__(self) -> _Held:
        self.pending = False
        self.holding = threading.current_thread() is threading.main_thread()
        if self.holding:
            self.old = signal.signal(signal.SIGINT, self._remember)
        return self

    def _remember(self, _number: int, _frame: FrameType | None) -> None:
        self.pending = True

    def release(self) -> None:
        if self.holding:
            signal.signal(signal.SIGINT, self.old)
            self.holding = False
        if self.pending:
            raise KeyboardInterrupt

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        if self.holding:
            signal.signal(signal.SIGINT, self.old)
            if self.pending and kind is None:
                raise KeyboardInterrupt


def end_group(child: subprocess.Popen[bytes]) -> None:
    """Kill the rest of a child's process group: the child and its descendants in the group."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def converse(
    child: subprocess.Popen[bytes],
    data: bytes,
    takers: Sequence[Callable[[bytes], None]],
    seconds: float | None,
    patience: float = math.inf,
    check: Callable[[], None] = lambda: None,
) -> None:
    """Feed a child and wait for it. `takers` get the blocks of its stdout and its stderr as they
    arrive. Raise TimeoutExpired after `seconds`. A descendant may hold a pipe open after the child
    has ended: then end at `patience` seconds without output."""
    deadline = math.inf if seconds is None else time.monotonic() + seconds
    rest = memoryview(data)
    with ExitStack() as stack:
        for pipe in (child.stdin, child.stdout, child.stderr):
            if pipe is not None:
                stack.enter_context(pipe)
        selector = stack.enter_context(selectors.DefaultSelector())
        for pipe, take in zip((child.stdout, child.stderr), takers, strict=False):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ, take)
        if child.stdin is not None:
            # A child that does not read its input must not stop us from reading its output.
            os.set_blocking(child.stdin.fileno(), False)
            selector.register(child.stdin, selectors.EVENT_WRITE)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(child.args, seconds or 0)
            ended = child.poll() is not None  # before `select`, so that the last output is read
            ready = selector.select(min(left, patience if ended else _TURN, 1.0))
            if not ready:
                check()
            if ended and not ready and patience < math.inf:
                break
            for key, _ in ready:
                if key.data is None:
                    rest = _feed(child, selector, rest)
                elif block := os.read(key.fd, _CHUNK):
                    key.data(block)
                else:
                    selector.unregister(key.fileobj)
    child.wait(None if seconds is None else max(0.0, deadline - time.monotonic()))


def _feed(
    child: subprocess.Popen[bytes], selector: selectors.BaseSelector, data: memoryview
) -> memoryview:
    """Write as much as the pipe accepts; close it at the end, or if the child has closed it."""
    if child.stdin is None:
        return data
    written = len(data)
    with suppress(BrokenPipeError):
        written = os.write(child.stdin.fileno(), data[:_CHUNK]) if data else 0
    data = data[written:]
    if not data:
        selector.unregister(child.stdin)
        with suppress(OSError):
            child.stdin.close()
    return data
