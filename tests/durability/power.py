"""The power goes: `python -m tests.durability.power DIRECTORY CUTS SEED`, as root on Linux.

Tree and state lie on an ext4 image behind a loop device. A child writes; at a random instant the
file system is shut down without flushing its journal (EXT4_IOC_SHUTDOWN, no log flush), which drops
everything that was not synced, as a power cut does. Then it is mounted again, its journal replayed,
and the post-condition checked: what was acknowledged is in the history, every file holds a version
that is known, the ledger verifies. What it does not simulate is a disk that lies about its own
cache.
"""

from __future__ import annotations

import fcntl
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from tests.limits import LIMIT, exit_code
from tests.writers import check, plant, work

_SHUTDOWN = 0x8004587D
_NO_LOG_FLUSH = 2


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=LIMIT)


def cut(mount: str, seed: int, rnd: random.Random) -> dict[str, str]:
    """Let a child write and cut the power: what it had acknowledged last for each path."""
    back, out = os.pipe()
    child = os.fork()
    if not child:
        os.close(back)
        try:
            work(f"{mount}/tree", f"{mount}/state", seed, out)
        finally:
            os._exit(1)
    os.close(out)
    select.select([back], [], [], 20)
    time.sleep(rnd.random() * 0.6)
    fd = os.open(mount, os.O_RDONLY)
    fcntl.ioctl(fd, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
    os.kill(child, signal.SIGKILL)
    exit_code(child)
    os.close(fd)
    with os.fdopen(back, "rb") as pipe:
        lines = pipe.read().decode().split("\n")[:-1]
    assert lines, "the child never started"
    return dict(line.split(" ") for line in lines if line != "ready")


def run(top: Path, cuts: int, seed: int) -> int:
    """How many writes were acknowledged before their cut and found after it."""
    image, mount, acks, rnd = str(top / "disk.img"), str(top / "disk"), 0, random.Random(seed)
    with open(image, "wb") as file:
        file.truncate(192 << 20)
    _run("mkfs.ext4", "-q", image)
    os.makedirs(mount, exist_ok=True)
    _run("mount", "-o", "loop", image, mount)
    try:
        os.makedirs(f"{mount}/tree")
        plant(f"{mount}/tree")
        os.sync()
        for n in range(cuts):
            found = cut(mount, seed * 100_000 + n, rnd)
            _run("umount", mount)
            _run("mount", "-o", "loop", image, mount)
            acks += len(found)
            check(f"{mount}/tree", f"{mount}/state", found)
    finally:
        _run("umount", mount)
    return acks


def main(words: list[str]) -> None:
    top = Path(words[0])
    top.mkdir(parents=True, exist_ok=True)
    acks = run(top, int(words[1]), int(words[2]))
    print(f"{words[1]} cuts, {acks} acknowledged writes, 0 lost, 0 torn")


if __name__ == "__main__":
    main(sys.argv[1:])
