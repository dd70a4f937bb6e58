"""The tools pack, rank and why: answers of the engine for a caller, inside its policy and recorded
in the ledger."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct, convert
from msgspec.structs import replace

from sutler.access.door import Args, Door
from sutler.access.setup import Progress
from sutler.budget.task_fit import RankedRegion, ranked_regions
from sutler.errors import ConflictError, UsageError
from sutler.pack import receipts
from sutler.pack.project import Project
from sutler.pack.why import Verdict, verdict
from sutler.paths import RelPath, quote
from sutler.ranking.score import Ranked
from sutler.secrets.cleaner import redacted_text, redacted_values
from sutler.store.records import Outcome

MOST_TOKENS = 1_000_000  # above any model's context: a mistake that would fill the client's memory
_REGIONS, _LIKELY = 3, 0.05
"""Regions that a ranking names for each file, and the least probability of one."""
_CURSOR = re.compile(r"([0-9]{1,9})@([0-9a-f]{16})")


class PackText(Struct, frozen=True):
    """A pack, or the part of it that fits one answer: characters `first` up to `last` of
    `total`."""

    pack: str
    text: str
    first: int
    last: int
    total: int
    tokens: int
    files: int
    left_out: int
    next: str = ""
    notes: tuple[str, ...] = ()
    trust: str = "untrusted"


class Packed(Struct, frozen=True):
    """An answer and the receipt of the whole pack."""

    answer: PackText
    receipt: receipts.Receipt


class RankedFile(Struct, frozen=True):
    """A file with its most probable regions, as `start-end name`. `lines` are those that the task
    names."""

    path: str
    score: float
    reasons: tuple[str, ...]
    lines: tuple[int, ...] = ()
    regions: tuple[str, ...] = ()


def pack(
    door: Door,
    goal: str,
    globs: tuple[str, ...],
    max_tokens: int,
    since: str,
    diff: bool,
    cursor: str,
) -> PackText:
    """Return the pack that `sutler pack` would print for the files that this caller may read."""
    wanted = ("goal", goal), ("max_tokens", str(max_tokens)), ("since", since), ("cursor", cursor)
    args: Args = (*(pair for pair in wanted if pair[1]), *(("glob", glob) for glob in globs[:50]))
    args += (("diff", "yes"),) if diff else ()

    def work(progress: Progress) -> Packed:
        start, pack = _position(cursor)
        project = _project(door, progress)
        packing = project.pack(
            goal=goal,
            include=globs,
            max_tokens=max_tokens,
            since=since,
            diff=diff,
            mode="ignore",
            format="markdown",
        )
        packing.progress = progress
        text, report = packing.text(), packing.report
        if pack and not report.pack_id.startswith(pack):
            raise ConflictError(
                "the project has changed since the cursor was given", next_step="pack it again"
            )
        end = _within(door, text, start)
        receipt = receipts.receipt_of(
            report,
            project=redacted_text(project.name),
            destination=f"agent {door.gate.caller.id}",
            redacted=project.settings.flag("redact"),
        )
        # Only the budget's exclusions are counted: the number of others would reveal what exists.
        out = sum(item.count for item in report.excluded if item.reason == "budget")
        part, shown = text[start:end], len(report.shown)
        more = f"{end}@{report.pack_id[:16]}" if end < len(text) else ""
        tokens = door.setup.count(part)
        answer = PackText(report.pack_id, part, start, end, len(text), tokens, shown, out, more)
        return Packed(answer, receipt)

    def perform(_: RelPath) -> tuple[PackText, Outcome]:
        if max_tokens > MOST_TOKENS:
            raise UsageError(f"a pack of {max_tokens:,} tokens", rule=f"at most {MOST_TOKENS:,}")
        packed = door.aside(work, Packed)
        answer = packed.answer
        if not answer.first:  # a receipt is for the whole pack, and recorded with its first part
            gate = door.gate
            trouble = receipts.recorded_in(gate.store, gate.ledger.key, packed.receipt)[1]
            answer = replace(answer, notes=(trouble,) if trouble else ())
        size = len(answer.text.encode("utf-8", "replace"))
        return answer, Outcome(bytes=size, tokens=answer.tokens)

    return door.enter("pack", "", args, perform)


def rank(door: Door, goal: str, limit: int) -> tuple[RankedFile, ...]:
    """Return the files that this caller may read, most relevant first."""

    def work(progress: Progress) -> tuple[RankedFile, ...]:
        project = _project(door, progress)
        ranking = project.ranking(project.scan(), goal)
        regions = ranked_regions(ranking, limit, _REGIONS)
        return tuple(map(_ranked, ranking.ranked[:limit], regions))

    def perform(_: RelPath) -> tuple[tuple[RankedFile, ...], Outcome]:
        ranked = door.aside(work, tuple[RankedFile, ...])
        text = "\n".join(f"{file.path} {' '.join(file.reasons)}" for file in ranked)
        return ranked, Outcome(
            bytes=len(text.encode("utf-8", "replace")), tokens=door.setup.count(text)
        )

    return door.enter("rank", "", (("goal", goal), ("limit", str(limit))), perform)


def why(door: Door, path: str) -> Verdict:
    """Return the pipeline's verdict on one path. A path that policy denies is denied here too,
    whether or not it exists."""

    def perform(where: RelPath) -> tuple[Verdict, Outcome]:
        answer = verdict(_project(door), door.root, where)
        return convert(redacted_values(answer), Verdict), Outcome()

    return door.enter("why", path, (), perform, effect="list")


def _ranked(file: Ranked, regions: Iterable[RankedRegion]) -> RankedFile:
    likely = [part for part in regions if part.chance >= _LIKELY]
    places = tuple(f"{part.start}-{part.end} {part.name}".rstrip() for part in likely)
    path, score = quote(file.path), round(file.score, 4)
    return RankedFile(path, score, file.reasons[:3], file.lines[:20], places)


def _project(door: Door, progress: Progress | None = None) -> Project:
    """Return the project as this caller may see it; files that policy denies do not exist in it."""
    project = Project(root=door.root).seen_by(door.readable)
    if progress is not None:
        project.tell = lambda _phase, done, total: progress(done, total)
    return project


def _position(cursor: str) -> tuple[int, str]:
    if not cursor:
        return 0, ""
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise UsageError(
            "not a cursor of this tool", next_step="use `next` of the last answer, or none"
        )
    return int(match[1]), match[2]


def _within(door: Door, text: str, start: int) -> int:
    """Return where an answer that begins at `start` must end to stay inside the caller's bounds, at
    a line's end."""
    profile = door.gate.caller.profile
    end = min(len(text), start + profile.max_chars)
    while (used := door.setup.count(text[start:end])) > profile.max_tokens and end - start > 1_000:
        # A little less than the share: tokens are not spread evenly, and each turn counts anew.
        end = start + (end - start) * profile.max_tokens // used * 95 // 100
    if end >= len(text):
        return len(text)
    line = text.rfind("\n", start, end)
    return line + 1 if line > start else end
