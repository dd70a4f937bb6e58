"""A file without a name that the kernel makes in the background. No thread of ours takes part, and so the
interpreter's lock does not either.

This is Linux's io_uring, as little of it as is needed: one request at a time. Where it is not to be had (another
platform, a sandbox that forbids it) an OSError says so.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import struct
import sys

UNNAMED = getattr(os, "O_TMPFILE", 0) and os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC
_SETUP, _ENTER, _REGISTER = 425, 426, 427
_OPENAT, _ASYNC, _WORKERS, _WAIT = 18, 16, 19, 1
_REQUESTS = 0x10000000  # where they are mapped
_NUMBER = struct.Struct("=I")
_REQUEST = struct.Struct("=BBHiQQIIQ24x")  # io_uring_sqe: opcode, flags, -, fd, -, path, mode, open flags, user data
_ANSWER = struct.Struct("=QiI")  # io_uring_cqe: user data, result, -
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
        self._fd = int(self._call(_SETUP, 1, told))
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
        room, self._many = struct.unpack_from("=2I", told)
        _, self._tail, _, _, _, _, order = struct.unpack_from("=7I", told, 40)
        self._head, self._end, _, _, _, self._first = struct.unpack_from("=6I", told, 80)
        self._queues = mmap.mmap(self._fd, max(order + room * 4, self._first + self._many * _ANSWER.size))
        self._request = mmap.mmap(self._fd, room * _REQUEST.size, offset=_REQUESTS)
        _NUMBER.pack_into(self._queues, order, 0)

    @property
    def open(self) -> bool:
        """Whether a request has no answer yet."""
        return self._asked != self._taken

    def ask(self, directory: int) -> None:
        """Have a file made in a directory, which has to stay open until the answer is there. No other request may be
        open."""
        made = _OPENAT, _ASYNC, 0, directory, 0, ctypes.addressof(_HERE), 0o600, UNNAMED, 0
        _REQUEST.pack_into(self._request, 0, *made)
        _NUMBER.pack_into(self._queues, self._tail, (self._asked + 1) & 0xFFFFFFFF)
        # The kernel looks at the queue in this call and at no other time.
        if self._call(_ENTER, self._fd, 1, 0, 0, None, 0) != 1:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self._asked += 1

    def answer(self) -> int | None:
        """The file, or the negative number of an error; None as long as there is neither."""
        if _NUMBER.unpack_from(self._queues, self._end)[0] == self._taken & 0xFFFFFFFF:
            return None
        found = int(_ANSWER.unpack_from(self._queues, self._first + self._taken % self._many * _ANSWER.size)[1])
        self._taken += 1
        _NUMBER.pack_into(self._queues, self._head, self._taken & 0xFFFFFFFF)
        return found

    def drain(self) -> None:
        """Wait for what is open, and close it."""
        while self.open:
            if (found := self.answer()) is not None:
                if found >= 0:
                    os.close(found)
            elif self._call(_ENTER, self._fd, 0, 1, _WAIT, None, 0) < 0 and ctypes.get_errno() != errno.EINTR:
                return

    def close(self) -> None:
        self.drain()
        self._queues.close()
        self._request.close()
        os.close(self._fd)
