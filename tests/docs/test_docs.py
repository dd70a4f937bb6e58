"""Every command in the docs runs, every link leads somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sutler.pack import picks
from sutler.scan.ignore import DENIALS
from tests.conftest import Plant
from tests.docs.blocks import PAGES, REPOSITORY, blocks, commands, opens_screen, sets_up
from tests.docs.player import Shell
from tests.limits import LIMIT
from tests.terminals import on_terminal

TREE = {
    "README.md": "# Cart\n",
    "pyproject.toml": "[project]\nname = 'cart'\n",
    "uv.lock": "lock\n",
    "src": {"cart.py": "WHEELS = 4  # TODO\n", "axle.py": "AXLES = 2\n"},
    "tests": {"test_cart.py": "def test_cart() -> None: ...\n"},
}
README = REPOSITORY / "README.md"
GUIDE = REPOSITORY / "docs/guide.md"
CONTRIBUTING = REPOSITORY / "CONTRIBUTING.md"
RECIPES = [line for line in commands(GUIDE) if not sets_up(line)]


def environment() -> dict[str, str]:
    """The environment with our interpreter's commands first."""
    return {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=x", "-c", "user.email=x@x", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=LIMIT,
    )


@pytest.mark.parametrize("command", RECIPES)
def test_recipes_run(plant: Plant, command: str) -> None:
    folder = plant(TREE)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Build the cart")
    if opens_screen(command):
        # a pack of nothing is refused, so the person picks what the cursor is on
        code, seen = on_terminal(
            ["bash", "-c", command], folder, env=environment(), keys=(b" files", b" q")
        )
        assert code == 0, seen.decode(errors="replace")
        return
    if "--kept" in command:
        picks.keep(str(folder), os.environ, ["README.md"])
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.skipif(
    not (REPOSITORY / ".git").exists(),
    reason="there is no repository to clone in an unpacked archive",
)
def test_the_readme_plays_from_top_to_bottom(tmp_path: Path) -> None:
    """Every line of the README runs in a clone, in one shell with a home of its own. `python -m
    tests.docs.check` installs as printed too.
    """
    git(tmp_path, "clone", "-q", str(REPOSITORY), "clone")
    (tmp_path / "home").mkdir()
    shell = Shell(tmp_path / "home", tmp_path / "clone", str(Path(sys.executable).parent))
    for line in commands(README):
        if not sets_up(line):
            code, output = shell.run(line)
            assert code == 0, f"{line}\n{output}"


def test_the_command_that_runs_the_tests_is_the_same_everywhere() -> None:
    """It is not run by the newcomer's script, which these tests start themselves."""
    contributing = blocks(REPOSITORY / "CONTRIBUTING.md", "sh")
    assert blocks(README, "bash") == contributing[:1]


@pytest.mark.parametrize("body", blocks(README, "python"))
def test_python_of_the_readme_runs(plant: Plant, body: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", body], cwd=plant(TREE), capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"README.md" in done.stdout


def test_ci_runs_the_test_command_of_contributing() -> None:
    """One command sets everything up and passes the tests; CI runs that very one, in another
    place.
    """
    [test_command] = [line for line in commands(CONTRIBUTING) if "pytest -n 2" in line]
    script = (REPOSITORY / ".ci/run").read_text()
    for word in ("python3 -m venv", "-c constraints.txt -e '.[dev]'", "pytest -n 2"):
        assert word in test_command
        assert word in script


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_guide_names_every_ai_ignore_file() -> None:
    """The guide's list is the table's, so that a new row is documented."""
    [item] = re.findall(r"^3\. AI-ignore files: `([^`]+)`", GUIDE.read_text(), re.M)
    assert sorted(item.split()) == sorted(DENIALS)


def test_every_command_has_help_and_is_in_the_usage() -> None:
    from sutler.fronts.cli.command_table import BY_NAME
    from sutler.fronts.cli.main import usage
    from sutler.fronts.cli.options import load

    for command in BY_NAME.values():
        assert f"  {command[0]} " in usage()
        assert "exit codes" in load(command)[0].format_help()
