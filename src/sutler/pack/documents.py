"""Seed 004's documents: a project's snapshot, its full pack and its summary pack, built from clean
text alone."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Mapping
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from sutler.budget.selection import Choice
from sutler.budget.shrink import outline_text
from sutler.config import Settings, parse_size
from sutler.errors import UsageError
from sutler.formats.document import CleanText
from sutler.pack.diff import level_of
from sutler.pack.load import Loader
from sutler.pack.report import Shown, shown_text
from sutler.pack.scope import Scope
from sutler.pack.sources import own_sources, read_sources, workspace_packages
from sutler.paths import RelPath, rel_of
from sutler.scan.classify import Classified, classified, extractable, facts_of
from sutler.scan.snapshot import Excluded, FileEntry, Problem, Reason, Rule, Snapshot
from sutler.secrets.cleaner import as_it_is
from sutler.survey import graph, packs
from sutler.survey.keys import key_files
from sutler.survey.manifest import survey_manifest
from sutler.survey.needs import survey_needs
from sutler.survey.project_snapshot import project_snapshot
from sutler.survey.wire import (
    FullPack,
    PackConstraints,
    PackType,
    ProjectSnapshot,
    SummaryPack,
    TruncationConfig,
)
from sutler.tasks.wire import ContextPack

NO_LIMIT = 2**62  # so that min() needs no special case
TOKEN_BYTES = 4
"""Approximate bytes of source text in a token: only for the choice between full and summary under a
token budget."""


class Made(Struct, frozen=True):
    """A document with its account: shown files, exclusions, problems."""

    document: FullPack | SummaryPack | ContextPack
    shown: tuple[Shown, ...]
    excluded: tuple[Excluded, ...]
    problems: tuple[Problem, ...]
    linked: tuple[RelPath, ...] = ()  # shown files that have another name somewhere


def constraints_of(settings: Settings) -> PackConstraints:
    """Convert the settings to seed 004's constraints."""
    limit, unit = settings.limit()
    files = settings.number("max_files")
    bytes_allowed = NO_LIMIT if limit is None else limit * (TOKEN_BYTES if unit == "tokens" else 1)
    plain = PackConstraints()
    return PackConstraints(
        max_content_bytes=bytes_allowed,
        max_files=plain.max_files if files is None else files,
        provider_limits=_provider_limits(settings.words("provider_limits")),
    )


