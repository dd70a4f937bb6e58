"""Allocate a budget to files and their regions: the most value for the cost, within the limit.

The caller passes an `Offer` per file, best first, with every price in the unit of the budget
(tokens or characters), and gets a `Grant` per file: whole, as an excerpt (line spans), as an
outline, or by name only. Prices of parts only estimate their cost together, so `fit_exactly` takes
a function that measures the real cost. It moves the limit until the measured cost is at most the
limit, and as close to it as the material allows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from sutler.languages.facts import Region
from sutler.paths import Span
from sutler.ranking.region_worth import Traits

GrantLevel = Literal["full", "excerpt", "outline", "listed"]


class Offer(Struct, frozen=True):
    """A file as the budget sees it. `score` is the ranking's; `scores` and `prices` are those of
    its regions, in order; `outline` and `listed` are the prices of these rungs, 0 if the rung does
    not exist; `whole` pins it to be taken in full first; `header` is the price of its frame, if it
    is known better than in `Prices`; `leads` are lines that precede a region if the previous one is
    not shown, such as the signature of a function's body."""

    path: str
    score: float
    full: int
    regions: tuple[Region, ...] = ()
    scores: tuple[float, ...] = ()
    prices: tuple[int, ...] = ()
    outline: int = 0
    listed: int = 0
    whole: bool = False
    header: int = 0
    leads: tuple[Span | None, ...] = ()
    traits: tuple[Traits, ...] = ()


class Prices(Struct, frozen=True):
    """Costs of a shown file besides its text, and costs of a cut: the marker for omitted lines and
    the lines of context around it."""

    header: int = 60
    gap: int = 8


class Grant(Struct, frozen=True):
    """The share of a file; `spans` are the lines of an excerpt, in order, neighbours joined."""

    path: str
    level: GrantLevel
    spans: tuple[Span, ...] = ()


class Tuning(Struct, frozen=True):
    """Parameters that derive value from scores; tuned on the selection bench's `tune` instances."""

    file_power: float = 2.0  # how steeply a file's score counts
    rank_power: float = 0.3  # how steeply its place in the ranking counts
    region_power: float = 1.5  # how steeply a region's own score counts
    cost_power: float = 0.4  # 1 is pure value per cost; less favours long functions
    floor: float = 0.03  # worth of a region without evidence of its own, as a share of the best
    head: float = 2.25  # factor for the top of a file with its imports, over the worth of its words
    classes: float = 0.2  # the head of a class is worth this much less,
    gaps: float = 0.8  # the lines between definitions this much,
    docs: float = 0.5  # and long documentation this much
    fading: float = 0.35  # how steeply the further regions of one file count less than its best,
    soon: float = 8.0  # and after how many of them that has effect
    least_price: int = 60  # below this all regions cost alike
    whole_share: float = (
        0.2  # the best file is taken whole when it needs at most this share of the limit
    )
    completion: float = 0.75  # a file shown to this share is completed when it fits


TUNING = Tuning()
_STOPPED = Tuning(whole_share=0.0, completion=0.9)  # the stop rule has chosen the regions already
ENOUGH = 0.985
"""Share of a budget above which it counts as used up."""
TRIES = 60
"""Limit of single regions that are measured to fill a last gap."""
FEW = 12
"""Limit of regions that may be shown in part to fill it."""


def allocate(
    offers: Sequence[Offer], limit: int, prices: Prices | None = None, tuning: Tuning = TUNING
) -> tuple[Grant, ...]:
    """Return grants in the order of the offers, without files that get nothing. Σ prices ≤
    limit."""
    return _allocated(offers, _by_density(offers, tuning), limit, prices or Prices(), tuning)


def _allocated(
    offers: Sequence[Offer],
    order: Sequence[tuple[int, int]],
    limit: int,
    prices: Prices,
    tuning: Tuning,
) -> tuple[Grant, ...]:
    spending = _Spending(offers, limit, prices)
    for i, offer in enumerate(offers):
        small = i == 0 and offer.full <= limit * tuning.whole_share
        if offer.whole or small:
            spending.take_whole(i)
    for i, j in order:
        spending.take_region(i, j)
    for i in range(len(offers)):
        spending.complete(i, tuning.completion)
    for level in ("outline", "listed"):
        for i in range(len(offers)):
            spending.take_rung(i, level)
    return spending.grants()


