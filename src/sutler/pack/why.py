"""Why a path is in or out: the verdict of the very pipeline that packs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from sutler.errors import UsageError
from sutler.paths import RelPath, quote
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded, FileEntry, Problem
from sutler.scan.walk import explain
from sutler.secrets.cleaner import SECRET_NAME, told

if TYPE_CHECKING:
    from sutler.pack.project import Project


class Verdict(Struct, frozen=True, omit_defaults=True):
    path: str
    state: str
    reason: str
    rule: str = ""
    bytes: int = 0


def verdict(project: Project, root: Root, path: RelPath) -> Verdict:
    """The scan first, then selection, reading and the budget."""
    found = explain(root, project.rules(), path)
    if isinstance(found, Problem) and found.kind == "missing":
        raise UsageError(f"{quote(path)} does not exist", next_step="check the spelling")
    shown = told(quote(path or "."))
    if isinstance(found, FileEntry) and shown != quote(path or "."):
        found = Excluded(path, "credentials", SECRET_NAME)
    return _packed(project, path, shown) if isinstance(found, FileEntry) else _of(found, shown)


def _of(found: Excluded | Problem, shown: str) -> Verdict:
    if isinstance(found, Problem):
        return Verdict(shown, "problem", f"{found.kind} {found.detail}".rstrip())
    return Verdict(shown, "out", found.reason.replace("_", " "), str(found.rule))


def _packed(project: Project, path: RelPath, shown: str) -> Verdict:
    packing = project.pack(count_tokens=False)
    for _ in packing:
        pass
    report = packing.report
    for one in report.shown:
        if one.path == path:
            return Verdict(
                shown, f"in ({one.level.replace('_', ' and ')})", one.reason, bytes=one.bytes
            )
    for item in report.excluded:
        if item.path == path:
            return _of(item, shown)
    below = f"{path}/" if path else ""
    inside = sum(one.path.startswith(below) for one in report.shown)
    outside = sum(item.count for item in report.excluded if item.path.startswith(below))
    reason = f"a folder: {inside:,} files below it are in, {outside:,} are out"
    return Verdict(shown, "in" if inside else "out", reason)