def _provider_limits(words: Iterable[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in words:
        name, sign, size = word.partition("=")
        if not sign or not name.strip():
            raise UsageError(
                f"'{word}' is not a provider's limit",
                next_step="write NAME=SIZE, such as anthropic=400k",
            )
        found[name.strip()] = parse_size(size.strip(), f"provider_limits: {name.strip()}")
    return found


def cut_of(settings: Settings, constraints: PackConstraints) -> TruncationConfig:
    return TruncationConfig(
        max_file_bytes=settings.number("cut_over") or NO_LIMIT,
        max_total_bytes=constraints.max_content_bytes,
    )


def chosen(
    project: Scope, *, capped: bool = True
) -> tuple[Snapshot, tuple[str, ...], frozenset[str]]:
    """Return the scan reduced by the globs, as a snapshot; its paths, strongest claim first; and
    those to show as outlines."""
    snapshot = project.scan()
    request = project.request()
    selection = project.select(snapshot, request if capped else replace(request, max_files=None))
    entries = sorted((choice.entry for choice in selection.choices), key=lambda entry: entry.path)
    excluded = sorted((*snapshot.excluded, *selection.excluded), key=lambda item: item.path)
    paths = tuple(choice.path for choice in selection.choices)
    outlined = frozenset(choice.path for choice in selection.choices if choice.outline)
    return replace(snapshot, entries=tuple(entries), excluded=tuple(excluded)), paths, outlined


def outlined_text(clean: CleanText, path: str) -> CleanText:
    """Replace the text of a file by its outline, if it has one."""
    outline = outline_text(path, clean.text)
    return replace(clean, text=outline, condensed="outline", moved=True) if outline else clean


def snapshot_of(project: Scope) -> ProjectSnapshot:
    """Build seed 004's ProjectSnapshot. Its root is the folder's name: no path of this machine
    leaves."""
    project = project.numbered()
    snapshot, _, _ = chosen(project)
    now = os.environ.get("SOURCE_DATE_EPOCH", "") or str(int(datetime.now(UTC).timestamp()))
    return project_snapshot(snapshot, project.clean()(project.name, "").text, _moment(now))


def select_type(project: Scope, constraints: PackConstraints) -> tuple[PackType, str]:
    """Return full or summary, and why. Too many files are a reason for a summary here, so the limit
    on files does not apply first."""
    snapshot, _, outlined = chosen(project, capped=False)
    cut = cut_of(project.settings, constraints)
    measured = _measured(project, snapshot, constraints, cut, outlined)
    return packs.select_pack(snapshot, constraints, cut, measured)


def _measured(
    project: Scope,
    snapshot: Snapshot,
    constraints: PackConstraints,
    cut: TruncationConfig,
    outlined: frozenset[str],
) -> dict[str, int] | None:
    """Return the bytes that each file would show in a full pack. None if there are more files than
    such a pack may have: then no file need be read."""
    entries = [entry for entry, facts in classified(snapshot) if extractable(facts)]
    if len(entries) > constraints.max_files or constraints.prefer_summary:
        return None
    sizes: dict[str, int] = {}
    with project.opened().reader() as reader:
        # Unredacted text is only measured here: a marker differs by some bytes.
        loader = Loader(reader, as_it_is, project.settings)
        for entry in entries:
            material = loader.material(Choice(entry, facts_of(entry.path), 0, 0.0, ""))
            if not isinstance(material, Excluded):
                clean = material.clean
                if entry.path in outlined:
                    clean = outlined_text(clean, entry.path)
                text, _ = packs.truncate(clean.text, cut)
                sizes[entry.path] = packs.byte_length(text)
    return sizes


def make_full(project: Scope, constraints: PackConstraints) -> Made:
    project = project.numbered()
    cut = cut_of(project.settings, constraints)
    material = _gather(
        project, room=min(constraints.max_content_bytes, *_provider_rooms(constraints)), cut=cut
    )
    document = packs.build_full(material, constraints, cut)
    reasons = {key.path: f"key file: {key.category}" for key in document.key_files}
    shown = [
        shown_text(
            rel_of(item.path),
            level_of(item),
            item.content,
            reasons.get(item.path, "text"),
            material.texts.get(rel_of(item.path)),
        )
        for item in document.contents
    ]
    rule = Rule("max_content_bytes", f"{constraints.max_content_bytes:,}")
    return _made(document, shown, material, rule)


def _provider_rooms(constraints: PackConstraints) -> list[int]:
    return [NO_LIMIT, *constraints.provider_limits.values()]


def make_summary(project: Scope, constraints: PackConstraints) -> Made:
    del constraints  # a summary is the fallback for constraints, not subject to them
    material = _gather(project.numbered())
    document = packs.build_summary(material)
    keys = {one.path: one for one in document.key_files_summary}
    groups = (document.key_files_summary, document.entrypoints, document.risk_hotspots)
    paths = sorted({one.path for group in groups for one in group})
    shown = [
        shown_text(
            rel_of(path),
            "summary",
            str(keys.get(path, "")),
            "facts, no text",
            material.texts.get(rel_of(path)),
        )
        for path in paths
    ]
    return _made(
        document,
        shown,
        material,
        Rule("summary", "facts of key files, entry points and hotspots only"),
    )


def _made(
    document: FullPack | SummaryPack, shown: list[Shown], material: packs.Material, rule: Rule
) -> Made:
    """Account for the files that a document shows and omits. A summary omits by choice, not for
    lack of room."""
    reason: Reason = "not_selected" if isinstance(document, SummaryPack) else "budget"
    inside = {one.path for one in shown}
    left = [
        Excluded(entry.path, reason if extractable(facts) else "binary", rule)
        for entry, facts in classified(material.snapshot)
        if entry.path not in inside
    ]
    excluded = sorted((*material.snapshot.excluded, *left), key=lambda item: item.path)
    problems = sorted(set(material.problems), key=lambda one: (one.path, one.kind, one.detail))
    linked = linked_of(material.snapshot.entries, inside)
    return Made(
        document,
        tuple(sorted(shown, key=lambda one: one.path)),
        tuple(excluded),
        tuple(problems),
        linked,
    )


def linked_of(entries: Iterable[FileEntry], shown: Container[str]) -> tuple[RelPath, ...]:
    return tuple(entry.path for entry in entries if entry.links > 1 and entry.path in shown)


def _gather(
    project: Scope, room: int | None = None, cut: TruncationConfig | None = None
) -> packs.Material:
    """Read and clean the input of a summary; with `room`, also as many texts as may enter a full
    pack."""
    snapshot, order, outlined = chosen(project, capped=room is not None)
    pairs = classified(snapshot)
    sources = read_sources(project.opened(), own_sources(pairs))
    users = graph.users(sources, workspace_packages(project.opened(), pairs))
    central = graph.weights(users, {entry.path: entry.size for entry, _ in pairs})
    needs = survey_needs(pairs, central, code=room is None)
    huge = {one.path for one in needs.problems}
    wanted = [*needs.paths]
    if room is not None and cut is not None:
        wanted += _affordable(pairs, order, central, room, cut.max_file_bytes, huge)
    with project.opened().reader() as reader:
        sizes = sum(entry.size for entry, _ in pairs if entry.path in set(wanted))
        loader = Loader(reader, project.clean(sizes), project.settings)
        texts, digests, lost = _loaded(loader, pairs, wanted)
        plain = {path: text for path, (_, text) in sources.items()}
        surveyed = survey_manifest(
            pairs,
            {path: clean.text for path, clean in texts.items()},
            project.clean()(project.name, "").text,
            plain,
        )
        starts = [path for path in surveyed.manifest.entry_points if path not in texts]
        more, more_digests, more_lost = _loaded(loader, pairs, starts)
    if room is not None:  # a summary shows outlines anyway
        texts.update({path: outlined_text(texts[path], path) for path in outlined & texts.keys()})
    texts, digests, lost = {**texts, **more}, {**digests, **more_digests}, [*lost, *more_lost]
    out = {item.path for item in lost}
    snapshot = replace(
        snapshot,
        entries=tuple(entry for entry in snapshot.entries if entry.path not in out),
        excluded=tuple(sorted((*snapshot.excluded, *lost), key=lambda item: item.path)),
    )
    material_of = packs.Material(
        snapshot=snapshot,
        texts=texts,
        root=project.clean()(project.name, "").text,
        created_at=created_at(snapshot),
        digests=digests,
        order=order,
        users=users,
        problems=(*snapshot.problems, *loader.problems, *needs.problems),
    )
    return replace(
        material_of, surveyed=surveyed, problems=(*material_of.problems, *surveyed.problems)
    )


def _loaded(
    loader: Loader, pairs: list[Classified], wanted: Iterable[str]
) -> tuple[dict[str, CleanText], dict[str, str], list[Excluded]]:
    """Return clean texts and digests of files, and those that turned out to be no text."""
    paths = set(wanted)
    texts: dict[str, CleanText] = {}
    digests: dict[str, str] = {}
    lost: list[Excluded] = []
    for entry, facts in pairs:
        if entry.path not in paths:
            continue
        material = loader.material(Choice(entry, facts, 0, 0.0, ""))
        if isinstance(material, Excluded):
            lost.append(material)
        else:
            texts[entry.path] = material.clean
            digests[entry.path] = material.loaded.digest
    return texts, digests, lost


def _affordable(
    pairs: list[Classified],
    order: Iterable[str],
    central: Mapping[str, int],
    room: int,
    file_limit: int,
    huge: set[str],
) -> list[str]:
    """Return the files that can enter by their sizes alone: key files first, then by claim. Others
    are not read."""
    sizes: dict[str, int] = {entry.path: entry.size for entry, facts in pairs if extractable(facts)}
    keys = [entry.path for entry, _ in key_files(pairs, central)]
    affordable: list[str] = []
    for path in dict.fromkeys([*keys, *order]):
        cost = min(sizes.get(path, room + 1), file_limit)
        if path not in huge and cost <= room:
            room -= cost
            affordable.append(path)
    return affordable


def created_at(snapshot: Snapshot, environ: Mapping[str, str] = os.environ) -> str:
    """Return the time of the newest file, which is the same for the same files; SOURCE_DATE_EPOCH
    outranks it. The receipt has the time and destination of the pack itself."""
    newest = max((entry.mtime_ns for entry in snapshot.entries), default=0) // 1_000_000_000
    return _moment(environ.get("SOURCE_DATE_EPOCH", "") or str(newest))


def _moment(seconds: str) -> str:
    try:
        return (
            datetime.fromtimestamp(int(seconds), UTC)
            .isoformat(timespec="seconds")
            .replace("+00:00", "Z")
        )
    except (ValueError, OverflowError, OSError):
        return ""  # some file systems have times beyond any calendar year
