from __future__ import annotations

import pytest

from sutler.survey.readme import first_sentence, is_readme, opening, own_readmes


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# Title\n\nThis tool does one thing. And more.\n", "This tool does one thing."),
        (
            "# Oar\n\nSmall rowing engine in C.\n\n## Story\n\nOar aims to be a simple boat.\n",
            "Small rowing engine in C.",
        ),
        (
            "# Oar\n\n**This role has been deprecated in favour of another.**\n\nRows boats well and far.\n",
            "Rows boats well and far.",
        ),
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


def test_an_item_of_a_list_may_have_several_lines() -> None:
    text = "# T\n\nT has many features:\n\n- It runs commands and\n  builds nothing.\n\n- It is fast\n\nT is small and old.\n"
    listed = "T has many features: It runs commands and builds nothing; It is fast"
    assert opening(text) == f"{listed}\n\nT is small and old."
    unannounced = "# T\n\nT is a tool.\n\n1. First it reads\n   all the files\n2. Then it ends\n"
    assert opening(unannounced) == "T is a tool."


def test_a_long_list_is_quoted_as_far_as_there_is_room() -> None:
    items = "".join(f"- feature number {number}\n" for number in range(100))
    said = opening(f"# T\n\nThe features of it are\n\n{items}", 120)
    assert said.endswith("feature number 4 …")


@pytest.mark.parametrize(
    ("paths", "own"),
    [
        (["docs/README.md", "README.rst", "packages/t/README.md"], ["README.rst"]),
        (["docs/README.md", ".github/README.md", "t/README.md"], [".github/README.md"]),
        (["docs/README.md", "packages/t/README.md"], ["packages/t/README.md"]),
        (["docs/README.md", "x/README.md"], ["docs/README.md"]),
        (["x/README.md"], []),
    ],
)
def test_the_readme_of_the_project_itself(paths: list[str], own: list[str]) -> None:
    assert own_readmes(paths, "org/t") == own


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
