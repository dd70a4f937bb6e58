"""Signals from the project's history: which files earlier commits like this task touched, and which
change often or together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from sutler.languages.terms import split, words
from sutler.scan.commits import Commit

_HALF_LIFE = 250  # commits
_MAX_PATHS = 30  # a commit that touches more says little of each
_MAX_MESSAGE = 400  # characters: the subject and the start of the body


class Past(Struct, frozen=True, array_like=True):
    """A history prepared for queries, cached by the id of its newest commit. `messages` are
    distinct terms, joined by spaces; `touched` are indexes into `paths`; `recency` rates for each
    path how recently and how often it changed."""

    messages: tuple[str, ...] = ()
    touched: tuple[tuple[int, ...], ...] = ()
    paths: tuple[str, ...] = ()
    recency: tuple[float, ...] = ()


def summarise(commits: Sequence[Commit]) -> Past:
    """Prepare commits for ranking, the newest first. Age is counted in commits, so that no clock
    takes part."""
    numbers: dict[str, int] = {}
    recency: list[float] = []
    messages: list[str] = []
    touched: list[tuple[int, ...]] = []
    for age, commit in enumerate(commits):
        weight = 0.5 ** (age / _HALF_LIFE) / math.sqrt(len(commit.paths) or 1)
        mine: list[int] = []
        for path in commit.paths:
            number = numbers.setdefault(path, len(numbers))
            if number == len(recency):
                recency.append(0.0)
            recency[number] += weight
            mine.append(number)
        if 0 < len(mine) <= _MAX_PATHS:
            spoken = words(commit.message[:_MAX_MESSAGE])
            messages.append(" ".join(sorted({term for word in spoken for term in split(word)})))
            touched.append(tuple(mine))
    return Past(
        tuple(messages),
        tuple(touched),
        tuple(numbers),
        tuple(math.log1p(value) for value in recency),
    )


def message_scores(
    past: Past, terms: Mapping[str, float], docs: Mapping[int, int]
) -> dict[int, float]:
    """Score files by the similarity of the commits that touched them: the best few count fully, the
    rest fade. `docs` maps the path numbers of `past` to documents."""
    messages = [message.split(" ") for message in past.messages]
    frequency: dict[str, int] = {}
    for message in messages:
        for term in message:
            if term in terms:
                frequency[term] = frequency.get(term, 0) + 1
    total = len(messages)
    value = {
        term: terms[term] * math.log(1 + total / (1 + count)) for term, count in frequency.items()
    }
    likeness: dict[int, list[float]] = {}
    for message, paths in zip(messages, past.touched, strict=True):
        like = sum(value[term] for term in message if term in value)
        if like:
            like /= math.sqrt(4 + len(message)) * math.sqrt(1 + len(paths))
            for path in paths:
                if path in docs:
                    likeness.setdefault(docs[path], []).append(like)
    return {doc: _fading_sum(likes) for doc, likes in likeness.items()}


def similar_commits(past: Past, terms: Iterable[str], paths: Mapping[int, str]) -> dict[str, int]:
    """Count for each path the commits that changed it and whose message has at least two of
    `terms`."""
    wanted = frozenset(terms)
    counts: dict[str, int] = {}
    for message, touched in zip(past.messages, past.touched, strict=True):
        mine = [paths[number] for number in touched if number in paths]
        if mine and len(wanted.intersection(message.split(" "))) > 1:
            for path in mine:
                counts[path] = counts.get(path, 0) + 1
    return counts


def _fading_sum(values: list[float]) -> float:
    return sum(value * 0.5**i for i, value in enumerate(sorted(values, reverse=True)[:8]))


def recency_scores(past: Past, docs: Mapping[int, int]) -> dict[int, float]:
    """Score files by how recently and how often they changed."""
    return {doc: past.recency[path] for path, doc in docs.items()}
