"""A project in memory for the packer."""

from __future__ import annotations

from sutler.formats.document import CleanText
from sutler.scan.snapshot import Problem
from sutler.setting_table import TIER_CHARS, Tier
from sutler.tasks.packer import TOP_ISSUES, Assembled, Source, assemble
from sutler.tasks.wire import ContextPack, TaskSpec


def source(
    files: dict[str, str], secret: str = "", digests: dict[str, str] | None = None
) -> Source:
    def clean(text: str) -> CleanText:
        return CleanText(text.replace(secret, "[redacted]") if secret else text)

    def read(path: str) -> CleanText | Problem:
        return (
            clean(files[path])
            if files[path] != "DENIED"
            else Problem(path, "denied", "no permission")
        )

    return Source(tuple(files), read, clean, {}, digests or {})


def packer(files: dict[str, str], tier: Tier | None = None) -> ContextPacker:
    return ContextPacker(source(files), tier)


class ContextPacker:
    """Packs of a source at a tier, or at the task's own."""

    def __init__(
        self, source: Source, tier: Tier | None = None, top_issues: int = TOP_ISSUES
    ) -> None:
        self._source, self._tier, self._top = source, tier, top_issues

    def build(self, task: TaskSpec) -> ContextPack:
        return self.assemble(task).pack

    def assemble(self, task: TaskSpec) -> Assembled:
        tier = self._tier or task.model_tier
        return assemble(task, self._source, TIER_CHARS[tier], self._top)
