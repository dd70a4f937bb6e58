from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.scan.judge import CREDENTIALS, credential
from sutler.scan.wildmatch import translate

_WORDS = st.sampled_from(
    [
        ".env",
        "credentials",
        "secrets",
        "_secret",
        "_token",
        ".pem",
        ".key",
        "x",
        ".",
        "_",
        "A",
        "é",
        "id_rsa",
        "id_ed25519",
        ".pub",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".git-credentials",
        ".htpasswd",
        ".kdbx",
        ".jks",
    ]
)


@given(st.lists(_WORDS, min_size=1, max_size=4).map("".join))
def test_the_quick_look_agrees_with_the_patterns(name: str) -> None:
    slow = any(re.match(translate(pattern), name.lower(), re.DOTALL) for pattern in CREDENTIALS)
    assert (credential(name) is not None) == slow


@pytest.mark.parametrize(
    "name",
    [
        "id_rsa",
        "id_dsa",
        "id_ecdsa",
        "id_ed25519",
        ".netrc",
        "_netrc",
        ".pgpass",
        ".git-credentials",
        ".htpasswd",
        "Vault.KDBX",
        "site.pfx",
        "release.jks",
        "putty.ppk",
        "ID_RSA",
        ".NetRC",
    ],
)
def test_keys_and_password_files(name: str) -> None:
    assert credential(name) is not None


@pytest.mark.parametrize(
    "name", ["id_rsa.pub", "id_ed25519.pub", "id_rsa_test.go", "netrc.py", "pgpass.md", "jks.py"]
)
def test_public_keys_and_talk_about_them(name: str) -> None:
    assert credential(name) is None


def test_the_rule_names_its_pattern() -> None:
    assert str(credential("ID_RSA.PEM")) == "default: **/*.pem"
