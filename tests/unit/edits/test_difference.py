from __future__ import annotations

import random

import pytest

from sutler.edits.difference import hunks, unified


def _applied(old: list[str], new: list[str]) -> list[str]:
    out, at = list[str](), 0
    for one in hunks(old, new):
        out += old[at : one.a0] + new[one.b0 : one.b1]
        at = one.a1
    return out + old[at:]


@pytest.mark.parametrize("seed", range(60))
def test_hunks_turn_the_old_lines_into_the_new(seed: int) -> None:
    rnd = random.Random(seed)
    letters = "abc" if seed % 2 else "abcdefghijklmnop"
    old, new = ([rnd.choice(letters) for _ in range(rnd.randrange(40))] for _ in range(2))
    assert _applied(old, new) == new


def test_a_bound_on_the_work_keeps_the_result_true() -> None:
    rnd = random.Random(1)
    old, new = ([rnd.choice("ab") for _ in range(3_000)] for _ in range(2))
    out, at = list[str](), 0
    for one in hunks(old, new, steps=50):
        out += old[at : one.a0] + new[one.b0 : one.b1]
        at = one.a1
    assert out + old[at:] == new


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (["a\n"], ["a\n"], ""),
        ([], ["a\n"], "--- x\n+++ y\n@@ -0,0 +1 @@\n+a\n"),
        (
            ["a\n", "b"],
            ["a\n", "b\n"],
            "--- x\n+++ y\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n",
        ),
        (["a\n"], [], "--- x\n+++ y\n@@ -1 +0,0 @@\n-a\n"),
    ],
)
def test_unified_spells_as_diff_does(old: list[str], new: list[str], text: str) -> None:
    assert unified(old, new, "x", "y") == text


def test_changes_far_apart_have_their_own_headers() -> None:
    old = [f"{n}\n" for n in range(40)]
    new = ["first\n", *old[1:39], "last\n"]
    assert unified(old, new, "x", "y").count("@@ -") == 2


def test_an_insertion_stands_as_far_down_as_it_can() -> None:
    assert [tuple(one) for one in hunks(list("xaab"), list("xaaab"))] == [(3, 3, 3, 4)]
