from __future__ import annotations

import pytest

from sutler.survey.readme import first_sentence, is_readme


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# Title\n\nThis tool does one thing. And more.\n", "This tool does one thing."),
        (
            "Title\n=====\n\n.. image:: x\n   :alt: y\n\nA *very* `simple` thing it is.\n",
            "A very simple thing it is.",
        ),
        (
            '[![badge](x)](y)\n\n<p align="center">Fast and small web server here.</p>\n',
            "Fast and small web server here.",
        ),
        (
            "# T\n> quote\n\n- a list item here now\n\n[Link](u) to all the things.\n",
            "Link to all the things.",
        ),
        (
            "# T\n\n```\ncode that is not prose at all\n```\n\nE.g. this, i.e. that works well. No.\n",
            "E.g. this, i.e. that works well.",
        ),
        (
            "Short.\n\nThis one is long enough\nover two lines.\n",
            "This one is long enough over two lines.",
        ),
        ("# Only\n## Headings\n", ""),
        ("", ""),
    ],
)
def test_first_sentence(text: str, sentence: str) -> None:
    assert first_sentence(text) == sentence


@pytest.mark.parametrize(
    ("path", "yes"),
    [("README.md", True), ("docs/readme", True), ("README.rst", True), ("READMES.md", False)],
)
def test_is_readme(path: str, yes: bool) -> None:
    assert is_readme(path) is yes
