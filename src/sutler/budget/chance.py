"""The probability that a region belongs to the context of a task, and the end of a pack.

A logistic model over the ranking's values for a file and a region. Its coefficients were fitted on
the `tune` tasks of the selection bench alone; the label of a region is the share of its lines that
the accepted change touched, with the functions around them.

The stop rule: regions enter in the order of their probability, and the pack ends at the greatest
expected F-score of its lines. Recall counts `RECALL` times as much as precision."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate

from msgspec import Struct

from sutler.languages.facts import Region
from sutler.languages.terms import whole
from sutler.ranking.query import like_code
from sutler.ranking.reader import Reader
from sutler.ranking.region_worth import Lens, Traits, other_blocks, traits_of
from sutler.ranking.score import Ranked

RECALL, RECALL_OF_SHORT = 1.5, 2.0
"""Weight of recall against precision in the stop rule (the beta of an F-score), and the same for a
short goal, which says less about the lines that it needs."""
_AHEAD, _STANDS_OUT, _SHORT_FILE = 0.2, 0.2, 500
"""Lead of the best file as a share of its score, probability of a region that stands out, and lines
of a file that is shown whole where none does."""
OPENING = 20
"""Lines that each file counts beside those it shows: its header, and a reader's attention."""

COEFFICIENTS: Mapping[str, float] = {
    "one": -4.371,
    "share": 2.818,
    "place": -0.818,
    "regions": -0.332,
    "is_head": -1.331,
    "is_class": -2.289,
    "is_gap": -1.835,
    "is_doc": -1.392,
    "inside": 0.426,
    "words": 3.048,
    "named": 1.222,
    "pointed": 1.0,
    "within": -0.434,
    "part": 1.112,
}
"""Of the features that `features` names; a region of kind `function` is the base case.
`pointed` was chosen on the tasks that point at lines: a fit over all tasks hardly sees it."""


class Candidate(Struct, frozen=True):
    """A ranked file with its regions, as the model sees it."""

    score: float
    regions: Sequence[Region]
    scores: Sequence[float]
    traits: Sequence[Traits]


def chances(files: Sequence[Candidate]) -> tuple[tuple[float, ...], ...]:
    """Return for each file, best first, the probability of each of its regions."""
    return tuple(tuple(map(_probability, rows)) for rows in features(files))


FITS: Mapping[str, float] = {
    "score": 1.05,
    "words": 6.66,
    "names": 4.47,
    "missing": -4.03,
    "files": -0.9,
}
"""Coefficients of the model that decides whether anything in a tree fits a task; fitted on tasks of
the tune projects, each with its own tree and with a wrong one."""
_LEAST_FIT = -0.4
_SHORT = 15  # terms of a title without a description
_LOOKED = 5  # files whose regions are scored
_NAMELESS = 0.5  # value of a task without any name of code


def fits(reader: Reader, lens: Lens, ranked: Sequence[Ranked]) -> bool:
    """Return whether a tree holds anything for a task, by the score of the best file, the share of
    the task's words in one region, the share of its code names and terms that occur at all, and the
    number of files that could hold them by chance. A path of the tree in the task suffices."""
    if not ranked or not lens.worth:
        return False
    if any(item.name in _CERTAIN and item.value > 0 for item in ranked[0].signals):
        return True
    best = {item.path for item in ranked[:_LOOKED]}
    numbers = [number for number, doc in reader.docs.items() if doc.path in best]
    words = max(
        (traits.words for number in numbers for traits in traits_of(reader.regions(number), lens)),
        default=0.0,
    )
    terms = lens.query.terms
    total = (
        FITS["score"] * ranked[0].score
        + FITS["words"] * words
        + FITS["names"] * _held_names(reader, lens.query.names)
        + FITS["missing"] * sum(not reader.holds(term) for term in terms) / len(terms)
        + FITS["files"] * math.log1p(len(reader.docs))
    )
    return total >= _LEAST_FIT


def _held_names(reader: Reader, names: Mapping[str, float]) -> float:
    """Return the share, by weight, of the code-only names that occur anywhere in the tree."""
    of_code = {name: weight for name, weight in names.items() if like_code(name)}
    if not of_code:
        return _NAMELESS
    reader.seek(map(whole, of_code))
    held = sum(weight for name, weight in of_code.items() if reader.holds(whole(name)))
    return held / sum(of_code.values())


_CERTAIN = frozenset({"named", "mention", "frame"})


def is_short(lens: Lens) -> bool:
    """Return whether a task is a title without a description."""
    return len(lens.worth) < _SHORT


