"""Dependencies of Door, and the session view it returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from msgspec import Struct

from sutler.access import structure
from sutler.access.session import Session
from sutler.scan.snapshot import ScanRules

T = TypeVar("T")
Progress = Callable[[int, int], None]
"""Receives the completed part of a job and its total."""


class Aside(Protocol):
    """Runs long work that uses no store; a server does other things meanwhile. With `fork` it may
    run in another process, so the result has a type `kind` that can be encoded. The progress
    callback raises if the call was cancelled."""

    def __call__(self, work: Callable[[Progress], T], kind: type[T], *, fork: bool = True) -> T: ...


def run_here(work: Callable[[Progress], T], kind: type[T], *, fork: bool = True) -> T:
    return work(lambda _done, _total: None)


class Setup(Struct, frozen=True):
    """Dependencies of a door besides a root and a gate: the rules of scans, the token counter, the
    version of the redaction rules, which is part of every cache key, and the resolver of a conflict
    (path, base, ours, theirs)."""

    scan: ScanRules
    count: Callable[[str], int]
    ruleset: str
    teller: structure.Teller = structure.SILENT
    review: Callable[[str, str, str, str], str] | None = None


class SessionView(Struct, frozen=True):
    """A session with the buffers that are out of date."""

    session: Session
    stale: tuple[str, ...]
