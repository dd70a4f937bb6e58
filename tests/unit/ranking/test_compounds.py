from __future__ import annotations

import pytest

from sutler.ranking import WEIGHTS, Reader, build, rank
from sutler.ranking.index import bag_of
from sutler.ranking.query import analyse, with_compounds
from tests.facts import extracted


@pytest.mark.parametrize(
    ("task", "held"),
    [
        ("Unique constraints are ignored", "uniqueconstraint"),
        ("Unique constraints are ignored", "unique_constraints"),
        ("It fails\nwith --min-similarity-lines set", "min_similarity_lines"),
        ("It fails\nwith `time zone` set", "timezone"),
    ],
)
def test_words_make_the_names_that_a_project_has(task: str, held: str) -> None:
    query = analyse(task)
    assert held not in query.terms
    assert held in with_compounds(query, {held}.__contains__).terms


def test_definitions_are_found_as_they_are_written() -> None:
    found = with_compounds(
        analyse("Unique constraints are ignored"), {"uniqueconstraint"}.__contains__
    )
    assert "UniqueConstraint" in found.names


def test_what_the_project_does_not_hold_is_not_added() -> None:
    query = analyse("Unique constraints are ignored, --no-such-option too")
    assert with_compounds(query, lambda _: False) == query


def test_without_their_weight_nothing_is_added() -> None:
    query = analyse("Unique constraints are ignored")
    assert with_compounds(query, lambda _: True, 0.0) == query


def test_neighbours_in_prose_and_in_traces_make_no_names() -> None:
    query = analyse(
        "Title\nsome plain words here\n\n```\nTraceback (most recent call last):\n a-b-c\n```\n"
    )
    assert query.compounds == ()


def test_a_file_that_only_has_the_name_is_found() -> None:
    tree = {"a.py": "class GrandTotal:\n    pass\n", "b.py": "grand = 1\ntotal = 2\n"}
    index = build((path, path, bag_of(path, text)) for path, text in tree.items())
    reader = Reader(index, extracted(tree))
    assert rank(reader, "grand total is lost", weights=WEIGHTS)[0].path == "a.py"
