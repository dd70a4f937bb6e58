"""An index as a query reads it: postings of terms over all files, facts of the few that are parsed.

Facts are requested by document. They are the same whether they are cached or extracted now, so that
an answer does not depend on earlier queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from sutler.languages.facts import Facts, Region
from sutler.ranking.index import Doc, Index, entries, living, words_with

Source = Callable[[Sequence[Doc]], Sequence[Facts]]
"""Facts of documents, in their order."""
_TYPES = frozenset({"class", "type", "module"})


class Words(Protocol):
    """A word index as a query reads it."""

    def documents(self) -> dict[int, Doc]: ...

    def postings(self, terms: Sequence[str]) -> list[dict[int, int]]:
        """Return for each term the documents that hold it, with its count in each."""
        ...


class _Walk:
    """The index of one project: a query walks all its words once."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._dead = [frozenset(gone) for gone in index.dead]

    def documents(self) -> dict[int, Doc]:
        return living(self._index)

    def postings(self, terms: Sequence[str]) -> list[dict[int, int]]:
        tables: list[dict[int, int]] = [{} for _ in terms]
        base = 0
        for segment, dead in zip(self._index.segments, self._dead, strict=True):
            by_word: dict[int, list[dict[int, int]]] = {}
            for term, table in zip(terms, tables, strict=True):
                for word in words_with(segment, term):
                    by_word.setdefault(word, []).append(table)
            wanted = frozenset(by_word)
            for number, (words, counts) in enumerate(entries(segment) if wanted else (), base):
                # Most files hold none of the words, and this test runs without the interpreter.
                if wanted.isdisjoint(words) or number - base in dead:
                    continue
                for word, count in zip(words, counts, strict=True):
                    for table in by_word.get(word, ()):
                        table[number] = table.get(number, 0) + count
            base += len(segment.docs)
        return tables


class Reader:
    """Postings and facts, cached for one query."""

    def __init__(self, index: Index | Words, source: Source) -> None:
        self._words: Words = _Walk(index) if isinstance(index, Index) else index
        self._source = source
        self.docs: dict[int, Doc] = self._words.documents()
        self._postings: dict[str, dict[int, int]] = {}
        self._facts: dict[int, Facts] = {}
        self._definers: dict[str, dict[int, int]] = {}

    def seek(self, terms: Iterable[str]) -> None:
        """Look up many terms at once."""
        missing = [term for term in dict.fromkeys(terms) if term not in self._postings]
        self._postings.update(zip(missing, self._words.postings(missing), strict=True))

    def postings(self, term: str) -> Mapping[int, int]:
        """Return the documents that hold a term, with its count in each."""
        if term not in self._postings:
            self.seek([term])
        return self._postings[term]

    def holds(self, term: str) -> bool:
        """Return whether any document holds a term."""
        return bool(self.postings(term))

    def parse(self, numbers: Iterable[int]) -> None:
        """Load the facts of these documents."""
        missing = [number for number in numbers if number not in self._facts]
        facts = self._source([self.docs[number] for number in missing])
        self._facts.update(zip(missing, facts, strict=True))
        for number in missing:
            for symbol in self._facts[number].symbols:
                name = symbol.name.rpartition("::")[2].lstrip("$~:@")
                kinds = self._definers.setdefault(name, {})
                kind = 2 if symbol.kind in _TYPES else 1 if symbol.kind != "field" else 4
                kinds[number] = kinds.get(number, 0) | kind

    @property
    def parsed(self) -> Mapping[int, Facts]:
        """Documents whose facts are loaded."""
        return self._facts

    def facts(self, number: int) -> Facts:
        if number not in self._facts:
            self.parse([number])
        return self._facts[number]

    def regions(self, number: int) -> tuple[Region, ...]:
        return self.facts(number).regions

    def definers(self, name: str) -> Mapping[int, int]:
        """Return the parsed documents that define a name, with the sum of the definitions' kinds: 1
        for a function, 2 for a type, 4 for a field."""
        return self._definers.get(name, {})
