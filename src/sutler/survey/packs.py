"""Full and summary packs (seed 004): which of the two, and how each is built from clean text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from sutler.formats.document import CleanText
from sutler.formats.transparency import ContextPackInfo, ExclusionsByReason
from sutler.paths import basename, normalize_path, wire_path
from sutler.scan.classify import Classified, KeyLimits, extractable, facts_of
from sutler.scan.snapshot import Problem, Snapshot
from sutler.survey.code import CodeFacts, code_facts
from sutler.survey.entries import entrypoints
from sutler.survey.keys import Named, key_files
from sutler.survey.manifest import Surveyed, survey_manifest
from sutler.survey.repository import described_files, key_file_summary, repo_summary
from sutler.survey.risks import hotspots
from sutler.survey.wire import (
    EntrypointSummary,
    ExclusionReason,
    FileContent,
    FileIndexEntry,
    FileSummary,
    FullPack,
    KeyFile,
    KeyFileSummary,
    Manifest,
    PackConstraints,
    PackMetadata,
    PackType,
    RiskHotspot,
    SummaryPack,
    TruncationConfig,
    seed_reason,
)

_CONSTRAINTS = PackConstraints()
_CUT = TruncationConfig()
_KEYS = KeyLimits()


class Material(Struct, frozen=True, kw_only=True):
    """All a builder may use. `texts` holds the files that were read and redacted; `order` says
    which come first when the budget is short; `users` who uses which file; `created_at` is the caller's clock; `problems` are
    those of reading; `surveyed` saves a second survey where the caller has made one.
    """

    snapshot: Snapshot
    texts: Mapping[str, CleanText]
    root: str = ""
    created_at: str = ""
    digests: Mapping[str, str] = {}
    order: Sequence[str] = ()
    problems: tuple[Problem, ...] = ()
    surveyed: Surveyed | None = None
    users: Mapping[str, Sequence[str]] = {}

    @property
    def central(self) -> dict[str, int]:
        return {path: len(by) for path, by in self.users.items()}


def named_files(surveyed: Surveyed) -> Named:
    """Entry points and the manifests that were read, those of the project's own kind first."""
    kind = surveyed.manifest.project_type
    manifests = sorted(surveyed.found, key=lambda found: found.ecosystem not in kind)
    return Named(surveyed.manifest.entry_points, tuple(found.path for found in manifests))


def classified(snapshot: Snapshot) -> list[Classified]:
    return [(entry, facts_of(entry.path)) for entry in snapshot.entries]


def select_pack(
    snapshot: Snapshot, constraints: PackConstraints = _CONSTRAINTS, cut: TruncationConfig = _CUT
) -> tuple[PackType, str]:
    """The seed's selection logic, with the reason for the transparency record."""
    if constraints.prefer_summary:
        return "summary", "prefer_summary is set"
    sizes = [entry.size for entry, facts in classified(snapshot) if extractable(facts)]
    estimate = sum(min(size, cut.max_file_bytes) for size in sizes)
    for name, limit in _limits(constraints):
        if estimate > limit:
            return "summary", f"estimated {estimate:,} bytes exceed {name} of {limit:,}"
    if len(sizes) > constraints.max_files:
        return "summary", f"{len(sizes):,} files exceed max_files of {constraints.max_files:,}"
    return (
        "full",
        f"{len(sizes):,} files and an estimated {estimate:,} bytes are within every limit",
    )


def _limits(constraints: PackConstraints) -> list[tuple[str, int]]:
    providers = sorted(constraints.provider_limits.items())
    own = [("max_content_bytes", constraints.max_content_bytes)]
    return own + [(f"the limit for provider {name}", limit) for name, limit in providers]


def truncate(text: str, cut: TruncationConfig = _CUT, limit: int | None = None) -> tuple[str, bool]:
    """Head, marker, tail when the text is over the byte limit; lines too long for that are cut
    within.
    """
    limit = cut.max_file_bytes if limit is None else min(limit, cut.max_file_bytes)
    if len(text) <= limit and len(text.encode("utf-8", "surrogatepass")) <= limit:
        return text, False
    lines = text.split("\n")
    head, tail = cut.preserve_head_lines, cut.preserve_tail_lines
    shown = text
    if len(lines) > head + tail:
        shown = (
            "\n".join(lines[:head]) + cut.truncation_marker + "\n".join(lines[len(lines) - tail :])
        )
    raw = shown.encode("utf-8", "surrogatepass")
    if len(raw) <= limit:
        return shown, True
    room = limit - len(cut.truncation_marker.encode())
    if room <= 0:
        return _decode(raw[: max(limit, 0)]), True
    front = room * 2 // 3
    return _decode(raw[:front]) + cut.truncation_marker + _decode(
        raw[len(raw) - (room - front) :]
    ), True


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "ignore")


