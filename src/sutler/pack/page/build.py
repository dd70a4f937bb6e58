"""Build the report page of a pack: from its own run, or from a pack file and its folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sutler.config import resolve
from sutler.formats import recognized
from sutler.formats.document import Pack, Section
from sutler.languages.outline import outline_of
from sutler.pack import receipts
from sutler.pack.diff import AnyPack, read_pack
from sutler.pack.page import omitted
from sutler.pack.page import pack_rows as stage
from sutler.pack.page.view import Against, Detail, FileRow, Limit, View
from sutler.pack.receipts import Receipt
from sutler.pack.report import WHOLE, Report, Shown
from sutler.pack.verify import pack_id_of
from sutler.paths import Span, quote
from sutler.secrets.cleaner import Clean, cleaner
from sutler.tasks.wire import ContextPack
from sutler.tokens.counter import count_bytes, token_counter
from sutler.version import VERSION

if TYPE_CHECKING:
    from sutler.pack.project import Packing, Project
    from sutler.ranking.score import Ranked

DETAILS = 4_000_000
"""Limit of characters of outlines and first lines on a page; the page of a pack of any size must
open."""

COUNTER = "o200k_base"
NOTES = 50
"""Limit of problems in the head of the page."""


def structure(path: str, text: str) -> list[tuple[int, int, str]]:
    """Return the outline of a file as rows of a page."""
    return [(line.number, line.depth, line.text) for line in outline_of(path, text)]


class Watch:
    """Collects from the sections of a pack the details that a page shows of each."""

    def __init__(self, clean: Clean | None = None) -> None:
        self._clean = clean  # only if the pack itself was not redacted: a page may be passed on
        self._room = DETAILS
        self.details: dict[str, Detail] = {}
        self.languages: dict[str, str] = {}
        self.scores: dict[str, float] = {}  # of the ranking, where a task is known
        self.ranked: Mapping[str, Ranked] = {}
        self.sizes: Mapping[str, int] = {}

    def __call__(self, section: Section) -> None:
        self.languages[section.path] = section.language
        if detail := self.look(section.path, section.body.text, section.spans, section.reason):
            self.details[section.path] = detail

    def learn(self, packing: Packing) -> None:
        """Add the ranking of a finished run."""
        selection, ranking = packing.chosen
        self.sizes = {choice.path: choice.entry.size for choice in selection.choices}
        if ranking is not None:
            self.scores = {choice.path: choice.score for choice in selection.choices}
            self.ranked = {file.path: file for file in ranking.ranked}

    def look(
        self, path: str, text: str, spans: Sequence[Span] = (), reason: str = ""
    ) -> Detail | None:
        if self._room <= 0:
            return None
        clean = self._clean(text, path).text if self._clean else text
        detail = stage.detail_of(path, clean, structure, spans, stage.words_of(reason))
        self._room -= len(detail.excerpt) + sum(len(row[2]) for row in detail.outline)
        return detail


def watch_for(project: Project) -> Watch:
    return Watch(None if project.settings.flag("redact") else cleaner(resolve([])))


def view_of_run(
    report: Report, watch: Watch, *, project: str, goal: str = "", receipt: Receipt | None = None
) -> View:
    """Build the page of a pack from its own run, which knows everything."""
    totals = _totals(report)
    names = [name for name, _ in totals]
    rows = tuple(_row(one, names, report.budget.unit, watch) for one in report.shown)
    notes = [
        f"{quote(one.path)}: {one.kind} {one.detail}".rstrip() for one in report.problems[:NOTES]
    ]
    if len(report.problems) > NOTES:
        notes.append(
            f"{len(report.problems) - NOTES:,} problems more; 'sutler pack --json' lists them all"
        )
    if receipt is not None and not receipt.redacted:
        notes.insert(
            0, "Redaction was switched off for the pack. This page was redacted all the same."
        )
    return View(
        project=stage.plain(project),
        pack_id=report.pack_id,
        format=report.format,
        goal=stage.plain(goal),
        budget=_limit(report),
        measures=stage.measures_of(rows, totals),
        files=rows,
        left=omitted.nearest(report, watch.sizes, watch.ranked),
        receipt=receipt_rows(receipt) if receipt else (),
        notes=tuple(map(stage.plain, notes)),
        version=VERSION,
    )


def _limit(report: Report) -> Limit:
    budget = report.budget
    if budget.limit is not None:
        return Limit(report.used, budget.unit, budget.limit)
    return Limit(report.bytes, "bytes") if report.tokens is None else Limit(report.tokens, "tokens")


def _totals(report: Report) -> list[tuple[str, int]]:
    """Return the measures of a run: tokens if they were counted, characters if the budget is in
    them, bytes."""
    unit = (
        report.budget.unit
        if report.budget.limit is not None and any(file.cost for file in report.shown)
        else ""
    )
    totals: list[tuple[str, int]] = []
    if report.tokens is not None and all(file.tokens is not None for file in report.shown):
        totals.append(("tokens", report.used if unit == "tokens" else report.tokens))
    if unit == "chars":
        totals.append(("chars", report.used))
    content = sum(file.bytes for file in report.shown)
    return [*totals, ("bytes", max(report.used if unit == "bytes" else report.bytes, content))]


def _row(file: Shown, names: Sequence[str], unit: str, watch: Watch) -> FileRow:
    plain = {"tokens": file.tokens or 0, "bytes": file.bytes, "chars": file.bytes}
    return FileRow(
        path=quote(file.path),
        costs=tuple(file.cost if name == unit and file.cost else plain[name] for name in names),
        level=file.level,
        why=stage.why_of(file.reason, file.path),
        reason=stage.plain(file.reason),
        cut=file.level not in WHOLE,
        score=watch.scores.get(file.path),
        words=stage.words_of(file.reason),
        reasons=omitted.reasons_of(watch.ranked.get(file.path)),
        signals=omitted.signals_of(watch.ranked.get(file.path)),
        language=watch.languages.get(file.path, ""),
        redacted=file.findings,
        hidden=sum(count for _, count in file.hidden),
        sha256=file.sha256,
        detail=watch.details.get(file.path),
    )


def receipt_rows(receipt: Receipt) -> tuple[tuple[str, str], ...]:
    """Return a receipt in reading order."""
    info = receipt.context_pack_info
    out = info.get("exclusions_by_reason")
    groups = (
        ", ".join(
            f"{count:,}{'+' * (name in receipt.capped)} {name}"
            for name, count in out.items()
            if count
        )
        if isinstance(out, dict)
        else ""
    )
    tokens = "not counted" if receipt.tokens is None else f"{receipt.tokens:,} ({receipt.counter})"
    rows = (
        ("pack", receipt.pack_id),
        ("left at", receipt.at),
        ("to", receipt.destination),
        ("by", receipt.caller),
        ("project", receipt.project),
        ("type", f"{info['type']}: {info['selection_reason']}"),
        ("format", receipt.format),
        ("budget", receipt.budget),
        ("tokens", tokens),
        ("content", f"{info['content_bytes']:,} bytes"),
        (
            "files",
            (
                f"{info['files_included']:,} of {info['files_scanned']:,}"
                f"{'+' * bool(receipt.capped)}; left out:"
                f" {groups or 'none'}"
            ),
        ),
        ("cut", f"{info['truncated_files']:,} files"),
        ("redaction", "on" if receipt.redacted else "OFF"),
        ("redacted", _tally(receipt.findings)),
        ("hidden text made visible", _tally(receipt.hidden)),
        ("written by", f"sutler {receipt.sutler}"),
        ("seal", receipt.seal or "none: the receipt was not stored"),
    )
    return tuple((name, stage.plain(str(value))) for name, value in rows)


def _tally(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} × {count}" for name, count in sorted(counts.items())) or "nothing"


# a pack in a file


def view_of_pack(
    data: bytes, project: Project, environ: Mapping[str, str], other: bytes | None = None
) -> View:
    """Build the page of a pack in a file, compared with `other` if there is one. Facts that the
    pack lacks (its limit, the rules of exclusions) come from the receipt and a scan of `project`,
    if its ledger has the pack."""
    pack = read_pack(data)
    clean = cleaner(resolve([]), len(data), environ, packed=True)
    rows = _rows(pack, data, Watch(clean))
    pack_id = pack_id_of(data, pack)
    receipt = receipts.proved(pack_id, project.place.root, environ)
    totals = _file_totals(pack, data, rows)
    left, unnamed = stage.left_of(pack)
    note = (
        "The pack names these files; the rules behind others are known only in the folder it came"
        " from."
    )
    if receipt is not None:
        seen = project.scan().excluded
        left += [omitted.left_row(item) for item in seen if item.rule.source != "git"]
        note = "Names listed in the pack, and what a scan of this folder leaves out now."
    return View(
        project=stage.plain(_name(pack)),
        pack_id=pack_id,
        format=_format(data, pack),
        goal=stage.plain(clean(_goal(pack), "").text),
        budget=_limit_from(receipt, totals, pack),
        measures=stage.measures_of(rows, totals),
        files=tuple(rows),
        left=tuple(left),
        left_note=note,
        unnamed=unnamed,
        against=_against(other, pack, rows) if other is not None else None,
        receipt=receipt_rows(receipt) if receipt else (),
        notes=(
            ()
            if receipt
            else ("No receipt of this pack in this folder's ledger: its limit is not known here.",)
        ),
        version=VERSION,
    )


def _goal(pack: AnyPack) -> str:
    if isinstance(pack, Pack):
        return pack.preamble.goal.text
    return pack.task.goal if isinstance(pack, ContextPack) else ""


def _name(pack: AnyPack) -> str:
    if isinstance(pack, Pack):
        return pack.preamble.project
    if isinstance(pack, ContextPack):
        return pack.task.title or pack.task.id
    return pack.manifest.project_name


def _format(data: bytes, pack: AnyPack) -> str:
    if isinstance(pack, Pack):
        return recognized(data) or ""
    return f"{type(pack).__name__}, {'msgpack' if _is_messagepack(data, pack) else 'json'}"


def _is_messagepack(data: bytes, pack: AnyPack) -> bool:
    return not isinstance(pack, Pack) and data.lstrip()[:1] != b"{"


def _rows(pack: AnyPack, data: bytes, watch: Watch | None) -> list[FileRow]:
    parts = stage.parts_of(pack, recognized(data) or "")
    rows = stage.rows_of(
        parts,
        token_counter(COUNTER),
        lambda part: watch.look(part.path, part.text) if watch else None,
    )
    return _without_secrets(rows)


def _without_secrets(rows: list[FileRow]) -> list[FileRow]:
    """Redact names and reasons of a pack from elsewhere, all in one run."""
    clean = cleaner(resolve([]), packed=True)
    texts = [text for row in rows for text in (row.path, row.reason)]
    cleaned = clean("\n".join(texts), "").text.split("\n")
    if len(cleaned) != len(texts):
        return [replace(row, reason="", detail=None) for row in rows]
    pairs = zip(rows, cleaned[::2], cleaned[1::2], strict=True)
    return [replace(row, path=path, reason=reason) for row, path, reason in pairs]


def _file_totals(pack: AnyPack, data: bytes, rows: Sequence[FileRow]) -> list[tuple[str, int]]:
    if _is_messagepack(data, pack):  # it is not text: only its files can be counted
        return [
            ("tokens", sum(row.costs[0] for row in rows)),
            ("bytes", sum(row.costs[1] for row in rows)),
        ]
    text = data.decode("utf-8", "replace")
    return [("tokens", token_counter(COUNTER)(text)), ("bytes", count_bytes(text))]


def _limit_from(receipt: Receipt | None, totals: Sequence[tuple[str, int]], pack: AnyPack) -> Limit:
    if isinstance(pack, ContextPack):
        return Limit(pack.total_chars, "chars", pack.max_chars or None)
    match = re.fullmatch(r"(\d+) of (\d+) (\w+)", receipt.budget) if receipt else None
    if match:
        return Limit(int(match[1]), match[3], int(match[2]))
    return Limit(totals[0][1], totals[0][0])


def _against(data: bytes, after: AnyPack, rows: Sequence[FileRow]) -> Against:
    before = read_pack(data)
    return stage.against(before, after, _rows(before, data, None), rows, pack_id_of(data, before))
