"""Wire documents with the seeds' exact field names: snapshots, full and summary packs, manifests.

A field that the seeds mark optional is `UNSET` when unknown and then absent on the wire. Fields
beyond the seeds (`schema_version`, `detail`, `rule`, `digest`, `problems`) are additions that a
reader of the seeds' documents can ignore. Task packs (seed 002) are in `tasks.wire`."""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from sutler.formats.transparency import SCHEMA_VERSION
from sutler.formats.transparency import PackType as PackType  # its own name here, too
from sutler.scan.snapshot import FileCategory, FileType, Importance, Problem, Reason

DependencyType = Literal["runtime", "dev", "peer"]
EntrypointType = Literal["cli", "web", "api", "library", "script"]
RiskType = Literal["security", "performance", "complexity", "coupling"]
ExclusionReason = Literal[
    "credentials",
    "binary",
    "size_limit",
    "pattern_match",
    "dependency_dir",
    "build_output",
    "cache",
    "not_selected",  # ours: admitted, and not chosen for this document
]

_SEED_REASONS: dict[Reason, ExclusionReason] = {
    "credentials": "credentials",
    "binary": "binary",
    "size_limit": "size_limit",
    "pattern_match": "pattern_match",
    "dependency_dir": "dependency_dir",
    "build_output": "build_output",
    "cache": "cache",
    "special": "binary",
    "undecodable": "binary",
    "cap": "not_selected",
    "budget": "size_limit",
    "not_selected": "not_selected",
}


def seed_reason(reason: Reason) -> ExclusionReason:
    """Map a reason to one of the seed's seven or `not_selected`; every finer one of ours is a
    pattern match."""
    return _SEED_REASONS.get(reason, "pattern_match")


class TreeNode(Struct, frozen=True):
    """Seed 004's `DirectoryNode | FileNode`: a directory has children, a file has a size and a
    type."""

    name: str
    path: str
    children: tuple[TreeNode, ...] | UnsetType = UNSET
    size_bytes: int | UnsetType = UNSET
    type: FileType | UnsetType = UNSET


class FileMetadata(Struct, frozen=True):
    path: str
    relative_path: str
    name: str
    extension: str
    size_bytes: int
    type: FileType
    category: FileCategory
    is_key_file: bool
    content_extractable: bool


class ExcludedFile(Struct, frozen=True):
    """`reason` is one of the seed's seven, `detail` our finer reason, `rule` the rule that
    decided."""

    path: str
    reason: ExclusionReason
    detail: Reason | UnsetType = UNSET
    rule: str | UnsetType = UNSET


class ExclusionStats(Struct, frozen=True):
    by_pattern: int = 0
    by_size: int = 0
    by_binary: int = 0
    by_credentials: int = 0


class ProjectSnapshot(Struct, frozen=True):
    root_path: str
    scan_timestamp: str
    directory_tree: TreeNode
    total_files: int
    total_directories: int
    total_size_bytes: int
    files: tuple[FileMetadata, ...]
    excluded_files: tuple[ExcludedFile, ...]
    exclusion_stats: ExclusionStats
    problems: tuple[Problem, ...] | UnsetType = UNSET
    schema_version: int = SCHEMA_VERSION


class Dependency(Struct, frozen=True):
    name: str
    type: DependencyType = "runtime"
    version: str | UnsetType = UNSET
    ecosystem: str | UnsetType = UNSET


class Manifest(Struct, frozen=True):
    """A project's statements about itself; a field without a source is empty or absent."""

    project_name: str
    project_type: str
    purpose_guess: str = ""
    structure_summary: str = ""
    dependencies: tuple[Dependency, ...] = ()
    entry_points: tuple[str, ...] = ()
    build_system: str | UnsetType = UNSET
    test_framework: str | UnsetType = UNSET


class FileIndexEntry(Struct, frozen=True):
    """`digest` is the sha256 of the file's bytes when the pack was built, for `verify`."""

    path: str
    type: FileType
    category: FileCategory
    size_bytes: int
    included: bool
    exclusion_reason: ExclusionReason | UnsetType = UNSET
    digest: str | UnsetType = UNSET


class KeyFile(Struct, frozen=True):
    path: str
    category: FileCategory
    importance: Importance
    content: str
    truncated: bool
    condensed: str | UnsetType = UNSET


