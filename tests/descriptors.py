"""Open descriptors of this process: a test that looks for a lost one counts only its own folder."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def descriptors_below(folder: Path) -> set[str]:
    """Return the open descriptors of a folder and what lies in it: others come and go beside."""
    held = set()
    for number in os.listdir("/proc/self/fd"):
        with suppress(OSError):  # the descriptor of this listing is closed already
            if os.readlink(f"/proc/self/fd/{number}").startswith(str(folder)):
                held.add(number)
    return held
