"""The door from a shell: the same tools, the same ledger, the documented exit codes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from sutler.errors import SutlerError
from sutler.store.records import Caller
from sutler.tools import open_door
from tests.conftest import Plant, Sutler


@pytest.fixture
def project(plant: Plant) -> Path:
    return plant(
        {
            "a.py": "def f():\n    pass\n",
            "b.md": "# B\n",
            ".env": "KEY=1\n",
            ".gitignore": "out/\n",
            "out/x": "x\n",
        }
    )


def test_the_file_commands_answer(sutler: Sutler, project: Path) -> None:
    """ls, read, search, summarize: data on stdout, exact."""
    assert sutler("ls", "*.py", cwd=project).text == "a.py\n"
    assert sutler("read", "a.py:2-2", cwd=project).out == b"    pass\n"
    assert sutler("search", "def", cwd=project).text == "a.py:1: def f():\n"
    assert "1: def f()" in sutler("summarize", "a.py", cwd=project).text
    found = msgspec.json.decode(sutler("read", "b.md", "--json", cwd=project).out)
    assert (found["text"], found["trust"], found["schema_version"]) == ("# B\n", "untrusted", 1)


def test_refusals_have_their_exit_codes_and_their_rows(sutler: Sutler, project: Path) -> None:
    """Denied is 5, refused is 3, and the log has all of it."""
    assert sutler("read", ".env", cwd=project).code == 5
    assert sutler("read", "../x", cwd=project).code == 3
    assert sutler("read", "out/x", cwd=project).code == 5
    assert sutler("read", "missing", cwd=project).code == 1
    log = sutler("log", cwd=project).text
    assert "credentials: .env*" in log
    assert len(log.splitlines()) == 4
    assert sutler("verify", cwd=project).code == 0
    assert "read_file" in sutler("stats", cwd=project).text


def test_an_approval_needs_a_terminal(sutler: Sutler, project: Path) -> None:
    """Without a terminal nobody approves; with one, the call goes through once."""
    refused = sutler("read", "out/x", cwd=project)
    id = refused.err.split("needs approval ")[1].split()[0]
    assert sutler("approve", id, cwd=project).code == 5
    parent, child = pty.openpty()
    os.write(parent, b"y\n")
    done = subprocess.run(
        [sys.executable, "-m", "sutler", "approve", id],
        cwd=project,
        stdin=child,
        capture_output=True,
        timeout=60,
        check=False,
    )
    os.close(parent)
    os.close(child)
    assert done.returncode == 0, done.stderr
    assert b"ignored files need approval" in done.stderr
    assert sutler("read", "out/x", cwd=project).text == "x\n"
    assert sutler("read", "out/x", cwd=project).code == 5


def test_a_tampered_ledger_is_named(sutler: Sutler, project: Path, tmp_path: Path) -> None:
    """An edited row fails verification; so does an edited export."""
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}
    for _ in range(3):
        sutler("read", "a.py", cwd=project, env=state)
    target = tmp_path / "log.jsonl"
    assert sutler("log", "--export", str(target), cwd=project, env=state).code == 0
    assert sutler("verify", str(target), cwd=project, env=state).code == 0
    target.write_text(target.read_text().replace("a.py", "b.py", 1))
    assert sutler("verify", str(target), cwd=project, env=state).code == 1
    (database,) = Path(state["XDG_STATE_HOME"]).glob("sutler/*/state.db")
    import apsw

    with apsw.Connection(str(database)) as connection:
        connection.execute("UPDATE audit SET body = replace(body, 'a.py', 'b.py') WHERE seq = 2")
    connection.close()
    found = sutler("verify", cwd=project, env=state)
    assert (found.code, "row 2" in found.err) == (1, True)


def test_a_session_can_be_opened_and_seen(sutler: Sutler, project: Path) -> None:
    """The opening names the tools; the session lists what was read."""
    assert "tools: list_files" in sutler("session", "--open", cwd=project).text
    sutler("read", "a.py", cwd=project)
    (project / "a.py").write_text("changed\n")
    assert "a.py:1-2  out of date" in sutler("session", cwd=project).text


def test_a_project_cannot_widen(sutler: Sutler, project: Path) -> None:
    """A project's own file may close; a key that opens is refused with its place."""
    (project / "sutler.toml").write_text('deny = ["b.md"]\n')
    assert sutler("read", "b.md", cwd=project).code == 5
    (project / "sutler.toml").write_text('writable = ["**"]\n')
    widened = sutler("read", "a.py", cwd=project)
    assert (widened.code, "may not be set by a project" in widened.err) == (2, True)


def test_state_inside_the_project_is_refused(sutler: Sutler, project: Path) -> None:
    """An agent must not reach the ledger."""
    found = sutler("ls", cwd=project, env={"XDG_STATE_HOME": str(project / "state")})
    assert (found.code, "inside the project" in found.err) == (3, True)


def test_a_dot_env_file_changes_nothing(sutler: Sutler, project: Path, tmp_path: Path) -> None:
    """Settings never come from a .env in the project."""
    (project / ".env").write_text(
        f"XDG_STATE_HOME={project}\nSUTLER_STORE=postgresql://elsewhere/x\n"
    )
    assert sutler("ls", cwd=project).code == 0


def test_without_a_place_for_state_nothing_happens(sutler: Sutler, project: Path) -> None:
    """A door that cannot record does not open."""
    found = sutler("read", "a.py", cwd=project, env={"XDG_STATE_HOME": "/dev/null/state"})
    assert (found.code, found.out, "no state can be kept" in found.err) == (3, b"", True)


def test_a_door_opens_into_exactly_the_folder_it_was_given(
    plant: Plant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standing above it, with no repository in sight, what lies beside it is not part of it."""
    folder = plant({"inner": {"a.py": "x = 1\n"}, "beside.py": "y = 2\n"})
    monkeypatch.chdir(folder)
    with open_door("inner", Caller("c", "s")) as door:
        assert door.list_files().paths == ("a.py",)
        with pytest.raises(SutlerError, match="no file"):
            door.read_file("beside.py")
