"""Signals of a ranking: fielded BM25 over the index, mentions, definitions, quoted literals,
imports, tests.

All lexical signals come from one pass over the postings of a task's terms."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from sutler.ranking.query import Query
from sutler.ranking.reader import Reader
from sutler.ranking.resolution import Links, bare, module_parts
from sutler.ranking.weights import FIELDS, K1

Scores = dict[int, float]
_HALF = 2.0  # where a field of its own is half saturated


class Lexical(Struct, frozen=True):
    """Raw scores by document."""

    whole: Scores
    path: Scores
    symbols: Scores
    title_path: Scores
    title_body: Scores
    ticked: Scores


class Norms(Struct, frozen=True):
    """Factors for a term's count, per document: weight over normalised length. `body` covers all
    documents, `symbols` and `docs` only parsed ones."""

    body: Scores
    symbols: Scores
    docs: Scores


def norms_of(reader: Reader, parsed: Sequence[int] = ()) -> Norms:
    names: dict[int, int] = {}
    texts: dict[int, int] = {}
    for doc in parsed:
        values = [value for value in reader.facts(doc).terms.values() if value > 255]
        names[doc] = sum(value >> 8 & 255 for value in values)
        texts[doc] = sum(value >> 16 for value in values)
    body = {number: doc.words for number, doc in reader.docs.items()}
    return Norms(_norms(body, 0), _norms(names, 1), _norms(texts, 2))


def _norms(lengths: dict[int, int], field: int) -> Scores:
    weight, b = FIELDS[field]
    average = max(1.0, sum(lengths.values()) / max(1, len(lengths)))
    slope, flat = b / average, 1 - b
    return {number: weight / (flat + slope * length) for number, length in lengths.items()}


def idf(count: float, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def score(reader: Reader, query: Query, norms: Norms, only: Sequence[int] | None = None) -> Lexical:
    """Compute all lexical signals of a query: for every document by its body and path, or for the
    parsed ones in `only` by the names and texts of their definitions too."""
    total = len(reader.docs)
    tables = Lexical({}, {}, {}, {}, {}, {})
    reader.seek([key for term in query.terms for key in (term, f"/{term}")])
    for term, weight in query.terms.items():
        body, places = reader.postings(term), reader.postings(f"/{term}")
        held = len(body) + sum(doc not in body for doc in places)
        if not held:
            continue
        rarity = idf(held, total)
        titled, ticked = query.title.get(term, 0.0), query.ticked.get(term, 0.0)
        docs: Iterable[int] = dict.fromkeys((*body, *places))
        if only is not None:
            docs = [doc for doc in only if doc in body or doc in places]
        values = _values(reader, term, docs, only is not None)
        rows = [(doc, body.get(doc, 0), value, places.get(doc, 0)) for doc, value in values]
        _add_whole(tables, rows, weight * rarity, norms)
        if titled or ticked:
            _add_zones(tables, rows, (titled * rarity, ticked * rarity), norms)
        if only is not None:
            share = held / max(1, len(rows))  # of the documents that were not parsed
            _add_names(tables, rows, weight, norms, share, total)
        _add_places(
            tables,
            places if only is None else _among(places, only),
            len(places),
            (weight, titled),
            total,
        )
    return tables


Row = tuple[int, int, int, int]
"""A document and a term's counts in it: in the body, packed in names and texts, in the path."""


def _values(reader: Reader, term: str, docs: Iterable[int], parsed: bool) -> list[tuple[int, int]]:
    if not parsed:
        return [(doc, 0) for doc in docs]
    return [(doc, reader.facts(doc).terms.get(term, 0)) for doc in docs]


def _among(counts: Mapping[int, int], only: Sequence[int]) -> dict[int, int]:
    return {doc: counts[doc] for doc in only if doc in counts}


def _add_whole(tables: Lexical, rows: list[Row], weight: float, norms: Norms) -> None:
    path_weight = FIELDS[3][0]
    whole, body_norm = tables.whole, norms.body
    for doc, body, value, place in rows:
        x = body * body_norm[doc] + place * path_weight
        if value > 255:
            x += (value >> 8 & 255) * norms.symbols[doc] + (value >> 16) * norms.docs[doc]
        whole[doc] = whole.get(doc, 0.0) + weight * x / (K1 + x)


