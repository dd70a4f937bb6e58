from __future__ import annotations

import pytest

from sutler.languages.terms import phrases, spelling, split, stem, terms_of, whole


@pytest.mark.parametrize(
    ("word", "terms"),
    [
        ("parseURLParts", ("pars", "url", "part", "parseurlparts")),
        ("parse_url_parts", ("pars", "url", "part", "parse_url_parts")),
        ("HTTPServer", ("server", "httpserver")),
        ("__init__", ("init",)),
        ("world2pix", ("world", "pix", "world2pix")),
        ("the", ()),
        ("a" * 65, ()),
        ("日本語", ("日本", "本語")),
    ],
)
def test_split(word: str, terms: tuple[str, ...]) -> None:
    assert split(word) == terms


@pytest.mark.parametrize(
    ("word", "root"),
    [
        ("queries", "query"),
        ("classes", "class"),
        ("running", "run"),
        ("parsed", "pars"),
        ("parse", "pars"),
        ("status", "status"),
        ("bus", "bus"),
    ],
)
def test_stem(word: str, root: str) -> None:
    assert stem(word) == root


def test_prose_meets_code() -> None:
    assert set(split("parse_url_parts")) & set(terms_of("parsing the parts of URLs")) == {
        "pars",
        "part",
        "url",
    }


def test_phrases_are_word_triples() -> None:
    assert phrases("Cannot open 'the shop'.") == ["cannot open the", "open the shop"]


def test_whole_ignores_case_and_outer_underscores() -> None:
    assert whole("_Private_Name_") == "private_name"


@pytest.mark.parametrize(
    ("identifier", "term", "spelled"),
    [
        ("select_related", "relat", "related"),
        ("select_related", "select_related", "select_related"),
        ("QuerySet", "query", "Query"),
        ("models", "model", "models"),
    ],
)
def test_a_term_is_spelled_as_its_identifier_spells_it(
    identifier: str, term: str, spelled: str
) -> None:
    assert term in split(identifier)
    assert spelling(identifier, term) == spelled
