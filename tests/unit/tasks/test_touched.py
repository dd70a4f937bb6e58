"""What a change touches: names, status letters, unified diffs."""

from __future__ import annotations

import pytest

from sutler.tasks.touched import changes_from_diff, changes_from_names
from sutler.tasks.wire import Change


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["a.py", "b.py\r\n", ""], [Change("a.py"), Change("b.py")]),
        (["new.py"], [Change("new.py", True)]),
        (
            ["M\ta.py", "A\tnew.py", "D\tb.py"],
            [Change("a.py"), Change("b.py"), Change("new.py", True)],
        ),
        (["R100\told.py\tto.py"], [Change("old.py"), Change("to.py", True)]),
        (["C075\told.py\tto.py"], [Change("to.py", True)]),
        (['M\t"a\\303\\244.py"'], [Change("aä.py")]),
    ],
    ids=["names", "new", "status", "rename", "copy", "quoted"],
)
def test_names(lines: list[str], found: list[Change]) -> None:
    assert changes_from_names(lines, lambda path: path == "new.py") == found


@pytest.mark.parametrize(
    ("diff", "found"),
    [
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n", [Change("x.py")]),
        ("--- x.py\t2026-01-01\n+++ x.py\t2026-01-02\n@@ -1 +1 @@\n-a\n+b\n", [Change("x.py")]),
        ("--- /dev/null\n+++ b/n.py\n@@ -0,0 +1 @@\n+b\n", [Change("n.py", True)]),
        ("--- a/o.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n", [Change("o.py")]),
        ("diff --git a/e b/e\nnew file mode 100644\nindex 0..1\n", [Change("e", True)]),
        (
            "diff --git a/o b/t\nsimilarity index 100%\nrename from o\nrename to t\n",
            [Change("o"), Change("t", True)],
        ),
        (
            "diff --git a/o b/t\nsimilarity index 100%\ncopy from o\ncopy to t\n",
            [Change("t", True)],
        ),
        ("diff --git a/m b/m\nold mode 100644\nnew mode 100755\n", [Change("m")]),
        ("diff --git a/b c b/b c\nBinary files differ\n", [Change("b c")]),
        ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/forged\n+++ b/forged\n same\n", [Change("x")]),
        ("", []),
    ],
    ids=[
        "git",
        "plain",
        "new",
        "deleted",
        "empty",
        "rename",
        "copy",
        "mode",
        "binary",
        "lookalike",
        "nothing",
    ],
)
def test_diffs(diff: str, found: list[Change]) -> None:
    assert changes_from_diff(diff) == found
