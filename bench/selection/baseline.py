"""What to beat: plain BM25 over bodies, every file alike, the task as one bag of words."""

from __future__ import annotations

from sutler.languages.terms import terms_of
from sutler.ranking.reader import Reader
from sutler.ranking.signals import idf

_K1, _B = 1.2, 0.75


def bm25(reader: Reader, task: str) -> list[str]:
    average = max(1.0, sum(doc.words for doc in reader.docs.values()) / max(1, len(reader.docs)))
    scores: dict[int, float] = {}
    terms = sorted(set(terms_of(task)))
    reader.seek(terms)
    for term in terms:
        counts = reader.postings(term)
        weight = idf(len(counts), len(reader.docs))
        for doc, count in counts.items():
            norm = _K1 * (1 - _B + _B * reader.docs[doc].words / average)
            scores[doc] = scores.get(doc, 0.0) + weight * count * (_K1 + 1) / (count + norm)
    ordered = sorted(scores.items(), key=lambda item: (-item[1], reader.docs[item[0]].path))
    return [reader.docs[doc].path for doc, _ in ordered]
