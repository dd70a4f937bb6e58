"""Seed 003's interface as a Python program uses it: `sutler.open`."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

import sutler
from sutler.errors import DeniedError, UsageError
from tests.conftest import Plant, Sutler


@pytest.fixture(name="run")
def command(request: pytest.FixtureRequest) -> Sutler:
    """The command line; the name of its fixture is taken by the module here."""
    found: Sutler = request.getfixturevalue("sutler")
    return found


SEED = {
    "list_files": "(self, globs: list[str] | None = None) -> list[str]",
    "read_file": "(self, filepath: str) -> str",
    "read_lines": "(self, filepath: str, start: int, end: int) -> str",
    "get_excerpt": "(self, filepath: str, max_lines: int = 80) -> str",
    "apply_patch": "(self, filepath: str, patch: str) -> PatchResult",
    "get_file_history": "(self, filepath: str) -> list[FileVersionMeta]",
    "summarize_file": "(self, filepath: str, max_tokens: int) -> str",
}


def test_the_nine_methods_have_the_signatures_of_the_seed() -> None:
    """`get_diff` has defaults besides, and `write_file` names its modes."""
    kind = sutler.FileAccessInterface
    found = {name: str(inspect.signature(getattr(kind, name))).replace("'", "") for name in SEED}
    assert found == SEED
    assert list(inspect.signature(kind.get_diff).parameters)[1:] == [
        "filepath",
        "version1",
        "version2",
    ]
    assert list(inspect.signature(kind.write_file).parameters)[1:] == [
        "filepath",
        "content",
        "mode",
    ]
    assert inspect.signature(kind.write_file).parameters["mode"].default == "truncate"
    assert list(sutler.PatchResult.__annotations__) == [
        *("success", "message", "conflict", "diff", "version_id"),
    ]


def test_an_agent_loop_reads_edits_and_meets_a_conflict(plant: Plant, run: Sutler) -> None:
    """Answers are the seed's dictionaries; everything is on the ledger, whose head is signed."""
    project = plant({"src/app.py": "def main():\n    return 1\n", ".env": "KEY=1\n"})
    with sutler.open(project, writable=["src/**"]) as files:
        assert files.list_files() == ["src/app.py"]
        assert files.read_lines("src/app.py", 2, 2) == "    return 1\n"
        done = files.apply_patch("src/app.py", "@@ -2 +2 @@\n-    return 1\n+    return 2\n")
        assert done["success"]
        assert "+    return 2" in done["diff"]
        assert files.get_file_history("src/app.py")[0].id == done["version_id"]
        (Path(project) / "src/app.py").write_text("def main():\n    return 3\n")
        stale = files.apply_patch("src/app.py", "@@ -2 +2 @@\n-    return 2\n+    return 4\n")
        assert (stale["success"], stale["conflict"]) == (False, True)
        assert files.write_file("src/new.py", "x = 1\n", "create")["success"]
        with pytest.raises(DeniedError, match="denied"):
            files.read_file(".env")
        with pytest.raises(DeniedError) as waits:
            files.write_file("other.txt", "x\n")
        assert waits.value.approval
    rows = json.loads(run("log", "--json", cwd=project).out)["rows"]
    assert {row["caller"].partition(":")[0] for row in rows} == {"python"}
    assert run("verify", cwd=project).code == 0


def test_a_person_can_be_asked_and_without_a_with_block_it_closes_too(plant: Plant) -> None:
    project = plant({"a.txt": "a\n"})
    files = sutler.open(str(project), ask=lambda approval: approval.path == "b.txt")
    assert files.write_file("b.txt", "b\n")["success"]
    with pytest.raises(DeniedError, match="declined"):
        files.write_file("c.txt", "c\n")
    files.close()
    files.close()
    with pytest.raises(UsageError):
        sutler.open(str(project), profile="huge")
