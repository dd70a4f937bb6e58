"""What a project's past says: which files earlier commits like this task touched, which change often or together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from sutler.stages.terms import WORD, split
from sutler.values.facts import History

_HALF_LIFE = 250  # commits
_MAX_PATHS = 30  # a commit that touches more says little of each


def message_scores(
    history: History, terms: Mapping[str, float], known: Mapping[str, int]
) -> dict[int, float]:
    """Files by the likeness of the commits that touched them: the best few, the rest fading."""
    messages = [
        frozenset(t for w in WORD.findall(c.message[:400]) for t in split(w)) for c in history.commits
    ]
    frequency: dict[str, int] = {}
    for message in messages:
        for term in message:
            if term in terms:
                frequency[term] = frequency.get(term, 0) + 1
    total = len(messages)
    value = {
        term: terms[term] * math.log(1 + total / (1 + count)) for term, count in sorted(frequency.items())
    }
    likeness: dict[int, list[float]] = {}
    for message, commit in zip(messages, history.commits, strict=True):
        if 0 < len(commit.paths) <= _MAX_PATHS:
            like = sum(value[term] for term in sorted(message) if term in value)
            if like:
                like /= math.sqrt(4 + len(message)) * math.sqrt(1 + len(commit.paths))
                for path in commit.paths:
                    if path in known:
                        likeness.setdefault(known[path], []).append(like)
    return {doc: _fading_sum(likes) for doc, likes in likeness.items()}


def _fading_sum(values: list[float]) -> float:
    return sum(value * 0.5**i for i, value in enumerate(sorted(values, reverse=True)[:8]))


def recency_scores(history: History, known: Mapping[str, int]) -> dict[int, float]:
    """Files by how lately and how often they changed; age is counted in commits."""
    found: dict[int, float] = {}
    for age, commit in enumerate(history.commits):
        if commit.paths:
            weight = 0.5 ** (age / _HALF_LIFE) / math.sqrt(len(commit.paths))
            for path in commit.paths:
                doc = known.get(path)
                if doc is not None:
                    found[doc] = found.get(doc, 0.0) + weight
    return {doc: math.log1p(value) for doc, value in found.items()}


def cochange_scores(
    history: History, known: Mapping[str, int], top: Iterable[tuple[int, float]]
) -> dict[int, float]:
    """Files that changed together with the best ones."""
    strength = dict(top)
    found: dict[int, float] = {}
    for commit in history.commits:
        if 1 < len(commit.paths) <= _MAX_PATHS:
            docs = [known[path] for path in commit.paths if path in known]
            pull = sum(strength.get(doc, 0.0) for doc in docs) / len(docs) if docs else 0.0
            if pull:
                for doc in docs:
                    if doc not in strength:
                        found[doc] = found.get(doc, 0.0) + pull
    return {doc: math.log1p(value) for doc, value in found.items()}
