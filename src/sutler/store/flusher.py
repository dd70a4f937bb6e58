"""What happens to the write-ahead log behind the callers' backs: it is synced soon, and moved into the database before
it grows long."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from sutler.store.base import Sync
from sutler.values.errors import SutlerError

if TYPE_CHECKING:
    import apsw


def at_once(fd: int) -> Callable[[], None]:
    """The plainest of these: nothing happens in the background."""
    return lambda: os.fdatasync(fd)


class Flusher:
    """Brings commits that did not wait to the disk, soon and in the background: it syncs the write-ahead log, on
    which SQLite itself holds no lock. It is woken when there is something to do, not for every commit: a thread that
    wakes takes the interpreter away from a call."""

    SOON = 0.02

    def __init__(self, path: str) -> None:
        self._path = path
        self._fd = -1
        self.sync: Sync = at_once
        self._lock = threading.RLock()  # taken by itself on the way of every write: written in C, unlike the condition
        self._state = threading.Condition(self._lock)
        self._done = self._made = 0
        self._since = 0.0  # when the oldest commit that is not synced was made
        self._idle = self._hurry = self._ended = False
        self._then: list[Callable[[], None]] = []  # to be done when what is committed now is on the disk
        self._thread: threading.Thread | None = None
        self.broken = False

    def committed(self, *, wake: bool = True) -> None:
        """A commit is in the log. With `wake` the thread sees to it; else whoever committed does."""
        with self._lock:
            if self._made == self._done:
                self._since = time.monotonic()
            self._made += 1
            if wake:
                self._wake()

    def _wake(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sutler-flush", daemon=True)
            self._thread.start()
        elif self._idle or self._hurry:
            self._state.notify_all()

    def then(self, work: Callable[[], None]) -> None:
        """Have `work` done as soon as all that was committed up to now is on the disk."""
        with self._lock:
            self._then.append(work)
            self._hurry = True
            self._wake()

    def start(self) -> Callable[[], bool]:
        """Begin to sync all that was committed up to now. What comes back waits for it, and must be called: whether
        the disk has it."""
        with self._lock:
            wanted, broken = self._made, self.broken
            if broken or wanted == self._done:
                return lambda: not broken
        try:
            wait = self.sync(self._log())
        except OSError:
            return self._fail

        def ended() -> bool:
            try:
                wait()
            except OSError:
                return self._fail()
            with self._lock:
                self._done = max(self._done, wanted)
            return True

        return ended

    def _fail(self) -> bool:
        """Never tried again: the pages may count as clean and be lost all the same."""
        with self._lock:
            self.broken = True
            self._state.notify_all()
        return False

    def _log(self) -> int:
        with self._lock:
            if self._fd < 0:
                self._fd = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            return self._fd

    def _run(self) -> None:
        while (made := self._due()) >= 0:
            work = list(self._then)
            try:
                os.fdatasync(self._log())
                for one in work:
                    one()
            except (OSError, SutlerError):
                self._fail()
            with self._lock:
                del self._then[: len(work)]
                self._done = max(made, self._done)
                self._since = time.monotonic()
                self._state.notify_all()
                if self.broken:
                    return

    def _due(self) -> int:
        """Up to which commit is to be synced, when it is time; less than none at the end."""
        with self._lock:
            while True:
                if self._made == self._done and not self._then:
                    if self._ended:
                        return -1
                    self._idle = True
                    self._state.wait_for(lambda: self._made > self._done or self._then or self._ended)
                    self._idle = False
                    continue
                left = self._since + self.SOON - time.monotonic()
                if self._hurry or self._ended or left <= 0:
                    self._hurry = False
                    return self._made
                self._state.wait_for(lambda: self._hurry or self._ended, left)

    def close(self) -> None:
        with self._lock:
            self._ended = True
            self._state.notify_all()
        if self._thread is not None:
            self._thread.join()
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Backfill:
    """Moves the log into the database in a thread and over a connection of its own: most of it beside the writers, and
    the few pages they added meanwhile while they wait, so that the log begins anew. It is never tried again after a
    failure, because a second sync may succeed without the pages of the first; the log goes on growing then."""

    def __init__(self, connect: Callable[[], apsw.Connection], lock: threading.RLock) -> None:
        self._connect = connect
        self._lock = lock
        self._state = threading.Condition()
        self._wanted = self._ended = False
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        with self._state:
            if not self._wanted:
                self._wanted = True
                self._state.notify_all()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="sutler-backfill", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        import apsw

        connection: apsw.Connection | None = None
        try:
            connection = self._connect()
            connection.execute("PRAGMA schema_version").fetchall()  # opens the log; before that there is none to move
            while self._due():
                try:
                    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                    with self._lock:
                        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
                except apsw.BusyError:
                    pass  # another process is at it
                with self._state:
                    self._wanted = False
                    self._state.notify_all()
        except apsw.Error:
            pass
        finally:
            if connection is not None:
                connection.close()

    def _due(self) -> bool:
        with self._state:
            self._state.wait_for(lambda: self._wanted or self._ended)
            return not self._ended

    def close(self) -> None:
        with self._state:
            self._ended = True
            self._state.notify_all()
        if self._thread is not None:
            self._thread.join()
