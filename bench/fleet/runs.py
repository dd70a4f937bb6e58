"""Runs of a fleet by the command, with their CPU and a digest of what they made."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from sutler.fleet.catalogue import open_fleet
from sutler.fleet.dataset import TABLES, path_of, query
from sutler.fleet.queue import Queue, open_queue

LONGEST = 3_600
"""Seconds of a command, on a busy machine."""


def sutler(*words: str) -> subprocess.Popen[bytes]:
    """Start a command in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "sutler", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def done(process: subprocess.Popen[bytes]) -> None:
    _, error = process.communicate(timeout=LONGEST)
    if process.returncode:
        raise SystemExit(error.decode())


def reap() -> None:
    """Wait a moment for orphans, so that their CPU counts; daemons go on."""
    until = time.monotonic() + 2
    while time.monotonic() < until:
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.05)
        except ChildProcessError:
            return


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def spent(work: Callable[[], object]) -> float:
    """The CPU seconds of the processes that some work starts."""
    reap()
    before = cpu()
    work()
    reap()
    return cpu() - before


class Run:
    """A fleet in a folder, with its queue in SQLite or PostgreSQL."""

    def __init__(self, folder: Path, sources: Path, kinds: str, store: str = "") -> None:
        self.folder, self.store, self.kinds = folder, store, kinds
        self.words = ("--fleet", str(folder), *(("--store", store) if store else ()))
        done(sutler("fleet", "init", "--name", folder.name, *self.words))
        done(sutler("fleet", "add", str(sources), *self.words))

    def run(self, *words: str) -> float:
        """Return the CPU seconds."""
        return spent(lambda: done(sutler("fleet", "run", self.kinds, *self.words, *words)))

    def digests(self) -> dict[str, str]:
        """A digest of the sorted rows of each table, and of the facts; every unit must be done, and
        the dataset hold no file beside those of the units."""
        with opened(self) as queue:
            units = queue.units()
            facts = queue._database.select(
                "SELECT digest, kind, tool, body FROM facts WHERE project = ?", (queue._project,)
            )
        bad = [unit for unit in units if unit.state != "done"]
        assert not bad, bad[:3]
        dataset = open_fleet(str(self.folder), self.store).dataset
        files = {path_of(dataset, table, unit) for unit in units for table in unit.tables}
        assert files == set(map(str, Path(dataset).rglob("*.parquet")))
        digests = {"facts": digest([(*row[:3], bytes(row[3])) for row in facts])}
        for table in TABLES.keys() - {"packs"}:
            _, rows = query(dataset, units, f"select * from {table}")  # noqa: S608
            digests[table] = digest(rows)
        return digests

    def stored(self) -> tuple[int, int, int]:
        """Bytes of text of the admitted files, of each blob once, and what is stored of them."""
        fleet = open_fleet(str(self.folder), self.store)
        with opened(self) as queue:
            units = queue.units()
        sql = "select sum(size), (select sum(size) from (select distinct blob, size from files))"
        _, ((every, text),) = query(fleet.dataset, units, f"{sql} from files")
        with closing(apsw.Connection(fleet.database)) as database:
            (size,) = next(iter(database.execute("SELECT sum(length(body)) FROM facts")))
        return int(every), int(text), int(size)


def digest(rows: Iterable[tuple[object, ...]]) -> str:
    lines = sorted(map(repr, rows))
    return f"{len(lines)} {hashlib.sha256(chr(10).join(lines).encode()).hexdigest()}"


@contextmanager
def opened(run: Run) -> Iterator[Queue]:
    queue = open_queue(open_fleet(str(run.folder), run.store))
    try:
        yield queue
    finally:
        queue.close()
