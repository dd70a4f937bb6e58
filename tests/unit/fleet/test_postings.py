"""Postings answer as the word counts of the documents do."""

from __future__ import annotations

import random

from sutler.fleet import postings
from sutler.fleet.postings import Lookup
from sutler.ranking.index import Doc


def doc(name: str) -> Doc:
    return Doc(name, f"id of {name}", "source", "python", 3)


def test_every_term_leads_to_its_documents() -> None:
    """Thousands of random terms in several shards; terms that no document has lead nowhere."""
    rng = random.Random(7)
    words = [f"w{n}é" if n % 9 == 0 else f"w{n}" for n in range(3_000)]
    texts = [{word: rng.randint(1, 70_000) for word in rng.sample(words, 400)} for _ in range(12)]
    built = postings.loads(
        postings.dumps(postings.build((doc(f"d{n}"), text) for n, text in enumerate(texts)))
    )
    assert len(built.shards) > 4
    lookup = Lookup(built.docs, len(built.shards), built.shards.__getitem__, 100)
    assert {n: item.path for n, item in lookup.docs.items()} == {
        100 + n: f"d{n}" for n in range(12)
    }
    for word in [*words, "absent"]:
        assert lookup.counts(word) == {100 + n: t[word] for n, t in enumerate(texts) if word in t}


def test_no_documents() -> None:
    built = postings.build([])
    lookup = Lookup(built.docs, len(built.shards), built.shards.__getitem__)
    assert (lookup.docs, lookup.counts("x")) == ({}, {})
