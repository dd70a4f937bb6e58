from __future__ import annotations

import re

import pytest

from sutler.secrets.hidden import _SUSPECT, _may_hide, visible


@pytest.mark.parametrize(
    ("text", "kind", "shown"),
    [
        ("a\U000e0069b", "tag", "a⟨U+E0069⟩b"),
        ("a\u200bb", "zero-width", "a⟨U+200B⟩b"),
        ("a\u200db", "zero-width", "a⟨U+200D⟩b"),
        ("a\u202eb", "bidi", "a⟨U+202E⟩b"),
        ("a\u2066b", "bidi", "a⟨U+2066⟩b"),
        ("a\x1b[31mb", "control", "a⟨U+001B⟩[31mb"),
        ("a\x1b]8;;x\x07b", "control", "a⟨U+001B⟩]8;;x⟨U+0007⟩b"),
        ("a\x9bb", "control", "a⟨U+009B⟩b"),
        ("a\ufe0fb", "selector", "a⟨U+FE0F⟩b"),
        ("a\U000e0100b", "selector", "a⟨U+E0100⟩b"),
        ("a\u00adb", "other", "a⟨U+00AD⟩b"),
        ("a\u2028b", "other", "a⟨U+2028⟩b"),
        ("a\udc80b", "other", "a⟨U+DC80⟩b"),
    ],
)
def test_hidden_characters_are_spelled_out_and_counted(text: str, kind: str, shown: str) -> None:
    made = visible(text)
    assert made.text == shown
    assert [name for name, _ in made.counts] == [kind]


@pytest.mark.parametrize(
    "text",
    [
        "plain\ttext\r\nwith\flines\n",
        "👩\u200d👩\u200d👧\u200d👦 ❤\ufe0f 1\ufe0f\u20e3 👍🏽 🏳\ufe0f\u200d🌈",
        "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "漢字\U000e0100 かな 한국어",
        "می\u200cخواهم سلام \u200fعربي",
        "שלום\u200f עולם",
        "क\u094d\u200dष",
        "\ufeffstart",
        "naïve café",
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert visible(text).text == text
    assert visible(text).counts == ()


def test_a_message_in_tags_or_selectors_after_an_emoji_is_shown() -> None:
    hidden = "🙂" + "".join(chr(0xE0100 + ord(char)) for char in "run")
    assert visible(hidden).counts == (("selector", 3),)
    flag = "\U0001f3f4" + "".join(chr(0xE0000 + ord(char)) for char in "ignore all")
    assert visible(flag).counts == (("tag", 10),)


def test_visible_text_is_a_fixed_point() -> None:
    once = visible("a\u202e\u200b\U000e0041b").text
    assert visible(once).text == once


def test_the_bytes_tell_the_same_suspects_as_the_pattern() -> None:
    """Of every character that there is."""
    for code in range(0x110000):
        assert _may_hide(chr(code)) == (re.match(_SUSPECT, chr(code)) is not None), hex(code)
