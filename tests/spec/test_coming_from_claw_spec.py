"""A user of claw types what claw taught, and is understood."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

from sutler.errors import SutlerError
from sutler.goals.claw import COMPAT_FILE
from sutler.goals.context_compat import gather_files
from sutler.goals.context_files import Wanted
from tests.conftest import Plant
from tests.goalkit import GOAL_RULES, Capture, cli, program, without_privileges, write_goal
from tests.terminals import on_terminal

SCOPED = """\
name: Scoped
parameters:
  - {name: scope, description: what, required: true}
  - {name: deep, description: how, required: false, type: boolean, default: false}
prompt: "scope {{ Args.scope }} deep {{ Args.deep }}"
"""


@pytest.fixture
def folder(plant: Plant) -> Path:
    place = plant({"src": {"a.py": "A\n"}, "notes.md": "N\n"})
    write_goal(place, "my-goal", SCOPED, base=".claw")
    return place


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own config file, empty."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    path = tmp_path / "config/sutler/config.toml"
    path.parent.mkdir(parents=True)
    path.touch()
    return path


@pytest.mark.parametrize(
    "words",
    [
        ["my-goal", "--scope", "x", "-c", "src", "--print"],
        ["my-goal", "-c", "src", "--print", "--scope", "x"],
        ["my-goal", "--print", "-c", "src", "--", "--scope", "x"],
        ["my-goal", "--scope=x", "--print", "-c", "src"],
        ["run", "my-goal", "--scope", "x", "--print", "-c", "src"],
        ["-c", "src", "my-goal", "--print", "--scope", "x"],
        ["run", "--print", "-c", "src", "my-goal", "--scope", "x"],
        ["dry-run", "my-goal", "--scope", "x", "-c", "src"],
        ["dry-run", "-c", "src", "my-goal", "--", "--scope=x"],
    ],
)
def test_a_goal_is_run(folder: Path, capfdbinary: Capture, words: list[str]) -> None:
    """By its bare name, with parameters where they are written, and behind a greedy -c."""
    ran = cli(capfdbinary, folder, *words)
    assert ran.code == 0
    assert ran.text.startswith("scope x deep false\n\n# Context Files\n")
    assert "### src/a.py" in ran.text


@pytest.mark.parametrize(
    ("words", "values"),
    [
        (["--scope", "-5"], "scope -5 deep false"),
        (["--scope", "a", "--deep"], "scope a deep true"),
        (["--deep", "--scope", "a b"], "scope a b deep true"),
        (["--scope", "a", "--scope", "b"], "scope b deep false"),
        (["--scope=--x"], "scope --x deep false"),
        (["--scope", "a", "--", "--deep", "true"], "scope a deep true"),
    ],
)
def test_parameters_without_dashes(
    folder: Path, capfdbinary: Capture, words: list[str], values: str
) -> None:
    """Options that sutler lacks are the goal's, with their values."""
    assert cli(capfdbinary, folder, "dry-run", "my-goal", *words).text == values


def test_an_option_that_is_nearly_ours(folder: Path, capfdbinary: Capture) -> None:
    """A misspelt option goes to the goal, and a note says so."""
    ran = cli(capfdbinary, folder, "dry-run", "my-goal", "--scope", "x", "--contxt", "src")
    assert "--contxt goes to the goal as a parameter; is --context meant?" in ran.err


def test_a_goal_that_cannot_be_told_from_a_file(folder: Path, capfdbinary: Capture) -> None:
    """`-c FILE goal` with a file of the goal's name is explained."""
    (folder / "my-goal").touch()
    ran = cli(capfdbinary, folder, "run", "-c", "src", "my-goal")
    assert ran.code == 2
    assert "write the goal first" in ran.err
    assert cli(capfdbinary, folder, "no-such-goal").code == 2


def test_list_and_add(folder: Path, capfdbinary: Capture) -> None:
    """claw's own commands."""
    assert "my-goal" in cli(capfdbinary, folder, "list", "--local").text
    assert cli(capfdbinary, folder, "add", "fresh", "--local").code == 0
    assert cli(capfdbinary, folder, "fresh", "--print").text.startswith("Explain this project")


def test_show_prints_the_prompt(folder: Path, capfdbinary: Capture) -> None:
    """`goals show` has the description, the parameters and the prompt as written."""
    text = cli(capfdbinary, folder, "goals", "show", "my-goal").text
    assert "--scope" in text
    assert "Prompt:\n\nscope {{ Args.scope }} deep {{ Args.deep }}" in text


def test_names_complete(folder: Path, capfdbinary: Capture) -> None:
    """`goals --names` is what the completion scripts ask."""
    names = cli(capfdbinary, folder, "goals", "--names").text.split()
    assert names == ["explain", "my-goal", "review", "tests"]
    for shell in ("bash", "zsh"):
        script = cli(capfdbinary, folder, "completion", shell).text
        assert "sutler goals --names" in script
        assert "_sutler_goals" in script


def test_unknown_keys_warn(folder: Path, capfdbinary: Capture) -> None:
    """A key of a newer claw does not stop a goal."""
    (folder / ".claw/claw.yaml").write_text("new_key: 1\n")
    ran = cli(capfdbinary, folder, "dry-run", "my-goal", "--scope", "x")
    assert ran.code == 0
    assert "claw.yaml:1: unknown key 'new_key'" in ran.err


