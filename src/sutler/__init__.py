"""sutler: a context engine for language models.

>>> import sutler
>>> pack = sutler.Project("path/to/project").pack(max_tokens=20_000)    # doctest: +SKIP
>>> print(pack.text())                                                   # doctest: +SKIP
>>> [(one.path, one.reason) for one in pack.report.shown]                # doctest: +SKIP

Names are loaded when they are first used: importing sutler costs almost nothing."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost more than everything else here
if TYPE_CHECKING:
    from sutler.budget.selection import Request
    from sutler.edits.file_access import FileAccessInterface, FileVersionMeta, PatchResult
    from sutler.errors import SutlerError
    from sutler.formats import parse
    from sutler.formats.document import Pack, Section
    from sutler.goals.gather import Gathering
    from sutler.goals.project_goals import GoalRun, Project
    from sutler.pack.diff import diff_packs
    from sutler.pack.options import Options
    from sutler.pack.project import Packing
    from sutler.pack.report import Report, Shown
    from sutler.pack.seed_names import (
        FullPackBuilder,
        PackSelector,
        PackSerializer,
        SnapshotScanner,
        SummaryPackBuilder,
    )
    from sutler.pack.serial import deserialize, serialize
    from sutler.pack.task_packs import ContextPacker
    from sutler.scan.snapshot import Excluded, FileEntry, Problem, Snapshot
    from sutler.survey.wire import FullPack, PackConstraints, ProjectSnapshot, SummaryPack
    from sutler.tasks.wire import ContextPack, TaskSpec
    from sutler.tools.interface import open
    from sutler.version import VERSION as __version__

_HOMES = {
    "ContextPack": "sutler.tasks.wire",
    "ContextPacker": "sutler.pack.task_packs",
    "Excluded": "sutler.scan.snapshot",
    "FileAccessInterface": "sutler.edits.file_access",
    "FileEntry": "sutler.scan.snapshot",
    "FileVersionMeta": "sutler.edits.file_access",
    "FullPack": "sutler.survey.wire",
    "FullPackBuilder": "sutler.pack.seed_names",
    "Options": "sutler.pack.options",
    "Pack": "sutler.formats.document",
    "PackConstraints": "sutler.survey.wire",
    "PackSelector": "sutler.pack.seed_names",
    "PackSerializer": "sutler.pack.seed_names",
    "Packing": "sutler.pack.project",
    "PatchResult": "sutler.edits.file_access",
    "Problem": "sutler.scan.snapshot",
    "GoalRun": "sutler.goals.project_goals",
    "Gathering": "sutler.goals.gather",
    "Project": "sutler.goals.project_goals",
    "ProjectSnapshot": "sutler.survey.wire",
    "Report": "sutler.pack.report",
    "Request": "sutler.budget.selection",
    "Section": "sutler.formats.document",
    "Shown": "sutler.pack.report",
    "Snapshot": "sutler.scan.snapshot",
    "SnapshotScanner": "sutler.pack.seed_names",
    "SummaryPack": "sutler.survey.wire",
    "SummaryPackBuilder": "sutler.pack.seed_names",
    "SutlerError": "sutler.errors",
    "TaskSpec": "sutler.tasks.wire",
    "deserialize": "sutler.pack.serial",
    "diff_packs": "sutler.pack.diff",
    "open": "sutler.tools.interface",
    "parse": "sutler.formats",
    "serialize": "sutler.pack.serial",
}

__all__ = [
    "ContextPack",
    "ContextPacker",
    "Excluded",
    "FileAccessInterface",
    "FileEntry",
    "FileVersionMeta",
    "FullPack",
    "FullPackBuilder",
    "Gathering",
    "GoalRun",
    "Options",
    "Pack",
    "PackConstraints",
    "PackSelector",
    "PackSerializer",
    "Packing",
    "PatchResult",
    "Problem",
    "Project",
    "ProjectSnapshot",
    "Report",
    "Request",
    "Section",
    "Shown",
    "Snapshot",
    "SnapshotScanner",
    "SummaryPack",
    "SummaryPackBuilder",
    "SutlerError",
    "TaskSpec",
    "__version__",
    "deserialize",
    "diff_packs",
    "open",
    "parse",
    "serialize",
]


def __getattr__(name: str) -> object:
    import importlib

    if name == "__version__":
        return importlib.import_module("sutler.version").VERSION
    if name not in _HOMES:
        raise AttributeError(f"module 'sutler' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
