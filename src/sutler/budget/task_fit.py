"""Fitting for a task: the regions of the ranked files that matter, and no more.

Files that the user named come first and whole; in a review, functions with a changed line follow.
Then come the regions of the best ranked files whose probability of being useful passes the stop
rule (`chance`), until the budget is spent. With `fill` the whole budget is allocated instead: the
most value for the cost, as close to the limit as the material allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from sutler.budget.allocate import Grant, Offer, Prices, fit_below, fit_exactly
from sutler.budget.chance import Candidate, Stop, chances, fits, is_short, stop_at
from sutler.budget.crowded import OUTLINES_SHARE
from sutler.budget.excerpt import Looked, cut, lens_for, look, widened
from sutler.budget.fit import (
    Fitted,
    Ledger,
    best_paid,
    best_rung,
    paid_outline,
    section_of,
    settled,
)
from sutler.budget.selection import Choice, Material
from sutler.formats.document import CleanText, Listing, Section
from sutler.languages.facts import Region
from sutler.paths import Span, quote
from sutler.ranking.companions import Companion
from sutler.ranking.reader import Reader
from sutler.ranking.region_worth import Lens, other_blocks, scores_of, traits_of
from sutler.ranking.score import Ranked, prover
from sutler.scan.snapshot import Excluded

CANDIDATES = 150
"""Files whose regions compete; files below this rank are hardly ever useful."""
PLENTY, VARIETY = 8, 25
"""Candidates suffice once they are `PLENTY` times the budget together and there are `VARIETY` of
them."""


NEXT = 5
"""Number of regions after the stop that a pack names."""

REVIEWED = 1_500
"""Tokens of a review for functions beyond the diff; four times as many characters."""
_CONTEXT = 3  # unchanged lines that a diff shows around a change
_BODIES = frozenset({"function", "class"})

TOKEN_PRICES, CHARACTER_PRICES = Prices(header=75, gap=20), Prices(header=260, gap=80)
"""Approximate cost of a section besides its text."""


class Ranking(Struct, frozen=True):
    """A task, the index that was queried, the files in the order of their worth, and the companions
    of the best. A review has the `changed` lines of each file, and may have no task."""

    task: str
    reader: Reader
    ranked: tuple[Ranked, ...]
    changed: Mapping[str, tuple[int, ...]] = {}
    companions: tuple[Companion, ...] = ()


class RankedRegion(Struct, frozen=True):
    """A region of a ranked file: its lines, its name, and the probability that it is useful."""

    start: int
    end: int
    name: str
    chance: float


def ranked_regions(ranking: Ranking, files: int, most: int = 5) -> list[tuple[RankedRegion, ...]]:
    """Return the most probable regions of each of the first files, from the index alone."""
    reader, chosen = ranking.reader, ranking.ranked[:files]
    lens = lens_for(reader, ranking.task)
    numbers = {doc.path: number for number, doc in reader.docs.items()}
    candidates = []
    for file in chosen:
        regions = reader.regions(numbers[file.path])
        candidates.append(
            Candidate(
                file.score,
                regions,
                scores_of(regions, lens, file.lines),
                traits_of(regions, lens, (), file.lines),
            )
        )
    chosen_regions = []
    for candidate, odds in zip(candidates, chances(candidates), strict=True):
        pairs = sorted(zip(candidate.regions, odds, strict=True), key=lambda pair: -pair[1])[:most]
        chosen_regions.append(
            tuple(RankedRegion(r.start, r.end, r.name, round(p, 4)) for r, p in pairs)
        )
    return chosen_regions


def task_order(choices: Sequence[Choice], ranking: Ranking) -> list[Choice]:
    """Return the choices that a task may show, in the order of loading: pinned files, those with
    changed lines, the best ranked."""
    by_path: dict[str, Choice] = {choice.path: choice for choice in choices if not choice.pinned}
    paths = [*ranking.changed, *(file.path for file in ranking.ranked[:CANDIDATES])]
    ranked = [by_path[path] for path in dict.fromkeys(paths) if path in by_path]
    return [*(choice for choice in choices if choice.pinned), *ranked]


def fit_task(
    ranking: Ranking,
    choices: Sequence[Choice],
    materials: Iterable[Material | Excluded],
    ledger: Ledger,
) -> Fitted:
    """Spend the budget on a task. `materials` are in `task_order` and are loaded until the
    candidates suffice. Every choice ends as a section, a name in the list, or part of a count."""
    excluded: list[Excluded] = []
    sections: list[Section] = []
    fill = ledger.request.fill
    files = _files(ranking)
    candidates: dict[str, tuple[Ranked, Material]] = {}
    size = 0
    for material in materials:
        if isinstance(material, Excluded):
            excluded.append(material)
        elif material.choice.pinned:
            if paid := best_paid(material, ledger, ledger.cut):
                sections.append(paid)
        else:
            path = material.choice.path
            candidates[path] = files[path], material
            size += material.loaded.size
            plenty = size > PLENTY * ledger.bytes_left() if fill else True
            if plenty and len(candidates) >= VARIETY:
                break
    lens = lens_for(ranking.reader, ranking.task)
    fitting = fill or fits(ranking.reader, lens, ranking.ranked)
    if not fitting and not ranking.changed:
        nothing = Listing(abstained=bool(ranking.task))
        return settled(choices, sections, excluded, ledger, nothing)
    kept_free = ledger.limit // OUTLINES_SHARE if fill and ledger.request.rest == "outline" else 0
    shared, stop = _shared_out(candidates, ledger, ranking, lens, fitting, kept_free)
    if ledger.request.rest == "outline" and fitting:
        shared += _outlines(candidates, shared, ledger)
    return settled(choices, [*sections, *shared], excluded, ledger, stop)


def _outlines(
    candidates: dict[str, tuple[Ranked, Material]], shared: Sequence[Section], ledger: Ledger
) -> list[Section]:
    """Return outlines of the ranked files that are not shown, the best first, while there is
    room."""
    entered = {section.path for section in shared}
    left = [material for path, (_, material) in candidates.items() if path not in entered]
    paid = (paid_outline(material, ledger) for material in left)
    return [section for section in paid if section is not None]


def _files(ranking: Ranking) -> dict[str, Ranked]:
    """Return the ranked files by path; changed lines count as lines that the task points at."""
    files = {file.path: file for file in ranking.ranked}
    for path, lines in ranking.changed.items():
        file = files.get(path, Ranked(path, 0.0))
        files[path] = replace(file, lines=tuple(sorted({*file.lines, *lines})))
    return files


def _shared_out(
    materials: dict[str, tuple[Ranked, Material]],
    ledger: Ledger,
    ranking: Ranking,
    lens: Lens,
    fitting: bool,
    kept_free: int,
) -> tuple[list[Section], Listing | None]:
    """Return the sections of the ranked files, and the listing of the stop rule, which is None with
    `fill`. Without a `fitting` task, only changes are shown."""
    offers = _offers(materials, ledger, ranking, lens)
    reason = _reasons(offers, materials, ranking, lens)
    sections: dict[Grant, Section] = {}
    limit, request = ledger.limit - ledger.spent - kept_free, ledger.request

    def section(grant: Grant) -> Section:
        if grant not in sections:
            material = materials[grant.path][1]
            sections[grant] = _section(material, grant, ledger, reason(grant))
        return sections[grant]

    def measure(grants: tuple[Grant, ...]) -> int:
        return sum(section(grant).cost for grant in grants)

    in_tokens = request.budget.unit == "tokens"
    prices = TOKEN_PRICES if in_tokens else CHARACTER_PRICES
    changed = _changed(offers, materials, ranking)
    stated = None
    if request.fill:
        grants = fit_exactly(offers, limit, measure, prices)
    elif not fitting:
        room = min(limit, REVIEWED if in_tokens else 4 * REVIEWED)
        grants = fit_below(offers, changed, room, measure, prices)
        left = [(offers[i].path, offers[i].regions[j]) for i, j in changed]
        left = [item for item in left if not _shows(grants, *item)][:NEXT]
        stated = Listing(next=_cited(left), abstained=bool(ranking.task))
    else:
        files = [
            Candidate(offer.score, offer.regions, offer.scores, offer.traits) for offer in offers
        ]
        stop = stop_at(files, chances(files), request.stop, is_short(lens))
        following = [(offers[i].path, offers[i].regions[j]) for i, j in stop.rest[:NEXT]]
        stated = _stated(stop, following, ranking.companions)
        room = limit - ledger.reserve(stated)
        order = list(dict.fromkeys([*changed, *_real(stop, offers)]))
        grants = fit_below(offers, order, room, measure, prices)
        entered = {grant.path for grant in grants}
        stated = _stated(
            stop,
            [item for item in following if not _shows(grants, *item)],
            [one for one in ranking.companions if one.path not in entered],
        )
    if stated is not None and request.rest == "none":
        stated = replace(stated, next=(), companions=())
    paid = (ledger.pay(section(grant)) for grant in grants)
    return [item for item in paid if item is not None], stated


def _changed(
    offers: Sequence[Offer], materials: dict[str, tuple[Ranked, Material]], ranking: Ranking
) -> list[tuple[int, int]]:
    """Return the functions with a changed line, the most changed first and tests last, without
    those that the diff shows whole. The unchanged regions of a long function, which is several
    regions, follow."""
    rows = []
    for i, offer in enumerate(offers):
        lines = ranking.changed.get(offer.path, ())
        in_diff = {n for line in lines for n in range(line - _CONTEXT, line + _CONTEXT + 1)}
        test = materials[offer.path][1].choice.facts.tag == "test"
        touched = [_touched(region, lines) for region in offer.regions]
        for j, region in enumerate(offer.regions):
            own = range(region.start, region.end + 1)
            near = touched[j] or any(touched[other] for other in other_blocks(offer.regions, j))
            if region.kind in _BODIES and near and not in_diff.issuperset(own):
                rows.append((test, touched[j] == 0, -touched[j], i, j))
    return [(i, j) for *_, i, j in sorted(rows)]


def _touched(region: Region, lines: Sequence[int]) -> int:
    return sum(region.start <= line <= region.end for line in lines)


def _real(stop: Stop, offers: Sequence[Offer]) -> list[tuple[int, int]]:
    """Return the regions that enter, except in files that would show only their top: imports and a
    licence are no evidence for a task."""
    telling = {i for i, j in stop.regions if offers[i].regions[j].kind not in ("head", "doc")}
    telling |= {i for i, offer in enumerate(offers) if len(offer.regions) == 1}
    return [(i, j) for i, j in stop.regions if i in telling]


def _shows(grants: Sequence[Grant], path: str, region: Region) -> bool:
    """Return whether a pack shows a region anyway: a file is whole if that costs little more."""
    for grant in grants:
        if grant.path == path:
            return grant.level == "full" or any(
                span.start <= region.start and region.end <= span.end for span in grant.spans
            )
    return False


def _stated(
    stop: Stop, following: Sequence[tuple[str, Region]], companions: Sequence[Companion]
) -> Listing:
    """Return the expected precision and recall, the regions after the stop, and the companions."""
    return Listing(
        expected=(round(stop.precision, 2), round(stop.recall, 2)),
        next=_cited(following),
        companions=tuple(map(str, companions)),
    )


def _cited(regions: Sequence[tuple[str, Region]]) -> tuple[str, ...]:
    return tuple(f"{quote(path)}:{region.start}-{region.end}" for path, region in regions)


def _reasons(
    offers: Sequence[Offer],
    materials: dict[str, tuple[Ranked, Material]],
    ranking: Ranking,
    lens: Lens,
) -> Callable[[Grant], str]:
    """Return a function for the reason of each section. If the shown regions are not the ones that
    the ranking quoted, the reason quotes words and lines of a shown one."""
    prove = prover(lens, ranking.task)
    regions = {offer.path: offer.regions for offer in offers}
    numbers = {doc.path: number for number, doc in ranking.reader.docs.items()}

    def reason(grant: Grant) -> str:
        stated = materials[grant.path][1].choice.reason
        if grant.level != "excerpt" or "(lines " not in stated:
            return stated
        quoted = prove(ranking.reader.regions(numbers[grant.path]))
        shown = [region for region in regions[grant.path] if _shows([grant], grant.path, region)]
        return stated.replace(quoted.text, prove(shown).text)

    return reason


def _section(material: Material, grant: Grant, ledger: Ledger, reason: str) -> Section:
    material = replace(material, choice=replace(material.choice, reason=reason))
    if material.choice.outline:
        section = best_rung(material, ledger.cut, ledger.outliner)
    elif grant.level == "excerpt":
        text = material.clean.text
        spans = widened(grant.spans, text.count("\n") + (not text.endswith("\n")))
        section = section_of(material, "excerpt", replace(material.clean, text=cut(text, spans)))
        section = replace(section, spans=spans)
    else:
        section = section_of(material, "full", material.clean)
    return replace(section, cost=ledger.cost(section))


def _offers(
    materials: dict[str, tuple[Ranked, Material]], ledger: Ledger, ranking: Ranking, lens: Lens
) -> list[Offer]:
    reader = ranking.reader
    numbers = {doc.path: number for number, doc in reader.docs.items() if doc.path in materials}
    offers = []
    for path, (ranked, material) in materials.items():
        lines = material.clean.text.split("\n")
        seen = look(ranked, reader.regions(numbers[path]) if path in numbers else (), lines, lens)
        offer = _offer(ranked, seen, material, lines, ledger)
        offers.append(_as_outline(offer, material, ledger) if material.choice.outline else offer)
    return offers


def _as_outline(offer: Offer, material: Material, ledger: Ledger) -> Offer:
    """Return an offer of the outline alone, represented by the file's best region."""
    full = ledger.estimate(best_rung(material, ledger.cut, ledger.outliner).body.text)
    best = max(range(len(offer.regions)), key=lambda j: offer.scores[j])
    return replace(
        offer,
        full=full,
        regions=offer.regions[best : best + 1],
        scores=offer.scores[best : best + 1],
        prices=(full,),
        leads=(),
        traits=offer.traits[best : best + 1],
    )


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
            price(region) + price(lead)
            for region, lead in zip(parts.regions, parts.leads, strict=True)
        ),
        header=ledger.cost(section_of(material, "excerpt", CleanText(""))),
        leads=parts.leads,
        traits=seen.traits,
    )
