"""Syncs that the kernel does in the background, for whoever has other work meanwhile. No thread of ours takes part.

This is Linux's native asynchronous interface, with a few requests at a time. Where it is not to be had (another
platform, a sandbox that forbids it, no room) the sync happens in the foreground, when it is waited for.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from itertools import count
from typing import NamedTuple

_NUMBERS = {"x86_64": (206, 209, 208), "aarch64": (0, 2, 4)}  # io_setup, io_submit, io_getevents
_FSYNC, _FDATASYNC = 2, 3
_ROOM = 16
_reaping = threading.Lock()
_ended: dict[int, int] = {}  # what the kernel has told and nobody has asked for yet: results by ticket
_tickets = count(1)


class _Request(ctypes.Structure):
    """`struct iocb`, on a little-endian machine."""

    _fields_ = (
        ("ticket", ctypes.c_uint64),
        ("key", ctypes.c_uint64),
        ("opcode", ctypes.c_uint16),
        ("priority", ctypes.c_int16),
        ("fd", ctypes.c_uint32),
        ("rest", ctypes.c_uint64 * 5),
    )


class _Event(ctypes.Structure):
    """`struct io_event`."""

    _fields_ = (
        ("ticket", ctypes.c_uint64),
        ("request", ctypes.c_uint64),
        ("result", ctypes.c_int64),
        ("more", ctypes.c_int64),
    )


class _Kernel(NamedTuple):
    call: Callable[..., int]
    submit: int
    events: int
    context: ctypes.c_ulong


@lru_cache(maxsize=1)
def _kernel(pid: int) -> _Kernel | None:
    """The way in; another one after a fork, since a child does not inherit it."""
    del pid
    _ended.clear()
    if not sys.platform.startswith("linux") or (numbers := _NUMBERS.get(os.uname().machine)) is None:
        return None
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.restype = ctypes.c_long
    context = ctypes.c_ulong(0)
    found = call(numbers[0], _ROOM, ctypes.byref(context)) == 0
    return _Kernel(call, numbers[1], numbers[2], context) if found else None


def start_sync(fd: int, *, data_only: bool = False) -> Callable[[], None]:
    """Begin to sync a file. What comes back waits for the end of it and raises what went wrong; it must be called,
    once, while the file is open."""
    kernel = _kernel(os.getpid())
    ticket = next(_tickets)
    request = _Request(ticket=ticket, opcode=_FDATASYNC if data_only else _FSYNC, fd=fd)
    place = ctypes.byref(ctypes.c_void_p(ctypes.addressof(request)))
    if kernel is None or kernel.call(kernel.submit, kernel.context, ctypes.c_long(1), place) != 1:
        return lambda: (os.fdatasync if data_only else os.fsync)(fd)
    return lambda: _wait(kernel, ticket)


def _wait(kernel: _Kernel, ticket: int) -> None:
    """Whoever comes first takes what the kernel tells, for others too."""
    with _reaping:
        event, one = _Event(), ctypes.c_long(1)
        while ticket not in _ended:
            if kernel.call(kernel.events, kernel.context, one, one, ctypes.byref(event), None) == 1:
                _ended[event.ticket] = event.result
            elif (failed := ctypes.get_errno()) != errno.EINTR:
                raise OSError(failed, os.strerror(failed))
        result = _ended.pop(ticket)
    if result < 0:
        raise OSError(-result, os.strerror(-result))
