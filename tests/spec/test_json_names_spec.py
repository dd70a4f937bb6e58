"""Names in JSON: the name itself; bytes that are not UTF-8, and names that look quoted, in the
quoted form.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sutler.paths import unquote, wire_path
from tests.conftest import Plant, Sutler

NAMES = [
    b"plain.py",
    b"new\nline.py",
    "é.py".encode(),
    b"tab\there.py",
    b"b\\s.py",
    b'"looks".py',
    b'"q"',
    b"caf\xe9.py",
]


@pytest.fixture
def odd(plant: Plant) -> Path:
    folder = plant({})
    for name in NAMES:
        with open(os.path.join(os.fsencode(folder), name), "wb") as file:
            file.write(b"words = 1\n")
    return folder


def names(rows: list[dict[str, object]], key: str = "path") -> set[bytes]:
    return {os.fsencode(unquote(str(row[key]))) for row in rows}


def test_every_looking_command_spells_alike(odd: Path, sutler: Sutler) -> None:
    """scan, tree and pack: one rule turns each back into the bytes on disk."""
    scanned = json.loads(sutler("scan", "--json", cwd=odd).out)["files"]
    assert names(scanned, "relative_path") == set(NAMES)
    drawn = json.loads(sutler("tree", "--json", cwd=odd).out)["files"]
    assert names(drawn) == set(NAMES)
    assert {row["path"] for row in drawn} == {row["relative_path"] for row in scanned}
    packed = json.loads(sutler("pack", "--json", "-o", "../pack.md", cwd=odd).out)["report"]
    assert names(packed["shown"]) == set(NAMES)


def test_a_name_is_itself_unless_it_cannot_be(odd: Path, sutler: Sutler) -> None:
    drawn = [row["path"] for row in json.loads(sutler("tree", "--json", cwd=odd).out)["files"]]
    assert {"plain.py", "new\nline.py", "é.py", "tab\there.py", "b\\s.py", '"looks".py'} < set(
        drawn
    )
    assert '"caf\\351.py"' in drawn
    assert '"\\"q\\""' in drawn


def test_a_name_that_is_not_utf8_breaks_no_ranking(odd: Path, sutler: Sutler) -> None:
    for words in (["rank", "--goal", "words", "--json"], ["pack", "--goal", "words"]):
        ran = sutler(*words, cwd=odd)
        assert ran.code == 0, ran.err
        assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", NAMES)
def test_the_wire_form_turns_back(name: bytes) -> None:
    path = os.fsdecode(name)
    assert unquote(wire_path(path)) == path
    json.dumps(wire_path(path)).encode()
    wire_path(path).encode()
