"""A large file of the cache in pieces: each is read on demand, and none is believed
whose checksum does not hold. At the end of the file stands an account of what lies where.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import overload
from zlib import crc32

from sutler.errors import SutlerError
from sutler.store import home
from sutler.store.atomic import write_run
from sutler.system import fs

_CHECK = 4  # bytes before an account: its checksum
_TAIL = 8  # bytes after it: how long both are
_AT_ONCE = 1 << 20
_PLACE = 3  # numbers that say where a piece lies: its start, its length, its checksum


class DamagedError(SutlerError):
    """A piece is not what was written."""


class Stored:
    """An open file of pieces. It stays what it is when the cache is cleared or made anew
    meanwhile.
    """

    __slots__ = ("_fd", "_path", "_waiting")

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._path = path
        self._waiting: dict[int, bytes] = {}  # pieces that are not on the disk, by their start

    def __del__(self) -> None:
        if self._fd >= 0:
            fs.close(self._fd)
            self._fd = -1

    def pieces(self, places: bytes) -> Pieces:
        """Those whose places an account names."""
        found = array("Q")
        found.frombytes(places)
        return Pieces(self, found)

    def piece(self, start: int, length: int, check: int) -> bytes:
        held = self._waiting.get(start) if length else b""
        if held is not None:
            return held
        try:
            data = os.pread(self._fd, length, start)
        except OSError:
            data = b""
        if len(data) == length and crc32(data) == check:
            return data
        with suppress(OSError):
            fs.unlink(self._path)
        raise DamagedError(
            "what the cache holds about this project is damaged, and forgotten now",
            next_step="run the command again",
        )

    def account(self) -> bytes | None:
        """What stands at the end, if it is whole."""
        try:
            size = fs.fstat(self._fd).st_size
            length = int.from_bytes(os.pread(self._fd, _TAIL, max(size - _TAIL, 0)), "little")
            if not _CHECK < length <= size - _TAIL:
                return None
            check, data = (
                os.pread(self._fd, _CHECK, size - _TAIL - length),
                size - _TAIL - length + _CHECK,
            )
            account = os.pread(self._fd, length - _CHECK, data)
        except OSError:
            return None
        return account if crc32(account).to_bytes(_CHECK, "little") == check else None


class Pieces(Sequence[bytes]):
    """Some pieces of a file, in order."""

    __slots__ = ("_places", "_stored")

    def __init__(self, stored: Stored, places: array[int]) -> None:
        self._stored = stored
        self._places = places

    @property
    def places(self) -> bytes:
        return self._places.tobytes()

    def __len__(self) -> int:
        return len(self._places) // _PLACE

    @overload
    def __getitem__(self, number: int) -> bytes: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[bytes]: ...
    def __getitem__(self, number: int | slice) -> bytes | Sequence[bytes]:
        if isinstance(number, slice):
            return [self[one] for one in range(*number.indices(len(self)))]
        if not 0 <= number < len(self):
            raise IndexError(number)
        start, length, check = self._places[number * _PLACE : (number + 1) * _PLACE]
        return self._stored.piece(start, length, check)


class Draft(Stored):
    """A file of pieces that is being written. What cannot be written stays in memory, with the same
    outcome.
    """

    __slots__ = ("_end", "_environ", "_final", "_room", "_whole")

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        fd, path = -1, ""
        try:
            self._final = os.path.join(home.cache_home(environ), name)
            path = home.temporary(self._final)
            fd = fs.open(
                path, fs.O_RDWR | fs.O_CREAT | fs.O_EXCL | fs.O_NOFOLLOW | fs.O_CLOEXEC, 0o600
            )
        except (OSError, SutlerError):
            fd = -1
        super().__init__(fd, path)
        self._environ = environ
        self._end, self._room = 0, _AT_ONCE
        self._whole = fd >= 0

    def keep(self, pieces: Iterable[bytes]) -> Pieces:
        """Write these, as they come."""
        places = array("Q")
        for piece in pieces:
            places.extend((self._end, len(piece), crc32(piece)))
            self._put(piece)
        self._write()
        return Pieces(self, places)

    def drop(self) -> None:
        """It will not be kept; what is in it can be read as long as it is open."""
        if self._fd >= 0:
            with suppress(OSError):
                fs.unlink(self._path)

    def finish(self, account: bytes) -> None:
        """It is whole, and takes the place of an older one. A cache that cannot be written is no
        loss.
        """
        account = crc32(account).to_bytes(_CHECK, "little") + account
        self._put(account + len(account).to_bytes(_TAIL, "little"))
        self._write()
        if not self._whole:
            self.drop()
            return
        try:
            os.replace(self._path, self._final)
            self._path = self._final
        except OSError:
            self.drop()
        home.make_room(self._environ)

    def _put(self, piece: bytes) -> None:
        if piece:
            self._waiting[self._end] = piece
        self._end += len(piece)
        self._room -= len(piece)
        if self._room < 0:
            self._write()

    def _write(self) -> None:
        self._room = _AT_ONCE
        if not self._whole:
            return
        try:
            write_run(self._fd, list(self._waiting.values()))
            self._waiting.clear()
        except OSError:  # no room, most likely
            self._whole = False


def stored(name: str, environ: Mapping[str, str]) -> Stored | None:
    """A file of the cache, or None: anything odd about it counts as absent."""
    try:
        path = os.path.join(home.cache_home(environ), name)
        return Stored(fs.open(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC), path)
    except (OSError, SutlerError):
        return None
