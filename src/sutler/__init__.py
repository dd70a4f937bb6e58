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
    from sutler.engine import Options, Packing, Project, Report, Shown
    from sutler.stages.render import parse
    from sutler.values.errors import SutlerError
    from sutler.values.pack import Pack, Request, Section
    from sutler.values.snapshot import Excluded, FileEntry, Problem, Snapshot
    from sutler.version import VERSION as __version__

_HOMES = {
    "Excluded": "sutler.values.snapshot",
    "FileEntry": "sutler.values.snapshot",
    "Options": "sutler.engine",
    "Pack": "sutler.values.pack",
    "Packing": "sutler.engine",
    "Problem": "sutler.values.snapshot",
    "Project": "sutler.engine",
    "Report": "sutler.engine",
    "Request": "sutler.values.pack",
    "Section": "sutler.values.pack",
    "Shown": "sutler.engine",
    "Snapshot": "sutler.values.snapshot",
    "SutlerError": "sutler.values.errors",
    "parse": "sutler.stages.render",
}

__all__ = [
    "Excluded",
    "FileEntry",
    "Options",
    "Pack",
    "Packing",
    "Problem",
    "Project",
    "Report",
    "Request",
    "Section",
    "Shown",
    "Snapshot",
    "SutlerError",
    "__version__",
    "parse",
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
