from __future__ import annotations

import pytest

from sutler.tasks.diffs import summarise_diff

DIFF = """diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,3 @@ def login(user):
-old
+new
+more
diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-x
"""


def test_a_small_diff_stays_itself() -> None:
    assert summarise_diff(DIFF, 10_000) == DIFF


def test_a_large_diff_becomes_statistics() -> None:
    assert summarise_diff(DIFF, 150) == (
        "2 files changed, +2 -2 (large diff, summarised)\nsrc/a.py | +2 -1 (def login(user):)\ngone.py | +0 -1"
    )


def test_many_files_are_counted() -> None:
    diff = "".join(f"diff --git a/f{n} b/f{n}\n+x\n" for n in range(100))
    shown = summarise_diff(diff, 300)
    assert shown.startswith("100 files changed, +100 -0")
    assert shown.endswith("more files")


def test_prose_keeps_its_ends() -> None:
    shown = summarise_diff("start " + "x" * 1000 + " end", 100)
    assert (shown[:5], shown[-3:]) == ("start", "end")


@pytest.mark.parametrize("limit", [0, 1, 10, 40, 100, 150])
@pytest.mark.parametrize("text", [DIFF, "prose " * 100, ""])
def test_the_limit_always_holds(text: str, limit: int) -> None:
    assert len(summarise_diff(text, limit)) <= limit
