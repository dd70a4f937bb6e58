from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from sutler.disk.defaults import CREDENTIALS, credential
from sutler.values.wildmatch import translate

_WORDS = st.sampled_from(
    [".env", "credentials", "secrets", "_secret", "_token", ".pem", ".key", "x", ".", "_", "A", "é"]
)


@given(st.lists(_WORDS, min_size=1, max_size=4).map("".join))
def test_the_quick_look_agrees_with_the_patterns(name: str) -> None:
    slow = any(re.match(translate(pattern), name.lower(), re.DOTALL) for pattern in CREDENTIALS)
    assert (credential(name) is not None) == slow


def test_the_rule_names_its_pattern() -> None:
    assert str(credential("ID_RSA.PEM")) == "default: **/*.pem"
