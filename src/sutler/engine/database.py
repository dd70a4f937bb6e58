"""The redactor's multi-pattern database. One comes with the program, for the machine that most have; elsewhere it is
compiled once and then read from the cache.

Compiling takes a sixth of a second: a run that will need it can have a child do it while the tree is scanned.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from sutler.engine import forks, home
from sutler.version import VERSION

if TYPE_CHECKING:
    from sutler.stages.redact import Engine

MACHINE = f"{sys.platform} {os.uname().machine}"
COMPILE_ABOVE = 400_000
"""Bytes of text from which compiling pays at once."""


def engine_for(size: int, environ: Mapping[str, str]) -> Engine:
    """The fast engine when its database is at hand or worth making; the plain one gives the same answers."""
    from sutler.stages.redact import hyperscan_engine, stdlib_engine

    ready = _ready(MACHINE)
    if ready is not None:
        return ready
    if size < COMPILE_ABOVE and "hyperscan" not in sys.modules and not _any_kept(environ):
        return stdlib_engine()  # nothing there to be named
    name = _name()
    if not name:
        return stdlib_engine()
    sight = home.sight_of(name, environ)
    try:
        if sight is not None:
            return _loaded(name, sight)
        return hyperscan_engine(_compiled(name, environ)) if size >= COMPILE_ABOVE else stdlib_engine()
    except Exception:  # a damaged or foreign database must never cost more than time
        return stdlib_engine()


@lru_cache(maxsize=1)
def _ready(machine: str) -> Engine | None:
    """The engine of the database that came with the program, if that is for such a machine."""
    from sutler.stages.redact import hyperscan_engine, ready_made

    try:
        database = ready_made(machine)
        return hyperscan_engine(database) if database else None
    except Exception:  # no hyperscan, or one that will not have it: then we make our own, or do without
        return None


def _any_kept(environ: Mapping[str, str]) -> bool:
    return any(one.kind == "secrets" for one in home.cache_files(environ))


@lru_cache(maxsize=1)
def _loaded(name: str, sight: home.Sight) -> Engine:
    """The engine of a kept database: loaded once for as long as its file stays as it is, for a process that answers
    call after call."""
    from sutler.stages.redact import hyperscan_engine

    return hyperscan_engine(home.read_kept(os.path.join(sight.folder, name)))


def _compiled(name: str, environ: Mapping[str, str]) -> bytes:
    from sutler.stages.redact import compile_database

    data = compile_database()
    home.keep(name, data, environ)
    return data


@cache
def _name() -> str:
    """The database's name in the cache; empty where there is no engine that could use it."""
    try:
        import hyperscan
    except ImportError:  # no wheel for this platform
        return ""
    key = f"{VERSION} {redactor_mark()} {getattr(hyperscan, '__version__', '')} {_processor()}"
    return f"secrets-{sha256(key.encode()).hexdigest()[:24]}.hs"


def redactor_mark() -> str:
    """Names the redactor as it is now: what an older one found out, or left behind, must not be relied on."""
    from sutler.stages.redact.table import __file__ as table
    from sutler.stages.redact.table import rules_digest

    return f"{rules_digest()} {_newest(os.path.dirname(table))}"


def _newest(folder: str) -> int:
    """When its code last changed."""
    try:
        with os.scandir(folder) as listing:
            return max(entry.stat().st_mtime_ns for entry in listing if entry.is_file())
    except (OSError, ValueError):  # not on a disk, as in an archive: the version alone decides
        return 0


def _processor() -> str:
    """Names the processor: a database is only valid for the features it was compiled for."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            return next((line for line in stream if line.startswith(("flags", "Features"))), "")
    except OSError:
        return os.uname().machine


class Ahead:
    """A child that compiles the database into the cache, or nobody."""

    __slots__ = ("_pid",)

    def __init__(self, pid: int = 0) -> None:
        self._pid = pid

    def done(self) -> bool:
        """Whether there is nothing to wait for any more."""
        if self._pid and forks.reaped(self._pid, wait=False):
            self._pid = 0
        return not self._pid

    def settle(self, size: int) -> None:
        """Now it is known how much text there is: wait for the child if the database is worth it, else stop it."""
        if self._pid:
            if size < COMPILE_ABOVE:
                import signal

                os.kill(self._pid, signal.SIGKILL)
            forks.reaped(self._pid)
            self._pid = 0


@contextmanager
def compiled_ahead(environ: Mapping[str, str], *, wanted: bool) -> Iterator[Ahead]:
    """Have the database made while other work goes on, if it is `wanted` and not there yet."""
    ahead = Ahead(_start(environ) if wanted and forks.cores() > 1 and forks.may_fork() else 0)
    try:
        yield ahead
    finally:
        ahead.settle(0)


def _start(environ: Mapping[str, str]) -> int:
    if _ready(MACHINE) is not None:
        return 0
    name = _name()
    if not name or home.cached(name, environ) is not None:
        return 0
    pid = os.fork()
    if pid:
        return pid
    try:
        _compiled(name, environ)
    finally:
        os._exit(0)  # whatever came of it, the parent looks into the cache
