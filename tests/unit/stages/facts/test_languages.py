from __future__ import annotations

import pytest

from sutler.stages.facts.languages import grammar, language_of
from sutler.stages.facts.queries import QUERIES


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("a/b.py", "", "python"),
        ("a/b.TSX", "", "tsx"),
        ("a/b.h", "", "cpp"),
        ("Rakefile", "", "ruby"),
        ("bin/run", "#!/usr/bin/env python3\n", "python"),
        ("bin/run", "#!/bin/sh", "bash"),
        ("bin/run", "hello", ""),
        ("notes.txt", "#!/bin/sh", ""),
    ],
)
def test_language_of(path: str, head: str, language: str) -> None:
    assert language_of(path, head) == language


@pytest.mark.parametrize("language", QUERIES)
def test_every_language_has_a_grammar_that_takes_its_query(language: str) -> None:
    from tree_sitter import Query

    found = grammar(language)
    assert found is not None
    Query(found, QUERIES[language])
