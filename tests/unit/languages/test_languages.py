from __future__ import annotations

import pytest
from msgspec.structs import asdict, replace

from sutler.languages import LANGUAGES, Grammar, Language, language_of
from sutler.languages.extract import tree_of
from sutler.languages.python import PYTHON
from sutler.languages.table import claims


@pytest.mark.parametrize(
    ("path", "head", "language", "parsed"),
    [
        ("a/b.py", "", "python", True),
        ("a/b.TSX", "", "tsx", True),
        ("a/b.h", "", "c", True),
        ("Rakefile", "", "ruby", True),
        ("Dockerfile.dev", "", "dockerfile", False),
        ("bin/run", "#!/usr/bin/env python3\n", "python", True),
        ("bin/run", "#!/bin/sh", "shell", True),
        ("bin/run", "hello", "", False),
        ("notes.txt", "#!/bin/sh", "text", False),
        ("go.mod", "", "go", False),
    ],
)
def test_language_of(path: str, head: str, language: str, parsed: bool) -> None:
    row = language_of(path, head)
    assert (row.name if row else "", bool(row and row.grammar)) == (language, parsed)


@pytest.mark.parametrize(
    "grammar",
    [row.grammar for row in LANGUAGES if row.grammar],
    ids=lambda grammar: grammar.package,
)
def test_every_grammar_is_installed_and_takes_its_query(grammar: Grammar) -> None:
    assert tree_of(grammar, b"") is not None


def test_every_row_has_a_name_of_its_own() -> None:
    assert len({row.display for row in LANGUAGES}) == len(LANGUAGES)


def test_a_missing_part_is_named_with_its_language() -> None:
    parts = {
        name: part for name, part in asdict(PYTHON).items() if name not in ("tests", "comments")
    }
    with pytest.raises(TypeError, match="language Python: lacks comments, tests"):
        Language(**parts)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("suffixes", ("PY",), "'PY' must be lower-case"),
        ("suffixes", (".py",), "must not hold a dot"),
        ("grammar", None, "needs a grammar, or shapes"),
        ("name", "", "display and name must not be empty"),
    ],
)
def test_a_wrong_part_is_refused(part: str, value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Language(
            **{**{name: getattr(PYTHON, name) for name in Language.__struct_fields__}, part: value}
        )


def test_a_query_must_mark_definitions_that_exist() -> None:
    assert PYTHON.grammar is not None
    grammar = replace(PYTHON.grammar, symbols="(function_definition name: (_) @n) @d.procedure")
    with pytest.raises(TypeError, match=r"marks @d\.procedure, which is no kind of symbol"):
        Language(
            **{
                **{name: getattr(PYTHON, name) for name in Language.__struct_fields__},
                "grammar": grammar,
            }
        )


def test_two_languages_cannot_claim_one_suffix() -> None:
    other = replace(PYTHON, display="Other")
    with pytest.raises(TypeError, match="languages Python and Other: both claim suffixes 'py'"):
        claims("suffixes", (PYTHON, other))
