"""Scores of a query: all signals scaled, weighted, multiplied by the class prior, sorted and
explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import nsmallest

from msgspec import Struct
from msgspec.structs import asdict, replace

from sutler.languages.facts import Region
from sutler.languages.terms import checksum, spelling, split, whole, words
from sutler.ranking import history, namesakes, signals
from sutler.ranking.history import Past
from sutler.ranking.query import MAX_CHARS, Query, analyse, compound_terms, with_compounds
from sutler.ranking.reader import Reader
from sutler.ranking.reasons import NO_PROOF, Proof, Signal, sentences
from sutler.ranking.region_worth import Lens, density, held_by, lens_of, passage
from sutler.ranking.resolution import Links
from sutler.ranking.signals import Scores, idf
from sutler.ranking.weights import ABOUT_PRIORS, DECLARATIONS, PRIORS, WEIGHTS, Weights

PARSED = 120
"""Number of files that are parsed for a task."""
_BEST = 12  # number of best files that raise others
_EXERCISERS = 6
_PULLING = 6  # number of those whose namesakes count
_NEAREST = 3  # number of those whose folders count
_READ = 80  # files whose regions are scored
_UNPASSED = 2  # number of best files that no import may pass,
_BEHIND = 0.999  # not even in a tie
_DECLARATION = (".d.ts", ".d.mts", ".d.cts")
_EXPLAINED = 40  # files with evidence in their reasons
_TELLING = 12  # terms that make a commit message similar
_QUOTED = 4  # words that a reason names
_SURE = 0.3  # an import that means all files of a folder speaks for none of them


class Ranked(Struct, frozen=True, gc=False):
    """A file in the order of the ranking, with the sentences that explain its place."""

    path: str
    score: float
    reasons: tuple[str, ...] = ()
    signals: tuple[Signal, ...] = ()
    lines: tuple[int, ...] = ()  # lines that the task itself points at, such as stack frames


class Evidence(Struct, frozen=True):
    """Value of every signal in [0, 1] by document, their weighted sums, the priors, and the lines
    that the task points at."""

    values: dict[str, Scores]
    sums: Scores
    priors: Scores
    lines: dict[int, list[int]]
    names: dict[int, list[str]]


def rank(
    reader: Reader,
    task: str,
    past: Past | None = None,
    weights: Weights = WEIGHTS,
    limit: int | None = None,
    parsed: int = PARSED,
) -> tuple[Ranked, ...]:
    """Rank files by their worth for a task, in two steps: words, paths and history choose the files
    to parse, and all signals order these. Files without any signal are left out."""
    query = query_of(reader, task, weights)
    evidence = gather(reader, query, past or Past(), weights, parsed)
    table = asdict(weights)
    scored = [
        (-score, reader.docs[doc].path, doc) for doc, score in totals(evidence).items() if score > 0
    ]
    first = sorted(scored) if limit is None else nsmallest(limit, scored)
    explained = [doc for _, _, doc in first[:_EXPLAINED]]
    proofs = _proofs(reader, query, past or Past(), explained, task)
    return tuple(
        _ranked(evidence, table, reader, doc, -negative, proofs.get(doc, NO_PROOF))
        for negative, _, doc in first
    )


def query_of(reader: Reader, task: str, weights: Weights = WEIGHTS) -> Query:
    """Parse a task as a query of this project, with the names that its words form there."""
    query = analyse(task, zoned=weights.zones > 0)
    names = [*query.terms, *compound_terms(query)]
    reader.seek([key for term in names for key in (term, f"/{term}")])
    return with_compounds(query, reader.holds, weights.compounds)


def _proofs(
    reader: Reader, query: Query, past: Past, docs: Sequence[int], task: str
) -> dict[int, Proof]:
    lens = _lens(reader, query)
    worth = _by_worth(lens)
    paths = {reader.docs[doc].path for doc in docs}
    numbers = {number: path for number, path in enumerate(past.paths) if path in paths}
    commits = history.similar_commits(past, worth[:_TELLING], numbers)
    prove = prover(lens, task)
    return {
        doc: replace(prove(reader.regions(doc)), commits=commits.get(reader.docs[doc].path, 0))
        for doc in docs
    }


def prover(lens: Lens, task: str) -> Callable[[Sequence[Region]], Proof]:
    """Return a function that extracts the evidence from regions: the lines of the densest one, and
    the task's words in it."""
    worth, spelled = _by_worth(lens), _words_of(task)

    def prove(regions: Sequence[Region]) -> Proof:
        best = max(regions, key=lambda region: density(region, lens), default=None)
        if best is None:
            return NO_PROOF
        sums = held_by(best)
        matched = [spelled.get(term, term) for term in worth if checksum(term) in sums]
        quoted = tuple(dict.fromkeys(matched))[:_QUOTED]
        return Proof(quoted, f"{best.start}-{best.end}" if matched else "")

    return prove


