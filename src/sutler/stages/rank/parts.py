"""Regions cut finer for a pack: a long documentation text stands apart from the code that it documents.

In libraries whose functions carry a page of documentation each, half of a small budget would go to pages that few
tasks are about. Apart, both compete for their own worth; code that is shown without its documentation keeps its
signature.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence

from msgspec import Struct

from sutler.stages.rank.regions import Lens
from sutler.stages.terms import WORD, checksum, split
from sutler.values.facts import Region
from sutler.values.paths import Span

_LEAST = 8  # lines: shorter documentation stays with its code
_OPENING = re.compile(r"\s*[rRuUbB]{0,2}(\"\"\"|''')")
_COMMENT = re.compile(r"\s*(?://|/\*|\*|#(?!\[)|--)")


class Parts(Struct, frozen=True):
    """Regions, and for each the signature that has to be shown with it, if any."""

    regions: tuple[Region, ...]
    leads: tuple[Span | None, ...]


def apart(regions: Sequence[Region], lines: Sequence[str], lens: Lens) -> Parts:
    """Regions with long documentation cut off. Every line stays in exactly one region."""
    found: list[Region] = []
    leads: list[Span | None] = []
    for region in regions:
        last = _documented(region, lines) if region.kind in ("function", "class") else 0
        if last:
            made, lead = _divided(region, last, lines)
            found += [_with_terms(part, lines, lens) for part in made]
            leads += (None, lead)
        else:
            found.append(region)
            leads.append(None)
    return Parts(tuple(found), tuple(leads))


def _documented(region: Region, lines: Sequence[str]) -> int:
    """The last line of a long documentation text, blank lines behind it included, or 0. Some code must remain."""
    last = _above(region, lines) or _below(region, lines)
    while last and last < region.end and not lines[last].strip():
        last += 1
    return last if last < region.end else 0


def _above(region: Region, lines: Sequence[str]) -> int:
    """The end of a comment that a region starts with, where that is long."""
    line = region.start
    while line <= region.end and _COMMENT.match(lines[line - 1]):
        line += 1
    return line - 1 if line - region.start >= _LEAST else 0


def _below(region: Region, lines: Sequence[str]) -> int:
    """The end of a long docstring: a string that opens a line below one that ends in a colon."""
    colon = False
    for number in range(region.start, region.end + 1):
        line = lines[number - 1].rstrip()
        if not line:
            continue
        opening = _OPENING.match(line)
        if opening and colon:
            return _closed(number, opening, region.end, lines)
        if colon:
            return 0
        colon = line.partition("  #")[0].rstrip().endswith(":") and not line.lstrip().startswith("#")
    return 0


def _closed(start: int, opening: re.Match[str], last: int, lines: Sequence[str]) -> int:
    quote = opening.group(1)
    if quote in lines[start - 1][opening.end() :]:
        return 0
    for number in range(start + 1, last + 1):
        if quote in lines[number - 1]:
            return number if number - start + 1 >= _LEAST else 0
    return 0


def _divided(region: Region, last: int, lines: Sequence[str]) -> tuple[tuple[Region, Region], Span | None]:
    """The two parts of a region and the signature that the second needs: none where the comment stands above it."""
    above = _COMMENT.match(lines[region.start - 1]) is not None and _above(region, lines) > 0
    if region.kind == "class":
        rest = Region(last + 1, region.end, "class" if above else "gap", region.name if above else "")
        return (Region(region.start, last, "doc" if above else "class", region.name), rest), None
    rest = Region(last + 1, region.end, "function", region.name)
    lead = None if above else Span(region.start, _signature_end(region, lines))
    return (Region(region.start, last, "doc", region.name), rest), lead


def _signature_end(region: Region, lines: Sequence[str]) -> int:
    return next(n for n in range(region.start, region.end) if _OPENING.match(lines[n]))


def _with_terms(region: Region, lines: Sequence[str], lens: Lens) -> Region:
    """A part with those of its terms that the task asks for: nobody looks for others."""
    said = set(WORD.findall("\n".join(lines[region.start - 1 : region.end])))
    terms = {checksum(term) for word in said for term in split(word) if term in lens.worth}
    return Region(region.start, region.end, region.kind, region.name, array("I", sorted(terms)).tobytes())
