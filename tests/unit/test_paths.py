from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.errors import RefusedError
from sutler.paths import (
    Span,
    basename,
    dirname,
    extension,
    join,
    json_bytes,
    parse_place,
    parse_relpath,
    quote,
    unquote,
)

ANYTHING = st.text(st.characters(exclude_categories=()))
TRICKY = st.text(
    st.sampled_from(
        '"\\`nrtu{}0123789abf/ .\n\t\r\x1b\x80\x85\xa0é日\u200d\u202e\u2028\ufeff\udc80\udcff\udc00\ud83d😀'
    )
)
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


@settings(max_examples=500, deadline=None)
@given(ANYTHING | TRICKY)
def test_every_path_comes_back_from_its_display_form(path: str) -> None:
    assert unquote(quote(path)) == path


@settings(max_examples=300, deadline=None)
@given(st.binary())
def test_every_name_of_a_file_system_comes_back(raw: bytes) -> None:
    path = raw.decode("utf-8", "surrogateescape")
    assert unquote(quote(path)).encode("utf-8", "surrogateescape") == raw


@settings(max_examples=300, deadline=None)
@given(ANYTHING | TRICKY, ANYTHING | TRICKY)
def test_two_paths_never_look_the_same(one: str, other: str) -> None:
    assert (quote(one) == quote(other)) == (one == other)


def test_no_character_that_hides_or_reorders_is_shown() -> None:
    # Prepended number signs are visible and belong to their scripts.
    visible = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    every = [chr(code) for code in range(0x110000) if code not in visible]
    shown = "".join(quote("".join(every[at : at + 4096])) for at in range(0, len(every), 4096))
    assert (
        sorted({hex(ord(char)) for char in shown if unicodedata.category(char) in INVISIBLE}) == []
    )
    assert sorted(hex(ord(char)) for char in set(shown) if unicodedata.category(char) == "Zs") == [
        "0x20"
    ]
    shown.encode()


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("src/a.py", "src/a.py"),
        ("a b", "a b"),
        ("日本/é.txt", "日本/é.txt"),
        ("", '""'),
        (" a", '" a"'),
        ("a ", '"a "'),
        ('"', r'"\""'),
        ("a\\b", r'"a\\b"'),
        ("a\nb\tc\r", r'"a\nb\tc\r"'),
        ("\x1b[2J", r'"\033[2J"'),
        ("caf\udce9", r'"caf\351"'),
        ("\udc80\udcff\udc7f", r'"\200\377\u{dc7f}"'),
        ("\x85", r'"\u{85}"'),
        ("a\u202eb", r'"a\u{202e}b"'),
        ("\U0010ffff", r'"\u{10ffff}"'),
        ("`x` |<y>", "`x` |<y>"),
    ],
)
def test_quote(path: str, shown: str) -> None:
    assert quote(path) == shown


@pytest.mark.parametrize(
    "shown", ['"', '"\\', r'"\q"', r'"\400"', r'"\u{110000}"', r'"\u{}"', '"""', '"\\"']
)
def test_what_quote_never_writes_is_taken_as_it_is(shown: str) -> None:
    inner = shown[1:-1] if len(shown) > 1 and shown.endswith('"') else shown
    assert unquote(shown) == inner


@pytest.mark.parametrize(
    ("raw", "path"), [("a//b/./c/", "a/b/c"), (".", ""), ("", ""), ("..a/b..", "..a/b..")]
)
def test_a_legal_spelling_becomes_a_plain_path(raw: str, path: str) -> None:
    assert parse_relpath(raw) == path


@pytest.mark.parametrize("raw", ["/a", "..", "a/../b", "a\0b", "//", "../a"])
def test_an_illegal_path_is_refused(raw: str) -> None:
    with pytest.raises(RefusedError, match="rule: paths"):
        parse_relpath(raw)


@pytest.mark.parametrize(
    ("path", "parent", "name", "ext"),
    [
        ("a/b.TXT", "a", "b.TXT", "txt"),
        ("c", "", "c", ""),
        (".bashrc", "", ".bashrc", ""),
        ("x/.y.z", "x", ".y.z", "z"),
    ],
)
def test_parts_of_a_path(path: str, parent: str, name: str, ext: str) -> None:
    assert (dirname(path), basename(path), extension(path), join(parent, name)) == (
        parent,
        name,
        ext,
        path,
    )


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a.py", ("a.py", None)),
        ("a.py:3", ("a.py", Span(3, 3))),
        ("a.py:3-9", ("a.py", Span(3, 9))),
        ("a:b.py", ("a:b.py", None)),
        (":3", (":3", None)),
    ],
)
def test_a_place_is_a_path_and_lines(text: str, place: tuple[str, Span | None]) -> None:
    assert parse_place(text) == place


def test_surrogates_are_spelled_out_in_json() -> None:
    value = {"a\udcff": ("b\udc80", Span(1, 2), 3)}
    spelled = {"a\\udcff": ["b\\udc80", {"start": 1, "end": 2}, 3]}
    assert json.loads(json_bytes(value)) == spelled
    assert json_bytes("é") == '"é"'.encode()
