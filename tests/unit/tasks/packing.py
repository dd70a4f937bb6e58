"""A project in memory for the packer."""

from __future__ import annotations

from sutler.formats.document import CleanText
from sutler.scan.snapshot import Problem
from sutler.tasks.packer import ContextPacker, Source
from sutler.tasks.wire import Tier


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
