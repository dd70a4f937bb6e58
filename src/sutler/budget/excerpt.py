"""Regions of ranked files, scored for a task and priced for a budget: the bridge from ranking to
allocation.

A long documentation text is a region apart from the code that it documents. In libraries whose
functions have a page of documentation each, half of a small budget would go to pages that few tasks
are about. Apart, both compete for their own worth; code that is shown without its documentation
keeps its signature."""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

from msgspec import Struct

from sutler.languages.facts import Region
from sutler.languages.terms import checksum, split, words
from sutler.paths import Span
from sutler.ranking.reader import Reader
from sutler.ranking.region_worth import Lens, Traits, lens_of, owners_of, scores_of, traits_of
from sutler.ranking.score import Ranked, query_of
from sutler.ranking.signals import idf

_LEAST = 8  # lines: shorter documentation stays with its code
_LEAST_TOP = 6  # the same for the start of a file
_OPENING = re.compile(r"\s*[rRuUbB]{0,2}(\"\"\"|''')")
_BLOCK = re.compile(r"\s*(/\*)")
_REMARK = re.compile(r"\s*(?://|--|#(?![\[a-z]))")  # neither `#[attribute]` nor `#include`
_COMMENT = re.compile(r"\s*(?://|/\*|\*|#(?![\[a-z])|--)")

CONTEXT = 1
"""Lines shown around each range of an excerpt: an addition between two functions belongs to
neither."""


def lens_for(reader: Reader, task: str) -> Lens:
    """Return the task's terms with their worth in this project: zone weight times rarity."""
    query = query_of(reader, task)
    total = len(reader.docs)
    worth = {
        term: weight * idf(len(reader.postings(term)), total)
        for term, weight in query.terms.items()
    }
    return lens_of(query, worth)


class Parts(Struct, frozen=True):
    """Regions, and for each the signature to show with it, if any."""

    regions: tuple[Region, ...]
    leads: tuple[Span | None, ...]


class Looked(Struct, frozen=True):
    """Parts of a file under a lens, with their scores."""

    parts: Parts
    scores: tuple[float, ...]
    traits: tuple[Traits, ...] = ()


def look(ranked: Ranked, regions: Sequence[Region], lines: Sequence[str], lens: Lens) -> Looked:
    """Score the regions of a file for a task; none if the file changed since its regions were
    cut."""
    if not regions or regions[-1].end > len(lines):
        return Looked(Parts((), ()), ())
    parts = apart(regions, lines, lens)
    owners = owners_of(parts.regions, lines)
    return Looked(
        parts,
        scores_of(parts.regions, lens, ranked.lines, owners),
        traits_of(parts.regions, lens, owners, ranked.lines),
    )


def widened(spans: Sequence[Span], last: int) -> tuple[Span, ...]:
    """Add `CONTEXT` lines on each side of spans, up to line `last`. Spans that touch, or are one
    line apart, are joined: a marker would cost as much as the line."""
    joined: list[Span] = []
    for span in spans:
        start, end = max(1, span.start - CONTEXT), min(last, span.end + CONTEXT)
        if joined and start <= joined[-1].end + 2:
            joined[-1] = Span(joined[-1].start, max(end, joined[-1].end))
        else:
            joined.append(Span(start, end))
    return tuple(joined)


