"""Run child processes and capture their output, with limits on time and size. Descendants are
killed with the child."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from types import FrameType
from typing import Literal

from msgspec import Struct

_CHUNK = 1 << 16


class Finished(Struct, frozen=True):
    """Result of a child. `stopped` is the limit that it exceeded, for which it was killed."""

    code: int
    out: bytes
    err: bytes
    stopped: Literal["", "time", "size"] = ""

    @property
    def status(self) -> str:
        """Exit status in the original's spelling."""
        if self.code >= 0:
            return f"exit status: {self.code}"
        name = signal.Signals(-self.code).name if -self.code in list(signal.Signals) else "unknown"
        return f"signal: {-self.code} ({name})"


class Bounds(Struct, frozen=True):
    seconds: float = 60.0
    out_bytes: int = 16 * 1024 * 1024


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
            start_new_session=True,  # a group of its own: what it starts ends with it
        )
        try:
            held.release()
            out, err, stopped = _talk(child, stdin, bounds)
        finally:
            end_group(child)
            for pipe in (child.stdin, child.stdout, child.stderr):
                if pipe:
                    with suppress(OSError):
                        pipe.close()
    return Finished(child.returncode, out, err, stopped)


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


def _talk(
    child: subprocess.Popen[bytes], stdin: bytes, bounds: Bounds
) -> tuple[bytes, bytes, Literal["", "time", "size"]]:
    if child.stdin is None or child.stdout is None or child.stderr is None:
        raise RuntimeError("a captured child has three pipes")
    deadline = time.monotonic() + bounds.seconds
    heard: dict[int, bytearray] = {
        child.stdout.fileno(): bytearray(),
        child.stderr.fileno(): bytearray(),
    }
    to_write = memoryview(stdin)
    with selectors.DefaultSelector() as selector:
        for fd in heard:
            selector.register(fd, selectors.EVENT_READ)
        # A child that does not read its input must not stop us from reading its output.
        os.set_blocking(child.stdin.fileno(), False)
        selector.register(child.stdin.fileno(), selectors.EVENT_WRITE)
        stopped: Literal["", "time", "size"] = ""
        while selector.get_map() and not stopped:
            left = deadline - time.monotonic()
            if left <= 0:
                stopped = "time"
                break
            for key, _ in selector.select(min(left, 1.0)):
                if key.fd in heard:
                    data = os.read(key.fd, _CHUNK)
                    heard[key.fd] += data
                    if not data:
                        selector.unregister(key.fd)
                    if len(heard[key.fd]) > bounds.out_bytes:
                        stopped = "size"
                else:
                    to_write = _feed(child, selector, to_write)
    if not stopped:
        stopped = _await(child, deadline)
    out, err = (bytes(part) for part in heard.values())
    return out, err, stopped


def _feed(
    child: subprocess.Popen[bytes], selector: selectors.BaseSelector, data: memoryview
) -> memoryview:
    """Write as much as the pipe accepts; close it at the end, or if the child has closed it."""
    if child.stdin is None:
        return data
    fd = child.stdin.fileno()
    written = len(data)
    with suppress(BrokenPipeError):
        written = os.write(fd, data[:_CHUNK]) if data else 0
    data = data[written:]
    if not data:
        selector.unregister(fd)
        with suppress(OSError):
            child.stdin.close()
    return data


def _await(child: subprocess.Popen[bytes], deadline: float) -> Literal["", "time"]:
    try:
        child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:  # the caller ends it, with all of its group
        return "time"
    return ""
