"""How many modules of ours a command passes through: a newcomer has to read them to follow it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sutler

SOURCE = os.path.dirname(sutler.__file__)
TREE = {
    "README.md": "# Wheels\n",
    "src/axle.py": "def axle():\n    return 2\n",
    "src/wheel.py": "from axle import axle\n\n\ndef wheels():\n    return 2 * axle()\n",
    "tests/test_wheel.py": "from wheel import wheels\n\n\ndef test():\n    assert wheels() == 4\n",
    "pyproject.toml": '[project]\nname = "wheels"\n',
}
CEILINGS = {"pack": 46, "goal": 67}  # targets: 32 and 48
COMMANDS = {"pack": ["pack"], "goal": ["pack", "--goal", "count the wheels of an axle"]}
# Functions count, not the code that runs when a module, a class body or a table is loaded.
TRACE = """
import sys
passed = set()

def trace(frame, event, arg):
    code = frame.f_code
    if event == "call" and not code.co_name.startswith("<") and code.co_flags & 1:
        passed.add(code.co_filename)

sys.argv = ["sutler", *sys.argv[2:]]
from sutler.__main__ import main
sys.setprofile(trace)
code = main()
sys.setprofile(None)
with open({out!r}, "w") as stream:
    stream.write("\\n".join(sorted(passed)))
sys.exit(code)
"""


def modules_of(words: list[str], folder: Path, out: Path) -> list[str]:
    """The modules of ours in which a function is called, in a process that starts with no cache."""
    for name, text in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    home = str(out.parent / "home")
    environ = {
        **os.environ,
        "HOME": home,
        "XDG_CACHE_HOME": f"{home}/cache",
        "XDG_STATE_HOME": f"{home}/state",
    }
    code = TRACE.replace("{out!r}", repr(str(out)))
    done = subprocess.run(
        [sys.executable, "-c", code, "trace", *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    paths = out.read_text().split("\n")
    return [os.path.relpath(path, SOURCE) for path in paths if path.startswith(f"{SOURCE}/")]


@pytest.mark.parametrize("command", CEILINGS)
def test_a_command_passes_few_modules(command: str, tmp_path: Path) -> None:
    """A default pack, and one for a goal, cold, of five files."""
    (tmp_path / "tree").mkdir()
    modules = modules_of(COMMANDS[command], tmp_path / "tree", tmp_path / "trace")
    print(f"{command}: {len(modules)} modules\n  " + "\n  ".join(modules))
    assert len(modules) <= CEILINGS[command], modules
