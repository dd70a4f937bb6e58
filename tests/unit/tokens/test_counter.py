from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.errors import UsageError
from sutler.tokens import counter as count
from sutler.tokens import counter as small
from sutler.tokens.counter import (
    VOCABULARIES,
    count_bytes,
    counter_for,
    slices,
    token_counter,
)
from tests import vocabulary
from tests.conftest import FUZZ
from tests.limits import LIMIT

_PIECES = (
    *(
        "\n",
        "\r\n",
        "\r",
        " ",
        "   ",
        "\t",
        "\f",
        "\u00a0",
        "\u2028",
        "/",
        "//",
        "#",
        "{};",
        "'s",
        "'S",
        "don't",
    ),
    *(
        "a",
        "B",
        "word",
        "Word",
        "WORD",
        "é",
        "日本",
        "٣",
        "12345",
        "😀",
        "\u0301",
        "\n\n",
        "\nx",
        ";\n/",
        "<|endoftext|>",
    ),
)


@pytest.mark.parametrize(
    ("text", "chars", "size"), [("", 0, 0), ("abc", 3, 3), ("é", 1, 2), ("😀x", 2, 5)]
)
def test_chars_and_bytes(text: str, chars: int, size: int) -> None:
    assert (len(text), count_bytes(text)) == (chars, size)


# Ids counted once with the reference implementation of these encodings.
@pytest.mark.parametrize(
    ("vocabulary", "text", "tokens"),
    [
        ("o200k_base", "hello world", 2),
        ("cl100k_base", "hello world", 2),
        ("o200k_base", "", 0),
        ("o200k_base", "antidisestablishmentarianism", 6),
        ("cl100k_base", "antidisestablishmentarianism", 6),
    ],
)
def test_known_counts(vocabulary: str, text: str, tokens: int) -> None:
    assert token_counter(vocabulary)(text) == tokens


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
def test_control_tokens_in_text_are_only_text(vocabulary: str) -> None:
    """A file that spells a control token must cost what its letters cost, never one token."""
    count = token_counter(vocabulary)
    for spelled in ("<|endoftext|>", "</s>", "<think>", "[INST]", "<|im_start|>"):
        assert count(spelled) > 1


def test_an_unknown_vocabulary_is_named() -> None:
    with pytest.raises(UsageError, match="unknown counter 'gpt'"):
        token_counter("gpt")


def test_counter_for_unit() -> None:
    assert counter_for("chars", "none")("é") == 1
    assert counter_for("bytes", "none")("é") == 2
    assert counter_for("tokens", "o200k_base")("hello world") == 2


@pytest.mark.parametrize("vocabulary", ["o200k_base", "cl100k_base", "llama3"])
@given(st.lists(st.sampled_from(_PIECES), max_size=60), st.integers(1, 40))
@settings(max_examples=300, deadline=None)
def test_a_long_text_costs_what_its_pieces_cost(
    vocabulary: str, pieces: list[str], size: int
) -> None:
    """Wherever a long text is cut, the sum is the count of the whole."""
    text, count = "".join(pieces), token_counter(vocabulary)
    cut = list(slices(text, size))
    assert "".join(cut) == text
    assert sum(map(count, cut)) == count(text)


def test_who_expects_much_counts_by_the_tokenizer_from_the_start() -> None:
    program = (
        "import sys; from sutler.tokens import counter as count; tokens = count.token_counter('o200k_base');"
        "few = tokens('hello world'); before = 'splintr' in sys.modules;"
        "count.expect_much(); many = tokens('hello world');"
        "print(few, before, many, 'splintr' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert done.stdout.split() == ["2", "False", "2", "True"]


exact = count.by_tokenizer(small.VOCABULARY)
HERE = Path(__file__).parents[3]

_TEXTS = st.one_of(
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
    assert small.VOCABULARY == count.USUAL


@given(st.lists(_TEXTS, max_size=8))
@settings(max_examples=int(600 * FUZZ), deadline=None)
def test_any_text_costs_what_the_tokenizer_counts(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = small.count_small(text)
    assert found in (small.UNSURE, exact(text))
    assert count.token_counter(small.VOCABULARY)(text) == exact(text)


def test_every_character_that_is_known_is_read_as_the_tokenizer_reads_it() -> None:
    sure = 0
    for code in (*range(0xD800), *range(0xE000, 0x20000)):
        char = chr(code)
        text = f"a{char}b {char}{char}X1{char}\n{char}'s"
        found = small.count_small(text)
        sure += found >= 0
        assert found in (small.UNSURE, exact(text)), hex(code)
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
    known = [(small.count_small(text), exact(text)) for text in texts]
    assert sum(found >= 0 for found, _ in known) > 0.9 * len(known)
    assert all(found in (small.UNSURE, right) for found, right in known)


@pytest.mark.parametrize("text", ["x" * 129, "\u0ddf", "\U00010330", "\ud800"])
def test_what_it_does_not_know_it_leaves(text: str) -> None:
    assert small.count_small(text) == small.UNSURE


def test_words_put_together_are_the_text() -> None:
    text = "Don't STOP\n\n  12345 ok; //x\r\n\u00a0日本 e\u0301\x01"
    assert "".join(small.words(text) or ()) == text
