"""A secret once is a secret everywhere: what one file gives away is hidden in the whole pack."""

from __future__ import annotations

import base64
import random
import string
from urllib.parse import quote

import pytest

from tests.conftest import Plant, Sutler

FORMS = (
    ("pack", "--no-budget"),
    ("pack", "--no-budget", "-f", "xml"),
    ("pack", "--max-tokens", "3000"),
    ("pack", "--max-bytes", "9000", "-f", "json"),
)


def password(seed: int) -> str:
    draw = random.Random(seed)
    letters = "".join(draw.choice(string.ascii_letters) for _ in range(9))
    return f"{letters[:4]}7{letters[4:]}!9"


@pytest.mark.parametrize("words", FORMS, ids=lambda words: " ".join(words))
def test_a_value_is_hidden_wherever_it_stands(
    words: tuple[str, ...], plant: Plant, sutler: Sutler
) -> None:
    value = password(len(words))
    encoded = base64.b64encode(f"user-{value}-x".encode()).decode()
    folder = plant(
        {
            "zz/db.ini": f"[db]\npassword = {value}\n",
            "notes.txt": f"someone wrote {value} on the board\n",
            "src/a.py": f"print({value!r})\n",
            "src/b.js": f'fetch("/x/{quote(value, safe="")}")\n',
            "src/c.txt": f"blob {encoded}\n",
        }
    )
    ran = sutler(*words, "--goal", f"find {value} in the code", cwd=folder)
    assert ran.code == 0, ran.err
    for text in (ran.text, ran.err):
        assert value not in text
        assert quote(value, safe="") not in text
        assert encoded[8:-4] not in text
    assert "[REDACTED:password:1]" in ran.text
    if "--no-budget" in words:
        assert "someone wrote [REDACTED:password:1] on the board" in ran.text


def test_a_common_word_stays_where_it_is_a_word(plant: Plant, sutler: Sutler) -> None:
    folder = plant(
        {
            "db.ini": "password = sunshine\n",
            "poem.txt": "sunshine on the wall, postgres on the hill\n",
        }
    )
    assert "sunshine on the wall" in sutler("pack", "--no-budget", cwd=folder).text
