from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sutler.scan.name_rules import CERTAIN, RESEMBLING, credential
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
    patterns = (*RESEMBLING, *CERTAIN)
    slow = any(re.match(translate(pattern), name.lower(), re.DOTALL) for pattern in patterns)
    assert (credential(name, strict=True) is not None) == slow


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


@pytest.mark.parametrize(
    "path",
    [
        "internal/handlers/handler_oauth2_token.go",
        "src/secrets/redactor.py",
        "docs/secrets.md",
        "app/models/credentials.rb",
        "secrets/README.md",
        "progit/book.asc",
    ],
)
def test_code_and_prose_are_judged_by_their_content(path: str) -> None:
    assert credential(path) is None
    assert credential(path, strict=True) is not None


@pytest.mark.parametrize(
    "path",
    [
        "secrets.yaml",
        "credentials.json",
        "api_token.txt",
        "credentials",
        "secrets/db_password",
        "deploy/secrets/production.yaml",
        "secrets.edn",
        ".env.ts",
        ".ssh/README.md",
        ".docker/config.json",
        "home/.kube/config",
        "terraform.tfvars",
        "key.secrets/main.py",
    ],
)
def test_data_with_such_a_name_stays_out(path: str) -> None:
    assert credential(path) is not None


def test_a_folder_that_resembles_is_entered() -> None:
    assert credential("src/secrets", directory=True) is None
    assert credential("src/.aws", directory=True) is not None
