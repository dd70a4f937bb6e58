"""From fitted sections to the text that leaves, and the last word on its cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from sutler.stages.choose import display_key
from sutler.stages.count import Counter
from sutler.stages.fit import Fetch, Fitted, Ledger, fit_within, trimmed
from sutler.stages.render import render
from sutler.values.pack import Choice, Preamble, Request, Section

if TYPE_CHECKING:
    from sutler.stages.task_fit import Ranking

_REFITS = 2  # how often a task's pack is fitted again with a little less, before anything is dropped


class Composed(Struct, frozen=True):
    """A budgeted pack: its text, what is in it in display order, and what the whole text costs."""

    text: str
    sections: tuple[Section, ...]
    fitted: Fitted
    used: int
    digest: str


def compose_within(
    choices: Sequence[Choice],
    fetch: Fetch,
    request: Request,
    preamble: Preamble,
    count: Counter,
    ranking: Ranking | None = None,
) -> Composed:
    """Fit, render and count. Counts of pieces need not add up to the count of the whole, and the promise is about
    the whole: while it is over the limit, the weakest claims give way."""
    reserve = 0
    refits = 0 if ranking is None else _REFITS
    fitted, limit = _fitted(choices, fetch, Ledger(request, count, preamble, len(choices)), request, ranking)
    order = {choice.path: display_key(choice) for choice in choices}
    while True:
        sections = tuple(sorted(fitted.sections, key=lambda section: order[section.path]))
        chunks: list[str] = []
        digest = _drain(preamble, sections, fitted, request, chunks)
        text = "".join(chunks)
        used = count(text)
        if used <= limit:
            return Composed(text, sections, fitted, used, digest)
        if refits and not fitted.listing.paths:  # a section is too much to lose for a few tokens
            refits -= 1
            reserve = max(used - (fitted.spent - reserve), reserve) + limit // 250
            ledger = Ledger(request, count, preamble, len(choices))
            ledger.spent = min(ledger.spent + reserve, ledger.limit)
            fitted, limit = _fitted(choices, fetch, ledger, request, ranking)
            continue
        if not (fitted.sections or fitted.listing.paths):
            raise Ledger(request, count, preamble, len(choices)).refusal(used)
        fitted = trimmed(fitted, used - limit)


def _fitted(
    choices: Sequence[Choice], fetch: Fetch, ledger: Ledger, request: Request, ranking: Ranking | None
) -> tuple[Fitted, int]:
    if ranking is None:
        return fit_within(choices, fetch, ledger, request.cut), ledger.limit
    from sutler.stages.task_fit import fit_task

    return fit_task(choices, fetch, ledger, ranking), ledger.limit


def _drain(preamble: Preamble, sections: Sequence[Section], fitted: Fitted, request: Request, into: list[str]) -> str:
    rendering = render(preamble, sections, fitted.listing, format=request.format, line_numbers=request.line_numbers)
    while True:
        try:
            into.append(next(rendering))
        except StopIteration as stop:
            return str(stop.value)
