"""Generated secrets and decoys in the language of 25 kinds of files."""

from __future__ import annotations

import pytest

from sutler.secrets.engines import compile_database, hyperscan_engine, stdlib_engine
from sutler.secrets.redactor import redact
from tests.secret_language import TEMPLATES, decoys, secrets

KEY = b"k" * 32
SEEDS = (1, 2, 3)
LEAKS = 0.005  # share of the secrets that may pass


@pytest.mark.parametrize("seed", SEEDS)
def test_secrets_of_every_language_are_found(seed: int) -> None:
    samples = list(secrets(seed, 3))
    engine = hyperscan_engine(compile_database())
    leaked = [
        sample.text
        for sample in samples
        if sample.secret in redact(sample.text, sample.path, key=KEY, engine=engine).text
    ]
    assert len(TEMPLATES) >= 25
    assert len(leaked) <= LEAKS * len(samples), leaked


@pytest.mark.parametrize("seed", SEEDS)
def test_placeholders_and_code_about_secrets_stay(seed: int) -> None:
    engine = hyperscan_engine(compile_database())
    for sample in decoys(seed, 3):
        assert redact(sample.text, sample.path, key=KEY, engine=engine).text == sample.text


def test_both_engines_read_the_language_alike() -> None:
    engine = hyperscan_engine(compile_database())
    for sample in (*secrets(9, 1), *decoys(9, 1)):
        fast = redact(sample.text, sample.path, key=KEY, engine=engine)
        assert fast == redact(sample.text, sample.path, key=KEY, engine=stdlib_engine())
