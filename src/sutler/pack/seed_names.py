"""Seed 004's class names, for programs that follow its usage example; each calls `Project`.

>>> from sutler import FullPackBuilder, PackSelector, PackSerializer, SnapshotScanner
>>> snapshot = SnapshotScanner().scan("path/to/project")                  # doctest: +SKIP
>>> PackSelector().select(snapshot, constraints)                          # doctest: +SKIP
>>> PackSerializer().serialize(FullPackBuilder().build(snapshot))         # doctest: +SKIP"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sutler.pack.project import Project
from sutler.pack.serial import deserialize, serialize

if TYPE_CHECKING:
    from sutler.survey.wire import (
        FullPack,
        PackConstraints,
        PackType,
        ProjectSnapshot,
        SummaryPack,
    )
    from sutler.tasks.wire import ContextPack


class ScannedProject:
    """A snapshot together with its project. Fields of `ProjectSnapshot` can be read from it
    directly."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.snapshot: ProjectSnapshot = project.snapshot()

    def __getattr__(self, name: str) -> object:
        return getattr(self.snapshot, name)


class SnapshotScanner:
    """Seed 004's SnapshotScanner: `Project(path).snapshot()`."""

    def scan(self, path: str | os.PathLike[str]) -> ScannedProject:
        return ScannedProject(Project(path))


class PackSelector:
    """Seed 004's PackSelector: `Project.select_pack`, without the reason."""

    def select(
        self, snapshot: ScannedProject, constraints: PackConstraints | None = None
    ) -> PackType:
        return snapshot.project.select_pack(constraints)[0]


class FullPackBuilder:
    """Seed 004's FullPackBuilder: `Project.full_pack`."""

    def build(
        self, snapshot: ScannedProject, constraints: PackConstraints | None = None
    ) -> FullPack:
        return snapshot.project.full_pack(constraints)


class SummaryPackBuilder:
    """Seed 004's SummaryPackBuilder: `Project.summary_pack`."""

    def build(
        self, snapshot: ScannedProject, constraints: PackConstraints | None = None
    ) -> SummaryPack:
        return snapshot.project.summary_pack(constraints)


class PackSerializer:
    """Seed 004's PackSerializer: a document as JSON text and back."""

    def serialize(self, pack: FullPack | SummaryPack | ContextPack) -> str:
        return serialize(pack).decode()

    def deserialize(self, data: str) -> FullPack | SummaryPack | ContextPack:
        document: FullPack | SummaryPack | ContextPack = deserialize(data.encode())
        return document
