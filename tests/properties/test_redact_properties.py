"""Whatever the text: lines stay, a second pass changes nothing, and both engines agree to the
character.
"""

from __future__ import annotations

import os
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sutler.secrets import apart, readers
from sutler.secrets import redactor as clean
from sutler.secrets.engines import Engine, compile_database, hyperscan_engine, lower, stdlib_engine
from sutler.secrets.redactor import redact

KEY = b"k" * 32
FUZZ = int(os.environ.get("SUTLER_FUZZ", "1"))

_PIECES = (
    "password", "api_key", "secret", "token", "auth", "key", "AWS_SECRET_ACCESS_KEY", " = ", ": ", "=", ":=", " => ", "(", ")", ",",
    '"', "'", "`", '\\"', "&quot;", "[", "{", "}", "\n", "\r\n", " ", "\t", "#", "//", "- ", "+", "\\n", "%3D", "é", "漢", "\u202e", "\0",
    "hunter2x9", "kq8Zr2vLx", "zxkwqvbn", "changeme", "${X}", "<b>", "a8f5f167f44f4964e6c998dee827110c", "Bearer ", "Basic ",
    "Ym9iOmtxOFpyMnZMeA==", "postgres://bob:", "@db/", "ghp_q7Rk2LmZ9xTv4Bn8Wc3Ys6Hd1Jf5Gp0aEuQi", "AKIAIOSFODNN7Q2W4E6R",
    "xoxb-123456789012-abcdefABCDEF", "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----",
    "MIIEpAIBAAKCAQEAx7Qk2LmZ9xTv4Bn8Wc3Ys6Hd1Jf5Gp0aEuQiq7Rk2LmZ9xTv", "[REDACTED:jwt:0123456789ab]", "mysql -p", "--password ",
    "sentry", "name: ", "value: ", "IDENTIFIED BY ", "<password>", "</password>", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abcDEF123",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(_PIECES) | st.text(max_size=4), max_size=40).map("".join)
PATHS = st.sampled_from(
    ["a.py", "a.yml", "a.json", ".env", "README.md", ".netrc", "a", "secret.yaml"]
)


@cache
def fast() -> Engine:
    return hyperscan_engine(compile_database())


@settings(max_examples=300 * FUZZ, deadline=None)
@given(TEXTS, PATHS)
def test_the_number_of_lines_stays(text: str, path: str) -> None:
    assert redact(text, path, key=KEY, engine=fast()).text.count("\n") == text.count("\n")


@settings(max_examples=300 * FUZZ, deadline=None)
@given(TEXTS, PATHS)
def test_a_second_pass_changes_nothing(text: str, path: str) -> None:
    once = redact(text, path, key=KEY, engine=fast()).text
    again = redact(once, path, key=KEY, engine=fast())
    assert again.text == once
    assert again.findings == ()


@settings(max_examples=300 * FUZZ, deadline=None)
@given(st.lists(TEXTS, max_size=4).map("\n\n# a line between them\n".join), PATHS)
def test_to_look_around_what_changed_is_to_look_at_all_of_it(text: str, path: str) -> None:
    made = redact(text, path, key=KEY, engine=fast())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clean, "_around", lambda text, path, places: [(0, len(text))])
        assert made == redact(text, path, key=KEY, engine=fast())


@settings(max_examples=300 * FUZZ, deadline=None)
@given(TEXTS, PATHS)
def test_both_engines_agree(text: str, path: str) -> None:
    assert redact(text, path, key=KEY, engine=fast()) == redact(
        text, path, key=KEY, engine=stdlib_engine()
    )


@settings(max_examples=300 * FUZZ, deadline=None)
@given(TEXTS)
def test_every_line_that_holds_a_candidate_is_pointed_at(text: str) -> None:
    pointed = {
        (number, text.count("\n", 0, end)) for number, end in fast()(text, text.encode()).triggers
    }
    start, low = 0, lower(text, text.encode("utf-8", "surrogatepass"))
    for line, content in enumerate(text.split("\n")):
        stop = start + len(content)
        at = readers.Stretch(text, low, start, stop, stop)
        for number, read in enumerate((*readers.READERS, *apart.READERS)):
            assert (number, line) in pointed or not list(read(at)), (number, content)
        start = stop + 1


@settings(max_examples=20 * FUZZ, deadline=None)
@given(st.lists(st.sampled_from(_PIECES), min_size=200, max_size=400).map("".join))
def test_both_engines_agree_on_very_long_lines(text: str) -> None:
    line = text.replace("\n", " ")
    assert redact(line, "a.yml", key=KEY, engine=fast()) == redact(
        line, "a.yml", key=KEY, engine=stdlib_engine()
    )