def cut(text: str, spans: Sequence[Span]) -> str:
    """Return the lines of an excerpt, with a marker for each omitted run that names its lines."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    pieces: list[str] = []
    at = 1
    for span in spans:
        if span.start > at:
            pieces.append(marker(at, span.start - 1))
        pieces += lines[span.start - 1 : span.end]
        at = span.end + 1
    if at <= len(lines):
        pieces.append(marker(at, len(lines)))
    return "\n".join(pieces) + "\n"


def marker(start: int, end: int) -> str:
    return f"[… {start}-{end}]" if end > start else f"[… {start}]"


def apart(regions: Sequence[Region], lines: Sequence[str], lens: Lens) -> Parts:
    """Split long documentation from regions. Every line stays in exactly one region."""
    regions_apart: list[Region] = []
    leads: list[Span | None] = []
    i = 0
    while i < len(regions):
        region = regions[i]
        comment, last = _documented(regions, i, lines)
        while last > regions[i].end:  # a page may be longer than a region
            i += 1
        rest = regions[i]
        if not last or (last == rest.end and rest is region and region.kind != "head"):
            regions_apart.append(region)
            leads.append(None)
        else:
            divided = [
                _with_terms(part, lines, lens) for part in _divided(region, rest, last, comment)
            ]
            signed = region.kind == "function" and not comment
            leads += [None, _signature(region, lines) if signed else None][: len(divided)]
            regions_apart += divided
        i += 1
    return Parts(tuple(regions_apart), tuple(leads))


def _documented(regions: Sequence[Region], i: int, lines: Sequence[str]) -> tuple[bool, int]:
    """Return whether a long documentation text stands above the definition, and its last line with
    the blank lines behind, or 0."""
    region = regions[i]
    if region.kind == "head":
        return True, _prologue(region, regions[_same(regions, i)].end, lines)
    if region.kind not in ("function", "class") or region.end - region.start < _LEAST:
        return False, 0
    end = regions[_same(regions, i)].end
    comment = _above(region, lines)
    return bool(comment), _after_blanks(comment or _below(region, end, lines), end, lines)


def _same(regions: Sequence[Region], i: int) -> int:
    """Return the last of the regions that a long definition was cut into."""
    kind = "function" if regions[i].kind == "function" else "gap"
    while (
        i + 1 < len(regions)
        and regions[i + 1].name == regions[i].name
        and regions[i + 1].kind == kind
    ):
        i += 1
    return i


def _divided(region: Region, rest: Region, last: int, comment: bool) -> tuple[Region, ...]:
    """Return the documentation that ends at `last`, and the rest of the region in which it ends."""
    whole = comment or region.kind == "function"
    doc = Region(region.start, last, "doc" if whole else "class", region.name)
    if last == rest.end:
        return (doc,)
    return doc, Region(
        last + 1, rest.end, region.kind if whole else "gap", region.name if whole else ""
    )


def _after_blanks(last: int, end: int, lines: Sequence[str]) -> int:
    while last and last < end and not lines[last].strip():
        last += 1
    return last


def _prologue(region: Region, end: int, lines: Sequence[str]) -> int:
    """Return the end of the licence, remarks and documentation that a file starts with, if they are
    long, or 0."""
    line = region.start
    while line <= end:
        text = lines[line - 1]
        opening = _OPENING.match(text) or _BLOCK.match(text)
        if opening:
            line = _end_of(line, opening, end, lines) or end
        elif text.strip() and not _REMARK.match(text):
            break
        line += 1
    return line - 1 if line - region.start >= _LEAST_TOP else 0


def _above(region: Region, lines: Sequence[str]) -> int:
    """Return the end of a comment that a region starts with, if it is long, or 0."""
    line = region.start
    while line <= region.end and _COMMENT.match(lines[line - 1]):
        line += 1
    return line - 1 if line - region.start >= _LEAST else 0


def _below(region: Region, end: int, lines: Sequence[str]) -> int:
    """Return the end of a long docstring, or 0: a string that opens a line below one that ends in a
    colon."""
    colon = False
    for number in range(region.start, region.end + 1):
        line = lines[number - 1].rstrip()
        if not line:
            continue
        opening = _OPENING.match(line)
        if opening and colon:
            return _closed(number, opening, end, lines)
        if colon:
            return 0
        colon = line.partition("  #")[0].rstrip().endswith(":") and not line.lstrip().startswith(
            "#"
        )
    return 0


def _closed(start: int, opening: re.Match[str], end: int, lines: Sequence[str]) -> int:
    last = _end_of(start, opening, end, lines)
    return last if last - start + 1 >= _LEAST else 0


def _end_of(start: int, opening: re.Match[str], end: int, lines: Sequence[str]) -> int:
    """Return the line on which a string or a block comment that opens on line `start` ends, or
    0."""
    mark = opening.group(1)[::-1]
    if mark in lines[start - 1][opening.end() :]:
        return start
    return next((number for number in range(start + 1, end + 1) if mark in lines[number - 1]), 0)


def _signature(region: Region, lines: Sequence[str]) -> Span:
    return Span(
        region.start, next(n for n in range(region.start, region.end) if _OPENING.match(lines[n]))
    )


def _with_terms(region: Region, lines: Sequence[str], lens: Lens) -> Region:
    """Return a part with only those of its terms that the task has, since no others are used."""
    spelled = set(words("\n".join(lines[region.start - 1 : region.end])))
    terms = {checksum(term) for word in spelled for term in split(word) if term in lens.worth}
    return Region(
        region.start, region.end, region.kind, region.name, array("I", sorted(terms)).tobytes()
    )
