"""Full and summary packs (seed 004): the choice between the two, and how each is built from clean
text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import replace

from sutler.formats.document import CleanText
from sutler.paths import basename, normalize_path, wire_path
from sutler.scan.classify import Classified, classified, extractable, facts_of
from sutler.scan.snapshot import Problem, Snapshot
from sutler.survey import wire
from sutler.survey.code import CodeFacts, code_facts
from sutler.survey.entries import entrypoints
from sutler.survey.graph import weights
from sutler.survey.keys import KeyLimits, Named, key_files, largest
from sutler.survey.manifest import Surveyed, survey_manifest
from sutler.survey.repository import described_files, key_file_summary, repo_summary
from sutler.survey.risks import hotspots

_CONSTRAINTS = wire.PackConstraints()
_CUT = wire.TruncationConfig()
_KEYS = KeyLimits()
Truncated = tuple[str, bool]
"""A text within its limit, and whether it was cut."""


class Material(Struct, frozen=True, kw_only=True):
    """Input of the builders. `texts` holds the files that were read and redacted; `order` decides
    which come first if the budget is short; `users` are the users of each file; `created_at` is the
    caller's clock; `problems` are those of reading; `surveyed` saves a second survey if the caller
    has made one."""

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
        """Weight of each file: its users and the files that it uses."""
        return weights(self.users, {entry.path: entry.size for entry in self.snapshot.entries})


def named_files(surveyed: Surveyed) -> Named:
    """Return the entry points and the manifests that were read, those of the project's own kind
    first."""
    kind = surveyed.manifest.project_type
    manifests = sorted(surveyed.found, key=lambda found: found.ecosystem not in kind)
    return Named(surveyed.manifest.entry_points, tuple(found.path for found in manifests))


def select_pack(
    snapshot: Snapshot,
    constraints: wire.PackConstraints = _CONSTRAINTS,
    cut: wire.TruncationConfig = _CUT,
    measured: Mapping[str, int] | None = None,
) -> tuple[wire.PackType, str]:
    """Choose by the seed's selection logic, with the reason for the transparency record. `measured`
    are the bytes that each file would show, if the files were read; otherwise the sizes decide."""
    if constraints.prefer_summary:
        return "summary", "prefer_summary is set"
    sizes = list((measured or {}).values())
    if measured is None:
        entries = [entry for entry, facts in classified(snapshot) if extractable(facts)]
        sizes = [min(entry.size, cut.max_file_bytes) for entry in entries]
    estimate = sum(sizes)
    for name, limit in _limits(constraints):
        if estimate > limit:
            return "summary", f"estimated {estimate:,} bytes exceed {name} of {limit:,}"
    if len(sizes) > constraints.max_files:
        return "summary", f"{len(sizes):,} files exceed max_files of {constraints.max_files:,}"
    return (
        "full",
        f"{len(sizes):,} files and an estimated {estimate:,} bytes are within every limit",
    )


def _limits(constraints: wire.PackConstraints) -> list[tuple[str, int]]:
    providers = sorted(constraints.provider_limits.items())
    own = [("max_content_bytes", constraints.max_content_bytes)]
    return own + [(f"the limit for provider {name}", limit) for name, limit in providers]


def truncate(
    text: str, cut: wire.TruncationConfig = _CUT, limit: int | None = None
) -> tuple[str, bool]:
    """Keep head and tail around a marker if the text exceeds the byte limit; longer lines are cut
    inside."""
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


def _within(clean: CleanText, cut: wire.TruncationConfig, limit: int | None = None) -> Truncated:
    text, was_cut = truncate(clean.text, cut, limit)
    return text, was_cut or bool(clean.condensed)


def byte_length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "ignore")


class _Shown(Struct):
    """Texts of a full pack so far, and their cost: those in `contents`, and those of key files that
    `key_files` repeats. A text that does not fit the room is left out."""

    room: int = 0
    used: int = 0
    texts: dict[str, Truncated] = {}
    repeated: dict[str, Truncated] = {}

    def show(self, paths: Iterable[str], texts: Mapping[str, Truncated]) -> None:
        for path in paths:
            if path in texts and path not in self.texts and self._paid(texts[path]):
                self.texts[path] = texts[path]

    def repeat(self, texts: Mapping[str, Truncated]) -> None:
        for path, text in texts.items():
            if path in self.texts and path not in self.repeated and self._paid(text):
                self.repeated[path] = text

    def _paid(self, truncated: Truncated) -> bool:
        size = byte_length(truncated[0])
        if self.used + size > self.room:
            return False
        self.used += size
        return True


def build_full(
    material: Material,
    constraints: wire.PackConstraints = _CONSTRAINTS,
    cut: wire.TruncationConfig = _CUT,
    limits: KeyLimits = _KEYS,
) -> wire.FullPack:
    """Build manifest, index, all text, the key files once more, and metadata. Key files come first
    if room is short, and both copies of their text count."""
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
    first = [entry.path for entry, _ in keys]
    rest = [entry.path for entry, facts in pairs if extractable(facts) and entry.path not in first]
    shown = _Shown(room)
    key_cap = min(cut.max_file_bytes, limits.max_content_per_file_bytes)
    texts = {path: _within(clean, cut) for path, clean in material.texts.items()}
    repeats: dict[str, Truncated] = {
        path: _within(material.texts[path], cut, key_cap) for path in first
    }
    if sum(byte_length(text) for text, _ in texts.values()) > room:
        # Not every text fits once: the key files come first, with both of their copies.
        shown.show(first, texts)
        shown.repeat(repeats)
    shown.show([*first, *_ordered(rest, material.order)], texts)
    shown.repeat(repeats)
    sizes: dict[str, int] = {entry.path: entry.size for entry, _ in pairs}
    return wire.FullPack(
        manifest=_with_wire_paths(surveyed.manifest),
        file_index=_index(material, pairs, shown.texts.keys(), "size_limit"),
        key_files=tuple(
            wire.KeyFile(
                wire_path(entry.path),
                facts.category,
                facts.importance or "medium",
                *shown.repeated[entry.path],
                material.texts[entry.path].condensed or UNSET,
            )
            for entry, facts in keys
            if entry.path in shown.repeated
        ),
        contents=tuple(
            wire.FileContent(
                wire_path(path),
                *shown.texts[path],
                sizes[path],
                material.texts[path].condensed or UNSET,
            )
            for path in sorted(shown.texts)
        ),
        metadata=_metadata("full", material, pairs, shown.texts.keys(), shown),
    )


def _ordered(paths: Iterable[str], order: Sequence[str]) -> list[str]:
    """Sort by the caller's order, then by path; generated files come last."""
    rank = {path: index for index, path in enumerate(order)}

    def place(path: str) -> tuple[int, bool, str]:
        facts = facts_of(path)
        return rank.get(path, len(rank)), facts.lock or facts.generated, path

    return sorted(paths, key=place)


