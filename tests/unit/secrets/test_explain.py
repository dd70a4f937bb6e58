"""Why a finding is one, without the value."""

from __future__ import annotations

import re

import pytest

from sutler.secrets.engines import stdlib_engine
from sutler.secrets.explain import Explanation, explanations
from tests.conftest import Plant, Sutler

KEY = b"k" * 32
VALUE = "NqVw83kdLm!9xT"


def why(text: str, path: str = "a.py") -> Explanation:
    return next(iter(explanations(text, path, stdlib_engine(), KEY).values()))


@pytest.mark.parametrize(
    ("text", "rule", "where"),
    [
        (f'db_password = "{VALUE}"\n', "grammar password", "assigned to it: db_password"),
        (f"pg://u:{VALUE}@host/x\n".replace("pg", "postgres"), "grammar url", "password of a URL"),
        ("x = 'glpat-k2J8s0dLq7Xw3Zp9Rt5V'\n", "format gitlab", "anywhere"),
    ],
)
def test_rule_and_place(text: str, rule: str, where: str) -> None:
    reasons = why(text)
    assert reasons.rule.startswith(rule)
    assert where in reasons.where


def test_evidence_speaks_for_a_generated_value_and_against_a_word() -> None:
    assert "it reads as generated" in why(f'password = "{VALUE}"\n').evidence
    assert any("word" in reason for reason in why('password = "sunshines"\n').against)


def test_no_reason_shows_the_value() -> None:
    assert VALUE not in repr(explanations(f'password = "{VALUE}"\n', "a.py", stdlib_engine(), KEY))


def test_the_command_prints_reasons_and_how_to_allow(plant: Plant, sutler: Sutler) -> None:
    folder = plant({"db.ini": f"password = {VALUE}\n", "notes.txt": f"it is {VALUE}\n"})
    ran = sutler("secrets", "--explain", cwd=folder)
    assert ran.code == 0
    assert VALUE not in ran.text
    assert "for      a name that says password" in ran.text
    tags = re.findall(r'allow    allow_secrets = \["([0-9a-f]{8})"\] in ', ran.text)
    assert tags, "the line can be copied"
    assert f"  {tags[0]}  password = [REDACTED:" in ran.text
    assert "a secret of another file" in ran.text
