"""Run the README's first command as a newcomer would: a fresh copy of the repository, a new
environment.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile

from tests.docs.blocks import REPOSITORY, commands, sets_up
from tests.limits import LONG


def main() -> int:
    [command] = [
        line
        for line in commands(REPOSITORY / "README.md")
        if sets_up(line) and "pytest" not in line
    ]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["git", "clone", "-q", str(REPOSITORY), f"{folder}/sutler"], check=True, timeout=LONG
        )
        print(f"$ {command}", flush=True)
        subprocess.run(["bash", "-c", command], cwd=f"{folder}/sutler", check=True, timeout=LONG)
        with open(f"{folder}/sutler/pack.md", encoding="utf-8") as stream:
            assert stream.readline() == "# sutler pack\n"
    return 0


if __name__ == "__main__":
    sys.exit(main())
