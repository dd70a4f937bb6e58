from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.scan.text import ENCODINGS, Decoded, decode, encode, lines_of


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        (b"plain\r\n", "plain\r\n", "utf-8"),
        ("grüße".encode(), "grüße", "utf-8"),
        (b"\xef\xbb\xbfx", "x", "utf-8-bom"),
        (b"\xef\xbb\xbf\xef\xbb\xbfx", "\ufeffx", "utf-8-bom"),
        (b"\xff\xfe" + "hé".encode("utf-16-le"), "hé", "utf-16-le-bom"),
        (b"\xfe\xff" + "hé".encode("utf-16-be"), "hé", "utf-16-be-bom"),
        (b"\xff\xfe\0\0" + "hé".encode("utf-32-le"), "hé", "utf-32-le-bom"),
        (b"\0\0\xfe\xff" + "hé".encode("utf-32-be"), "hé", "utf-32-be-bom"),
        ("plain text\n".encode("utf-16-le"), "plain text\n", "utf-16-le"),
        ("plain text\n".encode("utf-16-be"), "plain text\n", "utf-16-be"),
        (b"x" * 9000 + b"\0", "x" * 9000 + "\0", "utf-8"),
        (b"\xff\xfe", "", "utf-16-le-bom"),
    ],
)
def test_clean_text(data: bytes, text: str, encoding: str) -> None:
    assert decode(data) == Decoded(text, encoding)
    assert encode(text, encoding) == data


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"\x7fELF\0\0",
        b"abc\0def",
        bytes(range(256)),
        b"\x89PNG\r\n\x1a\n\0",
        b"\x01\x02\x03\xff" * 40,
    ],
)
def test_binary(data: bytes) -> None:
    assert decode(data) is None


def test_latin_1_with_its_issue() -> None:
    found = decode(b"caf\xe9\n")
    assert found == Decoded(
        "café\n", "latin-1", "not UTF-8: byte 0xe9 at offset 3; read as latin-1"
    )


def test_windows_1252_quotes() -> None:
    found = decode(b"\x93quoted\x94")
    assert found is not None
    assert (found.text, found.encoding) == ("“quoted”", "cp1252")


def test_a_marked_text_that_breaks_is_replaced_and_says_so() -> None:
    found = decode(b"\xff\xfe" + "ab".encode("utf-16-le") + b"\xd8\xd8")
    assert found is not None
    assert "replaced" in found.issue
    assert found.text.startswith("ab")


def test_lines_end_at_newlines_alone() -> None:
    """T77: a form feed, NEL, U+2028 or a lone CR is part of its line."""
    text = "a\x0cb\x0bc\x85d\u2028e\rf\r\ng\n\nh"
    assert lines_of(text) == ["a\x0cb\x0bc\x85d\u2028e\rf\r\n", "g\n", "\n", "h"]
    assert lines_of("") == []
    assert lines_of("x\n") == ["x\n"]


def test_twenty_megabytes_on_one_line() -> None:
    """T71."""
    data = b"x" * 20_000_000
    found = decode(data)
    assert found is not None
    assert len(lines_of(found.text)) == 1


def test_an_unknown_label_means_utf_8() -> None:
    assert encode("é", "klingon") == "é".encode()
    assert encode("€", "latin-1") == "€".encode()


_BYTES = st.binary(max_size=60)
_MARKED = st.builds(
    bytes.__add__, st.sampled_from([b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"]), _BYTES
)
_TEXTS = st.builds(
    str.encode, st.text(max_size=30), st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "utf-16"])
)


@settings(max_examples=400)
@given(st.one_of(_BYTES, _MARKED, _TEXTS))
def test_the_label_gives_back_the_bytes(data: bytes) -> None:
    found = decode(data)
    if found is not None and "replaced" not in found.issue:
        assert found.encoding in ENCODINGS
        assert encode(found.text, found.encoding) == data
