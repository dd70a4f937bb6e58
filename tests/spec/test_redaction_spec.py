"""Nothing secret leaves (seed 003 §5): 200 planted canaries, none of them in the cleaned text,
whole or in part.
"""

from __future__ import annotations

import base64
import json
import random
import string

import pytest

from sutler.secrets.engines import Engine, compile_database, hyperscan_engine
from sutler.secrets.redactor import redact

KEY = b"k" * 32
_MIXED = string.ascii_letters + string.digits


def _canary(rng: random.Random) -> str:
    return rng.choice(("ghp_", "hf_", "npm_")) + "".join(rng.choices(_MIXED, k=36))


def _plant(kind: int, canary: str, rng: random.Random) -> tuple[str, str]:
    """(path, text) with the canary somewhere in it."""
    filler = "\n".join(
        f"line {number} of something ordinary" for number in range(rng.randint(1, 60))
    )
    words = " ".join(
        rng.choices(("lorem", "ipsum", "dolor", "{", "}", "function", "var a=1;"), k=6000)
    )
    cell = {"cells": [{"cell_type": "code", "source": [f"token = '{canary}'\n", "print(token)\n"]}]}
    return (
        ("a.py", f"{filler}\nTOKEN = '{canary}'\n{filler}"),
        ("min.js", f"{words}t='{canary}';{words}"),
        ("a.ipynb", json.dumps(cell)),
        ("a.txt", f"\ufeff{filler}\n{canary}\r\n{filler}".encode("utf-16").decode("utf-16")),
        ("a.diff", f"--- a\n+++ b\n@@ -1 +1 @@\n-key: {canary}\n+key: x\n"),
        ("log", f"commit 0123\n\n    remove {canary} from the config\n"),
        ("config", f'[remote "origin"]\n\turl = https://bob:{canary}@git.internal/a.git\n'),
        ("a.env", f"A=1\nTOKEN={canary}\n"),
        ("b64.yml", f"data: {base64.b64encode(f'token: {canary}'.encode()).decode()}\n"),
        ("cut.md", f"{filler}\n{canary}"),
    )[kind]


@pytest.fixture(scope="module")
def engine() -> Engine:
    return hyperscan_engine(compile_database())


@pytest.mark.parametrize("kind", range(10))
def test_no_canary_is_left(kind: int, engine: Engine) -> None:
    rng = random.Random(kind)
    for _ in range(20):
        canary = _canary(rng)
        path, text = _plant(kind, canary, rng)
        made = redact(text, path, key=KEY, engine=engine)
        assert canary not in text or canary not in made.text
        assert canary[8:24] not in made.text
        assert canary not in repr(made.findings)
        assert made.findings
        assert made.text.count("\n") == text.count("\n")


def test_redact_then_cut_leaks_nothing_at_any_cut(engine: Engine) -> None:
    rng = random.Random(7)
    canary = _canary(rng)
    text = redact(f"before {canary} after", "a.txt", key=KEY, engine=engine).text
    pieces = {canary[at : at + 8] for at in range(len(canary) - 7)}
    assert not any(
        text[start:stop] in pieces
        for start in range(len(text))
        for stop in range(start + 8, len(text))
    )
