"""What belongs to a change: who imports the changed files, what they import, their tests and their companions."""

from __future__ import annotations

from collections.abc import Sequence

from sutler.stages.rank import history, signals
from sutler.stages.rank.history import Past
from sutler.stages.rank.index import Index, Reader
from sutler.stages.rank.lexical import Scores
from sutler.stages.rank.links import Links
from sutler.values.facts import Ranked

_PARTS = (
    ("imports", 1.0, "it imports a changed file"),
    ("tests", 0.9, "it is a test of a changed file"),
    ("imported", 0.4, "a changed file imports it"),
    ("companion", 0.3, "it often changes together with a changed file"),
)


def related(index: Index, changed: Sequence[str], past: Past | None = None, limit: int = 60) -> tuple[Ranked, ...]:
    """Files around a change, best first; the changed files themselves are not among them."""
    reader = Reader(index)
    links = Links(reader)
    known = {doc.path: number for number, doc in reader.docs.items()}
    core = [(known[path], 1.0) for path in sorted(set(changed)) if path in known]
    importers, imported = signals.neighbours(core, links, reader)
    followed = {n: known[path] for n, path in enumerate(past.paths) if path in known} if past else {}
    tables: dict[str, Scores] = {
        "imports": importers,
        "tests": {number: 1.0 for number, _ in core for number in signals.tests_of(number, links, reader)},
        "imported": imported,
        "companion": history.cochange_scores(past, followed, core) if past else {},
    }
    scores: Scores = {}
    reasons: dict[int, list[str]] = {}
    inside = {number for number, _ in core}
    for name, weight, sentence in _PARTS:
        top = max(tables[name].values(), default=0.0) or 1.0
        for number, value in tables[name].items():
            if number not in inside:
                scores[number] = scores.get(number, 0.0) + weight * value / top
                reasons.setdefault(number, []).append(sentence)
    ordered = sorted(scores, key=lambda number: (-scores[number], reader.docs[number].path))[:limit]
    return tuple(Ranked(reader.docs[n].path, scores[n], tuple(reasons[n])) for n in ordered)
