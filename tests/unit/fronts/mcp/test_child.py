"""Long work in a child process."""

from __future__ import annotations

import os
import signal
import time

import pytest

from sutler.fronts.mcp.child import Child


def test_a_call_cancelled_right_after_the_fork_does_not_end_the_server() -> None:
    """The server's handler of SIGTERM closes what it shares with the child."""
    read, write = os.pipe()
    os.set_blocking(read, False)
    before = signal.signal(signal.SIGTERM, lambda *_: os.write(write, b"x"))
    try:
        for _ in range(30):
            Child(lambda _: time.sleep(10)).end()
        with pytest.raises(BlockingIOError):
            os.read(read, 1)
    finally:
        signal.signal(signal.SIGTERM, before)
        os.close(read)
        os.close(write)
