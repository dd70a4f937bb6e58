"""The commands around goals, as a person or a script uses them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from sutler.goals.discovery import find_bases, list_goals
from tests.conftest import Plant, Sutler
from tests.goalkit import Capture, cli, go, job, program, write_goal
from tests.limits import LIMIT

PARAMS = """\
name: Test Params
description: A goal with parameters.
parameters:
  - name: scope
    description: The scope of the work
    required: true
    type: string
  - name: format
    description: Output format
    required: false
    default: markdown
  - name: verbose
    description: Say more
    required: false
    type: boolean
prompt: |
  Scope: {{ Args.scope }}
  Format: {{ Args.format }}
  Verbose: {{ Args.verbose | default(value='unset') }}
"""


@pytest.fixture
def folder(plant: Plant) -> Path:
    place = plant({"notes.txt": "NOTES\n"})
    write_goal(place, "test-params", PARAMS, base=".claw")
    write_goal(place, "test_goal", base=".claw")
    return place


# The original's own black-box cases for dry-run


def test_dry_run_of_a_simple_goal(folder: Path, capfdbinary: Capture) -> None:
    """The prompt goes to stdout with nothing added, and one line about it to stderr."""
    ran = cli(capfdbinary, folder, "dry-run", "test_goal")
    assert (ran.code, ran.text) == (0, "Say hello.\n")
    assert ran.err == "sutler: 0 files, 3 tokens, to stdout\n"
    assert cli(capfdbinary, folder, "dry-run", "test_goal", "-q").err == ""


@pytest.mark.parametrize("flag", ["-o", "--output"])
def test_dry_run_into_a_file(folder: Path, tmp_path: Path, capfdbinary: Capture, flag: str) -> None:
    """The file holds what stdout would have held; an older file is overwritten; the note is on
    stderr.
    """
    target = tmp_path / "out.md"
    target.write_text("old " * 1000)
    ran = cli(capfdbinary, folder, "dry-run", "test_goal", flag, str(target))
    summary = f"sutler: 0 files, 3 tokens, to {target}\n"
    assert (ran.out, ran.err) == (b"", f"{summary}Dry run output written to {target}\n")
    assert target.read_bytes() == cli(capfdbinary, folder, "dry-run", "test_goal").out


def test_dry_run_with_parameters(folder: Path, capfdbinary: Capture) -> None:
    """Parameters stand after `--`; a flag alone is true."""
    words = ["--", "--scope", "authentication", "--format", "json", "--verbose"]
    text = cli(capfdbinary, folder, "dry-run", "test-params", *words).text
    assert text == "Scope: authentication\nFormat: json\nVerbose: true\n"


def test_dry_run_with_a_missing_parameter(folder: Path, capfdbinary: Capture) -> None:
    """A missing required parameter is a usage error that names it."""
    ran = cli(capfdbinary, folder, "dry-run", "test-params")
    assert ran.code == 2
    assert "Goal 'test-params' is missing required parameters:" in ran.err
    assert "--scope <String>" in ran.err


def test_dry_run_with_everything(folder: Path, tmp_path: Path, capfdbinary: Capture) -> None:
    """Files, depth, output and parameters together."""
    target = tmp_path / "all.md"
    words = ["-c", "notes.txt", "-d", "1", "-o", str(target), "--", "--scope=x"]
    assert cli(capfdbinary, folder, "dry-run", "test-params", *words).code == 0
    text = target.read_text()
    assert text.startswith("Scope: x\nFormat: markdown\nVerbose: unset\n\n\n# Context Files\n")
    assert "### notes.txt" in text


def test_dry_run_keeps_unicode_and_size(folder: Path, capfdbinary: Capture) -> None:
    """Two megabytes of any script arrive unchanged."""
    big = "Ünï ✓ 漢字 \U0001f600 " * 80_000
    write_goal(folder, "big", "name: b\nprompt: '{% include \"big.txt\" %}'\n", base=".claw")
    (folder / ".claw/goals/big/big.txt").write_text(big, "utf-8")
    assert cli(capfdbinary, folder, "dry-run", "big").text == big


def test_dry_run_of_an_unknown_goal(folder: Path, capfdbinary: Capture) -> None:
    """An unknown goal is named in the original's words."""
    ran = cli(capfdbinary, folder, "dry-run", "nonexistent_goal_xyz")
    assert ran.code == 2
    assert "Goal 'nonexistent_goal_xyz' not found in local or global configuration" in ran.err