class _Shown(Struct):
    """What a full pack shows so far, and what it has cost."""

    used: int = 0
    truncated: int = 0
    texts: dict[str, tuple[str, bool]] = {}


def build_full(
    material: Material,
    constraints: PackConstraints = _CONSTRAINTS,
    cut: TruncationConfig = _CUT,
    limits: KeyLimits = _KEYS,
) -> FullPack:
    """Manifest, index, key files, all other text, metadata. Key files are shown first when room is
    short.
    """
    pairs = classified(material.snapshot)
    surveyed = survey(material, pairs)
    keys = key_files(
        [pair for pair in pairs if pair[0].path in material.texts],
        material.central,
        named_files(surveyed),
        {path: clean.text for path, clean in material.texts.items()},
        limits,
    )
    room = min(cut.max_total_bytes, *(limit for _, limit in _limits(constraints)))
    shown = _Shown()
    key_cap = min(cut.max_file_bytes, limits.max_content_per_file_bytes)
    for entry, _ in keys:
        _show(entry.path, material, cut, key_cap, room, shown)
    rest = [
        entry.path for entry, facts in pairs if extractable(facts) and entry.path not in shown.texts
    ]
    for path in _ordered(rest, material.order):
        _show(path, material, cut, cut.max_file_bytes, room, shown)
    sizes: dict[str, int] = {entry.path: entry.size for entry, _ in pairs}
    key_paths = {entry.path for entry, _ in keys}
    return FullPack(
        manifest=_spoken(surveyed.manifest),
        file_index=_index(material, pairs, shown.texts.keys(), "size_limit"),
        key_files=tuple(
            KeyFile(
                wire_path(entry.path),
                facts.category,
                facts.importance or "medium",
                *shown.texts[entry.path],
            )
            for entry, facts in keys
            if entry.path in shown.texts
        ),
        contents=tuple(
            FileContent(wire_path(path), *shown.texts[path], sizes[path])
            for path in sorted(shown.texts)
            if path not in key_paths
        ),
        metadata=_metadata("full", material, pairs, shown.texts.keys(), shown),
    )


def _ordered(paths: Iterable[str], order: Sequence[str]) -> list[str]:
    """The caller's order, then by path; what a machine wrote comes last."""
    rank = {path: index for index, path in enumerate(order)}

    def place(path: str) -> tuple[int, bool, str]:
        facts = facts_of(path)
        return rank.get(path, len(rank)), facts.lock or facts.generated, path

    return sorted(paths, key=place)


def _show(
    path: str, material: Material, cut: TruncationConfig, cap: int, room: int, shown: _Shown
) -> None:
    """Add a file whole or cut to its own limit; what no longer fits the total stays out,
    uncrumbled.
    """
    clean = material.texts.get(path)
    if clean is None:
        return
    text, was_cut = truncate(clean.text, cut, cap)
    cost = len(text.encode("utf-8", "surrogatepass"))
    if shown.used + cost <= room:
        shown.used += cost
        shown.truncated += was_cut
        shown.texts[path] = (text, was_cut)


def survey(material: Material, pairs: list[Classified]) -> Surveyed:
    """The project's manifest, and what could not be read on the way to it."""
    if material.surveyed is not None:
        return material.surveyed
    plain = {path: clean.text for path, clean in material.texts.items()}
    root_name = wire_path(basename(normalize_path(material.root)))
    return survey_manifest(pairs, plain, root_name)


def _spoken(manifest: Manifest) -> Manifest:
    """The manifest as JSON carries it; until then its entry points are names of files."""
    return replace(manifest, entry_points=tuple(map(wire_path, manifest.entry_points)))


_Addressed = TypeVar("_Addressed", KeyFileSummary, EntrypointSummary, RiskHotspot, FileSummary)


def _addressed(items: Iterable[_Addressed]) -> tuple[_Addressed, ...]:
    """The same under their paths as JSON carries them."""
    return tuple(replace(item, path=wire_path(item.path)) for item in items)


def _index(
    material: Material,
    pairs: list[Classified],
    included: Iterable[str],
    reason: ExclusionReason,
) -> tuple[FileIndexEntry, ...]:
    """Every scanned file and every excluded one, by path; pruned folders are not files. `reason`
    is why a text is not included.
    """
    inside = set(included)
    rows = [
        FileIndexEntry(
            wire_path(entry.path),
            facts.type,
            facts.category,
            entry.size,
            entry.path in inside,
            UNSET if entry.path in inside else _left_out(facts.type, reason),
            material.digests.get(entry.path, UNSET),
        )
        for entry, facts in pairs
    ]
    for out in material.snapshot.excluded:
        if not out.path.endswith("/"):
            facts = facts_of(out.path)
            rows.append(
                FileIndexEntry(
                    wire_path(out.path),
                    facts.type,
                    facts.category,
                    0,
                    False,
                    seed_reason(out.reason),
                )
            )
    return tuple(sorted(rows, key=lambda row: row.path))


