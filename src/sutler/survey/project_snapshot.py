"""Seed 004's ProjectSnapshot from a scan: tree, totals, metadata, exclusions and their
statistics."""

from __future__ import annotations

from collections import Counter

from msgspec import UNSET
from msgspec.structs import replace

from sutler.paths import basename, dirname, extension, normalize_path, wire_path
from sutler.scan.classify import extractable, facts_of
from sutler.scan.snapshot import Snapshot
from sutler.survey import wire


def project_snapshot(
    snapshot: Snapshot, root_path: str, scan_timestamp: str = ""
) -> wire.ProjectSnapshot:
    root = normalize_path(root_path)
    files = tuple(_metadata(root, entry.path, entry.size) for entry in snapshot.entries)
    excluded = tuple(
        wire.ExcludedFile(
            wire_path(out.path), wire.seed_reason(out.reason), out.reason, str(out.rule)
        )
        for out in snapshot.excluded
    )
    return wire.ProjectSnapshot(
        root_path=root,
        scan_timestamp=scan_timestamp,
        directory_tree=directory_tree(snapshot, basename(root) or "."),
        total_files=len(files),
        total_directories=snapshot.directories or len(_folders(snapshot)),
        total_size_bytes=sum(entry.size for entry in snapshot.entries),
        files=files,
        excluded_files=excluded,
        exclusion_stats=exclusion_stats(snapshot),
        problems=tuple(replace(one, path=wire_path(one.path)) for one in snapshot.problems)
        or UNSET,
    )


def _metadata(root: str, path: str, size: int) -> wire.FileMetadata:
    facts = facts_of(path)
    return wire.FileMetadata(
        path=wire_path(f"{root}/{path}" if root else path),
        relative_path=wire_path(path),
        name=wire_path(basename(path)),
        extension=wire_path(extension(path)),
        size_bytes=size,
        type=facts.type,
        category=facts.category,
        is_key_file=facts.key,
        content_extractable=extractable(facts),
    )


def exclusion_stats(snapshot: Snapshot) -> wire.ExclusionStats:
    """Count exclusions in four sums over the seven reasons; dependency, build and cache folders
    count as patterns."""
    counts: Counter[str] = Counter()
    for out in snapshot.excluded:
        counts[wire.seed_reason(out.reason)] += out.count
    named = counts["size_limit"] + counts["binary"] + counts["credentials"]
    return wire.ExclusionStats(
        by_pattern=counts.total() - named,
        by_size=counts["size_limit"],
        by_binary=counts["binary"],
        by_credentials=counts["credentials"],
    )


def _folders(snapshot: Snapshot) -> list[str]:
    """Return every folder that holds a file, parents included, deepest first."""
    found: set[str] = set()
    for entry in snapshot.entries:
        folder = dirname(entry.path)
        while folder and folder not in found:
            found.add(folder)
            folder = dirname(folder)
    return sorted(found, key=lambda path: (-path.count("/"), path))


def directory_tree(snapshot: Snapshot, name: str) -> wire.TreeNode:
    """Build nested folders with children sorted by name. It starts from the leaves, so that depth
    costs no recursion."""
    children: dict[str, list[wire.TreeNode]] = {}
    for entry in snapshot.entries:
        node = wire.TreeNode(
            wire_path(basename(entry.path)),
            wire_path(entry.path),
            size_bytes=entry.size,
            type=facts_of(entry.path).type,
        )
        children.setdefault(dirname(entry.path), []).append(node)
    for folder in _folders(snapshot):
        node = wire.TreeNode(
            wire_path(basename(folder)), wire_path(folder), _sorted(children.pop(folder, []))
        )
        children.setdefault(dirname(folder), []).append(node)
    return wire.TreeNode(name, "", _sorted(children.get("", [])))


def _sorted(nodes: list[wire.TreeNode]) -> tuple[wire.TreeNode, ...]:
    return tuple(sorted(nodes, key=lambda node: node.name))
