"""SQLite through apsw, whose SQLite has the fix for the WAL-reset corruption of older versions.

WAL with synchronous FULL: a commit is on the disk when it returns. A commit that need not wait (a
server's row about a read) runs with NORMAL; the next commit that waits syncs it too, because it
syncs the whole log. Writers begin IMMEDIATE and queue, so that no read lock is upgraded, which
could deadlock."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeVar

from sutler.errors import RefusedError, SutlerError
from sutler.store.base import Query, Row, Value
from sutler.store.home import private_file
from sutler.store.migrations import migrate
from sutler.store.sql import Store
from sutler.system import fs, try_lock, unlock

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
    # A checkpoint syncs twice in the middle of a call: rarely, and of more pages at once.
    "PRAGMA wal_autocheckpoint = 4000",
)
_CHECKED = 1 << 20  # bytes; a check of a larger file would slow down every call
_LONG_LOG = 4 << 20  # bytes
_PAUSE = 0.003
_LONGEST = 30.0  # seconds; a longer wait is reported as an error


def open_sqlite(path: str, project: str) -> Store:
    """Open or create the database file and bring its schema up to date."""
    database = SqliteDatabase(path)
    try:
        migrate(database)
        return Store(database, project)
    except BaseException:
        database.close()
        raise


class SqliteDatabase:
    dialect: Literal["sqlite", "postgres"] = "sqlite"
    person = ""  # one user owns the file

    def __init__(self, path: str) -> None:
        import apsw

        refuse_network(os.path.dirname(path))
        private_file(path)
        self._path = path
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._inode = fs.stat(path).st_ino
        self._busy = (apsw.BusyError, apsw.LockedError)
        self._failed = apsw.Error
        self._io_failed = apsw.IOError
        self._full = True  # the connection's `synchronous`: FULL or NORMAL
        self._unsynced = False  # whether the log may hold unsynced commits of this process
        self._broken = False
        self.version = apsw.sqlite_lib_version()
        self._connection = self._retry(self._open)
        self._query = _Statements(self._connection)
        self._connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # Stable plans: without it SQLite may plan a statement again for every value, although
        # there are no statistics that could change the plan.
        self._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        # Commits are safe in the log; a checkpoint on every close would cost two more syncs.
        self._keep_log = apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE
        self._connection.config(self._keep_log, 1)
        for pragma in _PRAGMAS:
            self._retry(partial(self._all, pragma))
        if fs.stat(path).st_size <= _CHECKED:
            self.quick_check()

    def _open(self) -> apsw.Connection:
        import apsw

        return apsw.Connection(
            self._path, flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        )

    def quick_check(self) -> None:
        """Raise SutlerError if the database is damaged. Large databases are checked only by `sutler
        doctor`."""
        rows = self._retry(lambda: self._connection.execute("PRAGMA quick_check(1)").fetchall())
        if rows != [("ok",)]:
            self._connection.close()
            raise SutlerError(
                f"the store is damaged: {str(rows[0][0])[:200]}",
                rule="a damaged store is not written to",
                next_step=(
                    "restore it from a backup, or move the project's state directory aside to start"
                    " anew"
                ),
            )

    def _all(self, sql: str) -> list[object]:
        return list(self._connection.execute(sql))

    def _retry(self, step: Callable[[], T]) -> T:
        """Run `step`; retry while the database is busy, up to `_LONGEST` seconds.

        SQLite itself waits (busy_timeout), except if it detects a possible deadlock: of two
        processes that switch a new file to WAL, one fails at once. The limit is a time, because a
        number of tries would be used up before the other process is done."""
        until = time.monotonic() + _LONGEST
        while True:
            try:
                return step()
            except self._busy:
                if time.monotonic() >= until:
                    raise self._error("another process has held the store for too long") from None
                time.sleep(_PAUSE)
            except self._failed as fault:
                # After a failed sync the kernel may mark pages as clean that never reached the
                # disk, so that a second sync would succeed without them. With unsynced commits in
                # the log, later commits would depend on lost ones.
                self._broken = self._broken or (
                    self._unsynced and isinstance(fault, self._io_failed)
                )
                raise self._error(f"the store cannot be used: {fault}") from fault

    def _error(self, what: str) -> SutlerError:
        return SutlerError(
            what,
            rule="what is not recorded does not happen",
            next_step=(
                "free some disk space or end the other process, then try again; `sutler doctor`"
                " looks closer"
            ),
        )

    def _check(self) -> None:
        if os.getpid() != self._pid:
            raise SutlerError(
                "a store was carried into another process",
                next_step="open the store after the fork",
            )
        try:
            same = fs.stat(self._path).st_ino == self._inode
        except FileNotFoundError:
            same = False
        if not same:
            raise self._error("the store's file was removed or replaced while in use")

    def transact(self, work: Callable[[Query], T], *, write: bool, wait: bool = True) -> T:
        with self._lock:
            self._check()
            if write:
                self._set_synchronous(wait)
            answer = self._retry(lambda: self._once(work, "BEGIN IMMEDIATE" if write else "BEGIN"))
            if write:
                self._unsynced = not wait
            return answer

    def _set_synchronous(self, full: bool) -> None:
        if self._broken:
            raise self._error("the store did not reach the disk")
        if full != self._full:
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full

    def flush(self) -> None:
        """Sync the log, including commits of other processes. Closing this descriptor releases no
        lock, because SQLite holds its locks on other files."""
        try:
            fd = fs.open(f"{self._path}-wal", fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_CLOEXEC)
            try:
                fs.fdatasync(fd)  # as SQLite does: the timestamps of the log are not needed
            finally:
                fs.close(fd)
        except OSError:
            self._broken = self._broken or self._unsynced
            raise self._error("the store did not reach the disk") from None

    def _once(self, work: Callable[[Query], T], begin: str) -> T:
        query = self._query
        query(begin)
        try:
            answer = work(query)
            query("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                query("ROLLBACK")
            raise
        return answer

    def select(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        with self._lock:
            self._check()
            return self._retry(lambda: self._query(sql, params))

    def compact(self) -> None:
        """Rewrite the file without unused pages, in one transaction: a crash keeps the old one."""
        with self._lock:
            self._check()
            for sql in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
                self._retry(partial(self._all, sql))

    def hold(self, slot: str, wait: float) -> AbstractContextManager[None]:
        """Take a lock on a file beside the database; the kernel releases it if the process ends."""
        return _Hold(self, slot, wait)

    def take(self, slot: str, wait: float) -> int:
        name = self._lock_name(slot)
        fd = self._slot(name)
        until = time.monotonic() + wait
        try:
            while True:
                if try_lock(fd, name):
                    return fd
                if time.monotonic() >= until:
                    raise self._error("another process holds this file")
                time.sleep(_PAUSE)
        except BaseException:
            fs.close(fd)
            raise

    def release(self, slot: str, fd: int) -> None:
        unlock(fd, self._lock_name(slot))

    def _lock_name(self, slot: str) -> str:
        return f"{self._path}.lock-{slot}"

    def _slot(self, name: str) -> int:
        """Open the lock file; its directory is private, and an empty file need not be durable."""
        try:
            flags = fs.O_RDWR | fs.O_CREAT | fs.O_NOFOLLOW | fs.O_CLOEXEC
            return fs.open(name, flags, 0o600)
        except OSError as fault:
            raise self._error(f"a lock cannot be taken: {os.strerror(fault.errno or 0)}") from None

    def close(self) -> None:
        if os.getpid() != self._pid:
            return
        with self._lock:
            if self._unsynced:
                with suppress(SutlerError):
                    self.flush()
            self._clear_log()
            self._connection.close()

    def _clear_log(self) -> None:
        """Let the last connection to close move a long log into the database. Otherwise the next
        process would read the log from its beginning and append to it without end, because it
        cannot know which part is in the database."""
        try:
            if fs.stat(f"{self._path}-wal").st_size > _LONG_LOG:
                self._connection.config(self._keep_log, 0)
        except (OSError, self._failed):  # the next connection moves it
            return


class _Statements:
    """Runs statements inside a transaction, on one cursor: every result is fetched completely."""

    __slots__ = ("_run", "changes")

    def __init__(self, connection: apsw.Connection) -> None:
        self._run = connection.cursor().execute
        self.changes: Callable[[], int] = connection.changes

    def __call__(self, sql: str, params: Sequence[Value] = ()) -> list[Row]:
        rows: list[Row] = self._run(sql, params).fetchall()
        return rows


class _Hold:
    """Lock as a context manager. A class is faster than a generator, and every write uses it."""

    __slots__ = ("_database", "_fd", "_slot", "_wait")

    def __init__(self, database: SqliteDatabase, slot: str, wait: float) -> None:
        self._database, self._slot, self._wait, self._fd = database, slot, wait, -1

    def __enter__(self) -> None:
        self._fd = self._database.take(self._slot, self._wait)

    def __exit__(self, *_: object) -> None:
        self._database.release(self._slot, self._fd)


# A write-ahead log needs local locks and shared memory, which network file systems lack.
NETWORK = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "ceph", "lustre", "gpfs", "beegfs",
     "9p", "orangefs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone",
     "fuse.davfs2", "davfs", "fuse.gcsfuse",
     "glusterfs")
)  # fmt: skip
"""Network file systems, by the kernel's names."""