class FileContent(Struct, frozen=True):
    """Text of a file. `condensed` says how its kind of file was shortened; it counts as
    truncated."""

    path: str
    content: str
    truncated: bool
    original_size_bytes: int
    condensed: str | UnsetType = UNSET


class PackMetadata(Struct, frozen=True):
    """`encoding_issues` is the seed's "log encoding issues in metadata"."""

    pack_type: PackType
    created_at: str
    source_root: str
    total_files_scanned: int
    files_included: int
    files_excluded: int
    total_content_bytes: int
    truncation_applied: bool
    encoding_issues: tuple[str, ...] = ()


class FullPack(Struct, frozen=True, tag_field="type", tag="full"):
    """`contents` holds the text of every extractable file, and `key_files` repeats those to read
    first. Both copies count in `total_content_bytes`; if they do not fit, only `contents` has the
    text."""

    manifest: Manifest
    file_index: tuple[FileIndexEntry, ...]
    key_files: tuple[KeyFile, ...]
    contents: tuple[FileContent, ...]
    metadata: PackMetadata
    schema_version: int = SCHEMA_VERSION


class RepoSummary(Struct, frozen=True):
    description: str = ""
    architecture_pattern: str = ""
    key_technologies: tuple[str, ...] = ()
    notable_patterns: tuple[str, ...] = ()
    potential_concerns: tuple[str, ...] = ()


class KeyFileSummary(Struct, frozen=True):
    path: str
    category: FileCategory
    summary: str = ""
    exports: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    notable_code: tuple[str, ...] = ()


class FileSummary(Struct, frozen=True):
    """A source file without its text. `used_by` counts the files of the project that use it;
    `outline` holds signatures with their line numbers and first documentation lines."""

    path: str
    used_by: int = 0
    summary: str = ""
    exports: tuple[str, ...] = ()
    outline: tuple[str, ...] = ()


class EntrypointSummary(Struct, frozen=True):
    path: str
    type: EntrypointType
    description: str = ""
    routes_or_commands: tuple[str, ...] | UnsetType = UNSET


class RiskHotspot(Struct, frozen=True):
    path: str
    risk_type: RiskType
    description: str
    indicators: tuple[str, ...]


class SummaryPack(Struct, frozen=True, tag_field="type", tag="summary"):
    manifest: Manifest
    file_index: tuple[FileIndexEntry, ...]
    repo_summary: RepoSummary
    key_files_summary: tuple[KeyFileSummary, ...]
    entrypoints: tuple[EntrypointSummary, ...]
    risk_hotspots: tuple[RiskHotspot, ...]
    metadata: PackMetadata
    files: tuple[FileSummary, ...] = ()
    schema_version: int = SCHEMA_VERSION


class PackConstraints(Struct, frozen=True):
    """`provider_limits` are bytes by provider; the smallest of them applies besides
    `max_content_bytes`."""

    max_content_bytes: int = 500_000
    max_files: int = 200
    prefer_summary: bool = False
    provider_limits: dict[str, int] = {}


class TruncationConfig(Struct, frozen=True):
    max_file_bytes: int = 50_000
    max_total_bytes: int = 500_000
    preserve_head_lines: int = 100
    preserve_tail_lines: int = 50
    truncation_marker: str = "\n... [truncated] ...\n"


class PackChange(Struct, frozen=True):
    """A file that differs between two packs; a level is how much of it is shown, empty for
    nothing."""

    path: str
    before: str
    after: str
    why: str


class PackDiff(Struct, frozen=True):
    """Files that entered, left, are shown at another level, or with another text."""

    entered: tuple[PackChange, ...] = ()
    left: tuple[PackChange, ...] = ()
    level_changed: tuple[PackChange, ...] = ()
    content_changed: tuple[PackChange, ...] = ()
    schema_version: int = SCHEMA_VERSION


class Moved(Struct, frozen=True):
    """A file that changed since the pack was built; `now` is empty if it is gone."""

    path: str
    was: str
    now: str


class PackCheck(Struct, frozen=True):
    """Comparison of a pack with the folder. `altered`: the file is unchanged, but yields another
    text than the pack shows."""

    pack_id: str
    files: int
    moved: tuple[Moved, ...] = ()
    altered: tuple[str, ...] = ()
    receipt: str = ""  # when and where to, if this installation's ledger knows the pack
    schema_version: int = SCHEMA_VERSION
