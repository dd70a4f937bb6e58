from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.limits import LIMIT


def test_the_reasons_of_the_summary_add_up(tmp_path: Path) -> None:
    """More reasons than are named: the rest is counted, so that nobody looks for a file that is
    nowhere.
    """
    root = tmp_path / "project"
    for name in (
        "node_modules/a.js",
        "build/b.js",
        ".env",
        "c.png",
        "ignored.txt",
        "d.py",
        "out.py",
        "__pycache__/e.pyc",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x = 1\n")
    (root / ".sutlerignore").write_text("ignored.txt\n")
    (root / ".aiexclude").write_text("d.py\n")
    (root / "large.txt").write_text("x\n" * 2_000_000)
    (root / "link").symlink_to("d.py")
    (root / "raw.dat").write_bytes(bytes(range(256)))
    os.mkfifo(root / "pipe")
    home = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    words = [sys.executable, "-m", "sutler", "pack", "-e", "out.py", "-o", "../pack.md"]
    done = subprocess.run(
        words, cwd=root, env=home, capture_output=True, text=True, check=True, timeout=LIMIT
    )
    (line,) = (line for line in done.stderr.splitlines() if line.lstrip().startswith("out "))
    total, *parts = (
        int(number.replace(",", "")) for number in re.findall(r"(?<![\w.])[\d,]*\d", line)
    )
    assert "other" in line
    assert total == sum(parts)


def test_a_pack_that_leaves_files_out_says_what_to_do(tmp_path: Path) -> None:
    project = tmp_path / "project"  # beside the home folder, which no pack may hold
    project.mkdir()
    for number in range(30):
        (project / f"f{number}.py").write_text("x = 1\n" * 200)
    home = {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}
    words = [sys.executable, "-m", "sutler", "pack", "-o", "-"]
    runs = [
        subprocess.run(
            [*words, *more],
            cwd=project,
            env=home,
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
        ).stderr
        for more in (("--max-chars", "3000"), ("--no-budget",))
    ]
    assert "--goal TEXT" in runs[0]
    assert "--goal TEXT" not in runs[1]
