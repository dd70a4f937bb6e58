"""Seed 004's fields of a receipt. A separate module, because every pack loads it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

SCHEMA_VERSION = 1

PackType = Literal["full", "summary"]


class ExclusionsByReason(Struct, frozen=True):
    credentials: int = 0
    binary: int = 0
    size: int = 0
    pattern: int = 0


class ContextPackInfo(Struct, frozen=True):
    """The transparency record's `context_pack_info`."""

    type: PackType
    selection_reason: str
    files_scanned: int
    files_included: int
    files_excluded: int
    exclusions_by_reason: ExclusionsByReason
    content_bytes: int
    truncated_files: int
    schema_version: int = SCHEMA_VERSION
