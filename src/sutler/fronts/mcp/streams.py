"""The two streams of stdio, taken before any other import."""

from __future__ import annotations

import os
import sys


def claim_streams() -> tuple[int, int]:
    """Take stdin and stdout for the protocol: a print, a warning or a child process gets /dev/null
    and stderr."""
    incoming, outgoing = os.dup(0), os.dup(1)
    os.set_inheritable(incoming, False)
    os.set_inheritable(outgoing, False)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return incoming, outgoing