def survey(material: Material, pairs: list[Classified]) -> Surveyed:
    """Return the project's manifest, and the problems of reading it."""
    if material.surveyed is not None:
        return material.surveyed
    plain = {path: clean.text for path, clean in material.texts.items()}
    root_name = wire_path(basename(normalize_path(material.root)))
    return survey_manifest(pairs, plain, root_name)


def _with_wire_paths(manifest: wire.Manifest) -> wire.Manifest:
    """Encode the entry points of a manifest for JSON; until then they are names of files."""
    return replace(manifest, entry_points=tuple(map(wire_path, manifest.entry_points)))


_Addressed = TypeVar(
    "_Addressed", wire.KeyFileSummary, wire.EntrypointSummary, wire.RiskHotspot, wire.FileSummary
)


def _addressed(items: Iterable[_Addressed]) -> tuple[_Addressed, ...]:
    """Encode the items' paths for JSON."""
    return tuple(replace(item, path=wire_path(item.path)) for item in items)


def _index(
    material: Material,
    pairs: list[Classified],
    included: Iterable[str],
    reason: wire.ExclusionReason,
) -> tuple[wire.FileIndexEntry, ...]:
    """Return all scanned and excluded files by path, without pruned folders. `reason` applies to
    files whose text is not included."""
    inside = set(included)
    rows = [
        wire.FileIndexEntry(
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
                wire.FileIndexEntry(
                    wire_path(out.path),
                    facts.type,
                    facts.category,
                    0,
                    False,
                    wire.seed_reason(out.reason),
                )
            )
    return tuple(sorted(rows, key=lambda row: row.path))


def _left_out(kind: str, reason: wire.ExclusionReason) -> wire.ExclusionReason:
    return "binary" if kind in ("binary", "image", "data") else reason


def _metadata(
    kind: wire.PackType,
    material: Material,
    pairs: list[Classified],
    included: Iterable[str],
    shown: _Shown,
) -> wire.PackMetadata:
    inside = set(included)
    out = sum(item.count for item in material.snapshot.excluded)
    missing = [entry for entry, facts in pairs if extractable(facts) and entry.path not in inside]
    issues = [
        item
        for item in (*material.snapshot.problems, *material.problems)
        if item.kind == "undecodable"
    ]
    return wire.PackMetadata(
        pack_type=kind,
        created_at=material.created_at,
        source_root=wire_path(normalize_path(material.root)),
        total_files_scanned=len(pairs) + out,
        files_included=len(inside),
        files_excluded=len(pairs) - len(inside) + out,
        total_content_bytes=shown.used,
        truncation_applied=any(cut for _, cut in shown.texts.values())
        or (kind == "full" and bool(missing)),
        encoding_issues=tuple(f"{wire_path(item.path)}: {item.detail}" for item in issues),
    )


def build_summary(material: Material, limits: KeyLimits = _KEYS) -> wire.SummaryPack:
    """Build manifest and index with facts in place of text: summaries of key files, entry points,
    hotspots."""
    pairs = classified(material.snapshot)
    plain = {path: clean.text for path, clean in material.texts.items()}
    surveyed = survey(material, pairs)
    code: dict[str, CodeFacts] = {
        entry.path: code_facts(entry.path, plain[entry.path])
        for entry, facts in pairs
        if entry.path in plain and facts.tag in ("code", "config")
    }
    central = material.central
    keys = key_files(
        [pair for pair in pairs if pair[0].path in code],
        central,
        named_files(surveyed),
        plain,
        limits,
    )
    if all(facts.category == "config" for _, facts in keys):
        keys += tuple(largest([pair for pair in pairs if pair[0].path in code], limits))
    starts = entrypoints(pairs, plain, code, surveyed.manifest.entry_points, surveyed.found)
    summaries = tuple(
        key_file_summary(pair, plain[pair[0].path], code[pair[0].path]) for pair in keys
    )
    spots = hotspots(pairs, plain, code, material.users)
    overview = repo_summary(pairs, surveyed, starts, material.snapshot.excluded, plain)
    described = described_files(pairs, code, central, material.users)
    groups = (summaries, starts, spots, described)
    included = sorted({item.path for group in groups for item in group})
    summaries, starts, spots = _addressed(summaries), _addressed(starts), _addressed(spots)
    described = _addressed(described)
    shown = _Shown(used=len(msgspec.json.encode((overview, summaries, starts, spots, described))))
    return wire.SummaryPack(
        manifest=_with_wire_paths(surveyed.manifest),
        file_index=_index(material, pairs, included, "not_selected"),
        repo_summary=overview,
        key_files_summary=summaries,
        entrypoints=starts,
        risk_hotspots=spots,
        metadata=_metadata("summary", material, pairs, included, shown),
        files=described,
    )
