"""Short forms of notebooks, tables, JSON lines and literals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sutler.languages.condense import condensed, condensed_literals

BLOB = "iVBORw0KGgo" * 200


def notebook_of(*cells: dict[str, Any]) -> str:
    return json.dumps({"cells": list(cells), "metadata": {"x": "y" * 500}, "nbformat": 4})


def code(source: Any, *outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": source, "outputs": list(outputs), "metadata": {}}


def short(text: str, path: str = "a.ipynb") -> str:
    result = condensed(text, path)
    assert result is not None
    return result.text


def test_a_notebook_is_its_cells() -> None:
    """Source and text output in order; pictures are counted, not shown."""
    picture = {"data": {"image/png": BLOB, "text/plain": ["<Figure>"]}}
    text = notebook_of(
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        code("print(1)\n", {"output_type": "stream", "text": ["1\n"]}, picture),
    )
    assert short(text) == (
        "[condensed notebook: 2 cells; dropped: 1 image/png]\n"
        "--- cell 1: markdown ---\n# Title\nwords\n\n"
        "--- cell 2: code ---\nprint(1)\n\n"
        "--- output of cell 2 ---\n1\n<Figure>\n"
    )


def test_long_output_keeps_its_ends() -> None:
    lines = "".join(f"line {number}\n" for number in range(100))
    text = short(notebook_of(code("run()", {"text": lines})))
    assert "line 9\n[... 80 lines of output ...]\nline 90\n" in text


def test_an_error_is_its_message() -> None:
    output = {"ename": "ValueError", "evalue": "bad", "traceback": ["\x1b[0;31m" + "x" * 5_000]}
    assert "--- output of cell 1 ---\nValueError: bad\n" in short(notebook_of(code("f()", output)))


def test_notebooks_of_version_three_are_read() -> None:
    cell = {"cell_type": "code", "input": ["x = 1"], "outputs": [{"png": BLOB}]}
    text = short(json.dumps({"worksheets": [{"cells": [cell]}]}))
    assert "--- cell 1: code ---\nx = 1\n" in text
    assert BLOB not in text


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 3}', '{"cells": [1, null]}', "null"])
def test_what_is_no_notebook_stays(text: str) -> None:
    assert condensed(text, "a.ipynb") is None


def test_a_table_is_columns_counts_head_and_tail() -> None:
    rows = ["id;name", *(f"{number};n" for number in range(99))]
    text = short("\n".join(rows) + "\n", "data/A.CSV")
    assert text.startswith("[condensed table: 100 lines, 2 columns: id, name]\nid;name\n0;n\n")
    assert text.endswith("8;n\n[... 85 lines not shown ...]\n94;n\n95;n\n96;n\n97;n\n98;n\n")
    assert condensed("\n".join(rows[:20]), "a.csv") is None


def test_json_lines_are_keys_counts_head_and_tail() -> None:
    rows = [json.dumps({"id": n, **({"b": "x" * 50} if n % 2 else {})}) for n in range(50)]
    text = short("\n".join([*rows, "broken"]), "a.jsonl")
    about = "[condensed JSON lines: 51 lines; keys: id (50), b (25), (no object) (1)]\n"
    assert text.startswith(about + '{"id": 0}\n')
    assert text.endswith(
        "[... 43 lines not shown ...]\n" + "\n".join([*rows[-2:], "broken"]) + "\n"
    )


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (f'x = "data:image/png;base64,{BLOB}"', "base64"),
        (f"key = {BLOB}", "base64"),
        ("y = '" + "0123456789abcdef" * 100 + "'", "hexadecimal digits"),
        ('z = "' + "words of text " * 300 + '"', "a literal"),
    ],
)
def test_long_literals_are_shortened_in_their_line(line: str, kind: str) -> None:
    """The other lines, and the number of lines, stay."""
    text = condensed_literals(f"first\n{line}\nlast\n")
    first, middle, last = text.splitlines()
    assert (first, last) == ("first", "last")
    assert f" characters of {kind} ...]" in middle
    assert len(middle) < 200


@pytest.mark.parametrize("line", ["a" * 5_000, "x y z " * 1_000, "f(a, b)" * 400])
def test_long_lines_without_literals_stay(line: str) -> None:
    assert condensed(f"{line}\n", "a.js") is None


def test_modes() -> None:
    """Where lines matter only literals are condensed; `none` condenses nothing."""
    text = notebook_of(code("x = 1", {"data": {"image/png": BLOB}}))
    literals = condensed(text, "a.ipynb", "literals")
    assert literals is not None
    assert (literals.name, literals.text.count("\n")) == ("literals", text.count("\n"))
    assert condensed(text, "a.ipynb", "none") is None
