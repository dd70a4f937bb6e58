"""Names that are not UTF-8, in the tree and in the history: every command answers, and none says
them raw.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Sutler
from tests.limits import LIMIT

NAME = b"p\xff"
SHOWN = '"p\\377/__main__.py"'
GOAL = "main is broken"
FILES = {
    b"pyproject.toml": '[project]\nname = "x"\n[project.scripts]\nx = "m:main"\n',
    b"__main__.py": "from m import main\nmain()\n",
    b"m\xfe.py": "import os\n" * 30
    + "def main():\n    eval(input())  # TODO\n    os.system('x')\n",
    b"big\xfe.py": "x = 1\n" * 20_000,
    b"README.md": "# Title\n\nA project.\n",
    b"main.go": "package main\nfunc main() {}\n",
    b".env": "SECRET_KEY=abcdef123456\n",
}
TASK = '{"id": "t", "title": "Fix main", "description": "main is broken", "acceptance_criteria": ["works"]}'


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository all of whose files lie below such a name, and were committed twice."""
    root = tmp_path_factory.mktemp("odd")
    here = os.path.join(os.fsencode(root), NAME)
    os.mkdir(here)
    for name, text in FILES.items():
        with open(os.path.join(here, name), "w") as file:
            file.write(text)
    os.symlink("nowhere", os.path.join(here, b"l\xfe"))
    with open(os.path.join(here, b"latin\xfe.txt"), "wb") as file:
        file.write("Straße überall\n".encode("latin-1") * 20)
    git = ["git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True, timeout=LIMIT)
    for message in ("Fix main", "Break main"):
        with open(os.path.join(here, b"m\xfe.py"), "a") as file:
            file.write("# more\n")
        subprocess.run([*git, "add", "-A"], check=True, timeout=LIMIT)
        subprocess.run([*git, "commit", "-qm", message], check=True, timeout=LIMIT)
    (root / "task.json").write_text(TASK)
    return root


@pytest.mark.parametrize(
    "line",
    [
        ("why", SHOWN),
        ("outline", SHOWN),
        ("rank", "--goal", GOAL),
        ("rank", "--goal", GOAL, "--json"),
        ("pack", "--goal", GOAL, "--max-tokens", "2000"),
        ("pack", "--since", "HEAD~1", "--diff", "--log", "2"),
        ("pack", "--task", "task.json"),
        ("pack", "--task", "task.json", "-f", "json"),
        *(("pack", "-f", form) for form in ("markdown", "xml", "json")),
        *(
            ("pack", "--type", kind, "-f", form)
            for kind in ("full", "summary")
            for form in ("json", "msgpack")
        ),
        ("pack", "--type", "summary", "-f", "markdown"),
        ("scan", "--json"),
        ("tree",),
        ("secrets", "--json"),
        ("ls",),
        ("search", "main"),
        ("call", "rank", '{"goal": "main is broken"}', "--json"),
        ("dry-run", "explain", "-c", ".", "--mode", "ignore"),
    ],
    ids=" ".join,
)
def test_every_command_answers(odd: Path, sutler: Sutler, line: tuple[str, ...]) -> None:
    ran = sutler(*line, cwd=odd)
    assert ran.code == 0, ran.err
    assert "Traceback" not in ran.err
    if line[-1] != "msgpack":
        ran.out.decode()


@pytest.mark.parametrize("line", [("read", SHOWN), ("summarize", SHOWN)])
def test_the_shown_name_is_a_name(odd: Path, sutler: Sutler, line: tuple[str, ...]) -> None:
    """What the door prints can be given back to it."""
    ran = sutler(*line, cwd=odd)
    assert ran.code == 0, ran.err


def test_a_summary_names_entry_points_in_their_display_form(odd: Path, sutler: Sutler) -> None:
    ran = sutler("pack", "--type", "summary", "-f", "markdown", cwd=odd)
    assert SHOWN in ran.out.decode()
