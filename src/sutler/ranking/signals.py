"""Everything but words: mentions, definitions, quoted literals, imports, tests, history."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sutler.ranking.index import Reader, target_stem
from sutler.ranking.lexical import Scores, idf
from sutler.ranking.query import Query
from sutler.ranking.resolution import Links

_MAX_DEFINERS = 30
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
