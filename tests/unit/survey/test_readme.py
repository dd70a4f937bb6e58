from __future__ import annotations

import pytest

from sutler.survey.readme import first_sentence, is_readme, opening


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


def test_what_a_list_names_belongs_to_its_sentence() -> None:
    text = "# Base\n\nBase is a backend that includes:\n\n- a database\n- files.\n"
    assert first_sentence(text, "base") == "Base is a backend that includes: a database; files"


def test_a_translation_is_no_purpose() -> None:
    text = "# M\n\n*A Chinese version of this document can be found [here](x).*\n\nM is a network layer.\n"
    assert first_sentence(text, "M") == "M is a network layer."


def test_the_opening_ends_where_the_readme_says_what_to_do() -> None:
    text = "# T\n\nT is a thing for testing.\n\nIt has parts and pieces.\n\n## Installation\n\nRun this and that now.\n"
    assert opening(text) == "T is a thing for testing.\n\nIt has parts and pieces."
    underlined = (
        "T is a thing for testing.\n\nInstallation\n------------\n\nRun this and that now.\n"
    )
    assert opening(underlined) == "T is a thing for testing."