def _add_zones(
    tables: Lexical, rows: list[Row], weights: tuple[float, float], norms: Norms
) -> None:
    in_title, in_ticks = weights
    for doc, count, value, place in rows:
        body = count * norms.body[doc]
        if in_title and body:
            tables.title_body[doc] = tables.title_body.get(doc, 0.0) + in_title * body / (K1 + body)
        if in_ticks:
            x = body + place * FIELDS[3][0]
            if value > 255:
                x += (value >> 8 & 255) * norms.symbols[doc]
            tables.ticked[doc] = tables.ticked.get(doc, 0.0) + in_ticks * x / (K1 + x)


def _add_names(
    tables: Lexical,
    rows: list[Row],
    weight: float,
    norms: Norms,
    share: float,
    total: int,
) -> None:
    """Score names of definitions apart, by the rarity of a term among names: counted in the parsed
    documents, and estimated from them for the others that hold the term."""
    named = [(doc, value >> 8 & 255) for doc, _, value, _ in rows if value & 0xFF00]
    rarity = idf(len(named) * share, total)
    for doc, count in named:
        x = count * norms.symbols[doc]
        part = rarity * x / (x + _HALF)
        tables.symbols[doc] = tables.symbols.get(doc, 0.0) + weight * part


def _add_places(
    tables: Lexical,
    places: Mapping[int, int],
    holders: int,
    weights: tuple[float, float],
    total: int,
) -> None:
    """Score paths apart, by the rarity of a term among paths: every path may hold the project's own
    name."""
    weight, titled = weights
    rarity = idf(holders, total)
    for doc, count in places.items():
        x = count * FIELDS[3][0]
        share = rarity * x / (x + _HALF)
        tables.path[doc] = tables.path.get(doc, 0.0) + weight * share
        if titled:
            tables.title_path[doc] = tables.title_path.get(doc, 0.0) + titled * share


_MAX_DEFINERS = 30
_MAX_CANDIDATES = 300  # definers of one part of a qualified name that are compared
_MAX_QUALIFIED = 6  # files that a qualified name may mean
_LEAST_QUALIFIED = 0.5  # share of the parts before that must occur
_DEEPEST = 12  # parts of a path that are compared
_MAX_IMPORTERS = 60  # a file that most others import is no evidence
_AFFIXES = (
    "test_",
    "tests_",
    "_test",
    "_tests",
    ".test",
    ".spec",
    "_spec",
    "Test",
    "Tests",
    "Spec",
    "TestCase",
    "IT",
)


class Mentions(NamedTuple):
    """Files that the task names in its title, elsewhere, or as stack frames, and the lines that it
    points at."""

    titled: Scores
    paths: Scores
    frames: Scores
    lines: dict[int, list[int]]


def mentions(query: Query, links: Links, paths: Mapping[str, int]) -> Mentions:
    """Collect the files that the task names. In a bare trace without a title the frames count as
    named; otherwise the module that defines the exception would rank before the line that raises
    it."""
    spoken = Mentions({}, {}, {}, {})
    for mention in query.mentions:
        if mention.titled and mention.path in paths:
            spoken.titled[paths[mention.path]] = 1.0
        for number, sure in links.mentioned(mention.path):
            tables = [spoken.frames] if mention.frame else [spoken.paths]
            if mention.frame and not query.title:
                tables.append(spoken.paths)
            for table in tables:
                table[number] = max(table.get(number, 0.0), sure * mention.strength)
            if mention.line and sure > 0.5:
                spoken.lines.setdefault(number, []).append(mention.line)
    return spoken


def qualified(query: Query, links: Links, reader: Reader) -> Scores:
    """Score qualified names of any language: `a::b::C`, `A\\B\\C`, `pkg.Type.method`. Candidates
    define a part of the name or are named like it; they count if the parts before it occur in their
    path or among their definitions."""
    scores: Scores = {}
    for name in query.dotted:
        parts = name.split(".")
        for last in range(len(parts) - 1, max(0, len(parts) - 3), -1):
            hits = _qualified_by(parts, last, links, reader)
            if hits and len(hits) <= _MAX_QUALIFIED:
                for number, share in hits.items():
                    each = share * math.sqrt(last) / math.sqrt(len(hits))
                    scores[number] = max(scores.get(number, 0.0), each)
                break
    return scores