def _left_out(kind: str, reason: ExclusionReason) -> ExclusionReason:
    return "binary" if kind in ("binary", "image", "data") else reason


def _metadata(
    kind: PackType,
    material: Material,
    pairs: list[Classified],
    included: Iterable[str],
    shown: _Shown,
) -> PackMetadata:
    inside = set(included)
    out = sum(item.count for item in material.snapshot.excluded)
    missing = [entry for entry, facts in pairs if extractable(facts) and entry.path not in inside]
    issues = [
        item
        for item in (*material.snapshot.problems, *material.problems)
        if item.kind == "undecodable"
    ]
    return PackMetadata(
        pack_type=kind,
        created_at=material.created_at,
        source_root=wire_path(normalize_path(material.root)),
        total_files_scanned=len(pairs) + out,
        files_included=len(inside),
        files_excluded=len(pairs) - len(inside) + out,
        total_content_bytes=shown.used,
        truncation_applied=shown.truncated > 0 or (kind == "full" and bool(missing)),
        encoding_issues=tuple(f"{wire_path(item.path)}: {item.detail}" for item in issues),
    )


def build_summary(material: Material, limits: KeyLimits = _KEYS) -> SummaryPack:
    """Manifest, index, and facts in place of text: summaries of key files, entry points,
    hotspots.
    """
    pairs = classified(material.snapshot)
    plain = {path: clean.text for path, clean in material.texts.items()}
    surveyed = survey(material, pairs)
    code: dict[str, CodeFacts] = {
        entry.path: code_facts(entry.path, plain[entry.path])
        for entry, facts in pairs
        if entry.path in plain and facts.tag in ("code", "config")
    }
    keys = key_files(
        [pair for pair in pairs if pair[0].path in code],
        material.central,
        named_files(surveyed),
        plain,
        limits,
    )
    starts = entrypoints(pairs, plain, code, surveyed.manifest.entry_points, surveyed.found)
    summaries = tuple(
        key_file_summary(pair, plain[pair[0].path], code[pair[0].path]) for pair in keys
    )
    spots = hotspots(pairs, plain, code, material.users)
    overview = repo_summary(pairs, surveyed, starts, material.snapshot.excluded)
    described = described_files(pairs, code, material.central)
    groups = (summaries, starts, spots, described)
    included = sorted({item.path for group in groups for item in group})
    summaries, starts, spots = _addressed(summaries), _addressed(starts), _addressed(spots)
    described = _addressed(described)
    shown = _Shown(used=len(msgspec.json.encode((overview, summaries, starts, spots, described))))
    return SummaryPack(
        manifest=_spoken(surveyed.manifest),
        file_index=_index(material, pairs, included, "not_selected"),
        repo_summary=overview,
        key_files_summary=summaries,
        entrypoints=starts,
        risk_hotspots=spots,
        metadata=_metadata("summary", material, pairs, included, shown),
        files=described,
    )


def pack_info(pack: FullPack | SummaryPack, snapshot: Snapshot, reason: str) -> ContextPackInfo:
    """The `context_pack_info` of the transparency record."""
    counts: Counter[str] = Counter()
    for out in snapshot.excluded:
        if out.rule.source != "git":  # the inside of `.git` is no file of the project
            counts[seed_reason(out.reason)] += out.count
    for row in pack.file_index:
        if row.exclusion_reason is not UNSET and row.size_bytes:
            counts[row.exclusion_reason] += 1
    named = sum(counts[name] for name in ("credentials", "binary", "size_limit"))
    cut = 0
    if isinstance(pack, FullPack):
        cut = sum(key.truncated for key in pack.key_files) + sum(
            item.truncated for item in pack.contents
        )
    return ContextPackInfo(
        type=pack.metadata.pack_type,
        selection_reason=reason,
        files_scanned=pack.metadata.total_files_scanned,
        files_included=pack.metadata.files_included,
        files_excluded=pack.metadata.files_excluded,
        exclusions_by_reason=ExclusionsByReason(
            credentials=counts["credentials"],
            binary=counts["binary"],
            size=counts["size_limit"],
            pattern=counts.total() - named,
        ),
        content_bytes=pack.metadata.total_content_bytes,
        truncated_files=cut,
    )
