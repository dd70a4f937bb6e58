"""Sections on their way into a pack, a batch of files at a time. Files are named by their number, so that a batch can
come from another process without their names.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from sutler.engine.memory import Known
from sutler.stages.render import Framed
from sutler.values.pack import Level
from sutler.values.snapshot import ProblemKind, Reason, Rule

MANY_PLAIN_BYTES = 8_000_000
"""From this many bytes on that are only read and framed, somebody else besides is worth their start."""

NO_TEXT = Framed((), b"", b"")


class Piece(Struct, frozen=True, array_like=True, gc=False):
    """One file that enters, as the report has it."""

    number: int
    level: Level
    length: int
    sha256: str
    tokens: int | None
    rules: tuple[str, ...]
    hidden: tuple[tuple[str, int], ...]
    known: Known | None  # to be remembered: a file that is shown whole


NOT_TEXT: tuple[Reason, Rule] = ("binary", Rule("content", "not text"))


class Out(Struct, frozen=True, array_like=True, gc=False):
    number: int
    reason: Reason
    rule: Rule


class Batch(Struct, frozen=True, array_like=True):
    """`spans` are given when the pieces are yet to be counted: where in the text each begins and ends, and where in the
    lines its own ends."""

    pieces: list[Piece]
    out: list[Out]
    problems: list[tuple[int, ProblemKind, str]]
    spans: list[tuple[int, int, int]]


class Made(NamedTuple):
    """A batch and its text."""

    batch: Batch
    framed: Framed
