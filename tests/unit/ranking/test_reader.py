from __future__ import annotations

from collections.abc import Sequence

from sutler.languages.facts import Facts
from sutler.ranking.index import Doc, bag_of, build
from sutler.ranking.reader import Reader
from sutler.ranking.score import PARSED, rank
from tests.facts import extracted

TREE = {
    f"pkg/m{i}.py": f"class Shop{i}:\n    def total(self):\n        return {i}\n"
    for i in range(PARSED + 80)
}


class Source:
    """Facts, and of which documents they were asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._facts = extracted(TREE)

    def __call__(self, docs: Sequence[Doc]) -> list[Facts]:
        self.asked += [doc.path for doc in docs]
        return list(self._facts(docs))


INDEX = build((path, path, bag_of(path, text)) for path, text in TREE.items())


def test_a_query_parses_its_candidates_and_no_others() -> None:
    """What a cold start costs: words of everything, a parse of the best."""
    source = Source()
    ranked = rank(Reader(INDEX, source), "Shop7 has a wrong total")
    assert ranked[0].path == "pkg/m7.py"
    assert PARSED <= len(source.asked) < len(TREE)
    assert len(source.asked) == len(set(source.asked))


def test_terms_are_counted_over_all_files() -> None:
    reader = Reader(INDEX, Source())
    assert len(reader.postings("total")) == len(TREE)
    assert reader.holds("shop7")
    assert not reader.holds("bank")


def test_definers_are_those_of_the_parsed_files() -> None:
    reader = Reader(INDEX, Source())
    assert reader.definers("Shop7") == {}
    number = next(n for n, doc in reader.docs.items() if doc.path == "pkg/m7.py")
    reader.parse([number])
    assert reader.definers("Shop7") == {number: 2}
    assert reader.definers("total") == {number: 1}
