"""Find the repositories, files and lines of a fleet for a task.

Each repository has a card: counts of the terms of its texts and of its definitions. The cards of
all repositories, merged into one index, select a few repositories; the ranker orders their files
together; the region with the most terms of the task represents its file."""

from __future__ import annotations

import math
import os
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from heapq import nsmallest
from typing import Unpack

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from sutler.errors import DeniedError, UsageError
from sutler.fleet import postings
from sutler.fleet.catalogue import Fleet, located
from sutler.fleet.export import export_files
from sutler.fleet.postings import Lookup
from sutler.fleet.queue import Queue, Unit
from sutler.languages.extract import extract
from sutler.languages.facts import NO_FACTS, Facts, Region
from sutler.languages.terms import checksum
from sutler.pack.options import Options
from sutler.pack.project import Packing, Project
from sutler.paths import basename
from sutler.ranking import Reader, rank
from sutler.ranking.index import Doc, path_words, role_of, word_terms
from sutler.ranking.query import analyse
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import Role
from sutler.secrets.cleaner import Clean
from sutler.secrets.format_table import file_rules

FACTS = 2
"""Version of the stored facts of a blob."""
_LEVEL = 6  # of compression


class Indexed(Struct, frozen=True, array_like=True):
    """Stored facts of a blob: the facts of its text, encoded; its role by that text; and its
    findings (rule, line, confidence), masked."""

    raw: Raw
    role: Role
    findings: tuple[tuple[str, int, float], ...]

    @property
    def facts(self) -> Facts:
        return _FACTS.decode(self.raw)


def fact_name(path: str) -> str:
    """Return the kind under which `Indexed` is stored."""
    return f"facts:{rule_name(path)}"


def rule_name(path: str) -> str:
    """Return the part of a path that selects rules and the language: its suffix, a name without
    suffix, or the whole path if a rule for secrets depends on it. Paths of one blob that differ in
    it have facts of their own."""
    name = basename(path).lower()
    if file_rules(path) or name.startswith(".env"):
        return path
    stem, dot, suffix = name.rpartition(".")
    return f"x.{suffix}" if stem and dot else name


def packed(path: str, text: str, clean: Clean) -> bytes:
    """Encode the facts to store of a blob with this text."""
    name = rule_name(path)
    safe = clean(text, name)
    findings = tuple((item.rule, item.line, item.confidence) for item in safe.findings)
    raw = Raw(msgspec.msgpack.encode(extract(name, safe.text)))
    role = role_of(name, safe.text)
    return zlib.compress(msgspec.msgpack.encode(Indexed(raw, role, findings)), _LEVEL)


def unpacked(path: str, body: bytes) -> Indexed:
    """Decode the stored facts of a blob for this path: the path decides the role of a file first,
    then its text."""
    indexed = _INDEXED.decode(zlib.decompress(body))
    role = facts_of(path).role
    return indexed if role == "source" else replace(indexed, role=role)


_INDEXED = msgspec.msgpack.Decoder(Indexed)
_FACTS = msgspec.msgpack.Decoder(Facts)
_CARD = msgspec.msgpack.Decoder(dict[str, int])
_HEAD = msgspec.msgpack.Decoder(tuple[int, bytes])


REPOSITORIES = 5
"""Number of repositories whose files are ranked."""
FILES = 500
"""Number of files among which the ranker chooses."""
_NARROWING = 60  # words of a task that choose these
PARSED = 50
"""Number of files whose facts are read: no more of the right files are among the first ten with
more."""
RANKED = 20
"""Number of files that are ranked with reasons."""
_MARKS = ("", "=")
"""Prefixes of a card's terms: those of texts, counted by files, and those of the names of
definitions."""
_TRUST = 0.5  # how much the place of a repository counts for its files
PACKED = 60
"""Number of candidate files for a pack across repositories."""
_MERGED = "merged"
_SATURATION = 8.0  # k1 of BM25
_LENGTH = 0.3  # b of BM25


class Place(Struct, frozen=True):
    """A result: lines of a file of a repository, with the reasons of its rank."""

    repo: str
    path: str
    start: int
    end: int
    score: float
    reasons: tuple[str, ...] = ()


def keep(unit: Unit, files: Iterable[tuple[str, str, Role, Facts]], queue: Queue) -> None:
    """Store the card and the index of a repository."""
    card: Counter[str] = Counter()

    def row(path: str, blob: str, role: Role, facts: Facts) -> tuple[Doc, Mapping[str, int]]:
        counts = Counter[str]()
        for term, fields in facts.terms.items():
            if in_text := fields & 255:
                counts[term] = in_text
            if in_names := fields >> 8 & 255:
                card[f"={term}"] += in_names
        card.update(counts.keys())
        words = counts.total()
        for word, count in path_words(path).items():
            for term in word_terms(word):
                counts[term] += count
        return Doc(path, blob, role, facts.language, words), counts

    index = postings.build(row(*file) for file in files)
    body = zlib.compress(msgspec.msgpack.encode(dict(sorted(card.items()))), _LEVEL)
    queue.put_facts(
        [
            (unit.key, "card", unit.version, body),
            (unit.key, "index", unit.version, postings.dumps(index)),
        ],
    )