@pytest.mark.parametrize("name", ["../test_goal", "goals/test_goal", "/etc", ".."])
def test_goal_names_have_no_path_parts(folder: Path, capfdbinary: Capture, name: str) -> None:
    """A name cannot climb out of the goals folder."""
    ran = cli(capfdbinary, folder, "dry-run", name)
    assert ran.code == 2
    assert "is not a goal name" in ran.err


def test_dry_run_into_nowhere(folder: Path, capfdbinary: Capture) -> None:
    """A file that cannot be written is an error that names it."""
    ran = cli(capfdbinary, folder, "dry-run", "test_goal", "-o", "/no/such/dir/x")
    assert ran.code == 1
    assert "cannot write /no/such/dir/x" in ran.err


def test_dry_run_as_json(folder: Path, capfdbinary: Capture) -> None:
    """--json gives the prompt and its files as data."""
    found = json.loads(
        cli(capfdbinary, folder, "dry-run", "test_goal", "-c", "notes.txt", "--json").out
    )
    assert found["files"] == ["notes.txt"]
    assert found["prompt"].startswith("Say hello.")


# run, explain, goals


def test_run_without_a_goal_lists_them(folder: Path, capfdbinary: Capture) -> None:
    """No goal: the list on stdout, the note on stderr, a usage error."""
    ran = cli(capfdbinary, folder, "run")
    assert ran.code == 2
    assert "No goal given" in ran.err
    assert "test_goal" in ran.text


def test_print_instead_of_sending(folder: Path, capfdbinary: Capture) -> None:
    """--print shows what would be sent and starts nothing."""
    assert cli(capfdbinary, folder, "run", "test_goal", "--print").text == "Say hello.\n"


@pytest.mark.parametrize("flag", ["-e", "--explain"])
def test_explain(folder: Path, capfdbinary: Capture, flag: str) -> None:
    """--explain describes the parameters and sends nothing."""
    text = cli(capfdbinary, folder, "run", "test-params", flag).text
    assert "Required parameters:\n  --scope <string>\n      The scope of the work" in text
    assert '--format  (default: "markdown")' in text


def test_command_and_profile_exclude_each_other(folder: Path, capfdbinary: Capture) -> None:
    """Two ways to name a program at once are a usage error."""
    assert cli(capfdbinary, folder, "run", "test_goal", "--command", "cat", "--to", "llm").code == 2


