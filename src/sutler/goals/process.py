"""Child processes whose output we keep: bounded in time and size, killed with everything they
started.
"""

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
    """How a child ended. `stopped` says why we killed it: it took too long, or it wrote too
    much.
    """

    code: int
    out: bytes
    err: bytes
    stopped: Literal["", "time", "size"] = ""

    @property
    def status(self) -> str:
        """The ending as the original spells it."""
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
    """Run a program in a process group of its own, feed it, and keep what it prints. Raises OSError
    if it cannot be started; an interrupt kills the group and travels on.
    """
    with (
        _Held() as held
    ):  # an interrupt must not fall between the start of the child and our knowing it
        child = subprocess.Popen(
            list(words),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
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
    """Ctrl-C waits until `release`, which raises it then. In other threads there is nothing to
    hold.
    """

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
    """End what is left of a child's own process group: the child, and what it started there."""
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
    """Write what the pipe takes; close it at the end, or when the child no longer listens."""
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
    except subprocess.TimeoutExpired:
        return "time"
    return ""