def _qualified_by(parts: list[str], last: int, links: Links, reader: Reader) -> Scores:
    """Return the files for part `last` that match the most of the parts before it, with their
    share."""
    definers = reader.definers(parts[last])
    numbers = {*definers} if len(definers) <= _MAX_CANDIDATES else set[int]()
    numbers.update(links.by_stem(parts[last]), links.by_stem(parts[last].lower()))
    wanted = [bare(part) for part in parts[:last]]
    best: Scores = {}
    top = _LEAST_QUALIFIED
    for number in sorted(numbers):
        path = {bare(part) for part in module_parts(reader.docs[number].path)[-_DEEPEST:]}
        share = sum(
            part in path or number in reader.definers(parts[i]) for i, part in enumerate(wanted)
        ) / len(wanted)
        if share > top:
            best, top = {}, share
        if share == top:
            best[number] = share
    return best


def definitions(
    names: Iterable[tuple[str, float]], reader: Reader, who: dict[int, list[str]]
) -> Scores:
    """Score the files that define names of the task: a name with one definition counts fully, one
    that is defined everywhere counts nothing. `who` collects the names that each file defines."""
    scores: Scores = {}
    total = len(reader.docs)
    for name, weight in names:
        docs = reader.definers(name)
        if not docs or len(docs) > _MAX_DEFINERS:
            continue
        each = weight * idf(len(docs), total) / len(docs)
        for number, kind in docs.items():
            scores[number] = scores.get(number, 0.0) + each * (
                1.3 if kind & 2 else 1.0 if kind & 1 else 0.5
            )
            who.setdefault(number, []).append(name)
    return scores


def quoted(query: Query, reader: Reader) -> Scores:
    """Score the files that hold a string literal that the task quotes: an error message leads to
    the code that makes it."""
    scores: Scores = {}
    total = len(reader.docs)
    wanted = frozenset(query.phrases)
    holders: dict[str, list[int]] = {}
    for number, facts in reader.parsed.items() if wanted else ():
        for phrase in wanted.intersection(facts.phrases):
            holders.setdefault(phrase, []).append(number)
    for phrase in query.phrases:
        docs = holders.get(phrase, ())
        if docs and len(docs) <= _MAX_DEFINERS:
            each = idf(len(docs), total) / len(docs)
            for number in docs:
                scores[number] = scores.get(number, 0.0) + each
    return scores


def importers_of(best: list[tuple[int, float]], links: Links, reader: Reader) -> Scores:
    """Files that import a best file, each with the square root of its score."""
    scores: Scores = {}
    for number, strength in best:
        for other in _importers(number, links, reader):
            scores[other] = max(scores.get(other, 0.0), math.sqrt(strength))
    return scores


def _importers(number: int, links: Links, reader: Reader) -> list[int]:
    """Return the parsed files that import a file; empty if there are too many."""
    others = [
        other for other in reader.parsed if other != number and number in links.imported(other)
    ]
    return others if len(others) <= _MAX_IMPORTERS else []


def beside(best: list[tuple[int, float]], reader: Reader) -> Scores:
    """Score files that share a folder with a best file by the best score there."""
    folders: dict[str, float] = {}
    for number, strength in best:
        folder = reader.docs[number].path.rpartition("/")[0]
        folders[folder] = max(folders.get(folder, 0.0), strength)
    paths = ((number, doc.path.rpartition("/")[0]) for number, doc in reader.docs.items())
    return {number: folders[folder] for number, folder in paths if folder in folders}


def exercised(best: list[tuple[int, float]], links: Links, reader: Reader) -> Scores:
    """Score the files that the best tests, examples and documents exercise: the file of the same
    name, and their imports."""
    scores: Scores = {}
    for number, strength in best:
        module = links.module(number)
        stem = bare_stem(module[-1]) if module else ""
        pairs = [n for n in links.by_stem(stem) if reader.docs[n].kind == "source"] if stem else []
        for other in pairs[:6]:
            scores[other] = scores.get(other, 0.0) + strength / len(pairs)
        targets = [n for n in links.imported(number) if reader.docs[n].kind == "source"]
        for other in targets:
            scores[other] = scores.get(other, 0.0) + 0.5 * strength / len(targets)
    return scores


def bare_stem(stem: str) -> str:
    for affix in _AFFIXES:
        if stem.startswith(affix):
            return stem[len(affix) :]
        if stem.endswith(affix):
            return stem[: -len(affix)]
    return ""
