"""Allocation of a task pack's room to the files of the task."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from sutler.tasks.choice import Wanted
from sutler.tasks.ladder import Rung

MAX_OWNED = 200  # each is read and measured, and few of so many would fit
MIN_FILE_CHARS = 200  # a piece below this shows a heading and nothing that helps
SMALL = 4
"""A file is small beside one that costs at least this many times as much."""


class Offer(Struct, frozen=True):
    """A file at one level, and its cost in characters."""

    rung: Rung
    cost: int


class Plan(Struct):
    """The chosen offer of each file, and the characters still free."""

    room: int
    chosen: dict[str, Offer] = {}

    def take(self, item: Wanted, offer: Offer) -> bool:
        """Replace the file's offer by this one if the room allows."""
        now = self.chosen.get(item.path)
        cost = offer.cost - (now.cost if now else 0)
        if cost > self.room:
            return False
        self.room -= cost
        self.chosen[item.path] = offer
        return True


Ladder = tuple[Wanted, Sequence[Offer]]
"""A file and its offers, the smallest first."""


Offers = Callable[[Wanted], list[Offer]]


def share(plan: Plan, wanted: Sequence[Wanted], offers: Offers) -> None:
    """Plan high before medium files. Every file gets its smallest offer before any file gets a
    larger one, and a small file is whole before a large one grows past it, whatever the priorities
    of the two."""
    ladders: list[Ladder] = [(item, offers(item)[::-1]) for item in wanted]
    high = [ladder for ladder in ladders if ladder[0].priority == "high"]
    medium = [ladder for ladder in ladders if ladder[0].priority == "medium"]
    _least_of(plan, high)
    _small_whole(plan, high, medium)
    _least_of(plan, medium)
    for group in (high, medium):
        _grow(plan, group)


def add_owned(plan: Plan, owned: Sequence[Wanted], offers: Offers) -> None:
    """Plan low files, whole or not at all: the head of a file that the task does not name is
    filler."""
    for item in owned[:MAX_OWNED]:
        if plan.room < MIN_FILE_CHARS:
            break
        for offer in offers(item)[:1]:
            plan.take(item, offer)


def _least_of(plan: Plan, group: Sequence[Ladder]) -> None:
    """Take the smallest offer of each file; one that shows cited lines precedes one that does
    not."""
    for item, steps in group:
        if item.path not in plan.chosen:
            any(plan.take(item, offer) for offer in (steps[1::-1] if item.lines else steps[:1]))


def _small_whole(plan: Plan, high: Sequence[Ladder], medium: Sequence[Ladder]) -> None:
    """Show files of the context whole that are small beside a file of higher priority, the smallest
    first. The large file has its smallest offer already, and loses only text around cited lines."""
    largest = max((steps[-1].cost for _, steps in high if steps), default=0)
    whole = [
        (steps[-1], item) for item, steps in medium if steps and steps[-1].cost * SMALL <= largest
    ]
    for offer, item in sorted(whole, key=lambda pair: (pair[0].cost, pair[1].path)):
        if not plan.take(item, offer):
            break


def _grow(plan: Plan, group: Sequence[Ladder]) -> None:
    """Take the cheapest offers of all files first."""
    steps = [
        (number > 0, offer.cost, place, offer)
        for place, (_, ladder) in enumerate(group)
        for number, offer in enumerate(ladder)
    ]
    for _, cost, place, offer in sorted(steps, key=lambda step: step[:3]):
        item = group[place][0]
        now = plan.chosen.get(item.path)
        if now is None or cost > now.cost:
            plan.take(item, offer)
