"""Play a newcomer: a fresh copy of the repository, a fresh home, nothing of ours on the PATH, no
compiler, README and tutorial exactly as printed, then the usual mistakes.

python -m tests.docs.check [PYTHON ...]     default: every supported python3.N that is present
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.docs.blocks import REPOSITORY, commands
from tests.docs.mistakes import MISTAKES, prepared, wrong
from tests.docs.player import Shell
from tests.docs.test_tutorial import walk
from tests.limits import LONG

VERSIONS = ("python3.11", "python3.12", "python3.13")


def main(names: list[str]) -> int:
    present = [found for name in VERSIONS if (found := interpreter(name))]
    interpreters = [interpreter(name) or name for name in names] or present
    for number, name in enumerate(interpreters):
        print(f"== {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            play(Path(folder), name, tour=number == 0)
    return 0


def interpreter(name: str) -> str | None:
    """A program of this version that can make environments: on the PATH, else one of pyenv's, whose
    shims refuse versions that are not selected.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    programs = [name, *map(str, sorted(pyenv.glob(f"*/bin/{name}"), reverse=True))]
    return next(filter(works, programs), None)


def works(program: str) -> bool:
    if shutil.which(program) is None:
        return False
    probe = [program, "-c", "import ensurepip, venv"]
    return subprocess.run(probe, capture_output=True, check=False, timeout=LONG).returncode == 0


def play(folder: Path, interpreter: str, *, tour: bool) -> None:
    """README from top to bottom and the mistakes; with `tour`, the tutorial in a clone of its own."""
    ask = [interpreter, "-c", "import sys; print(sys.executable)"]
    real = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=LONG).stdout
    (folder / "bin").mkdir()
    (folder / "bin/python3").symlink_to(real.strip())
    shell = newcomer(folder, "readme")
    for line in commands(REPOSITORY / "README.md"):
        print(f"$ {line}", flush=True)
        code, output = shell.run(line)
        assert code == 0, output
    prepared(folder / "mistakes")
    shell.folder = folder / "mistakes"
    faults = [fault for line in MISTAKES if (fault := wrong(line, *shell.run(line)))]
    assert not faults, "\n".join(faults)
    print(f"{len(MISTAKES)} mistakes: no traceback, each refusal says what to do next", flush=True)
    if tour:
        walk(newcomer(folder, "tour"), lambda: LONG, install=True)
        print("the tutorial shows what it says", flush=True)


def newcomer(folder: Path, name: str) -> Shell:
    """A shell in a fresh clone, with a fresh home."""
    home, clone = folder / f"{name}-home", folder / name
    home.mkdir()
    words = ["git", "clone", "-q", str(REPOSITORY), str(clone)]
    subprocess.run(words, check=True, timeout=LONG)
    return Shell(home, clone, str(folder / "bin"))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
