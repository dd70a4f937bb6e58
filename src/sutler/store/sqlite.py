"""SQLite through apsw, whose SQLite has the fix for the WAL-reset corruption that older ones carry.

WAL with synchronous FULL: with NORMAL, acknowledged commits are lost in a power cut. Writers begin IMMEDIATE and wait
their turn, so nobody upgrades a read lock into a deadlock.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeVar

from sutler.store.base import Query, Row, Value
from sutler.store.migrations import migrate
from sutler.store.sql import SqlStore
from sutler.store.state import private_file
from sutler.store.volume import refuse_network
from sutler.values.errors import SutlerError

if TYPE_CHECKING:
    import apsw

T = TypeVar("T")

_PRAGMAS = (
    "PRAGMA busy_timeout = 5000",
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA foreign_keys = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA mmap_size = 0",
)
_CHECKED = 1 << 20  # bytes; a check of more would be felt in every call
_LONG_LOG = 4 << 20  # bytes
_PAUSE = 0.003
_TRIES = 6  # each waits up to busy_timeout; a queue that long is a fault worth naming


def open_sqlite(path: str, project: str) -> SqlStore:
    """Open or create the database file and bring its schema up to date."""
    database = SqliteDatabase(path)
    try:
        migrate(database)
        return SqlStore(database, project)
    except BaseException:
        database.close()
        raise


class SqliteDatabase:
    dialect: Literal["sqlite", "postgres"] = "sqlite"

    def __init__(self, path: str) -> None:
        import apsw

        refuse_network(os.path.dirname(path))
        private_file(path)
        self._path = path
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._inode = os.stat(path).st_ino
        self._busy = (apsw.BusyError, apsw.LockedError)
        self._failed = apsw.Error
        self._waits = True
        self._flusher = Flusher(f"{path}-wal")
        self.version = apsw.sqlite_lib_version()
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        self._connection = self._retry(lambda: apsw.Connection(path, flags=flags))
        self._connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # What was committed is safe in the log; moving it into the database on every close would sync twice more.
        self._keep_log = apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE
        self._connection.config(self._keep_log, 1)
        for pragma in _PRAGMAS:
            self._retry(lambda sql=pragma: list(self._connection.execute(sql)))  # type: ignore[misc]  # bound now
        if os.stat(path).st_size <= _CHECKED:
            self.quick_check()

    def quick_check(self) -> None:
        """Refuse a database whose pages do not hold together; `sutler doctor` looks at one of any size."""
        found = self._retry(lambda: self._connection.execute("PRAGMA quick_check(1)").fetchall())
        if found != [("ok",)]:
            self._connection.close()
            raise SutlerError(
                f"the store is damaged: {str(found[0][0])[:200]}",
                rule="a damaged store is not written to",
                next_step="restore it from a backup, or move the project's state directory aside to start anew",
            )

    def _retry(self, step: Callable[[], T]) -> T:
        for left in reversed(range(_TRIES)):
            try:
                return step()
            except self._busy:
                if not left:
                    raise self._error("another process has held the store for too long") from None
            except self._failed as fault:
                raise self._error(f"the store cannot be used: {fault}") from fault
        raise AssertionError("unreachable")

    def _error(self, what: str) -> SutlerError:
        return SutlerError(
            what,
            rule="what is not recorded does not happen",
            next_step="free some disk space or end the other process, then try again; `sutler doctor` looks closer",
        )

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise SutlerError("a store was carried into another process", next_step="open the store after the fork")
        try:
            same = os.stat(self._path).st_ino == self._inode
        except FileNotFoundError:
            same = False
        if not same:
            raise self._error("the store's file was removed or replaced while in use")

    def transact(self, work: Callable[[Query], T], *, write: bool, wait: bool = True) -> T:
        with self._lock:
            self._check()
            if write:
                self._wait_for_disk(wait)
            answer = self._retry(lambda: self._once(work, "BEGIN IMMEDIATE" if write else "BEGIN"))
        if write and not wait:
            self._flusher.committed()
        return answer

    def _wait_for_disk(self, wait: bool) -> None:
        """Whether commits wait until they are on the disk. A later one that does takes all before it along: the log
        is one file, written from its beginning to its end."""
        if self._flusher.broken:
            raise self._error("the store did not reach the disk")
        if wait != self._waits:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if wait else 'NORMAL'}")
            self._waits = wait

    def start_flush(self) -> None:
        self._flusher.start()

    def flush(self) -> None:
        if not self._flusher.wait():
            raise self._error("the store did not reach the disk")

    def _once(self, work: Callable[[Query], T], begin: str) -> T:
        connection = self._connection
        connection.execute(begin)
        try:
            answer = work(self._query)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        return answer

    def _query(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        cursor: apsw.Cursor = self._connection.execute(sql, tuple(params))
        return cursor.fetchall()

    def compact(self) -> None:
        """The file is rewritten without its holes, in one transaction: a process that ends in the middle leaves the
        old one."""
        with self._lock:
            self._check()
            for sql in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                self._retry(lambda sql=sql: list(self._connection.execute(sql)))  # type: ignore[misc]  # mypy guesses no default

    @contextmanager
    def hold(self, slot: str, wait: float) -> Iterator[None]:
        """A file lock beside the database: the kernel frees it when its holder ends, however it ends."""
        name = f"{self._path}.lock-{slot}"
        private_file(name)
        fd = os.open(name, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            until = time.monotonic() + wait
            while True:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= until:
                        raise self._error("another process holds this file") from None
                    time.sleep(_PAUSE)
            yield
        finally:
            os.close(fd)

    def close(self) -> None:
        with self._lock:
            if os.getpid() == self._pid:
                self._flusher.close()
                self._clear_log()
                self._connection.close()

    def _clear_log(self) -> None:
        """A long log is moved into the database by the last one to close. Who opens it next would else read it from
        its beginning and, not knowing what has been moved already, append to it for ever."""
        try:
            if os.stat(f"{self._path}-wal").st_size > _LONG_LOG:
                self._connection.config(self._keep_log, 0)
        except (OSError, self._failed):
            return


class Flusher:
    """Brings commits that did not wait to the disk, soon and in the background: it syncs the write-ahead log, on
    which SQLite itself holds no lock."""

    SOON = 0.02

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1
        self._state = threading.Condition()
        self._done = self._made = 0
        self._hurry = self._ended = False
        self._thread: threading.Thread | None = None
        self.broken = False

    def committed(self) -> None:
        with self._state:
            self._made += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sutler-flush", daemon=True)
                self._thread.start()
            elif self._made == self._done + 1:
                self._state.notify_all()

    def start(self) -> None:
        """Do not wait for company: somebody will soon wait for this."""
        with self._state:
            if self._done < self._made:
                self._hurry = True
                self._state.notify_all()

    def wait(self) -> bool:
        """Whether all that was committed up to now is on the disk."""
        with self._state:
            wanted = self._made
            if self._done < wanted:
                self._hurry = True
                self._state.notify_all()
            self._state.wait_for(lambda: self._done >= wanted or self.broken)
            return not self.broken

    def _run(self) -> None:
        while True:
            with self._state:
                self._state.wait_for(lambda: self._made > self._done or self._ended)
                if not self._hurry and not self._ended:
                    self._state.wait_for(lambda: self._hurry or self._ended, self.SOON)
                if self._made == self._done:
                    return
                made, self._hurry = self._made, False
            try:
                if self._fd < 0:
                    self._fd = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
                os.fdatasync(self._fd)
            except OSError:  # never tried again: the pages may count as clean and be lost all the same
                self.broken = True
            with self._state:
                self._done = made
                self._state.notify_all()
                if self.broken:
                    return

    def close(self) -> None:
        with self._state:
            self._ended = True
            self._state.notify_all()
        if self._thread is not None:
            self._thread.join()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
