"""The extension for VS Code: its own tests, against the program of this environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.limits import LIMIT

EXTENSION = Path(__file__).parents[2] / "editors" / "vscode"


@pytest.mark.skipif(shutil.which("node") is None, reason="node runs the extension's tests")
def test_the_extension_passes_its_own_tests(tmp_path: Path) -> None:
    program = tmp_path / "sutler"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m sutler "$@"\n')
    program.chmod(0o755)
    env = {**os.environ, "SUTLER": str(program), "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        ["node", "--test", "test/"],
        cwd=EXTENSION,
        env=env,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
