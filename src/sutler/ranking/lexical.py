"""Fielded BM25 over an index: one pass over the postings of a task's terms feeds every lexical
signal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from sutler.ranking.index import Doc, Reader
from sutler.ranking.query import Query
from sutler.ranking.weights import FIELDS, K1

Scores = dict[int, float]
_HALF = 2.0  # where a field of its own is half saturated


class Lexical(Struct, frozen=True):
    """Raw scores by document."""

    whole: Scores
    path: Scores
    symbols: Scores
    title_path: Scores
    title_symbols: Scores
    title_body: Scores
    ticked: Scores


class Norms(Struct, frozen=True):
    """What to multiply a term's count by, per document, for body, symbols and docs: weight over
    normalised length.
    """

    body: list[float]
    symbols: list[float]
    docs: list[float]


def norms_of(docs: Mapping[int, Doc], size: int) -> Norms:
    lengths = [doc.lengths for doc in docs.values()]
    tables: list[list[float]] = []
    for field in range(3):
        weight, b = FIELDS[field]
        average = max(1.0, sum(length[field] for length in lengths) / max(1, len(docs)))
        slope, flat = b / average, 1 - b
        made = [weight / (flat + slope * length[field]) for length in lengths]
        if len(docs) != size:  # some are dead: numbers have holes
            table = [0.0] * size
            for number, value in zip(docs, made, strict=True):
                table[number] = value
            made = table
        tables.append(made)
    return Norms(*tables)


def idf(count: int, total: int) -> float:
    return math.log(1 + (total - count + 0.5) / (count + 0.5))


def score(reader: Reader, query: Query, norms: Norms) -> Lexical:
    """All lexical signals of a query in one pass."""
    total = len(reader.docs)
    found = Lexical({}, {}, {}, {}, {}, {}, {})
    for term, weight in query.terms.items():
        docs, values = reader.postings(term)
        if docs:
            pairs = list(zip(docs, values, strict=True))
            rarity = idf(len(docs), total)
            titled, ticked = query.title.get(term, 0.0), query.ticked.get(term, 0.0)
            _add_whole(found, pairs, weight * rarity, norms)
            if titled or ticked:
                _add_zones(found, pairs, (titled * rarity, ticked * rarity), norms)
            _add_names(found, pairs, (weight, titled), norms, total)
            _add_places(found, pairs, (weight, titled), total)
    return found


def _add_whole(found: Lexical, pairs: list[tuple[int, int]], weight: float, norms: Norms) -> None:
    body_norm, name_norm, doc_norm = norms.body, norms.symbols, norms.docs
    path_weight = FIELDS[3][0]
    whole = found.whole
    seen = whole.get
    for doc, value in pairs:
        x = (value & 255) * body_norm[doc]
        if value > 255:
            x += (value >> 8 & 255) * name_norm[doc] + (value >> 16 & 255) * doc_norm[doc]
            x += (value >> 24) * path_weight
        whole[doc] = seen(doc, 0.0) + weight * x / (K1 + x)


def _add_zones(
    found: Lexical, pairs: list[tuple[int, int]], weights: tuple[float, float], norms: Norms
) -> None:
    in_title, in_ticks = weights
    for doc, value in pairs:
        body = (value & 255) * norms.body[doc]
        if in_title and body:
            found.title_body[doc] = found.title_body.get(doc, 0.0) + in_title * body / (K1 + body)
        if in_ticks:
            x = body + (value >> 8 & 255) * norms.symbols[doc] + (value >> 24) * FIELDS[3][0]
            found.ticked[doc] = found.ticked.get(doc, 0.0) + in_ticks * x / (K1 + x)


def _add_names(
    found: Lexical,
    pairs: list[tuple[int, int]],
    weights: tuple[float, float],
    norms: Norms,
    total: int,
) -> None:
    """Names of definitions apart, with the rarity a term has among names."""
    weight, titled = weights
    named = [(doc, value >> 8 & 255) for doc, value in pairs if value & 0xFF00]
    rarity = idf(len(named), total)
    for doc, count in named:
        x = count * norms.symbols[doc]
        share = rarity * x / (x + _HALF)
        found.symbols[doc] = found.symbols.get(doc, 0.0) + weight * share
        if titled:
            found.title_symbols[doc] = found.title_symbols.get(doc, 0.0) + titled * share


def _add_places(
    found: Lexical, pairs: list[tuple[int, int]], weights: tuple[float, float], total: int
) -> None:
    """Paths apart, with the rarity a term has among paths: every path may hold the project's own
    name.
    """
    weight, titled = weights
    placed = [(doc, value >> 24) for doc, value in pairs if value >> 24]
    rarity = idf(len(placed), total)
    for doc, count in placed:
        x = count * FIELDS[3][0]
        share = rarity * x / (x + _HALF)
        found.path[doc] = found.path.get(doc, 0.0) + weight * share
        if titled:
            found.title_path[doc] = found.title_path.get(doc, 0.0) + titled * share


def feedback(reader: Reader, best: list[tuple[int, float]], norms: Norms, query: Query) -> Scores:
    """RM3: the terms that the best documents share, searched in turn."""
    total = len(reader.docs)
    pool: dict[str, float] = {}
    for number, strength in best:
        top = reader.detail(number).top
        for entry in top.split(" ") if top else ():
            term, _, count = entry.rpartition(":")
            if term not in query.terms:
                pool[term] = pool.get(term, 0.0) + strength * math.log1p(int(count)) / len(best)
    rated: list[tuple[float, str, Sequence[int], Sequence[int]]] = []
    for term, mass in sorted(pool.items(), key=lambda item: (-item[1], item[0]))[:40]:
        docs, values = reader.postings(term)
        rated.append((mass * idf(len(docs), total), term, docs, values))
    found: Scores = {}
    for weight, _, docs, values in sorted(rated, key=lambda item: (-item[0], item[1]))[:15]:
        for number, value in zip(docs, values, strict=True):
            x = (value & 255) * norms.body[number]
            found[number] = found.get(number, 0.0) + weight * x / (K1 + x)
    return found
