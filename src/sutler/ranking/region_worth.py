"""Worth of each region of a file for a task: its words by their worth, its name, its lines.

A function that holds many rare words of a task is better evidence than a long file that holds them
far apart. So the best region of a file is a ranking signal, and all of them decide which lines an
excerpt shows."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from sutler.languages.facts import Region
from sutler.languages.terms import checksum, split, whole
from sutler.ranking.query import Query

_NAMED = 1.0
_TITLED = 1.0
_OWNER = 0.4  # weight of the name of the class around a region
_NEAR = 0.2  # weight of the better of a region's neighbours


class Lens(Struct, frozen=True):
    """A task as regions are compared with it: terms by check sum with their worth (zone weight
    times rarity), the same by name, and their query."""

    by_sum: dict[int, float]
    worth: dict[str, float]
    query: Query


def lens_of(query: Query, worth: Mapping[str, float]) -> Lens:
    return Lens({checksum(term): value for term, value in worth.items()}, dict(worth), query)


def lexical(region: Region, lens: Lens) -> float:
    """Sum the worth of the task's terms that a region holds."""
    by_sum = lens.by_sum
    sums = memoryview(region.terms).cast("I") if region.terms else ()
    return sum([by_sum[number] for number in sums if number in by_sum])


def passage(regions: Sequence[Region], lens: Lens) -> float:
    """Return the worth of the best region's words, dampened for long regions."""
    return max((density(region, lens) for region in regions), default=0.0)


def density(region: Region, lens: Lens) -> float:
    """Return the worth of the words that a region holds, dampened for long regions."""
    return lexical(region, lens) / math.sqrt(6 + region.end - region.start)


def held_by(region: Region) -> frozenset[int]:
    """Return the check sums of a region's terms."""
    sums = array("I")
    sums.frombytes(region.terms)
    return frozenset(sums)


def scores_of(
    regions: Sequence[Region], lens: Lens, pointed: Sequence[int] = (), owners: Sequence[int] = ()
) -> tuple[float, ...]:
    """Score each region: its words, its own name and its class's (`owners`, from `owners_of`),
    lines that a trace points at, and a share of its better neighbour's score."""
    named = [_named(region, lens) for region in regions]
    own = [lexical(region, lens) + name for region, name in zip(regions, named, strict=True)]
    for i, owner in enumerate(owners):
        if owner >= 0:
            own[i] += _OWNER * named[owner]
    top = max(own, default=0.0)
    for i, region in enumerate(regions) if pointed else ():
        if _points_into(region, pointed):
            own[i] = own[i] * 1.5 + max(top, 1.0)
    around = [0.0, *own, 0.0]
    return tuple(own[i] + _NEAR * max(around[i], around[i + 2]) for i in range(len(own)))


class Traits(Struct, frozen=True, gc=False):
    """Evidence for one region, apart from how it compares with others: the share of the
    task's words by worth, whether the task uses its name, whether it stands inside a class, and
    whether the task points at one of its lines."""

    words: float
    named: bool
    inside: bool
    pointed: bool = False


def traits_of(
    regions: Sequence[Region],
    lens: Lens,
    owners: Sequence[int] = (),
    pointed: Sequence[int] = (),
) -> tuple[Traits, ...]:
    """Compute the traits of each region, in order."""
    total = sum(lens.by_sum.values()) or 1.0
    return tuple(
        Traits(
            lexical(region, lens) / total,
            _is_named(region, lens),
            bool(owners) and owners[i] >= 0,
            _points_into(region, pointed),
        )
        for i, region in enumerate(regions)
    )


def _points_into(region: Region, lines: Sequence[int]) -> bool:
    return any(region.start <= line <= region.end for line in lines)


def other_blocks(regions: Sequence[Region], j: int) -> Iterator[int]:
    """Yield the other regions of one long definition: all between them have its name."""
    for step in (-1, 1):
        at = j + step
        while regions[j].name and 0 <= at < len(regions) and regions[at].name == regions[j].name:
            yield at
            at += step


def _is_named(region: Region, lens: Lens) -> bool:
    return bool(region.name) and region.name.rpartition("::")[2] in lens.query.names


def owners_of(regions: Sequence[Region], lines: Sequence[str]) -> tuple[int, ...]:
    """Return for each region the number of the class that it is indented below, or -1."""
    owners: list[int] = []
    owner, depth = -1, 0
    for i, region in enumerate(regions):
        first = next((line for line in lines[region.start - 1 : region.end] if line.strip()), "")
        indent = len(first) - len(first.lstrip())
        if region.kind == "class":
            owner, depth = i, indent
        owners.append(owner if owner not in (-1, i) and indent > depth else -1)
    return tuple(owners)


def _named(region: Region, lens: Lens) -> float:
    """Return how far the task uses a region's own name: whole, or in the words of its title."""
    if not region.name:
        return 0.0
    weight = lens.query.names.get(region.name.rpartition("::")[2], 0.0)
    titled = sum(
        lens.worth.get(term, 0.0) for term in split(region.name) if term in lens.query.title
    )
    return _NAMED * weight * lens.worth.get(whole(region.name), 1.0) + _TITLED * titled
