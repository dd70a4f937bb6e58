"""Values that one text gives away, looked for in others."""

from __future__ import annotations

import pytest

from sutler.formats.document import CleanText
from sutler.secrets.known import Known, values_of
from sutler.secrets.redactor import redact

KEY = b"k" * 32
VALUE = "NqVw83kdLm!9"


def test_values_are_read_from_the_text_and_its_redaction() -> None:
    raw = f"host = db\npassword = {VALUE}\ntoken = 'kD83mfLq02nXzPw7'\n"
    clean = redact(raw, "db.ini", key=KEY).text
    assert dict(values_of(raw, clean)) == {VALUE: "password", "kD83mfLq02nXzPw7": "secret"}


@pytest.mark.parametrize("word", ["sunshine", "postgres", "changeme", "admin123", "short1A"])
def test_a_word_is_not_looked_for(word: str) -> None:
    raw = f"password = {word}\n"
    assert not list(values_of(raw, redact(raw, "db.ini", key=KEY).text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"a {VALUE} b", "a {} b"),
        ("x=NqVw83kdLm%219&y", "x={}&y"),
        ("nothing here", "nothing here"),
    ],
)
def test_a_value_is_hidden_in_its_spellings(text: str, shown: str) -> None:
    hidden = Known([(VALUE, "password")], KEY).hide(CleanText(text))
    marker = redact(f"password = {VALUE}\n", "a.ini", key=KEY).text.split()[-1]
    assert hidden.text == shown.format(marker)
    assert len(hidden.findings) == shown.count("{}")


def test_the_pattern_alone_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Known([(VALUE, "password")], KEY)
    text = CleanText(f"a {VALUE} b\n")
    fast = known.hide(text)
    slow = Known([(VALUE, "password")], KEY)
    slow.__dict__["_database"] = None
    assert slow.hide(text) == fast
    assert slow.hide(CleanText("nothing\n")).text == "nothing\n"
