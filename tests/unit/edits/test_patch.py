from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from sutler.edits.difference import unified
from sutler.edits.hunks import apply, replace_once
from sutler.edits.patch import parse
from sutler.errors import ConflictError, SutlerError, UsageError
from tests.limits import LIMIT
from tests.stores import FUZZ

HEAD = "--- a/x\n+++ b/x\n"


def _apply(patch: str, text: str, *, unique: bool = False) -> str:
    return apply(parse(patch)[0].pieces, text, unique=unique)


@pytest.mark.parametrize(
    ("patch", "before", "after"),
    [
        ("@@ -1 +1 @@\n-a\n+b\n", "a\n", "b\n"),
        ("@@ -1 +1 @@\n-a\n+b\n", "a\r\n", "b\r\n"),
        ("@@ -1 +1 @@\n-a\n+b\n", "a", "b"),
        ("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n", "a", "a\n"),
        ("@@ -1 +1 @@\n-a\n+a\n\\ No newline at end of file\n", "a\n", "a"),
        ("@@ -1,2 +1,3 @@\n a\n+new\n b\n", "a\nb", "a\nnew\nb"),
        ("@@ -1 +1,2 @@\n a\n+b\n", "a", "a\nb"),
        ("@@ -0,0 +1 @@\n+a\n", "", "a\n"),
        ("@@ -1,0 +2 @@\n+b\n", "a\nc\n", "a\nb\nc\n"),
        ("@@\n a\n-b\n+c\n", "x\na\nb\n", "x\na\nc\n"),
        ("@@ -1,2 +1 @@\n a\n-b\n", "a\nb\n", "a\n"),
        ("@@ -1,2 +1 @@\n a\n-b\n", "a\r\nb", "a\r\n"),
        ("@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n", "a\n\nb\n", "a\n\nc\n"),
        ("@@ -9 +9 @@\n-a\n+b\n", "x\na\n", "x\nb\n"),
    ],
)
def test_a_hunk_applies_and_line_ends_stay(patch: str, before: str, after: str) -> None:
    assert _apply(HEAD + patch, before) == after


def test_the_form_of_agents() -> None:
    text = "*** Begin Patch\n*** Update File: x\n@@ def f():\n-    return 1\n+    return 2\n*** Add File: y\n+new\n"
    found = parse(f"{text}*** Delete File: z\n*** End Patch\n")
    assert [(one.path, one.kind) for one in found] == [
        ("x", "change"),
        ("y", "create"),
        ("z", "delete"),
    ]
    assert apply(found[0].pieces, "def f():\n    return 1\n") == "def f():\n    return 2\n"


def test_two_places_are_named() -> None:
    with pytest.raises(ConflictError, match="fits in 2 places: lines 1, 3"):
        _apply(f"{HEAD}@@\n-a\n+b\n", "a\nb\na\n")


def test_a_stated_line_decides_only_for_a_known_text() -> None:
    patch = f"{HEAD}@@ -3 +3 @@\n-a\n+c\n"
    assert _apply(patch, "a\nb\na\n") == "a\nb\nc\n"
    with pytest.raises(ConflictError, match="fits in 2 places"):
        _apply(patch, "a\nb\na\n", unique=True)


def test_a_mismatch_names_the_line_and_both_texts() -> None:
    with pytest.raises(ConflictError, match="line 2 of the file is 'two', the patch has 'zwei'"):
        _apply(f"{HEAD}@@ -1,2 +1 @@\n one\n-zwei\n", "one\ntwo\n")


def test_hunks_out_of_order_are_refused() -> None:
    with pytest.raises(ConflictError, match="begins before"):
        _apply(f"{HEAD}@@ -3 +3 @@\n-c\n+C\n@@ -1 +1 @@\n-a\n+A\n", "a\nb\nc\n")


@pytest.mark.parametrize(
    "patch",
    [
        "",
        "hello",
        HEAD,
        "@@ -1 +1 @@\n-a\n+b\n",
        f"{HEAD}@@ -1,7 +1 @@\n-a\n+b\n",
        f"{HEAD}@@ -1,{10**18} +1 @@\n-a\n+b\n",
        f"{HEAD}@@ -1 +1 @@\n-a\n*b\n",
        "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-a\n+b\n",
        "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n",
        "diff --git a/x b/y\nrename from x\nrename to y\n",
        "new file mode 120000\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+/etc/passwd\n",
        "GIT binary patch\nliteral 3\n",
        "*** Begin Patch\n*** Update File: x\n*** Move to: y\n@@\n-a\n+b\n*** End Patch\n",
        "*** Begin Patch\n*** Update File: x\n@@\n-a\n+b\n",
        f"{HEAD}@@ -1 +1 @@\n-a\n+b\n{HEAD}@@ -1 +1 @@\n-a\n+b\n",
    ],
)
def test_what_cannot_be_read_is_refused_whole(patch: str) -> None:
    with pytest.raises(UsageError):
        parse(patch)


def test_malformed_patches_end_in_our_errors_alone() -> None:
    rnd = random.Random(7)
    text = "".join(f"line {n}\n" for n in range(30))
    good = unified(text.splitlines(True), text.replace("7", "seven").splitlines(True), "a/x", "b/x")
    for _ in range(int(2_000 * FUZZ)):
        bad = list(good)
        for _ in range(rnd.randint(1, 6)):
            at = rnd.randrange(len(bad) + 1)
            bad[at : at + rnd.choice((0, 1, 9))] = rnd.choice(
                ("@", "\r", "\n", "-", "+", " ", "\\", "9" * 30, "\0", "")
            )
        try:
            for one in parse("".join(bad)):
                apply(one.pieces, text)
        except SutlerError:
            continue


def test_our_diff_is_applied_by_us_and_by_git(tmp_path: Path) -> None:
    for seed in range(int(40 * FUZZ)):
        rnd = random.Random(seed)
        old, new = (
            "".join(rnd.choice("abc\n") for _ in range(rnd.randrange(60))) for _ in range(2)
        )
        if old == new or not old or not new:
            continue
        patch = unified(old.splitlines(True), new.splitlines(True), "a/x", "b/x")
        assert _apply(patch, old) == new
        (tmp_path / "x").write_text(old)
        subprocess.run(
            ["git", "apply", "--unidiff-zero", "-"],
            input=patch.encode(),
            cwd=tmp_path,
            check=True,
            timeout=LIMIT,
        )
        assert (tmp_path / "x").read_text() == new


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a b c", "b", "x", "a x c"),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
        ("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n"),
    ],
)
def test_old_text_for_new(text: str, old: str, new: str, after: str) -> None:
    assert replace_once(text, old, new) == after


def test_an_ambiguous_edit_names_its_lines() -> None:
    with pytest.raises(ConflictError, match="occurs in 2 places: lines 1, 3"):
        replace_once("a\nb\na\n", "a", "c")


def test_a_missing_edit_says_where_its_first_line_is() -> None:
    with pytest.raises(ConflictError, match="'def f' stands on line 2"):
        replace_once("x\ndef f\ny\n", "def f\nz", "")