_MOUNTS = "/proc/self/mountinfo"
_OCTAL = re.compile(r"\\([0-7]{3})")


def refuse_network(path: str, mounts: str = _MOUNTS) -> None:
    """Raise RefusedError if `path` is on a network file system."""
    kind = kind_of(path, mounts)
    if kind in NETWORK:
        raise RefusedError(
            f"the store would lie on a network file system ({kind})",
            rule="a write-ahead log needs a local disk",
            next_step=(
                "set XDG_STATE_HOME to a local directory, or SUTLER_STORE to a PostgreSQL URL"
            ),
        )


def kind_of(path: str, mounts: str = _MOUNTS) -> str:
    """Return the type of the file system of `path`; empty if it is unknown."""
    try:
        with open(mounts, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().splitlines()
    except OSError:  # no /proc: what the disk is stays unknown, and nothing is refused
        return ""
    real, best, kind = os.path.realpath(path), -1, ""
    for line in lines:
        fields, _, rest = line.partition(" - ")
        words = fields.split(" ")
        if len(words) < 5 or not rest:  # a line that this kernel writes in another form
            continue
        point = _OCTAL.sub(lambda match: chr(int(match[1], 8)), words[4])
        # `>=`: a later mount at the same point hides an earlier one.
        if f"{real}/".startswith(f"{point.rstrip('/')}/") and len(point) >= best:
            best, kind = len(point), rest.split(" ", 1)[0]
    return kind
