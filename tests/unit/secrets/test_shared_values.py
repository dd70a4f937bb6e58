"""Values that one text gives away, looked for in others."""

from __future__ import annotations

from base64 import b64decode, b64encode
from concurrent.futures import ThreadPoolExecutor

import pytest

from sutler.formats.document import CleanText
from sutler.secrets.redactor import redact
from sutler.secrets.shared_values import SharedValues, values_of

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
        ("the first half is NqVw83kdL so far", "the first half is {} so far"),
        ("a NqVw83kd\n  Lm!9 b", "a {}\n  {} b"),
        ('a = "NqVw83" + \\\n    "kdLm!9"', 'a = "{}" + \\\n    "{}"'),
        ("+NqVw83\n+kdLm!9\n", "+{}\n+{}\n"),
        ("NqVw83 and kdLm!9 apart", "NqVw83 and kdLm!9 apart"),
    ],
)
def test_a_value_is_hidden_in_its_spellings(text: str, shown: str) -> None:
    hidden = SharedValues([(VALUE, "password")], KEY).hide(CleanText(text))
    marker = redact(f"password = {VALUE}\n", "a.ini", key=KEY).text.split()[-1]
    assert hidden.text == shown.replace("{}", marker)
    assert len(hidden.findings) == shown.count("{}")


def test_the_pattern_alone_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = SharedValues([(VALUE, "password")], KEY)
    text = CleanText(f"a {VALUE} b\n")
    fast = shared.hide(text)
    slow = SharedValues([(VALUE, "password")], KEY)
    slow.__dict__["_database"] = None
    assert slow.hide(text) == fast
    assert slow.hide(CleanText("nothing\n")).text == "nothing\n"


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
def test_a_value_is_hidden_in_base64_at_every_shift(before: str) -> None:
    encoded = b64encode(f"{before}{VALUE}:x".encode()).decode()
    hidden = SharedValues([(VALUE, "password")], KEY).hide(CleanText(encoded)).text
    for at in range(len(encoded) - 12):
        if VALUE[2:8] in str(b64decode(encoded[at // 4 * 4 :][:16])):
            assert encoded[at // 4 * 4 :][:16] not in hidden


def test_the_password_of_a_header_is_learned() -> None:
    header = b64encode(f"deploy:{VALUE}".encode()).decode()
    raw = f"Authorization: Basic {header}\n"
    assert (VALUE, "auth-header") in values_of(raw, redact(raw, "a.txt", key=KEY).text)


def test_what_encoded_structures_share_is_no_part_of_a_value() -> None:
    token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0In0.k3jS92kdLmQw8Zx1"
    shared = SharedValues([(token, "jwt")], KEY)
    assert shared.hide(CleanText("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.other")).findings == ()
    assert shared.hide(CleanText(f"x {token} y")).text.startswith("x [REDACTED:jwt:")


@pytest.mark.parametrize(
    "value", [VALUE, "kD83mfLq02nXzPw7aB5cR9tY" * 3, "mQ7x" + "z" * 9 + "K3vB81"]
)
@pytest.mark.parametrize("before", ["", "u", "us"])
def test_base64_that_a_line_end_splits_anywhere_is_hidden(value: str, before: str) -> None:
    """Few pieces of an encoded value are looked for; one of them is always whole."""
    encoded = b64encode(f"{before}{value}".encode()).decode().rstrip("=")
    shared = SharedValues([(value, "password")], KEY)
    for at in range(4, len(encoded) - 3):
        hidden = shared.hide(CleanText(f"x {encoded[:at]}\n{encoded[at:]} y")).text
        assert hidden.count("[REDACTED:") == 2, at


def test_an_encoded_spelling_costs_few_pieces() -> None:
    """Compiling pieces was a tenth of a first pack without a limit."""
    value = "kD83mfLq02nXzPw7aB5cR9tY"
    assert len(SharedValues([(value, "secret")], KEY)._pieces) <= 20


def test_threads_may_search_at_once() -> None:
    """Matching releases the interpreter's lock, so that threads do run at once."""
    text = f"words and words {VALUE} again\n" * 4_000
    values = SharedValues([(VALUE, "password")], KEY)
    with ThreadPoolExecutor(4) as threads:
        shown = list(threads.map(lambda _: values.hide(CleanText(text)).text, range(24)))
    assert len(set(shown)) == 1
    assert VALUE not in shown[0]
