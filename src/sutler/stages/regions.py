"""A file's text cut into stretches that make sense on their own, and what a task makes of each.

Regions cover every line once: functions and methods whole, the head of a class, the top of the file, and the gaps
between. Blank lines belong to the region above them, so that a change just after a function lies with it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from sutler.stages.rank.query import Query
from sutler.stages.terms import WORD, split, whole
from sutler.values.facts import Facts, Region, RegionKind, Symbol

_COMMENT = re.compile(r"^\s*(?://|/\*|\*|#|--|@|\[)")
_MAX_GAP = 60  # lines: a longer gap is cut at blank lines
_MAX_FUNCTION = 400


class Lens(Struct, frozen=True):
    """What a task looks for in a text: its terms with their worth, and the query they came from."""

    worth: dict[str, float]
    query: Query


def regions_of(facts: Facts, text: str) -> tuple[Region, ...]:
    """The regions of a text in order, every line in exactly one; an empty text has none."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    owned = _starts(facts, lines)
    found: list[Region] = []
    for i, (start, kind, name) in enumerate(owned):
        end = owned[i + 1][0] - 1 if i + 1 < len(owned) else len(lines)
        found += _cut(start, end, kind, name, lines)
    return tuple(found)


def _starts(facts: Facts, lines: list[str]) -> list[tuple[int, RegionKind, str]]:
    """Where each region starts: a total cover, from line 1 on."""
    total = len(lines)
    if not total:
        return []
    starts: dict[int, tuple[RegionKind, str]] = {1: ("head", "")}
    for symbol in facts.symbols:
        if symbol.start > total or symbol.kind not in ("function", "method", "class"):
            continue
        if _inside_function(symbol, facts.symbols):
            continue
        start = _with_comment(symbol.start, lines)
        kind: RegionKind = "class" if symbol.kind == "class" else "function"
        starts[start] = (kind, symbol.name)
        after = symbol.end + 1
        while after <= total and not lines[after - 1].strip():
            after += 1
        if after <= total:
            starts.setdefault(after, ("gap", ""))
    return [(line, *starts[line]) for line in sorted(starts)]


def _inside_function(symbol: Symbol, symbols: Sequence[Symbol]) -> bool:
    while symbol.parent >= 0:
        symbol = symbols[symbol.parent]
        if symbol.kind in ("function", "method"):
            return True
    return False


def _with_comment(start: int, lines: list[str]) -> int:
    """The first line of the comment or attributes right above a definition."""
    line = start
    while line > 1 and start - line < 40 and _COMMENT.match(lines[line - 2]):
        line -= 1
    return line


def _cut(start: int, end: int, kind: RegionKind, name: str, lines: list[str]) -> list[Region]:
    """One region, or several when it is too long to be taken whole."""
    limit = _MAX_FUNCTION if kind == "function" else _MAX_GAP
    found: list[Region] = []
    while end - start + 1 > limit:
        cut = start + limit - 1
        while cut > start + limit // 2 and lines[cut - 1].strip():
            cut -= 1
        found.append(_region(start, cut, kind, name, lines))
        start = cut + 1
        kind = "function" if kind == "function" else "gap"
    return [*found, _region(start, end, kind, name, lines)]


def _region(start: int, end: int, kind: RegionKind, name: str, lines: list[str]) -> Region:
    chars = sum(map(len, lines[start - 1 : end])) + end - start + 1
    return Region(start, end, kind, name, chars)


def scored_regions(facts: Facts, text: str, lens: Lens, pointed: Sequence[int] = ()) -> tuple[Region, ...]:
    """Regions with the task's opinion of each: its words by their rarity, its name, lines that a trace points at."""
    lines = text.split("\n")
    regions = regions_of(facts, text)
    own = [_lexical("\n".join(lines[r.start - 1 : r.end]), lens) + _named(r, lens) for r in regions]
    for i, region in enumerate(regions):
        if any(region.start <= line <= region.end for line in pointed):
            own[i] = own[i] * 1.5 + max(own)
    smooth = [
        value + 0.1 * ((own[i - 1] if i else 0.0) + (own[i + 1] if i + 1 < len(own) else 0.0))
        for i, value in enumerate(own)
    ]
    return tuple(replace(region, score=score) for region, score in zip(regions, smooth, strict=True))


def _lexical(text: str, lens: Lens) -> float:
    counts: dict[str, int] = {}
    for word in WORD.findall(text):
        for term in split(word):
            if term in lens.worth:
                counts[term] = counts.get(term, 0) + 1
    return sum(lens.worth[term] * count / (count + 1.0) for term, count in counts.items())


def _named(region: Region, lens: Lens) -> float:
    """A region whose own name the task uses."""
    if not region.name:
        return 0.0
    weight = lens.query.names.get(region.name.rpartition("::")[2], 0.0)
    parts = sum(lens.worth.get(term, 0.0) for term in split(region.name) if term in lens.query.title)
    return weight * lens.worth.get(whole(region.name), 1.0) + 0.5 * parts