def _by_worth(lens: Lens) -> list[str]:
    return sorted(lens.worth, key=lambda term: (-lens.worth[term], term))


def _words_of(task: str) -> dict[str, str]:
    """Return for each term its first spelling in the task."""
    spellings: dict[str, str] = {}
    for word in words(task[:MAX_CHARS]):
        for term in split(word):
            spellings.setdefault(term, spelling(word, term))
    return spellings


def _ranked(
    evidence: Evidence,
    table: dict[str, float],
    reader: Reader,
    doc: int,
    score: float,
    proof: Proof,
) -> Ranked:
    shares = _shares(evidence, table, doc)
    kind, prior = reader.docs[doc].kind, evidence.priors.get(doc, 1.0)
    return Ranked(
        path=reader.docs[doc].path,
        score=score,
        reasons=sentences(shares, evidence.names.get(doc, ()), proof, kind, prior),
        signals=shares,
        lines=tuple(sorted(set(evidence.lines.get(doc, ())))),
    )


def gather(reader: Reader, query: Query, past: Past, weights: Weights, parsed: int) -> Evidence:
    """Choose the files to parse; then compute their direct signals, then those that follow from the
    best files so far."""
    links = Links(reader)
    paths = {doc.path: number for number, doc in reader.docs.items()}
    followed = {number: paths[path] for number, path in enumerate(past.paths) if path in paths}
    spoken = signals.mentions(query, links, paths)
    table = asdict(weights)
    evidence = Evidence({}, {}, _priors(reader, query, spoken, weights), spoken.lines, {})
    past_values: dict[str, Scores] = {
        "named": spoken.titled,
        "mention": _scaled(spoken.paths),
        "frame": _scaled(spoken.frames),
        "message": _scaled(history.message_scores(past, query.terms, followed)),
        "recent": _scaled(history.recency_scores(past, followed)),
        "namesake": _scaled(namesakes.namesakes(query, links, reader)),
        "scope": namesakes.scoped(query, links, reader),
    }
    chosen = _candidates(reader, query, past_values, evidence.priors, table)[:parsed]
    reader.parse(chosen)
    norms = signals.norms_of(reader, chosen)
    lexical = signals.score(reader, query, norms, chosen)
    by_weight = sorted(query.names.items(), key=lambda item: (-item[1], item[0]))
    title_names = [(name, weight) for name, weight in by_weight if whole(name) in query.title]
    values: dict[str, Scores] = {
        **_lexical(lexical),
        "symbols": _scaled(lexical.symbols),
        **{name: _among(some, chosen) for name, some in past_values.items()},
        "qualified": _scaled(signals.qualified(query, links, reader)),
        "spelled": _scaled(namesakes.spelled(reader, _lens(reader, query).worth, chosen)),
        "defines": _scaled(signals.definitions(by_weight, reader, evidence.names)),
        "title_defines": _scaled(signals.definitions(title_names, reader, {})),
        "phrase": _scaled(signals.quoted(query, reader)),
    }
    for name, scores in values.items():
        _note(evidence, name, scores, table)
    _follow(reader, query, past, weights, links, followed, evidence)
    return evidence


def _lexical(tables: signals.Lexical) -> dict[str, Scores]:
    return {
        "lexical": _scaled(tables.whole),
        "path": _scaled(tables.path),
        "title_path": _scaled(tables.title_path),
        "title_body": _scaled(tables.title_body),
        "ticked": _scaled(tables.ticked),
    }


def _among(scores: Scores, chosen: Sequence[int]) -> Scores:
    return {doc: scores[doc] for doc in chosen if doc in scores}


def _candidates(
    reader: Reader,
    query: Query,
    others: Mapping[str, Scores],
    priors: Scores,
    weights: Mapping[str, float],
) -> list[int]:
    """Return the files that are worth parsing, by the signals that need no parse."""
    tables = signals.score(reader, query, signals.norms_of(reader))
    sums: Scores = {}
    for name, scores in (*_lexical(tables).items(), *others.items()):
        weight = weights[name]
        for doc, value in scores.items():
            sums[doc] = sums.get(doc, 0.0) + weight * value
    rated = ((-value * priors.get(doc, 1.0), doc) for doc, value in sums.items())
    return [doc for _, doc in nsmallest(PARSED, rated)]


