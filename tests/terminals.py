"""A command on a pseudo-terminal: what a person would see, byte for byte."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path


def on_terminal(
    words: list[str],
    cwd: Path,
    *,
    stdout: bool = True,
    stderr: bool = True,
    env: Mapping[str, str] | None = None,
    seconds: float = 60,
    keys: tuple[bytes, bytes] | None = None,
) -> tuple[int, bytes]:
    """Run with a controlling terminal; returns the exit code and everything that was written to it.
    A stream that is not on the terminal goes to /dev/null. `keys` are what has to be seen first,
    and what is typed then.
    """
    leader, follower = pty.openpty()
    null = os.open(os.devnull, os.O_RDWR)
    process = subprocess.Popen(
        # setsid + TIOCSCTTY: /dev/tty is this terminal
        [sys.executable, "-c", _ADOPT, *words],
        cwd=cwd,
        stdin=follower,
        stdout=follower if stdout else null,
        stderr=follower if stderr else null,
        env={**os.environ, "TERM": "xterm", **(env or {})},
        start_new_session=True,
    )
    os.close(follower)
    os.close(null)
    try:
        seen = _drain(leader, process, seconds, keys)
        return process.wait(timeout=seconds), seen
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait(30)
        os.close(leader)


_ADOPT = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def _drain(
    leader: int,
    process: subprocess.Popen[bytes],
    seconds: float,
    keys: tuple[bytes, bytes] | None = None,
) -> bytes:
    seen, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        ready, _, _ = select.select([leader], [], [], 0.1)
        if not ready:
            if process.poll() is not None:
                break
            continue
        try:
            block = os.read(leader, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not block:
            break
        seen += block
        if keys and keys[0] in seen:
            os.write(leader, keys[1])
            keys = None
    return seen
