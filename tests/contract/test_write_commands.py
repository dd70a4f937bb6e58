"""The write side of the door from a shell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import Plant, Sutler

PATCH = b"--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n"


@pytest.fixture
def project(plant: Plant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which the user lets writes to src through."""
    config = tmp_path / "config" / "sutler"
    config.mkdir(parents=True)
    (config / "config.toml").write_text('writable = ["src/**"]\n')
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return plant({"src": {"a.py": "x = 1\ny = 1\nz = 1\n"}, "b.txt": "b\n"})


def test_patch_history_diff_and_rollback(project: Path, sutler: Sutler) -> None:
    ran = sutler("patch", "-m", "two", "--json", cwd=project, stdin=PATCH)
    assert (ran.code, json.loads(ran.out)["success"]) == (0, True), ran.err
    assert (project / "src/a.py").read_text() == "x = 2\ny = 1\nz = 1\n"
    versions = json.loads(sutler("history", "src/a.py", "--json", cwd=project).out)["versions"]
    assert [one["note"] for one in versions] == ["two", "found before a write"]
    assert "+x = 2" in sutler("diff", "src/a.py", versions[1]["id"], cwd=project).text
    assert sutler("rollback", "src/a.py", versions[1]["id"], cwd=project).code == 0
    assert (project / "src/a.py").read_text() == "x = 1\ny = 1\nz = 1\n"


def test_write_and_edit(project: Path, sutler: Sutler) -> None:
    assert sutler("write", "src/new.py", "--create", cwd=project, stdin=b"n = 1\n").code == 0
    assert sutler("write", "src/new.py", "--create", cwd=project, stdin=b"n = 1\n").code == 4
    assert sutler("edit", "src/new.py", "n = 1", "n = 2", cwd=project).code == 0
    assert sutler("write", "src/new.py", "-a", cwd=project, stdin=b"m = 1\n").code == 0
    assert (project / "src/new.py").read_text() == "n = 2\nm = 1\n"


def test_refusals_have_their_exit_codes(project: Path, sutler: Sutler) -> None:
    ran = sutler("edit", "src/a.py", "1", "2", cwd=project)
    assert ran.code == 4
    assert "lines 1, 2, 3" in ran.err
    assert sutler("edit", "b.txt", "b", "c", cwd=project).code == 5
    assert sutler("patch", cwd=project, stdin=b"nonsense").code == 2
    assert sutler("write", "../x", cwd=project, stdin=b"x").code == 3
    assert sutler("rollback", "src/a.py", cwd=project).code == 2
    assert (project / "b.txt").read_text() == "b\n"


def test_a_dry_run_only_shows(project: Path, sutler: Sutler) -> None:
    ran = sutler("patch", "-n", cwd=project, stdin=PATCH)
    assert (ran.code, "+x = 2" in ran.text) == (0, True)
    assert (project / "src/a.py").read_text().startswith("x = 1")


def test_a_session_is_rolled_back_whole(project: Path, sutler: Sutler) -> None:
    env = {"SUTLER_SESSION": "night"}
    assert sutler("patch", cwd=project, stdin=PATCH, env=env).code == 0
    assert sutler("write", "src/n.py", "--create", cwd=project, stdin=b"n\n", env=env).code == 0
    ran = sutler("rollback", "--session", "night", cwd=project)
    assert ran.code == 0, ran.err
    assert (project / "src/a.py").read_text() == "x = 1\ny = 1\nz = 1\n"
    assert not (project / "src/n.py").exists()


def test_a_reply_is_applied_with_the_pack_as_its_base_and_taken_back(
    project: Path, sutler: Sutler
) -> None:
    pack = project.parent / "pack.md"
    assert sutler("pack", "-o", str(pack), cwd=project).code == 0
    reply = b"Here:\n\n```python src/a.py\nx = 5\ny = 1\nz = 1\n```\n\n`src/new.py`\n```python\nn = 1\n```\n"
    ran = sutler("apply", cwd=project, stdin=reply)
    assert (ran.code, "--pack FILE" in ran.err) == (4, True)
    assert not (project / "src/new.py").exists()
    (project / "src/a.py").write_text("x = 1\ny = 1\nz = 9\n")
    ran = sutler("apply", "--pack", str(pack), "--json", cwd=project, stdin=reply)
    assert ran.code == 0, ran.err
    assert (project / "src/a.py").read_text() == "x = 5\ny = 1\nz = 9\n"
    done = json.loads(ran.out)
    assert (done["merged"], (project / "src/new.py").read_text()) == (True, "n = 1\n")
    assert sutler("rollback", "--call", done["call"], cwd=project).code == 0
    assert (project / "src/a.py").read_text() == "x = 1\ny = 1\nz = 9\n"
    assert not (project / "src/new.py").exists()


def test_a_session_is_replayed_on_a_copy(project: Path, sutler: Sutler) -> None:
    assert sutler("patch", cwd=project, stdin=PATCH, env={"SUTLER_SESSION": "night"}).code == 0
    copy = project.parent / "copy"
    assert sutler("replay", "night", str(copy), cwd=project).code == 0
    assert (copy / "src/a.py").read_text() == "x = 2\ny = 1\nz = 1\n"
    assert sutler("replay", "night", str(project / "inside"), cwd=project).code == 3
    assert sutler("replay", "nobody", str(copy), cwd=project).code == 2


def test_the_review_command_of_the_user_is_asked(
    project: Path, sutler: Sutler, tmp_path: Path
) -> None:
    program = tmp_path / "review.py"
    program.write_text(
        "import json, sys\nasked = json.load(sys.stdin)\nprint(asked['ours'] + '# seen', asked['path'])\n"
    )
    config = tmp_path / "config/sutler/config.toml"
    config.write_text(
        f'writable = ["src/**"]\nreview = [{json.dumps(sys.executable)}, {json.dumps(str(program))}]\n'
    )
    base = json.loads(sutler("read", "src/a.py", "--json", cwd=project).out)["version"]
    assert sutler("edit", "src/a.py", "x = 1", "x = 2", cwd=project).code == 0
    ran = sutler("edit", "src/a.py", "x = 1", "x = 3", "--base", base, "--json", cwd=project)
    assert ran.code == 4
    conflict = json.loads(ran.err)["error"]["conflict"]
    assert [one["by"] for one in conflict["suggestions"]] == ["review"]
    assert "+# seen src/a.py" in conflict["suggestions"][0]["diff"]
    assert (project / "src/a.py").read_text() == "x = 2\ny = 1\nz = 1\n"
