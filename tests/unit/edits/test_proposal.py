from __future__ import annotations

from sutler.edits.proposal import propose

BASE = "import os\n\n\ndef one():\n    return 1\n"


def test_functions_that_both_sides_added() -> None:
    ours, theirs = (
        f"{BASE}\n\ndef two():\n    return 2\n",
        f"{BASE}\n\ndef three():\n    return 3\n",
    )
    found = propose("a.py", BASE, ours, theirs)
    assert found is not None
    assert found.text == f"{ours}\n\ndef three():\n    return 3\n"
    assert "defines nothing twice" in found.note


def test_imports_are_a_set() -> None:
    base = "import os\nimport sys\n\nx = 1\n"
    found = propose("a.py", base, base.replace("os", "json"), base.replace("sys", "re"))
    assert found is not None
    assert sorted(found.text.split("\n")[:2]) == ["import json", "import re"]


def test_neighbouring_lines() -> None:
    found = propose("a.txt", "a\nb\nc\nd\n", "A\nb\nc\nd\n".replace("b", "B"), "a\nb\nC\nd\n")
    assert found is not None
    assert found.text == "A\nB\nC\nd\n"


def test_one_line_changed_twice_has_no_proposal() -> None:
    assert propose("a.py", "x = 1\n", "x = 2\n", "x = 3\n") is None


def test_the_same_name_twice_has_no_proposal() -> None:
    ours, theirs = f"{BASE}\n\ndef two():\n    return 2\n", f"{BASE}\n\ndef two():\n    return 22\n"
    assert propose("a.py", BASE, ours, theirs) is None


def test_what_does_not_parse_has_no_proposal() -> None:
    assert (
        propose("a.py", BASE, f"{BASE}\n\ndef two(:\n", f"{BASE}\n\ndef three():\n    pass\n")
        is None
    )


def test_a_line_added_below_a_changed_one() -> None:
    found = propose("a.txt", "a\nb\n", "a\nb\nc\n", "a\nB\n")
    assert found is not None
    assert found.text == "a\nB\nc\n"
