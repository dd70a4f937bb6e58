"""The table and the tokenizer agree, always: a count is exact or it is left to the tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.tokens import counter as count
from sutler.tokens import small_text as little
from tests import vocabulary
from tests.conftest import FUZZ

exact = count.by_tokenizer(little.VOCABULARY)
HERE = Path(__file__).parents[3]

_PIECES = st.one_of(
    st.text(),
    st.text(st.characters(max_codepoint=0x52F)),
    st.text(
        st.sampled_from(
            "aAzZ'sStTreREveVEllLLdDmM 09\t\n\r\v\f/.;_-\x01\x02\x03\x1c\x85\xa0ſªßƏǅʰ̈\u2028\u3000"
        )
    ),
    st.sampled_from(
        [
            "don't",
            "'S",
            "'ſ",
            "X'll",
            "HTTPServer",
            "x" * 128,
            "x" * 129,
            " " * 40,
            "=" * 70,
            "<|endoftext|>",
        ]
    ),
)


def test_the_table_is_what_the_tokenizer_says() -> None:
    """Made by `python -m tests.vocabulary`, and by nobody's hand."""
    assert vocabulary.PLACE.read_bytes() == vocabulary.table()
    assert little.VOCABULARY == count.USUAL


@given(st.lists(_PIECES, max_size=8))
@settings(max_examples=int(600 * FUZZ), deadline=None)
def test_any_text_costs_what_the_tokenizer_counts(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = little.count(text)
    assert found in (little.UNSURE, exact(text))
    assert count.token_counter(little.VOCABULARY)(text) == exact(text)


def test_every_character_that_is_known_is_read_as_the_tokenizer_reads_it() -> None:
    sure = 0
    for code in (*range(0xD800), *range(0xE000, 0x20000)):
        char = chr(code)
        text = f"a{char}b {char}{char}X1{char}\n{char}'s"
        found = little.count(text)
        sure += found >= 0
        assert found in (little.UNSURE, exact(text)), hex(code)
    assert sure > 40_000


@pytest.mark.parametrize("folder", ["src/sutler", "docs"])
def test_real_files_cost_what_the_tokenizer_counts(folder: str) -> None:
    paths = [
        path
        for path in sorted((HERE / folder).rglob("*"))
        if path.suffix in (".py", ".md", ".js", ".tsv")
    ]
    texts = [path.read_text(encoding="utf-8") for path in paths]
    assert len(texts) > 4
    known = [(little.count(text), exact(text)) for text in texts]
    assert sum(found >= 0 for found, _ in known) > 0.9 * len(known)
    assert all(found in (little.UNSURE, right) for found, right in known)


@pytest.mark.parametrize("text", ["x" * 129, "\u0ddf", "\U00010330", "\ud800"])
def test_what_it_does_not_know_it_leaves(text: str) -> None:
    assert little.count(text) == little.UNSURE


def test_words_put_together_are_the_text() -> None:
    text = "Don't STOP\n\n  12345 ok; //x\r\n\u00a0日本 e\u0301\x01"
    assert "".join(little.words(text) or ()) == text
