"""A pack that was made before, of a tree that has not changed since, is printed again instead of made again.

Kept is the clean text, as it left, with the account of it, once a pack has been made twice. It counts while every
file of the tree looks the same, the time of change among it, and was left alone for some seconds before that pack was
made. A pack without redaction is never kept. A copy whose digest does not hold, or of other code or rules, is ignored.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256

import msgspec
from msgspec import Struct

from sutler.disk.output import write_run
from sutler.engine import home
from sutler.engine.memory import RACY_NS
from sutler.engine.report import Report
from sutler.values.errors import SutlerError
from sutler.values.pack import Run
from sutler.values.snapshot import FileEntry, Snapshot

_FORMAT = 1
_TAIL = 8  # bytes at the very end: how long the account before them is
_BLOCK = 1 << 20
MOST = 400_000_000
"""Bytes of text that are kept of one pack."""


class Printed(Struct, frozen=True, array_like=True):
    """The account that follows a kept text."""

    format: int
    key: bytes
    length: int
    digest: bytes
    report: Report


class Reprint:
    """The copy of one kind of pack of one project. `kind` is everything but the tree that the text depends on."""

    def __init__(self, name: str, kind: str, environ: Mapping[str, str]) -> None:
        self._kind = kind
        self._environ = environ
        self._path = os.path.join(home.cache_folder(environ), name)
        self._started = time.time_ns()
        self._key = b""
        self.wanted = False

    def there(self) -> bool:
        return os.path.isfile(self._path)

    def look_at(self, entries: list[FileEntry], snapshot: Snapshot) -> None:
        """Learn what the tree is like: its files that count, and what a scan said of all the others."""
        times = max((max(entry.mtime_ns, entry.ctime_ns) for entry in entries), default=0)
        if times >= self._started - RACY_NS:
            return
        try:
            seen = msgspec.msgpack.encode((self._kind, entries, snapshot.excluded, snapshot.problems))
        except UnicodeEncodeError:  # a name that is not UTF-8
            return
        self._key = sha256(seen).digest()

    def printed(self) -> tuple[Report, Iterator[bytes]] | None:
        """The account and the text of this very tree, if they are kept and whole."""
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        kept = _account(fd) if self._key else None
        if kept is None or kept.key != self._key or not _holds(fd, kept):
            os.close(fd)
            return None
        return kept.report, _text(fd, kept.length)

    def kept(self, runs: Iterator[Run], report: Callable[[], Report]) -> Iterator[Run]:
        """The runs as they come; and a copy of them on the side, if one is wanted when the first has come."""
        temporary = home.temporary(self._path)
        fd, length, digest = -1, 0, sha256()
        try:
            for run in runs:
                if not length:
                    fd = self._opened(temporary)
                length += sum(map(len, run))
                if fd >= 0:
                    for piece in run:
                        digest.update(piece)
                    if length > MOST or not _written(fd, run):
                        fd = _dropped(fd, temporary)
                yield run
            if fd >= 0 and _unproblematic(report()):
                self._finish(fd, temporary, Printed(_FORMAT, self._key, length, digest.digest(), report()))
        finally:
            if fd >= 0:
                _dropped(fd, temporary)

    def _opened(self, name: str) -> int:
        if not self._key or not self.wanted:
            return -1
        try:
            home.cache_home(self._environ)
            return os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except (OSError, SutlerError):
            return -1

    def _finish(self, fd: int, temporary: str, kept: Printed) -> None:
        try:
            account = msgspec.msgpack.encode(kept)
        except UnicodeEncodeError:
            return
        if _written(fd, (account, len(account).to_bytes(_TAIL, "little"))):
            with suppress(OSError):
                os.replace(temporary, self._path)
            home.make_room(self._environ)


def _dropped(fd: int, temporary: str) -> int:
    os.close(fd)
    with suppress(OSError):
        os.unlink(temporary)
    return -1


def _written(fd: int, run: Run) -> bool:
    try:
        write_run(fd, run)
    except OSError:  # no room, most likely: then there is no copy
        return False
    return True


def _unproblematic(report: Report) -> bool:
    """Whether the same tree will give the same pack: a file that could not be read may be there again tomorrow."""
    return all(one.kind == "undecodable" for one in report.problems)


def _account(fd: int) -> Printed | None:
    try:
        size = os.fstat(fd).st_size
        length = int.from_bytes(os.pread(fd, _TAIL, max(size - _TAIL, 0)), "little")
        if not 0 < length < size:
            return None
        kept = msgspec.msgpack.decode(os.pread(fd, length, size - _TAIL - length), type=Printed)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return kept if kept.format == _FORMAT and kept.length == size - _TAIL - length else None


def _holds(fd: int, kept: Printed) -> bool:
    digest = sha256()
    try:
        for at in range(0, kept.length, _BLOCK):
            digest.update(os.pread(fd, min(_BLOCK, kept.length - at), at))
    except OSError:
        return False
    return digest.digest() == kept.digest


def _text(fd: int, length: int) -> Iterator[bytes]:
    try:
        for at in range(0, length, _BLOCK):
            yield os.pread(fd, min(_BLOCK, length - at), at)
    finally:
        os.close(fd)
