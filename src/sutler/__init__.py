"""sutler: a context engine for language models.

>>> import sutler
>>> pack = sutler.Project("path/to/project").pack(max_tokens=20_000)    # doctest: +SKIP
>>> print(pack.text())                                                   # doctest: +SKIP
>>> [(one.path, one.reason) for one in pack.report.shown]                # doctest: +SKIP

Names are loaded when they are first used: importing sutler costs almost nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost more than everything else here
if TYPE_CHECKING:
    from sutler.engine.options import Options
    from sutler.engine.project import Project
    from sutler.engine.tasks import ContextPacker
    from sutler.formats import parse
    from sutler.pack.packing import Packing
    from sutler.pack.report import Report, Shown
    from sutler.stages.pack_diff import diff_packs
    from sutler.stages.serial import deserialize, serialize
    from sutler.values.errors import SutlerError
    from sutler.values.pack import Pack, Request, Section
    from sutler.values.snapshot import Excluded, FileEntry, Problem, Snapshot
    from sutler.values.task import ContextPack, TaskSpec
    from sutler.values.wire import FullPack, PackConstraints, ProjectSnapshot, SummaryPack
    from sutler.version import VERSION as __version__

_HOMES = {
    "ContextPack": "sutler.values.task",
    "ContextPacker": "sutler.engine.tasks",
    "Excluded": "sutler.values.snapshot",
    "FileEntry": "sutler.values.snapshot",
    "FullPack": "sutler.values.wire",
    "Options": "sutler.engine.options",
    "Pack": "sutler.values.pack",
    "PackConstraints": "sutler.values.wire",
    "Packing": "sutler.pack.packing",
    "Problem": "sutler.values.snapshot",
    "Project": "sutler.engine.project",
    "ProjectSnapshot": "sutler.values.wire",
    "Report": "sutler.pack.report",
    "Request": "sutler.values.pack",
    "Section": "sutler.values.pack",
    "Shown": "sutler.pack.report",
    "Snapshot": "sutler.values.snapshot",
    "SummaryPack": "sutler.values.wire",
    "SutlerError": "sutler.values.errors",
    "TaskSpec": "sutler.values.task",
    "deserialize": "sutler.stages.serial",
    "diff_packs": "sutler.stages.pack_diff",
    "parse": "sutler.formats",
    "serialize": "sutler.stages.serial",
}

__all__ = [
    "ContextPack",
    "ContextPacker",
    "Excluded",
    "FileEntry",
    "FullPack",
    "Options",
    "Pack",
    "PackConstraints",
    "Packing",
    "Problem",
    "Project",
    "ProjectSnapshot",
    "Report",
    "Request",
    "Section",
    "Shown",
    "Snapshot",
    "SummaryPack",
    "SutlerError",
    "TaskSpec",
    "__version__",
    "deserialize",
    "diff_packs",
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