class Cards:
    """The cards of all repositories as one index, kept in shards under the set of their units."""

    def __init__(self, queue: Queue, units: Mapping[str, Unit]) -> None:
        keys = sorted(unit.key for unit in units.values())
        self._name = sha256(" ".join(keys).encode()).hexdigest()[:32]
        self._queue, self._units = queue, units
        self._shards: dict[int, bytes] = {}
        head = queue.fact(self._name, _MERGED, "docs")
        self._size, docs = _HEAD.decode(head) if head is not None else self._merge()
        self.lookup = Lookup(docs, self._size, lambda number: self._shards[number])

    def seek(self, terms: Iterable[str]) -> None:
        """Read the shards of these terms at once."""
        wanted = {postings.shard_of(term, self._size) for term in terms} - self._shards.keys()
        names = [(self._name, f"{_MERGED}:{number}") for number in wanted]
        for (_, kind), body in self._queue.facts_of(names, "shard").items():
            self._shards[int(kind.rpartition(":")[2])] = body
        if wanted - self._shards.keys():  # another process replaced them just now
            self._merge()

    def _merge(self) -> tuple[int, bytes]:
        """Merge the cards, and store the result in place of older ones. A member without that
        right, or with access to only some of the repositories, merges for each query."""

        def rows() -> Iterator[tuple[Doc, Mapping[str, int]]]:
            for repo, unit in sorted(self._units.items()):
                body = self._queue.fact(unit.key, "card", unit.version)
                if body is not None:
                    card = _CARD.decode(zlib.decompress(body))
                    yield Doc(repo, unit.key, "source", "", sum(card.values())), card

        merged = postings.build(rows())
        head = len(merged.shards), merged.docs
        self._shards = dict(enumerate(merged.shards))
        with suppress(DeniedError):
            self._queue.replace_facts(
                _MERGED,
                [
                    *((self._name, f"{_MERGED}:{n}", "shard", b) for n, b in self._shards.items()),
                    (self._name, _MERGED, "docs", msgspec.msgpack.encode(head)),
                ],
            )
        return head


def best_repositories(cards: Cards, terms: Mapping[str, float]) -> list[tuple[str, float]]:
    """Rank repositories for the weighted terms of a task by BM25 over their cards, best first."""
    cards.seek(mark + term for term in terms for mark in _MARKS)
    docs = cards.lookup.docs
    mean = sum(doc.words for doc in docs.values()) / len(docs) if docs else 1.0
    norms = {n: 1 - _LENGTH + _LENGTH * doc.words / mean for n, doc in docs.items()}
    scores: dict[int, float] = {}
    for term, weight in terms.items():
        for mark in _MARKS:
            holders = cards.lookup.counts(mark + term)
            rarity = math.log(1 + (len(docs) - len(holders) + 0.5) / (len(holders) + 0.5))
            for number, count in holders.items():
                part = count * (_SATURATION + 1) / (count + _SATURATION * norms[number])
                scores[number] = scores.get(number, 0.0) + weight * rarity * part
    named = ((docs[number].path, score) for number, score in scores.items())
    return sorted(named, key=lambda item: (-item[1], item[0]))


