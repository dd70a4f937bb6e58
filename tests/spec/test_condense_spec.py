"""Notebooks and data through the front door: shown in short form, named as such, redacted first."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import pytest

import sutler as api
from tests.conftest import Plant, Sutler

KEY = "AKIAQ3EGRYZ5QJ7MTN4W"
PICTURE = base64.b64encode(random.Random(1).randbytes(3_000)).decode()


def notebook(*lines: str, weight: int = 1) -> str:
    outputs = [{"data": {"image/png": PICTURE * weight}}]
    cell = {"cell_type": "code", "source": [f"{line}\n" for line in lines], "outputs": outputs}
    return json.dumps({"cells": [cell], "nbformat": 4}, indent=1)


TABLE = "id,name\n" + "".join(f"{number},n{number}\n" for number in range(500))
TREE = {"a.ipynb": notebook("x = 1"), "t.csv": TABLE, "main.py": "print(1)\n"}


@pytest.mark.parametrize("format", ["markdown", "xml", "json", "plain", "claude"])
def test_a_pack_says_that_a_file_is_condensed(plant: Plant, sutler: Sutler, format: str) -> None:
    """Every format that can be read back names the level and how; whole files are whole."""
    ran = sutler("pack", "-f", format, cwd=plant(TREE))
    sections = {str(one.path): one for one in api.parse(ran.out).sections}
    assert {path: one.level for path, one in sections.items()} == {
        "a.ipynb": "condensed",
        "t.csv": "condensed",
        "main.py": "full",
    }
    assert sections["a.ipynb"].reason.endswith("; condensed: notebook")
    assert "--- cell 1: code ---\nx = 1\n" in sections["a.ipynb"].body.text
    assert PICTURE not in ran.text


def test_condensing_can_be_turned_off(plant: Plant, sutler: Sutler) -> None:
    """`--no-condense` and the setting show the files as they are."""
    folder = plant({**TREE, ".sutler.toml": ""})
    sections = api.parse(sutler("pack", "--no-condense", cwd=folder).out).sections
    assert {one.path: one.body.text for one in sections if one.path in TREE} == TREE


def test_a_large_notebook_passes_the_size_rule(plant: Plant, sutler: Sutler) -> None:
    """Its cells are small; `why` agrees; without condensing it stays out."""
    folder = plant({"big.ipynb": notebook("x = 1", weight=400), "main.py": "print(1)\n"})
    assert "big.ipynb` (condensed)" in sutler("pack", cwd=folder).text
    assert sutler("why", "big.ipynb", cwd=folder).code == 0
    assert "big.ipynb` (" not in sutler("pack", "--no-condense", cwd=folder).text


@pytest.mark.parametrize("words", [["-n"], ["--goal", "print the number in x"]])
def test_lines_that_are_cited_are_the_files_own(
    plant: Plant, sutler: Sutler, words: list[str]
) -> None:
    """With line numbers or a goal nothing moves a line; only literals are shortened."""
    folder = plant({**TREE, "t.csv": "id\n1\n"})
    for section in api.parse(sutler("pack", *words, cwd=folder).out).sections:
        assert "[condensed notebook" not in section.body.text
        assert PICTURE not in section.body.text


def test_redaction_sees_the_text_before_and_after(plant: Plant, sutler: Sutler) -> None:
    """A key in a row that is cut away is found; one that spans strings of a cell is hidden."""
    pem = ["-----BEGIN RSA PRIVATE KEY-----", *["MIIEpAIBAAKCAQEA7v9c" * 3] * 8]
    lines = [*pem, "-----END RSA PRIVATE KEY-----", f"aws = '{KEY}'"]
    rows = TABLE + f"501,{KEY}\n" + TABLE
    folder = plant({"a.ipynb": notebook(*lines), "t.csv": rows})
    ran = sutler("pack", cwd=folder)
    assert KEY not in ran.text
    assert "MIIEpAIBAAKCAQEA7v9c" not in ran.text
    assert "redacted" in ran.err


def test_documents_and_tasks_show_the_short_form(plant: Plant, sutler: Sutler) -> None:
    """A full document marks the file; a task's prompt numbers no lines of it."""
    task = {"id": "t", "goal": "g", "context": {"files": ["a.ipynb"]}, "issues": ["see a.ipynb:3"]}
    folder = plant({**TREE, "task.json": json.dumps(task)})
    pack = api.Project(folder).full_pack()
    rows = {item.path: (item.truncated, item.condensed) for item in pack.contents}
    assert rows["a.ipynb"] == (True, "notebook")
    assert not rows["main.py"][0]
    text = sutler("pack", "--task", "task.json", cwd=folder).text
    assert "### a.ipynb (high priority, condensed)" in text
    assert "\n--- cell 1: code ---\nx = 1\n" in text


def test_a_condensed_file_is_unpacked_as_it_is_shown(
    plant: Plant, sutler: Sutler, tmp_path: Path
) -> None:
    """The note says that it is not as the project has it."""
    sutler("pack", "-o", "../out.md", cwd=plant(TREE))
    ran = sutler("unpack", "out.md", "-d", "back")
    assert "2 of them are as the pack shows them" in ran.err
    assert (tmp_path / "back/t.csv").read_text().startswith("[condensed table: 501 lines")


def test_svg_is_text_on_request(plant: Plant, sutler: Sutler) -> None:
    """By its name or by `--allow`; else it is a picture."""
    folder = plant({"logo.svg": "<svg></svg>\n", "main.py": "x = 1\n"})
    assert "<svg></svg>" not in sutler("pack", cwd=folder).text
    assert "<svg></svg>" in sutler("pack", "--allow", "*.svg", cwd=folder).text
    assert "<svg></svg>" in sutler("pack", "logo.svg", cwd=folder).text