def test_compat_is_a_setting(folder: Path, config: Path, capfdbinary: Capture) -> None:
    """`[goals] compat` makes claw's rules the default; a flag overrides it."""
    words = ["dry-run", "my-goal", "-c", "./src", "--", "--scope", "x"]
    assert "### src/a.py" in cli(capfdbinary, folder, *words).text
    (folder / "sutler.toml").write_text('[goals]\ncompat = "claw"\n')
    assert "### ./src/a.py" in cli(capfdbinary, folder, *words).text
    plain = ["dry-run", "my-goal", "--compat", "none", *words[2:]]
    assert "### src/a.py" in cli(capfdbinary, folder, *plain).text
    (folder / "sutler.toml").write_text('[goals]\ncompat = "clew"\n')
    assert cli(capfdbinary, folder, *words).code == 2


def test_own_commands_are_profiles(
    folder: Path, config: Path, tmp_path: Path, capfdbinary: Capture
) -> None:
    """`[commands]` of the user's file names programs for --to; a project's file may not."""
    fake = program(tmp_path / "bin", "model", 'echo "$@"; cat')
    config.write_text(f"[commands]\nfast = {f'{fake} -m small, please'!r}\n")
    words = ["my-goal", "--scope", "x", "--to", "fast"]
    assert cli(capfdbinary, folder, *words).text == "-m small, please\nscope x deep false"
    assert "use one of fast, claude" in cli(capfdbinary, folder, "my-goal", "--to", "slow").err
    config.write_text("")
    (folder / "sutler.toml").write_text("[commands]\nfast = 'cat'\n")
    ran = cli(capfdbinary, folder, *words)
    assert ran.code == 2
    assert "may not be set by a project" in ran.err


def test_a_model_drafts_a_goal(folder: Path, tmp_path: Path, capfdbinary: Capture) -> None:
    """`goals add --draft` writes what the model command answers, if it is a goal."""
    goal = "name: Drafted\\nprompt: Count the carts.\\n"
    fake = program(
        tmp_path / "bin", "model", f"cat >/dev/null; printf 'Here:\\n```yaml\\n{goal}```\\n'"
    )
    words = ["goals", "add", "drafted", "--draft", "count carts", "--command", str(fake)]
    assert cli(capfdbinary, folder, *words).code == 0
    assert cli(capfdbinary, folder, "drafted", "--print").text == "Count the carts."
    bad = program(tmp_path / "bin", "bad", "cat >/dev/null; echo no goal at all")
    words = ["goals", "add", "other", "--draft", "x", "--command", str(bad)]
    ran = cli(capfdbinary, folder, *words)
    assert ran.code == 2
    assert "no goal at all" in ran.err
    assert not (folder / ".claw/goals/other").exists()


# On a terminal


def sutler_words(*words: str) -> list[str]:
    return [sys.executable, "-m", "sutler", *words]


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 5)])
def test_trust_asks(folder: Path, answer: bytes, code: int) -> None:
    """A person sees what will run and decides."""
    write_goal(folder, "s", "name: s\ncontext_scripts: {x: echo ran}\nprompt: '{{ Context.x }}'\n")
    asked = on_terminal(
        sutler_words("trust", "s"), folder, keys=(b"allow this to run? [y/N]", answer)
    )
    assert asked[0] == code
    assert b"script x: echo ran" in asked[1]


def test_questions_use_the_terminal_when_stdin_is_a_pipe(folder: Path) -> None:
    """The pipe is context; the answer comes from /dev/tty. Each warning is shown once."""
    (folder / "src/pic.bin2").write_bytes(b"\0\1")
    line = "echo piped | " + shlex.join(
        sutler_words("dry-run", "my-goal", "--scope", "x", "-c", "-", "src", "gone")
    )
    code, seen = on_terminal(["sh", "-c", line], folder, keys=(b"(y/n): ", b"y\n"))
    assert code == 0
    assert b"### stdin" in seen
    assert b"piped" in seen
    assert seen.count(b"Skipped binary file: src/pic.bin2") == 1


# compat where claw looks at the world differently


def test_compat_outside_a_repository(folder: Path, capfdbinary: Capture) -> None:
    """Outside git a .gitignore does not count and an .ignore does; inside both do."""
    (folder / "src/.gitignore").write_text("git.py\n")
    (folder / "src/.ignore").write_text("plain.py\n")
    for name in ("git.py", "plain.py"):
        (folder / "src" / name).touch()
    words = ["dry-run", "my-goal", "--compat", "claw", "-c", "src", "--", "--scope", "x"]

    def shown() -> list[str]:
        text = cli(capfdbinary, folder, *words).text
        return [line[4:] for line in text.splitlines() if line.startswith("### ")]

    assert shown() == ["src/a.py", "src/git.py"]
    os.system(f"git init -q {shlex.quote(str(folder))}")  # noqa: S605  # a path of this test
    assert shown() == ["src/a.py"]


def test_compat_stops_at_an_unreadable_folder(folder: Path) -> None:
    """claw's walk ends with an error there, in every mode."""
    closed = folder / "src/closed"
    closed.mkdir()
    closed.chmod(0)
    wanted = Wanted(("src",), str(folder), COMPAT_FILE, rules=GOAL_RULES)
    try:
        with without_privileges(folder), pytest.raises(SutlerError) as caught:
            gather_files(wanted)
    finally:
        closed.chmod(0o755)
    assert caught.value.what == "Permission denied: src/closed"
