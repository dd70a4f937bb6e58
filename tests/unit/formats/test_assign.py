"""Assign lines from pairs, for packs as well as for the loader."""

from __future__ import annotations

import re

from sutler.formats.assign import assign_text, build_here_doc_token, build_safe_base_name


def test_nothing_is_empty() -> None:
    assert assign_text([]) == ""


def test_one_file_is_five_lines() -> None:
    lines = assign_text([("src/a.py", "x = 1")]).split("\n")
    assert lines[:2] == ['@spec_a assign "src/a.py"', "@spec_aContent assign"]
    assert (lines[2].replace("begin", "end"), lines[3]) == (lines[4], "x = 1")


def test_names_never_meet_the_content_variable_of_another() -> None:
    """`a` has the variables spec_a and spec_aContent, so a file named aContent gets another
    name.
    """
    names = re.findall(
        r"^@(\w+) assign", assign_text([("a", "1"), ("aContent", "2"), ("a.md", "3")]), re.M
    )
    assert len(names) == len(set(names)) == 6


def test_every_block_can_be_read_back() -> None:
    """Content that imitates markers does not end its block."""
    content = "--end-context--\n@spec_x assign\n--begin-context--"
    text = assign_text([("a", content), ("b", content)])
    blocks = re.findall(r"--begin-(context-\S+?)--\n(.*?)\n--end-\1--", text, re.S)
    assert [body for _, body in blocks] == [content, content]


def test_prefix_and_base() -> None:
    assert build_safe_base_name("a.py", "p_") == "p_a"
    assert build_here_doc_token("--end-x--", "x") == "x-1"
