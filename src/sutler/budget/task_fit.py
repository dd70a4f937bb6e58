"""Fitting for a task: the budget goes to the regions of the ranked files that matter, the most
value for the cost.

Files that the user named come first and whole. The rest of the budget is shared out over the best
ranked files: whole, as an excerpt of whole functions, or by name. Prices only estimate; what counts
is the text itself, so the shares are moved until the measured cost is at most what is left, and as
close to it as the material allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from sutler.budget.allocate import Grant, Offer, fit_exactly
from sutler.budget.excerpt import Looked, cut, lens_for, look, widened
from sutler.budget.fit import Fitted, Ledger, Material, best_paid, section_of, settled
from sutler.budget.selection import Choice
from sutler.formats.document import CleanText, Section
from sutler.languages.facts import Region
from sutler.paths import Span
from sutler.ranking.index import Reader
from sutler.ranking.score import Ranked
from sutler.scan.snapshot import Excluded

CANDIDATES = 150
"""Files whose regions compete; below this rank hardly anything is ever found."""
PLENTY, VARIETY = 8, 25
"""Candidates are enough when together they are `PLENTY` times the budget and there are `VARIETY` of
them.
"""


class Ranking(Struct, frozen=True):
    """A task, the index it was asked of, and the files in the order of their worth."""

    task: str
    reader: Reader
    ranked: tuple[Ranked, ...]


def task_order(choices: Sequence[Choice], ranking: Ranking) -> list[Choice]:
    """The choices that a task may show, in the order they are loaded: pinned files, then the best
    ranked.
    """
    by_path: dict[str, Choice] = {choice.path: choice for choice in choices if not choice.pinned}
    ranked = [by_path[file.path] for file in ranking.ranked[:CANDIDATES] if file.path in by_path]
    return [*(choice for choice in choices if choice.pinned), *ranked]


def fit_task(
    choices: Sequence[Choice],
    materials: Iterable[Material | Excluded],
    ledger: Ledger,
    ranking: Ranking,
) -> Fitted:
    """Spend the budget on a task; `materials` come in `task_order` and are asked for until there is
    plenty to choose from. Every choice ends as a section, a name in the list, or part of a
    count.
    """
    excluded: list[Excluded] = []
    sections: list[Section] = []
    ranked = {file.path: file for file in ranking.ranked}
    candidates: dict[str, tuple[Ranked, Material]] = {}
    size = 0
    for material in materials:
        if isinstance(material, Excluded):
            excluded.append(material)
        elif material.choice.pinned:
            if paid := best_paid(material, ledger):
                sections.append(paid)
        else:
            path = material.choice.path
            candidates[path] = ranked[path], material
            size += material.loaded.size
            if size > PLENTY * ledger.bytes_left() and len(candidates) >= VARIETY:
                break
    sections += _shared_out(candidates, ledger, ranking)
    return settled(choices, sections, excluded, ledger)


def _shared_out(
    materials: dict[str, tuple[Ranked, Material]], ledger: Ledger, ranking: Ranking
) -> list[Section]:
    offers = _offers(materials, ledger, ranking)
    made: dict[Grant, Section] = {}

    def section(grant: Grant) -> Section:
        if grant not in made:
            made[grant] = _section(materials[grant.path][1], grant, ledger)
        return made[grant]

    def measure(grants: tuple[Grant, ...]) -> int:
        return sum(section(grant).cost for grant in grants)

    grants = fit_exactly(offers, ledger.limit - ledger.spent, measure, ledger.prices())
    paid = (ledger.pay(section(grant)) for grant in grants)
    return [one for one in paid if one is not None]


def _section(material: Material, grant: Grant, ledger: Ledger) -> Section:
    if grant.level == "excerpt":
        text = material.clean.text
        spans = widened(grant.spans, text.count("\n") + 1)
        made = section_of(material, "excerpt", replace(material.clean, text=cut(text, spans)))
    else:
        made = section_of(material, "full", material.clean)
    return replace(made, cost=ledger.cost(made))


def _offers(
    materials: dict[str, tuple[Ranked, Material]], ledger: Ledger, ranking: Ranking
) -> list[Offer]:
    reader = ranking.reader
    numbers = {doc.path: number for number, doc in reader.docs.items() if doc.path in materials}
    lens = lens_for(reader, ranking.task)
    offers = []
    for path, (ranked, material) in materials.items():
        lines = material.clean.text.split("\n")
        seen = look(ranked, reader.regions(numbers[path]) if path in numbers else (), lines, lens)
        offers.append(_offer(ranked, seen, material, lines, ledger))
    return offers


def _offer(
    ranked: Ranked, seen: Looked, material: Material, lines: list[str], ledger: Ledger
) -> Offer:
    text, parts = material.clean.text, seen.parts
    full = ledger.estimate(text)
    rate = full / max(len(text), 1)
    ends = [0, *accumulate(len(line) + 1 for line in lines)]

    def price(span: Region | Span | None) -> int:
        return int(rate * (ends[span.end] - ends[span.start - 1])) + 1 if span else 0

    return Offer(
        ranked.path,
        ranked.score,
        full,
        parts.regions,
        seen.scores,
        tuple(
            price(one) + price(lead) for one, lead in zip(parts.regions, parts.leads, strict=True)
        ),
        header=ledger.cost(section_of(material, "excerpt", CleanText(""))),
        leads=parts.leads,
    )