def fit_below(
    offers: Sequence[Offer],
    order: Sequence[tuple[int, int]],
    limit: int,
    measure: Callable[[tuple[Grant, ...]], int],
    prices: Prices | None = None,
) -> tuple[Grant, ...]:
    """Return grants for these regions alone, in their order; the last are dropped while the
    measured cost exceeds the limit."""
    target = limit
    for _ in range(20):
        grants = _allocated(offers, order, target, prices or Prices(), _STOPPED)
        cost = measure(grants)
        if cost <= limit:
            return grants
        target -= max(cost - limit, limit // 50)
    return ()


def fit_exactly(
    offers: Sequence[Offer],
    limit: int,
    measure: Callable[[tuple[Grant, ...]], int],
    prices: Prices | None = None,
) -> tuple[Grant, ...]:
    """Return grants whose measured cost is at most the limit and, with enough material, at least 97
    % of it."""
    best: tuple[Grant, ...] = ()
    best_cost = 0
    enough, too_much = 0, 0  # targets that are known to cost too little and too much; 0: none yet
    target = limit
    order = _by_density(offers, TUNING)
    for _ in range(10):
        grants = _allocated(offers, order, target, prices or Prices(), TUNING)
        cost = measure(grants)
        if best_cost < cost <= limit:
            best, best_cost = grants, cost
        if limit * ENOUGH <= cost <= limit:
            break
        if cost > limit:
            too_much = target
        elif len(grants) == len(offers) and all(grant.level == "full" for grant in grants):
            break  # nothing is left to add
        else:
            enough = target
        target = _moved(target + limit - cost, enough, too_much)
        if target in (enough, too_much):
            break
    if best_cost < limit * ENOUGH:
        return _topped_up(best, best_cost, offers, order, limit, measure)
    return best


def _topped_up(
    grants: tuple[Grant, ...],
    cost: int,
    offers: Sequence[Offer],
    order: Sequence[tuple[int, int]],
    limit: int,
    measure: Callable[[tuple[Grant, ...]], int],
) -> tuple[Grant, ...]:
    """Add regions to a gap that estimates left: one after the other, each measured, until it is
    filled. If whole ones are too large, add the first lines of the best."""
    held = {grant.path: grant for grant in grants}

    def more(i: int, span: Span) -> None:
        nonlocal held, grants, cost
        path = offers[i].path
        spans = held[path].spans if path in held else ()
        wider = {**held, path: Grant(path, "excerpt", _with(spans, span))}
        grown = tuple(wider[offer.path] for offer in offers if offer.path in wider)
        price = measure(grown)
        if cost < price <= limit:
            held, grants, cost = wider, grown, price

    open_regions = [
        (i, j) for i, j in order if not _shows(held.get(offers[i].path), offers[i].regions[j])
    ]
    tries = 0
    for i, j in open_regions:
        if cost >= limit * ENOUGH or tries == TRIES:
            break
        if offers[i].prices[j] <= limit - cost:
            region = offers[i].regions[j]
            more(i, Span(region.start, region.end))
            tries += 1
    for i, j in open_regions[:FEW]:
        region = offers[i].regions[j]
        size = region.end - region.start + 1
        while cost < limit * ENOUGH and size > 1:
            size //= 2
            more(i, Span(region.start, region.start + size - 1))
    return grants


def _shows(grant: Grant | None, region: Region) -> bool:
    if grant is None:
        return False
    return grant.level == "full" or any(
        s.start <= region.start and region.end <= s.end for s in grant.spans
    )


def _with(spans: Sequence[Span], span: Span) -> tuple[Span, ...]:
    """Insert a span in order, and join those that touch."""
    joined: list[Span] = []
    for part in sorted((*spans, span), key=lambda part: (part.start, part.end)):
        if joined and part.start <= joined[-1].end + 1:
            part = Span(joined[-1].start, max(joined.pop().end, part.end))
        joined.append(part)
    return tuple(joined)


def _moved(wish: int, enough: int, too_much: int) -> int:
    """Return the next target: the wish if it lies between the known bounds, else their middle."""
    if too_much:
        return wish if enough < wish < too_much else (enough + too_much) // 2
    return max(wish, enough + 1)


def _by_density(offers: Sequence[Offer], tuning: Tuning) -> list[tuple[int, int]]:
    """Return all regions of all files, the most valuable for their cost first; ties by rank and
    line."""
    top_file = max((offer.score for offer in offers), default=0.0) or 1.0
    top_region = max((score for offer in offers for score in offer.scores), default=0.0) or 1.0
    by_kind = {
        "function": 1.0,
        "head": tuning.head,
        "class": tuning.classes,
        "gap": tuning.gaps,
        "doc": tuning.docs,
    }
    rated: list[tuple[float, int, int]] = []
    for i, offer in enumerate(offers):
        file_value = (max(offer.score, 0.0) / top_file) ** tuning.file_power / (
            1 + i
        ) ** tuning.rank_power
        mine: list[tuple[float, int]] = []
        for j, (region, score, price) in enumerate(
            zip(offer.regions, offer.scores, offer.prices, strict=True)
        ):
            own = by_kind[region.kind] * (
                tuning.floor + (score / top_region) ** tuning.region_power
            )
            mine.append((-file_value * own / (price + tuning.least_price) ** tuning.cost_power, j))
        mine.sort()
        rated += [
            (value / (1 + k / tuning.soon) ** tuning.fading, i, j)
            for k, (value, j) in enumerate(mine)
        ]
    rated.sort()
    return [(i, j) for _, i, j in rated]


class _Spending:
    """The regions and rungs taken so far, and the rest of the budget."""

    def __init__(self, offers: Sequence[Offer], limit: int, prices: Prices) -> None:
        self._offers = offers
        self._left = limit
        self._prices = prices
        self._regions: list[set[int]] = [set() for _ in offers]
        self._spent = [0] * len(offers)
        self._rung: list[GrantLevel | None] = [None] * len(offers)

    def _pay(self, i: int, price: int) -> bool:
        """Pay the difference between the present cost of file `i` and `price`."""
        more = price - self._spent[i]
        if more > self._left:
            return False
        self._left -= more
        self._spent[i] = price
        return True

    def take_whole(self, i: int) -> bool:
        if self._rung[i] == "full":
            return True
        taken = self._pay(i, self._offers[i].full + self._header(i))
        if taken:
            self._rung[i] = "full"
        return taken

    def _header(self, i: int) -> int:
        return self._offers[i].header or self._prices.header

    def take_region(self, i: int, j: int) -> None:
        if self._rung[i] == "full":
            return
        mine, gap = self._regions[i], self._prices.gap
        price = self._spent[i] + self._offers[i].prices[j]
        if not mine:
            price += self._header(i) + 2 * gap  # before and after
        else:  # one more range, a longer one, or two that join
            price += gap * (1 - (j - 1 in mine) - (j + 1 in mine))
        if self._pay(i, price):
            mine.add(j)
            self._rung[i] = "excerpt"
            if len(mine) == len(self._offers[i].regions):
                self.take_whole(i)

    def complete(self, i: int, share: float) -> None:
        offer = self._offers[i]
        if self._rung[i] == "excerpt" and self._spent[i] >= share * offer.full:
            self.take_whole(i)

    def take_rung(self, i: int, level: GrantLevel) -> None:
        offer = self._offers[i]
        price = offer.outline + self._header(i) if level == "outline" else offer.listed
        exists = offer.outline if level == "outline" else offer.listed
        if exists and self._rung[i] is None and self._pay(i, price):
            self._rung[i] = level

    def grants(self) -> tuple[Grant, ...]:
        grants: list[Grant] = []
        for i, offer in enumerate(self._offers):
            rung = self._rung[i]
            if rung is not None:
                spans = _spans(offer, self._regions[i]) if rung == "excerpt" else ()
                grants.append(Grant(offer.path, rung, spans))
        return tuple(grants)


def _spans(offer: Offer, chosen: set[int]) -> tuple[Span, ...]:
    spans: list[Span] = []
    for j in sorted(chosen):
        region = offer.regions[j]
        lead = offer.leads[j] if offer.leads and j - 1 not in chosen else None
        if lead:
            _join(spans, lead)
        _join(spans, Span(region.start, region.end))
    return tuple(spans)


def _join(spans: list[Span], span: Span) -> None:
    if spans and spans[-1].end + 1 == span.start:
        span = Span(spans.pop().start, span.end)
    spans.append(span)
