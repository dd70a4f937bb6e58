"""Files that a task names without a path: by their own name, by the component in the title, or by a
definition in the task's words; and files that share the name of one of the best.

`no-unused-labels`, `NoUnusedLabels` and `no_unused_labels.js` are one name; `mod.rs`, `index.ts`
and `__init__.py` have the name of their folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sutler.languages.terms import split, whole
from sutler.ranking.query import Query
from sutler.ranking.reader import Reader
from sutler.ranking.resolution import Links, bare
from sutler.ranking.signals import Scores, idf

_MOST_ALIKE = 12  # files of one name that a task may mean
_MOST_TWINS = 5
_INSIDE = 0.7  # a file in the folder of a component, beside the file of its name
_WIDE = 0.5  # largest share of the files in a component
_UNASKED = 3.0  # weight of a word of a definition's name that the task lacks
_BESIDE_CODE = frozenset({"test", "example", "bench"})


def namesakes(query: Query, links: Links, reader: Reader) -> Scores:
    """Score files whose own name the task uses: a rarer name scores more."""
    weights: dict[str, float] = {}
    spelled = [(bare(name), weight) for name, weight in query.names.items()]
    joined = [("".join(parts), weight) for parts, weight in query.compounds]
    for name, weight in (*spelled, *joined):
        weights[name] = max(weights.get(name, 0.0), weight)
    scores: Scores = {}
    total = len(reader.docs)
    for name, weight in weights.items():
        alike = _of_code(links.named(name), reader)
        if alike and len(alike) <= _MOST_ALIKE:
            each = weight * idf(len(alike), total) / len(alike)
            for number in alike:
                scores[number] = max(scores.get(number, 0.0), each)
    return scores


def _of_code(numbers: Sequence[int], reader: Reader) -> Sequence[int]:
    """Drop tests and examples if other files remain."""
    own = [number for number in numbers if reader.docs[number].kind not in _BESIDE_CODE]
    return own or numbers


def scoped(query: Query, links: Links, reader: Reader) -> Scores:
    """Score files of the component that the title names: `fix(parser):`, `[Select]`,
    `net/http:`."""
    scores: Scores = {}
    most = _WIDE * len(reader.docs)
    for name in query.scope:
        inside = links.inside(name)
        if len(inside) < most:
            scores.update((number, _INSIDE) for number in inside if number not in scores)
        scores.update(dict.fromkeys(links.named(name), 1.0))
    return scores


def twins(best: Sequence[tuple[int, float]], links: Links, reader: Reader) -> Scores:
    """Score files with the name of a best file: the header of a source, the copy for another
    platform."""
    scores: Scores = {}
    for number, strength in best:
        module = links.module(number)
        alike = links.named(bare(module[-1])) if module else ()
        if reader.docs[number].kind == "source" and len(alike) <= _MOST_TWINS:
            for other in alike:
                if other != number and reader.docs[other].kind not in _BESIDE_CODE:
                    scores[other] = max(scores.get(other, 0.0), strength)
    return scores


def spelled(reader: Reader, worth: Mapping[str, float], numbers: Sequence[int]) -> Scores:
    """Score files by the definition whose name has the most of the task's words and the fewest
    others."""
    return {number: _best_name(reader, worth, number) for number in numbers}


def _best_name(reader: Reader, worth: Mapping[str, float], number: int) -> float:
    best = 0.0
    for symbol in reader.facts(number).symbols:
        name = symbol.name.rpartition("::")[2]
        terms = split(name)
        if worth.keys().isdisjoint(terms):
            continue
        if len(terms) > 1:
            terms = tuple(term for term in terms if term != whole(name))
        asked = sum(worth.get(term, 0.0) for term in terms)
        if asked:
            every = sum(max(worth.get(term, 0.0), _UNASKED) for term in terms)
            best = max(best, asked * asked / every)
    return best
