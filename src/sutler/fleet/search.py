"""Find the repositories, files and lines of a fleet that a task needs.

Each repository has a card: term counts of its paths and symbols. BM25 over the cards selects a few
repositories, the ranker orders the files of each, and the region with the most terms of the task
represents its file.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Unpack

import msgspec
from msgspec import Struct

from sutler.fleet.export import export_files
from sutler.fleet.queue import Queue, Unit
from sutler.languages.facts import NO_FACTS, Facts, Region
from sutler.languages.terms import checksum, terms_of
from sutler.pack.options import Options
from sutler.pack.project import Packing, Project
from sutler.ranking import Reader, rank
from sutler.ranking.index import Bag, Doc, build, dumps, loads, path_terms
from sutler.ranking.query import analyse

MOST_TERMS = 4_000
"""Maximum number of terms in a card; the most frequent ones are kept."""
REPOSITORIES = 5
"""Number of repositories whose files are ranked."""
FILES_EACH = 100
PACKED = 60
"""Number of candidate files for a pack across repositories."""
_SATURATION = 1.2  # k1 of BM25
_LENGTH = 0.6  # b of BM25


class Card(Struct, frozen=True, array_like=True):
    """Term counts over the paths and symbols of a repository."""

    terms: dict[str, int]
    total: int


class Place(Struct, frozen=True):
    """A result: lines of a file of a repository, with the reasons of its rank."""

    repo: str
    path: str
    start: int
    end: int
    score: float
    reasons: tuple[str, ...] = ()


class Indexed(Struct, frozen=True, array_like=True):
    """What is stored of a blob: the facts of its text, and its words."""

    facts: Facts
    bag: Bag


def fact_name(path: str) -> str:
    """The kind under which `Indexed` is stored. The part of the file's name that selects the
    language belongs to it, because two files of one blob can be of different languages."""
    return f"facts:{spelling(path)}"


def spelling(path: str) -> str:
    """The part of a name that selects the language: its suffix, or a name without suffix."""
    name = path.rpartition("/")[2].lower()
    return name.rpartition(".")[2] if "." in name[1:] else name


def keep(unit: Unit, files: Sequence[tuple[str, str, Indexed]], queue: Queue) -> None:
    """Store the card and the index of a repository."""
    counts: Counter[str] = Counter()
    for path, _, indexed in files:
        counts.update(path_terms(path))
        for symbol in indexed.facts.symbols:
            counts.update(terms_of(symbol.name))
    index = build((path, blob, indexed.bag) for path, blob, indexed in files)
    card = Card(dict(sorted(counts.most_common(MOST_TERMS))), sum(counts.values()))
    queue.put_facts(
        [
            (unit.key, "card", unit.version, msgspec.msgpack.encode(card)),
            (unit.key, "index", unit.version, dumps(index)),
        ]
    )


def best_repositories(cards: Mapping[str, Card], task: str) -> list[tuple[str, float]]:
    """Rank repositories by BM25 over their cards, best first."""
    if not cards:
        return []
    query = analyse(task).terms
    mean = sum(card.total for card in cards.values()) / len(cards) or 1.0
    scores: dict[str, float] = {}
    for term, weight in query.items():
        holders = [(name, card) for name, card in cards.items() if term in card.terms]
        rarity = math.log(1 + (len(cards) - len(holders) + 0.5) / (len(holders) + 0.5))
        for name, card in holders:
            count = card.terms[term]
            norm = 1 - _LENGTH + _LENGTH * card.total / mean
            part = count * (_SATURATION + 1) / (count + _SATURATION * norm)
            scores[name] = scores.get(name, 0.0) + weight * rarity * part
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def find(queue: Queue, task: str, limit: int = 20) -> tuple[Place, ...]:
    """Find the places in all indexed repositories that a task needs, best first."""
    units = {unit.repo: unit for unit in queue.units(state="done") if unit.kind == "index"}
    cards = _cards(queue, units.values())
    best = best_repositories(cards, task)[:REPOSITORIES]
    if not best:
        return ()
    top = best[0][1]
    places: list[Place] = []
    for repo, score in best:
        unit = units[repo]
        body = queue.fact(unit.key, "index", unit.version)
        index = loads(body) if body is not None else None
        if index is not None:
            reader = Reader(index, _facts_of(queue, unit))
            places += _places(repo, score / top, reader, task)
    return tuple(sorted(places, key=lambda place: (-place.score, place.repo, place.path))[:limit])


def pack(queue: Queue, task: str, folder: str, **options: Unpack[Options]) -> Packing:
    """Build one pack for a task across repositories. The best files are exported below `folder`,
    with one folder per repository, and packed by the same pipeline as any project."""
    sources = {item.name: item.source for item in queue.repositories()}
    trees = {unit.repo: unit.tree for unit in queue.units(state="done") if unit.kind == "index"}
    chosen: dict[str, list[str]] = {}
    for place in find(queue, task, PACKED):
        chosen.setdefault(place.repo, []).append(place.path)
    for repo, paths in sorted(chosen.items()):
        export_files(sources[repo], trees[repo], paths, os.path.join(folder, repo))
    return Project(folder).pack(goal=task, **options)


def _cards(queue: Queue, units: Iterable[Unit]) -> dict[str, Card]:
    by_version: dict[str, dict[str, bytes]] = {}
    decoder = msgspec.msgpack.Decoder(Card)
    cards: dict[str, Card] = {}
    for unit in units:
        if unit.version not in by_version:
            by_version[unit.version] = queue.facts(unit.version, "card")
        body = by_version[unit.version].get(unit.key)
        if body is not None:
            cards[unit.repo] = decoder.decode(body)
    return cards


def _facts_of(queue: Queue, unit: Unit) -> Callable[[Sequence[Doc]], list[Facts]]:
    decoder = msgspec.msgpack.Decoder(Indexed)

    def facts(docs: Sequence[Doc]) -> list[Facts]:
        bodies = (queue.fact(doc.digest, fact_name(doc.path), unit.version) for doc in docs)
        return [decoder.decode(body).facts if body else NO_FACTS for body in bodies]

    return facts


def _places(repo: str, factor: float, reader: Reader, task: str) -> list[Place]:
    numbers = {doc.path: number for number, doc in reader.docs.items()}
    weights = analyse(task).terms
    places = []
    for ranked in rank(reader, task, limit=FILES_EACH):
        regions = reader.regions(numbers[ranked.path])
        start, end = _best_lines(regions, weights)
        places.append(Place(repo, ranked.path, start, end, ranked.score * factor, ranked.reasons))
    return places


def _best_lines(regions: Sequence[Region], weights: Mapping[str, float]) -> tuple[int, int]:
    if not regions:
        return 1, 1
    sums = {checksum(term): weight for term, weight in weights.items()}

    def worth(region: Region) -> float:
        marks = memoryview(region.terms).cast("I") if region.terms else ()
        matches = sum(sums.get(mark, 0.0) for mark in marks)
        # A long region matches more terms by its length alone.
        return matches / math.sqrt(region.end - region.start + 2)

    best = max(regions, key=lambda region: (worth(region), -region.start))
    return best.start, best.end