def _follow(
    reader: Reader,
    query: Query,
    past: Past,
    weights: Weights,
    links: Links,
    followed: Mapping[int, int],
    evidence: Evidence,
) -> None:
    """Add the signals that follow from the best files so far."""
    table = asdict(weights)
    if weights.passage:
        first = [doc for doc, _ in _best(totals(evidence), _READ)]
        _note(evidence, "passage", _passages(reader, query, first), table)
    best = _best(totals(evidence), _BEST)
    importers = signals.importers_of(best, links, reader)
    helpers = {
        doc: value
        for doc, value in evidence.values["lexical"].items()
        if reader.docs[doc].kind in ("test", "example", "doc")
    }
    exercised = signals.exercised(_best(helpers, _EXERCISERS), links, reader)
    _note(evidence, "imports", _scaled(importers), table)
    _note(evidence, "tested", _scaled(exercised), table)
    _note(evidence, "beside", signals.beside(best[:_NEAREST], reader), table)
    _note(evidence, "twin", namesakes.twins(best[:_PULLING], links, reader), table)
    _note(evidence, "needed", _needed(evidence, links, reader, weights.needed), table)


def _needed(evidence: Evidence, links: Links, reader: Reader, weight: float) -> Scores:
    """Score the imports of the best file of code, since a change often reaches its dependencies.
    They must follow the best files and not pass them, so each rises at most by its distance to the
    second best file."""
    if not weight:
        return {}
    scores = totals(evidence)
    first = nsmallest(_READ, ((-score, doc) for doc, score in scores.items()))
    best = next((doc for _, doc in first if reader.docs[doc].kind == "source"), None)
    if best is None:
        return {}
    bar = -_BEHIND * first[min(_UNPASSED, len(first)) - 1][0]
    lifts: Scores = {}
    for doc, sure in links.needed(best).items():
        lift = weight * evidence.priors.get(doc, 1.0)
        room = bar - scores.get(doc, 0.0)
        if lift > 0 and room > 0 and sure >= _SURE:
            lifts[doc] = min(sure, room / lift)
    return lifts


def _note(evidence: Evidence, name: str, scores: Scores, weights: dict[str, float]) -> None:
    """Add a signal to the sums."""
    evidence.values[name] = scores
    weight, sums = weights[name], evidence.sums
    if weight:
        seen = sums.get
        for doc, value in scores.items():
            sums[doc] = seen(doc, 0.0) + weight * value


def _passages(reader: Reader, query: Query, docs: list[int]) -> Scores:
    lens = _lens(reader, query)
    return _scaled({doc: passage(reader.regions(doc), lens) for doc in docs})


def _lens(reader: Reader, query: Query) -> Lens:
    total = len(reader.docs)
    worth = {
        term: weight * idf(len(reader.postings(term)), total)
        for term, weight in query.terms.items()
    }
    return lens_of(query, worth)


def _priors(reader: Reader, query: Query, spoken: signals.Mentions, weights: Weights) -> Scores:
    """Return the class priors, raised if the title is about that class or the task names the very
    file."""
    if not weights.priors:
        return {}
    by_class = {
        kind: ABOUT_PRIORS[kind] if kind in query.about else prior for kind, prior in PRIORS.items()
    }
    priors: Scores = {number: by_class[doc.kind] for number, doc in reader.docs.items()}
    for number, doc in reader.docs.items():
        if doc.path.endswith(_DECLARATION):
            priors[number] *= DECLARATIONS
    for number in spoken.paths:
        priors[number] = max(priors[number], ABOUT_PRIORS.get(reader.docs[number].kind, 0.6))
    for number in spoken.titled:
        priors[number] = 1.0
    return priors


def _scaled(scores: Scores) -> Scores:
    top = max(scores.values(), default=0.0)
    return {doc: value / top for doc, value in scores.items()} if top > 0 else {}


def totals(evidence: Evidence) -> Scores:
    """Return the weighted sum of all signals so far, times the prior, for every file that has a
    signal."""
    prior = evidence.priors.get
    return {doc: value * prior(doc, 1.0) for doc, value in evidence.sums.items()}


def _best(scores: Scores, size: int) -> list[tuple[int, float]]:
    ordered = nsmallest(size, ((-value, doc) for doc, value in scores.items()))
    top = -ordered[0][0] if ordered else 0.0
    return [(doc, -value / top) for value, doc in ordered] if top > 0 else []


def _shares(evidence: Evidence, weights: dict[str, float], doc: int) -> tuple[Signal, ...]:
    prior = evidence.priors.get(doc, 1.0)
    shares = [
        Signal(name, round(scores[doc], 4), round(weights[name] * scores[doc] * prior, 4))
        for name, scores in evidence.values.items()
        if doc in scores
    ]
    return tuple(sorted(shares, key=lambda signal: (-signal.share, signal.name)))
