"""Files without a name that the kernel makes in the background. No thread of ours takes part, and so the interpreter's
lock does not either.

This is Linux's io_uring, as little of it as is needed: one queue in, one queue out. Where it is not to be had (another
platform, a sandbox that forbids it) an OSError says so.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import sys
from collections.abc import Iterator

UNNAMED = getattr(os, "O_TMPFILE", 0) and os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC
ROOM = 8
_SETUP, _ENTER, _REGISTER = 425, 426, 427
_OPENAT, _ASYNC, _WORKERS, _WAIT = 18, 16, 19, 1
_REQUESTS = 0x10000000  # where they are mapped
_NUMBER = struct.Struct("=I")
_REQUEST = struct.Struct("=BBHiQQIIQ24x")  # io_uring_sqe: opcode, flags, -, fd, -, path, mode, open flags, user data
_ANSWER = struct.Struct("=QiI")  # io_uring_cqe
_HERE = ctypes.create_string_buffer(b".")


class Ring:
    def __init__(self) -> None:
        # Other machines than this one may see an answer before they see that it is there, without a barrier that
        # Python does not have.
        if not sys.platform.startswith("linux") or os.uname().machine != "x86_64" or not UNNAMED:
            raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
        self._call = ctypes.CDLL(None, use_errno=True).syscall
        self._call.restype = ctypes.c_long
        told = ctypes.create_string_buffer(120)  # io_uring_params
        self._fd = int(self._call(_SETUP, ROOM, told))
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._asked = self._taken = 0
        try:
            self._map(told.raw)
        except BaseException:
            os.close(self._fd)
            raise
        one = (ctypes.c_uint * 2)(1, 1)  # a single worker; a kernel that does not know this may use more
        self._call(_REGISTER, self._fd, _WORKERS, one, 2)

    def _map(self, told: bytes) -> None:
        self._room, self._many = struct.unpack_from("=2I", told)
        _, self._tail, _, _, _, _, order = struct.unpack_from("=7I", told, 40)
        self._head, self._end, _, _, _, self._first = struct.unpack_from("=6I", told, 80)
        self._queues = mmap.mmap(self._fd, max(order + self._room * 4, self._first + self._many * _ANSWER.size))
        self._requests = mmap.mmap(self._fd, self._room * _REQUEST.size, offset=_REQUESTS)
        for place in range(self._room):
            _NUMBER.pack_into(self._queues, order + place * 4, place)

    @property
    def open(self) -> int:
        """How many requests have no answer yet."""
        return self._asked - self._taken

    def ask(self, directory: int, tag: int, many: int) -> None:
        """Have some files made in a directory, which has to stay open until the answers are there."""
        request = _REQUEST.pack(_OPENAT, _ASYNC, 0, directory, 0, ctypes.addressof(_HERE), 0o600, UNNAMED, tag)
        for n in range(self._asked, self._asked + many):
            place = n % self._room * _REQUEST.size
            self._requests[place : place + _REQUEST.size] = request
        _NUMBER.pack_into(self._queues, self._tail, (self._asked + many) & 0xFFFFFFFF)
        # The kernel looks at the queue in this call and at no other time: what it did not take is written over.
        self._asked += max(0, int(self._call(_ENTER, self._fd, many, 0, 0, None, 0)))

    def answers(self) -> Iterator[tuple[int, int]]:
        """What has come since: a request's tag with its file, or with the negative number of an error."""
        end = _NUMBER.unpack_from(self._queues, self._end)[0]
        while self._taken & 0xFFFFFFFF != end:
            tag, found, _ = _ANSWER.unpack_from(self._queues, self._first + self._taken % self._many * _ANSWER.size)
            self._taken += 1
            _NUMBER.pack_into(self._queues, self._head, self._taken & 0xFFFFFFFF)
            yield tag, found

    def drain(self) -> None:
        """Wait for what is open, and close it."""
        while self.open:
            if self._call(_ENTER, self._fd, 0, 1, _WAIT, None, 0) < 0 and ctypes.get_errno() != errno.EINTR:
                return
            for _, found in self.answers():
                if found >= 0:
                    os.close(found)

    def close(self) -> None:
        self.drain()
        self._queues.close()
        self._requests.close()
        os.close(self._fd)
