"""The regions of ranked files that matter for a task, priced for a budget: the bridge from ranking
to allocation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from sutler.budget.allocate import Offer
from sutler.languages.facts import Facts, Region
from sutler.paths import Span
from sutler.ranking.index import Index, Reader
from sutler.ranking.lexical import idf
from sutler.ranking.query import analyse, with_compounds
from sutler.ranking.region_parts import Parts, apart
from sutler.ranking.region_worth import Lens, lens_of, owners_of, scores_of
from sutler.ranking.score import Ranked

Pricer = Callable[[str], int]

CONTEXT = 1
"""Lines shown around each stretch of an excerpt: what is added between two functions belongs to
neither.
"""


def lens_for(index: Index | Reader, task: str) -> Lens:
    """The task's terms with their worth in this project: zone weight times rarity."""
    reader = index if isinstance(index, Reader) else Reader(index)
    query = with_compounds(analyse(task), reader.holds)
    total = len(reader.docs)
    worth = {
        term: weight * idf(len(reader.postings(term)[0]), total)
        for term, weight in query.terms.items()
    }
    return lens_of(query, worth)


class Looked(Struct, frozen=True):
    """A file's parts under a lens, with their scores."""

    parts: Parts
    scores: tuple[float, ...]


def look(ranked: Ranked, regions: Sequence[Region], lines: Sequence[str], lens: Lens) -> Looked:
    """What a task sees in a file; nothing where the file moved on since its regions were cut."""
    if not regions or regions[-1].end > len(lines):
        return Looked(Parts((), ()), ())
    parts = apart(regions, lines, lens)
    return Looked(
        parts, scores_of(parts.regions, lens, ranked.lines, owners_of(parts.regions, lines))
    )


def offers_for(
    index: Index, task: str, files: Sequence[tuple[Ranked, Facts, str]], price: Pricer = len
) -> tuple[Offer, ...]:
    """An offer per ranked file with its text (the clean text that would leave). `price` counts a
    piece of text in the budget's unit; characters unless told otherwise.
    """
    lens = lens_for(index, task)
    return tuple(_offer(ranked, facts, text, lens, price) for ranked, facts, text in files)


def _offer(ranked: Ranked, facts: Facts, text: str, lens: Lens, price: Pricer) -> Offer:
    lines = text.split("\n")
    seen = look(ranked, facts.regions, lines, lens)
    prices = tuple(price("\n".join(lines[r.start - 1 : r.end]) + "\n") for r in seen.parts.regions)
    regions, leads = seen.parts.regions, seen.parts.leads
    return Offer(ranked.path, ranked.score, price(text), regions, seen.scores, prices, leads=leads)


def widened(spans: Sequence[Span], last: int) -> tuple[Span, ...]:
    """Spans with `CONTEXT` lines more on each side, up to line `last`; those that touch, or that
    only one line separates, become one: a marker would cost as much as the line.
    """
    found: list[Span] = []
    for span in spans:
        start, end = max(1, span.start - CONTEXT), min(last, span.end + CONTEXT)
        if found and start <= found[-1].end + 2:
            found[-1] = Span(found[-1].start, max(end, found[-1].end))
        else:
            found.append(Span(start, end))
    return tuple(found)


def cut(text: str, spans: Sequence[Span]) -> str:
    """The lines of an excerpt, each run of left-out lines replaced by a marker that says which."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    shown: list[str] = []
    at = 1
    for span in spans:
        if span.start > at:
            shown.append(marker(at, span.start - 1))
        shown += lines[span.start - 1 : span.end]
        at = span.end + 1
    if at <= len(lines):
        shown.append(marker(at, len(lines)))
    return "\n".join(shown) + "\n"


def marker(start: int, end: int) -> str:
    return f"[… {start}-{end}]" if end > start else f"[… {start}]"
