"""Signals of a ranking: fielded BM25 over the index, mentions, definitions, quoted literals,
imports, tests.

One pass over the postings of a task's terms feeds every lexical signal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from sutler.ranking.index import Doc, Reader, target_stem
from sutler.ranking.query import Query
from sutler.ranking.resolution import Links, module_parts
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


_MAX_DEFINERS = 30
_MAX_CANDIDATES = 300  # definers of one part of a qualified name that are looked at
_MAX_QUALIFIED = 6  # files that a qualified name may mean
_LEAST_QUALIFIED = 0.5  # share of the parts before that must occur
_DEEPEST = 12  # parts of a path that are compared
_MAX_IMPORTERS = 60  # what everybody imports tells nothing
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
    """Files that the task names in its title, elsewhere, or as stack frames, and the lines it
    points at.
    """

    titled: Scores
    paths: Scores
    frames: Scores
    lines: dict[int, list[int]]


def mentions(query: Query, links: Links, known: Mapping[str, int]) -> Mentions:
    found = Mentions({}, {}, {}, {})
    for mention in query.mentions:
        if mention.titled and mention.path in known:
            found.titled[known[mention.path]] = 1.0
        for number, sure in links.mentioned(mention.path):
            table = found.frames if mention.frame else found.paths
            table[number] = max(table.get(number, 0.0), sure * mention.strength)
            if mention.line and sure > 0.5:
                found.lines.setdefault(number, []).append(mention.line)
    return found


def dotted(query: Query, links: Links, reader: Reader) -> Scores:
    """Dotted names: `pkg.module.Class` by its path, `Class.method` by who defines both."""
    found: Scores = {}
    for name in query.dotted:
        for number, sure in links.dotted(name):
            found[number] = found.get(number, 0.0) + sure * name.count(".")
        owner, _, member = name.rpartition(".")
        owners, _ = reader.postings("=" + owner.rpartition(".")[2])
        if owners and len(owners) <= _MAX_DEFINERS:
            holders = frozenset(reader.postings("=" + member)[0])
            for number in owners:
                if number in holders:
                    found[number] = found.get(number, 0.0) + 1.0 / math.sqrt(len(owners))
    return found


def qualified(query: Query, links: Links, reader: Reader) -> Scores:
    """Qualified names of any language: `a::b::C`, `A\\B\\C`, `pkg.Type.method`. Of the files that
    define a part of the name, or are named like it, those count in whose path, or among whose
    definitions, the parts before it occur.
    """
    found: Scores = {}
    for name in query.dotted:
        parts = name.split(".")
        for last in range(len(parts) - 1, max(0, len(parts) - 3), -1):
            hits = _qualified_by(parts, last, links, reader)
            if hits and len(hits) <= _MAX_QUALIFIED:
                for number, share in hits.items():
                    each = share * math.sqrt(last) / math.sqrt(len(hits))
                    found[number] = max(found.get(number, 0.0), each)
                break
    return found


def _qualified_by(parts: list[str], last: int, links: Links, reader: Reader) -> Scores:
    """The files for part `last` that match the most of the parts before it, with their share."""
    definers = reader.postings(f"={parts[last]}")[0]
    numbers = {*definers} if len(definers) <= _MAX_CANDIDATES else set[int]()
    numbers.update(links.by_stem(parts[last]), links.by_stem(parts[last].lower()))
    wanted = [bare(part) for part in parts[:last]]
    best: Scores = {}
    top = _LEAST_QUALIFIED
    for number in sorted(numbers):
        path = {bare(part) for part in module_parts(reader.docs[number].path)[-_DEEPEST:]}
        share = sum(
            part in path or number in reader.postings(f"={parts[i]}")[0]
            for i, part in enumerate(wanted)
        ) / len(wanted)
        if share > top:
            best, top = {}, share
        if share == top:
            best[number] = share
    return best


def bare(part: str) -> str:
    """A part of a name or of a path, as both spell it: `HttpClient` and `http_client` alike."""
    return part.replace("_", "").replace("-", "").lower()


def definitions(
    names: Iterable[tuple[str, float]], reader: Reader, who: dict[int, list[str]]
) -> Scores:
    """Who defines the names the task uses: a name defined once is worth much, one defined
    everywhere nothing. `who` is told which names each file defines.
    """
    found: Scores = {}
    total = len(reader.docs)
    for name, weight in names:
        docs, kinds = reader.postings("=" + name)
        if not docs or len(docs) > _MAX_DEFINERS:
            continue
        each = weight * idf(len(docs), total) / len(docs)
        for number, kind in zip(docs, kinds, strict=True):
            found[number] = found.get(number, 0.0) + each * (
                1.3 if kind & 2 else 1.0 if kind & 1 else 0.5
            )
            who.setdefault(number, []).append(name)
    return found


def quoted(query: Query, reader: Reader) -> Scores:
    """Who holds a string literal that the task quotes: error messages lead to where they are
    made.
    """
    found: Scores = {}
    total = len(reader.docs)
    for phrase in query.phrases:
        docs, _ = reader.postings("~" + phrase)
        if docs and len(docs) <= _MAX_DEFINERS:
            each = idf(len(docs), total) / len(docs)
            for number in docs:
                found[number] = found.get(number, 0.0) + each
    return found


def neighbours(
    best: list[tuple[int, float]], links: Links, reader: Reader
) -> tuple[Scores, Scores]:
    """(files that import a best file, files that a best file imports), each with the square root of
    its score.
    """
    importers: Scores = {}
    imported: Scores = {}
    for number, strength in best:
        pull = math.sqrt(strength)
        targets = links.imported(number)
        for other in targets:
            imported[other] = imported.get(other, 0.0) + pull / math.sqrt(len(targets))
        for other in _importers(number, links, reader):
            importers[other] = max(importers.get(other, 0.0), pull)
    return importers, imported


def _importers(number: int, links: Links, reader: Reader) -> list[int]:
    module = links.module(number)
    candidates, _ = reader.postings(">" + target_stem(module[-1])) if module else ([], [])
    if len(candidates) > _MAX_IMPORTERS:
        return []
    return [other for other in candidates if other != number and number in links.imported(other)]


def beside(best: list[tuple[int, float]], known: Iterable[int], reader: Reader) -> Scores:
    """Those of the known files that share a folder with a best file, each with the score of the
    best one there.
    """
    folders: dict[str, float] = {}
    for number, strength in best:
        folder = reader.docs[number].path.rpartition("/")[0]
        folders[folder] = max(folders.get(folder, 0.0), strength)
    paths = ((number, reader.docs[number].path.rpartition("/")[0]) for number in known)
    return {number: folders[folder] for number, folder in paths if folder in folders}


def exercised(best: list[tuple[int, float]], links: Links, reader: Reader) -> Scores:
    """What the best tests, examples and documents exercise: the file of the same name, and what
    they import.
    """
    found: Scores = {}
    for number, strength in best:
        module = links.module(number)
        stem = _bare_stem(module[-1]) if module else ""
        pairs = [n for n in links.by_stem(stem) if reader.docs[n].kind == "source"] if stem else []
        for other in pairs[:6]:
            found[other] = found.get(other, 0.0) + strength / len(pairs)
        targets = [n for n in links.imported(number) if reader.docs[n].kind == "source"]
        for other in targets:
            found[other] = found.get(other, 0.0) + 0.5 * strength / len(targets)
    return found


def tests_of(number: int, links: Links, reader: Reader) -> list[int]:
    """Tests of a file: those named after it, and those that import it."""
    module = links.module(number)
    if not module:
        return []
    names = (
        f"test_{module[-1]}",
        f"{module[-1]}_test",
        f"{module[-1]}Test",
        f"{module[-1]}_spec",
        module[-1],
    )
    named = [n for name in names for n in links.by_stem(name)]
    found = dict.fromkeys(named + _importers(number, links, reader))
    return [n for n in found if n != number and reader.docs[n].kind == "test"]


def _bare_stem(stem: str) -> str:
    for affix in _AFFIXES:
        if stem.startswith(affix):
            return stem[len(affix) :]
        if stem.endswith(affix):
            return stem[: -len(affix)]
    return ""
