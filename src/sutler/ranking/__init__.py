"""Rank the files of a project for a task, each with its reasons.

index = build((path, digest, text) …)         once, then update(index, …) after edits
rank(Reader(index, facts), task, history)     -> Ranked, best first; total order (-score, path)"""

from __future__ import annotations

from sutler.ranking.history import Past, summarise
from sutler.ranking.index import Index, build, dumps, loads, stale, update, worn
from sutler.ranking.reader import Reader
from sutler.ranking.score import rank
from sutler.ranking.weights import WEIGHTS, Weights

__all__ = [
    "WEIGHTS",
    "Index",
    "Past",
    "Reader",
    "Weights",
    "build",
    "dumps",
    "loads",
    "rank",
    "stale",
    "summarise",
    "update",
    "worn",
]
