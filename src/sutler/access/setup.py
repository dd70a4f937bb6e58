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
"""Receives how much of a job is done, and how much there is in all."""


class Aside(Protocol):
    """Runs long work that touches no store; a server does other things meanwhile. With `fork` it
    may run in another process: the result is of type `kind`, which can travel. The progress
    callback raises if the call was cancelled."""

    def __call__(self, work: Callable[[Progress], T], kind: type[T], *, fork: bool = True) -> T: ...


def run_here(work: Callable[[Progress], T], kind: type[T], *, fork: bool = True) -> T:
    return work(lambda _done, _total: None)


class Setup(Struct, frozen=True):
    """What a door needs besides a root and a gate: how to scan, how to count tokens, the version of
    the redaction rules, which is part of every cache key, and who settles a conflict (path, base,
    ours, theirs)."""

    scan: ScanRules
    count: Callable[[str], int]
    ruleset: str
    teller: structure.Teller = structure.SILENT
    review: Callable[[str, str, str, str], str] | None = None


class SessionView(Struct, frozen=True):
    """A session with the buffers that their files have left behind."""

    session: Session
    stale: tuple[str, ...]
