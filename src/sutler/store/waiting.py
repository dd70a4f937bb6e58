"""Receipts on their way into the store, a file each: whoever leaves one need not open a database,
which takes longer than many a pack. Whoever opens the store next takes them in.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from msgspec import MsgspecError, msgpack

from sutler.store.state import private_file

FOLDER = "receipts"
MOST = 32
"""Receipts that may wait. Each holds a list of files, which the store keeps once for the same
pack.
"""
UNFINISHED = 3600.0
"""Seconds after which nobody is still writing a receipt."""
_PART, _DAMAGED = ".part", ".damaged"

Row = tuple[str, str, str, bytes]
"""The pack's id, when it left, the receipt, and what the pack held."""


def leave(directory: str, row: Row) -> int:
    """Keep a receipt in a project's private directory; it is on the disk then. Returns how many
    wait.
    """
    folder = os.path.join(directory, FOLDER)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    path = os.path.join(folder, f"{row[0][:16]}-{os.urandom(8).hex()}")
    try:
        private_file(path + _PART, msgpack.encode(row))
        os.rename(path + _PART, path)
    except BaseException:
        _unlink(path + _PART)
        raise
    _sync(folder)
    return len(_waiting(folder))


def take_in(directory: str, put: Callable[[Row], None]) -> None:
    """Put what waits into the store. Two that do it at once do no harm: the store takes a receipt
    once. A damaged one is set aside.
    """
    folder = os.path.join(directory, FOLDER)
    for path in _waiting(folder):
        try:
            with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
                row = msgpack.decode(file.read(), type=Row)
        except FileNotFoundError:  # another process was faster
            continue
        except (OSError, MsgspecError):
            os.rename(path, path + _DAMAGED)
            continue
        put(row)
        _unlink(path)


def _waiting(folder: str) -> list[str]:
    """What waits; what a killed process left unfinished goes."""
    found: list[str] = []
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    for name in names:
        path = os.path.join(folder, name)
        if name.endswith(_PART):
            _forget_old(path)
        elif not name.endswith(_DAMAGED):
            found.append(path)
    return found


def _forget_old(path: str) -> None:
    with suppress(FileNotFoundError):
        if os.lstat(path).st_mtime < time.time() - UNFINISHED:
            os.unlink(path)


def _unlink(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _sync(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