class Shelf:
    """The files of a few repositories as one word index; each path begins with its repository. With
    the terms of a task, only the files that share the most with it; the ranker reads no others."""

    def __init__(
        self, queue: Queue, units: Iterable[Unit], terms: Mapping[str, float] | None = None
    ) -> None:
        self._queue = queue
        self._rows: dict[str, dict[int, int]] = {}
        self._parts: list[Lookup] = []
        owners, base = [], 0
        for unit in units:
            body = queue.fact(unit.key, "index", unit.version)
            if body is not None:
                index = postings.loads(body)
                part = Lookup(index.docs, len(index.shards), index.shards.__getitem__, base)
                base += len(part.docs)
                self._parts.append(part)
                owners.append(unit)
        chosen = self._best(terms) if terms else range(base)
        self._docs: dict[int, Doc] = {}
        self.origins: dict[str, tuple[Unit, str]] = {}
        for unit, part in zip(owners, self._parts, strict=True):
            for number in sorted(part.docs.keys() & chosen):
                doc = part.docs[number]
                path = f"{unit.repo}/{doc.path}"
                self.origins[path] = unit, doc.path
                self._docs[number] = Doc(path, doc.digest, doc.kind, doc.language, doc.words)

    def documents(self) -> dict[int, Doc]:
        return self._docs

    def _best(self, terms: Mapping[str, float]) -> set[int]:
        """Choose the files that share the most words with a task, by BM25."""
        strongest = sorted(terms, key=lambda term: (-terms[term], term))[:_NARROWING]
        words = {number: doc.words for part in self._parts for number, doc in part.docs.items()}
        mean = sum(words.values()) / len(words) if words else 1.0
        norms = {number: 0.6 + 0.6 * count / mean for number, count in words.items()}
        scores: dict[int, float] = {}
        for term in strongest:
            for key in (term, f"/{term}"):
                row = self._row(key)
                weight = terms[term] * math.log(1 + len(words) / (len(row) + 0.5))
                for number, count in row.items():
                    score = scores.get(number, 0.0)
                    scores[number] = score + weight * count / (count + norms[number])
        best = nsmallest(FILES, ((-score, number) for number, score in scores.items()))
        return {number for _, number in best}

    def postings(self, terms: Sequence[str]) -> list[dict[int, int]]:
        """Return the counts of each term by document."""
        rows = map(self._row, terms)
        return [{number: row[number] for number in self._docs.keys() & row.keys()} for row in rows]

    def _row(self, term: str) -> dict[int, int]:
        row = self._rows.get(term)
        if row is None:
            row = self._rows[term] = {}
            for part in self._parts:
                row.update(part.counts(term))
        return row

    def facts(self, docs: Sequence[Doc]) -> list[Facts]:
        """Return the stored facts of documents."""
        names: dict[str, list[tuple[str, str]]] = {}
        for doc in docs:
            unit, path = self.origins[doc.path]
            names.setdefault(unit.version, []).append((doc.digest, fact_name(path)))
        held = {
            name: body
            for version, some in names.items()
            for name, body in self._queue.facts_of(some, version).items()
        }
        bodies = (held.get((doc.digest, fact_name(self.origins[doc.path][1]))) for doc in docs)
        return [
            _INDEXED.decode(zlib.decompress(body)).facts if body else NO_FACTS for body in bodies
        ]


def find(queue: Queue, task: str, limit: int = 20) -> tuple[Place, ...]:
    """Return the places in all indexed repositories that a task needs, best first."""
    units = {unit.repo: unit for unit in queue.units(state="done", kind="index")}
    if not units:
        raise UsageError(
            "no repository of the fleet has an index yet",
            next_step="make them with 'sutler fleet run index'",
        )
    terms = analyse(task).terms
    best = best_repositories(Cards(queue, units), terms)[:REPOSITORIES]
    if not best:
        return ()
    top = best[0][1]
    factors = {repo: (score / top) ** _TRUST for repo, score in best}
    shelf = Shelf(queue, [units[repo] for repo in factors], terms)
    reader = Reader(shelf, shelf.facts)
    ranked = [
        (item.score * factors[shelf.origins[item.path][0].repo], item)
        for item in rank(reader, task, limit=max(limit, RANKED), parsed=PARSED)
    ]
    ranked.sort(key=lambda pair: (-pair[0], pair[1].path))
    numbers = {doc.path: number for number, doc in reader.docs.items()}
    weights = {checksum(term): weight for term, weight in terms.items()}
    places = []
    for score, item in ranked[:limit]:
        unit, path = shelf.origins[item.path]
        start, end = _best_lines(reader.regions(numbers[item.path]), weights)
        places.append(Place(unit.repo, path, start, end, score, item.reasons))
    return tuple(places)


def pack(fleet: Fleet, queue: Queue, task: str, folder: str, **options: Unpack[Options]) -> Packing:
    """Build one pack for a task across repositories. The best files are exported below `folder`,
    with one folder per repository, and packed by the same pipeline as any project."""
    sources = {item.name: located(fleet, item.source) for item in queue.repositories()}
    trees = {unit.repo: unit.tree for unit in queue.units(state="done", kind="index")}
    chosen: dict[str, list[str]] = {}
    for place in find(queue, task, PACKED):
        chosen.setdefault(place.repo, []).append(place.path)
    if not chosen:
        raise UsageError("nothing in the fleet matches the task", next_step="use other words")
    for repo, paths in sorted(chosen.items()):
        export_files(sources[repo], trees[repo], paths, os.path.join(folder, repo))
    return Project(folder).pack(goal=task, **options)


def _best_lines(regions: Sequence[Region], weights: Mapping[int, float]) -> tuple[int, int]:
    """Return the region that holds the most terms, by their check sums."""
    if not regions:
        return 1, 1

    def worth(region: Region) -> float:
        marks = memoryview(region.terms).cast("I") if region.terms else ()
        matches = sum([weights[mark] for mark in marks if mark in weights])
        # A long region matches more terms by its length alone.
        return matches / math.sqrt(region.end - region.start + 2)

    best = max(regions, key=lambda region: (worth(region), -region.start))
    return best.start, best.end