def test_a_profile_is_used(
    folder: Path, tmp_path: Path, capfdbinary: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """--to ollama:MODEL runs that program with the prompt on stdin."""
    program(tmp_path / "bin", "ollama", 'echo "$@"; cat')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert (
        cli(capfdbinary, folder, "run", "test_goal", "--to", "ollama:tiny").text
        == "run tiny\nSay hello.\n"
    )


def test_goals_list_and_show(folder: Path, capfdbinary: Capture) -> None:
    """Goals are listed by name with where they are from; show describes one."""
    rows = [line.split()[:2] for line in cli(capfdbinary, folder, "goals").text.splitlines()]
    assert rows == [
        ["explain", "shipped"],
        ["review", "shipped"],
        ["test-params", "local"],
        ["test_goal", "local"],
        ["tests", "shipped"],
    ]
    assert "review" not in cli(capfdbinary, folder, "goals", "list", "--local").text
    shown = cli(capfdbinary, folder, "goals", "show", "test-params")
    assert "--scope <string>" in shown.text
    assert "not trusted yet" in shown.err
    assert (
        json.loads(cli(capfdbinary, folder, "goals", "--json").out)["goals"][0]["id"] == "explain"
    )
    assert (
        json.loads(cli(capfdbinary, folder, "goals", "show", "review", "--json").out)["trusted"]
        is True
    )


def test_goals_add_makes_one_that_runs(plant: Plant, capfdbinary: Capture) -> None:
    """A new goal is a commented file that renders at once; it is never overwritten."""
    place = plant({})
    ran = cli(capfdbinary, place, "goals", "add", "mine", "--local")
    assert ran.text == f"{os.path.realpath(place)}/.sutler/goals/mine/prompt.yaml\n"
    assert (
        cli(capfdbinary, place, "dry-run", "mine", "--", "--topic", "tea").text == "Explain tea.\n"
    )
    assert cli(capfdbinary, place, "goals", "add", "mine", "--local").code == 2
    assert cli(capfdbinary, place, "goals", "add", "../evil", "--local").code == 2


def test_goals_add_without_a_project_goes_to_the_user(plant: Plant, capfdbinary: Capture) -> None:
    """Without a local folder a new goal is the user's own."""
    path = cli(capfdbinary, plant({}), "goals", "add", "mine").text.strip()
    assert path == f"{os.environ['HOME']}/.config/sutler/goals/mine/prompt.yaml"


def test_a_real_process_from_end_to_end(folder: Path, sutler: Sutler) -> None:
    """The installed command, once, as a shell would start it."""
    ran = sutler(
        "run",
        "test-params",
        "-c",
        "notes.txt",
        "--command",
        "cat",
        "--",
        "--scope",
        "all",
        cwd=folder,
    )
    assert ran.code == 0
    assert ran.text.startswith("Scope: all\n")


# The shipped goals


def git(folder: Path, *words: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    subprocess.run(
        ["git", *identity, *words], cwd=folder, check=True, capture_output=True, timeout=LIMIT
    )


@pytest.mark.parametrize("name", ["review", "explain", "tests"])
def test_shipped_goals_work_in_any_folder(plant: Plant, name: str) -> None:
    """No repository, no parameter: each shipped goal still gives a prompt."""
    place = plant({"a.txt": "a\n"})
    text = go(job(place, name, *(["a.txt"] if name == "tests" else []))).text
    assert len(text) > 200
    assert "{{" not in text


def test_tests_without_files_names_what_it_needs(plant: Plant, capfdbinary: Capture) -> None:
    """A goal that is about files asks for them instead of sending a prompt without any."""
    ran = cli(capfdbinary, plant({}), "run", "tests", "--command", "cat")
    assert (ran.code, ran.text) == (2, "")
    assert "goal 'tests' needs files" in ran.err
    assert "sutler run tests -c PATH" in ran.err


def test_shipped_goals_are_described(plant: Plant) -> None:
    """Each says what it is for."""
    goals = list_goals(find_bases(str(plant({})), {"HOME": "/nonexistent"}))
    assert [goal.id for goal in goals] == ["explain", "review", "tests"]
    assert all(goal.description and not goal.problem for goal in goals)


def test_review_takes_the_working_tree_first(plant: Plant) -> None:
    """Unstaged changes, else staged ones, else the last commit; --base compares with a commit. The
    change has its name on stderr, also in a repository without commits.
    """
    place = plant({"a.txt": "one\n", "b.txt": "b\n"})
    git(place, "init", "-q", "-b", "main")
    assert "There is no change and no commit" in go(job(place, "review")).text
    git(place, "add", ".")
    first = go(job(place, "review"))
    assert "+one" in first.text
    assert first.notes == ["change: the staged changes"]
    git(place, "commit", "-qm", "first")
    last = go(job(place, "review"))
    assert "+one" in last.text
    assert last.notes == ["change: the last commit"]
    (place / "a.txt").write_text("one\ntwo\n")
    git(place, "commit", "-qam", "second")
    (place / "a.txt").write_text("one\ntwo\nthree\n")
    git(place, "add", ".")
    assert "+three" in go(job(place, "review")).text
    (place / "b.txt").unlink()
    (place / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    unstaged = go(job(place, "review"))
    assert "+four" in unstaged.text
    assert "+three" not in unstaged.text
    assert "--- a/b.txt\n+++ /dev/null\n" in unstaged.text
    assert unstaged.notes == ["change: the unstaged changes"]
    since = go(job(place, "review"), "--base", "HEAD~1").text
    assert "+two" in since
    assert "+three" not in since


def test_review_leaves_out_what_a_scan_leaves_out(plant: Plant) -> None:
    """A denied file that git tracks is in no change; neither are line ends alone."""
    place = plant({"a.txt": "one\n", ".env": "TOKEN=1\n", ".aiexclude": "d.py\n", "d.py": "1\n"})
    git(place, "init", "-q")
    git(place, "add", "-f", ".")
    git(place, "commit", "-qm", "first")
    for name in ("a.txt", ".env", "d.py"):
        (place / name).write_text("CHANGED\n")
    text = go(job(place, "review")).text
    assert text.count("CHANGED") == 1
    (place / "a.txt").write_bytes(b"one\r\n")
    assert go(job(place, "review")).notes == ["change: the last commit"]


def test_shipped_goals_leave_out_what_is_no_utf_8(plant: Plant) -> None:
    """A file of an older encoding in the change, a name that is not UTF-8 in the folder: a prompt
    all the same.
    """
    place = plant({"a.txt": b"caf\xe9\n", "b.txt": "plain\n"})
    Path(os.fsdecode(os.fsencode(place) + b"/\xff.py")).write_text("x = 1\n")
    assert "b.txt" in go(job(place, "explain")).text
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-qm", "first")
    text = go(job(place, "review")).text
    assert "+caf\n" in text
    assert "+plain" in text


@pytest.mark.parametrize(
    "base", ["--output=owned", "$(touch owned)", "no-such-branch", "-x; touch owned"]
)
def test_review_with_a_hostile_base(plant: Plant, base: str) -> None:
    """A base that is no commit is an error; it is never an option or a command."""
    place = plant({"a.txt": "one\n"})
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-qm", "first")
    with pytest.raises(Exception, match="no such commit"):
        go(job(place, "review"), f"--base={base}")
    assert not (place / "owned").exists()


def test_shipped_goals_start_nothing_of_a_hostile_repository(plant: Plant, tmp_path: Path) -> None:
    """T26: a repository whose configuration names programs everywhere gets none of them started."""
    place = plant(
        {"a.txt": "one\n", "b.bin": "two\n", ".gitattributes": "* diff=evil filter=evil\n"}
    )
    git(place, "init", "-q")
    git(place, "add", ".")
    git(place, "commit", "-qm", "first")
    trap = str(program(tmp_path, "trap", f"touch {tmp_path}/sprung; cat"))
    for key in (
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "diff.external", "diff.evil.textconv",
        "diff.evil.command", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "gpg.program",
        "pager.diff", "pager.diff-tree", "pager.ls-files", "alias.diff-tree", "interactive.diffFilter",
    ):  # fmt: skip
        git(place, "config", key, trap)
    hooks = place / ".git/hooks"
    for name in ("pre-commit", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
        shutil.copy(trap, hooks / name)
    (place / "a.txt").write_text("changed\n")
    for name in ("review", "explain", "tests"):
        go(job(place, name, "a.txt"))
    assert "-one\n+changed" in go(job(place, "review")).text
    assert not (tmp_path / "sprung").exists()


def test_a_projects_goal_may_not_replace_a_shipped_one_unseen(
    plant: Plant, capfdbinary: Capture
) -> None:
    """A repository's own 'review' is found first, and its scripts still need trust."""
    place = plant({})
    write_goal(place, "review", "name: R\ncontext_scripts: {x: touch owned}\nprompt: hi\n")
    assert cli(capfdbinary, place, "dry-run", "review").code == 5
    assert not (place / "owned").exists()