class Stop(Struct, frozen=True):
    """The end of a pack for a task. `regions` are the (file, region) numbers that enter, the most
    probable first, and `rest` those that follow; `precision` is the expected share of useful lines
    among the shown ones, `recall` the expected share of shown lines among the useful ones."""

    regions: tuple[tuple[int, int], ...]
    rest: tuple[tuple[int, int], ...]
    precision: float
    recall: float


def stop_at(
    files: Sequence[Candidate],
    odds: Sequence[Sequence[float]],
    least: float | None = None,
    short: bool = False,
) -> Stop:
    """Return the regions before the stop: those with at least the probability `least`, or, if it is
    None, those with the greatest expected F-score. For a `short` goal recall counts more, and the
    best file enters whole if it is sure and none of its regions is."""
    order = sorted(
        ((i, j) for i, some in enumerate(odds) for j in range(len(some))),
        key=lambda pair: (-odds[pair[0]][pair[1]], pair),
    )
    if not order:
        return Stop((), (), 0.0, 0.0)
    if least is None:
        count = _best_count(files, odds, order, RECALL_OF_SHORT if short else RECALL)
        if short and any(i == 0 for i, _ in order[:count]) and _is_flat(files, odds):
            order[count:] = sorted(order[count:], key=lambda pair: pair[0] != 0)
            count += sum(i == 0 for i, _ in order[count:])
    else:
        count = sum(odds[i][j] >= least for i, j in order)
    useful, lengths = _sums(files, odds, order)
    hit, size = (useful[count - 1], lengths[count - 1]) if count else (0.0, 1)
    return Stop(tuple(order[:count]), tuple(order[count:]), hit / size, hit / (useful[-1] or 1.0))


def _best_count(
    files: Sequence[Candidate],
    odds: Sequence[Sequence[float]],
    order: Sequence[tuple[int, int]],
    recall: float,
) -> int:
    """Return the number of regions with the greatest expected F-score."""
    useful, lengths = _sums(files, odds, order)
    needed = recall * recall * useful[-1]
    scores = [
        hit / (needed + size + OPENING * count)
        for hit, size, count in zip(useful, lengths, _opened(order), strict=True)
    ]
    return scores.index(max(scores)) + 1


def _is_flat(files: Sequence[Candidate], odds: Sequence[Sequence[float]]) -> bool:
    """Return whether the best file is short and far ahead, but no region stands out: the first few
    of many alike would be a choice by their place in the file."""
    best = files[0]
    second = files[1].score if len(files) > 1 else 0.0
    top = max((chance for some in odds for chance in some), default=0.0)
    ahead = best.score - second >= _AHEAD * best.score
    return ahead and top < _STANDS_OUT and best.regions[-1].end <= _SHORT_FILE


def _sums(
    files: Sequence[Candidate], odds: Sequence[Sequence[float]], order: Sequence[tuple[int, int]]
) -> tuple[list[float], list[int]]:
    """Return the expected useful lines and the lines of the regions up to each."""
    sizes = [_size(files[i].regions[j]) for i, j in order]
    useful = (odds[i][j] * size for (i, j), size in zip(order, sizes, strict=True))
    return list(accumulate(useful)), list(accumulate(sizes))


def _opened(order: Sequence[tuple[int, int]]) -> list[int]:
    """Count the files that the regions up to each belong to."""
    seen: set[int] = set()
    counts = []
    for i, _ in order:
        seen.add(i)
        counts.append(len(seen))
    return counts


def _size(region: Region) -> int:
    return region.end - region.start + 1


def _probability(row: Mapping[str, float]) -> float:
    total = sum(COEFFICIENTS.get(name, 0.0) * value for name, value in row.items())
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, total))))


def features(files: Sequence[Candidate]) -> list[list[dict[str, float]]]:
    """Compute the features of every region of every file, by name."""
    best = max((file.score for file in files), default=0.0) or 1.0
    return [
        _of_regions(
            file,
            {
                "one": 1.0,
                "share": file.score / best,
                "place": math.log1p(place),
                "regions": math.log1p(len(file.regions)),
            },
        )
        for place, file in enumerate(files)
    ]


def _of_regions(file: Candidate, shared: dict[str, float]) -> list[dict[str, float]]:
    top = max(file.scores, default=0.0) or 1.0
    order = sorted(range(len(file.scores)), key=lambda j: (-file.scores[j], j))
    place = {j: k for k, j in enumerate(order)}
    rows = []
    for j, (region, traits) in enumerate(zip(file.regions, file.traits, strict=True)):
        others = (file.scores[other] for other in other_blocks(file.regions, j))
        rows.append(
            shared
            | {
                f"is_{region.kind}": 1.0,
                "inside": float(traits.inside),
                "words": traits.words,
                "named": float(traits.named),
                "pointed": float(traits.pointed),
                "within": math.log1p(place[j]),
                "part": max(others, default=0.0) / top,
            }
        )
    return rows
