"""The optional summary command: the user's own program sums up, from clean text, inside the bounds,
cached.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Plant, Sutler
from tests.goalkit import program

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"  # made up, and of the right form


@pytest.fixture
def folder(plant: Plant) -> Path:
    return plant({"a.py": f'def f():\n    return connect("{SECRET}")\n', "b.py": "x = 1\n"})


def test_a_program_sums_up_once_for_each_content(
    folder: Path, sutler: Sutler, tmp_path: Path
) -> None:
    """It sees clean text; its answer is kept until the content changes."""
    body = f"cat > {tmp_path}/seen; echo call >> {tmp_path}/calls; echo 'Connects to a server.'"
    env = {"SUTLER_SUMMARY_COMMAND": str(program(tmp_path / "bin", "teller", body))}
    for _ in range(2):
        ran = sutler("summarize", "a.py", cwd=folder, env=env)
        assert ran.code == 0, ran.err
        assert "Connects to a server." in ran.text
    assert (tmp_path / "calls").read_text() == "call\n"
    assert "def f():" in (tmp_path / "seen").read_text()
    assert SECRET not in (tmp_path / "seen").read_text()
    (folder / "a.py").write_text("def g(): pass\n")
    sutler("summarize", "a.py", cwd=folder, env=env)
    assert (tmp_path / "calls").read_text() == "call\ncall\n"


def test_without_one_the_structure_speaks(folder: Path, sutler: Sutler) -> None:
    assert "def f()" in sutler("summarize", "a.py", cwd=folder).text


def test_what_it_prints_is_redacted_and_cut(folder: Path, sutler: Sutler, tmp_path: Path) -> None:
    body = f"cat >/dev/null; echo 'token {SECRET} is here'; yes 'more and more words' | head -500"
    env = {"SUTLER_SUMMARY_COMMAND": str(program(tmp_path / "bin", "teller", body))}
    ran = sutler("summarize", "a.py", "--max-tokens", "80", cwd=folder, env=env)
    assert SECRET not in ran.text
    assert "is here" in ran.text
    assert len(ran.text) < 1_000


@pytest.mark.parametrize(
    ("body", "said"), [("exit 3", "exit status: 3"), ("kill -9 $$", "SIGKILL")]
)
def test_a_program_that_fails_is_said_to_have_failed(
    folder: Path, sutler: Sutler, tmp_path: Path, body: str, said: str
) -> None:
    """Never silently a summary of another kind, and it is not kept."""
    env = {"SUTLER_SUMMARY_COMMAND": str(program(tmp_path / "bin", "teller", body))}
    ran = sutler("summarize", "a.py", cwd=folder, env=env)
    assert ran.code == 6
    assert said in ran.err
    program(tmp_path / "bin", "teller", "cat >/dev/null; echo well now")
    assert "well now" in sutler("summarize", "a.py", cwd=folder, env=env).text


def test_a_project_cannot_name_one(folder: Path, sutler: Sutler) -> None:
    (folder / "sutler.toml").write_text("summary_command = 'touch owned'\n")
    ran = sutler("summarize", "a.py", cwd=folder)
    assert ran.code == 2
    assert "may not be set by a project" in ran.err
    assert not (folder / "owned").exists()


def test_a_file_cannot_speak_for_us(folder: Path, sutler: Sutler, tmp_path: Path) -> None:
    """The text stands between two lines that it does not hold."""
    env = {
        "SUTLER_SUMMARY_COMMAND": str(
            program(tmp_path / "bin", "teller", f"cat > {tmp_path}/seen; echo ok")
        )
    }
    sutler("summarize", "b.py", cwd=folder, env=env)
    rows = (tmp_path / "seen").read_text().split("\n")
    marks = [row for row in rows if row.startswith("-----")]
    assert len(marks) == 2
    assert marks[0] == marks[1]
    assert rows[rows.index(marks[0]) + 1] == "x = 1"
