"""Names that a task spells as words: "the unique constraints" are `UniqueConstraint`, `--min-lines` is `min_lines`.

Only what the project itself holds is added, so a task without such words stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec.structs import replace

from sutler.stages.rank.query import Query
from sutler.stages.rank.weights import WEIGHTS


def with_compounds(query: Query, holds: Callable[[str], bool], share: float = WEIGHTS.compounds) -> Query:
    """The query with the names that its words make, as far as `holds` knows them: terms, and `=Name` definitions.
    They weigh this share of the zone that the words stand in."""
    if not share:
        return query
    terms, names = dict(query.terms), dict(query.names)
    for words, weight in query.compounds:
        for term, name in _spellings(words):
            if term not in query.terms and holds(term):
                terms[term] = max(terms.get(term, 0.0), share * weight)
            if name not in names and holds("=" + name):
                names[name] = share * weight
    return replace(query, terms=terms, names=names)


def _spellings(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """(term, name as a definition has it) of words put together, the last of them also without a plural's s."""
    for last in dict.fromkeys((words[-1], words[-1].removesuffix("s"))):
        parts = (*words[:-1], last)
        yield "_".join(parts), "_".join(parts)
        yield "".join(parts), "".join(part.capitalize() for part in parts)
