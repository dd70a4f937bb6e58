"""A table of the program with one row more, as a contributor would add it: in the module's
source.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).parents[1] / "src"
LIMIT = 60

_CHILD = """
import sys
from importlib.machinery import SourceFileLoader
old, new, kind = sys.argv[1:4]
plain = SourceFileLoader.get_data

def changed(loader, path):
    data = plain(loader, path)
    if path.endswith(kind):
        assert data.count(old.encode()) == 1, (path, old)
        return data.replace(old.encode(), new.encode())
    return data

SourceFileLoader.get_data = changed
sys.dont_write_bytecode = True
cached = SourceFileLoader.path_stats

def uncached(loader, path):
    if path.endswith(kind):
        raise OSError  # no bytecode for a source that is not the one on the disk
    return cached(loader, path)

SourceFileLoader.path_stats = uncached
from sutler.__main__ import command
sys.argv = ["sutler", *sys.argv[4:]]
command()
"""


class Row(NamedTuple):
    """An edit of one file of the package: `old`, which occurs once, becomes `new`."""

    file: str
    old: str
    new: str


def command_with(row: Row, *words: str) -> list[str]:
    return [sys.executable, "-c", _CHILD, row.old, row.new, row.file, *words]


def run_with(row: Row, *words: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command of a program whose table holds the row."""
    return subprocess.run(
        command_with(row, *words),
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def call_with(
    row: Row, tool: str, arguments: dict[str, object], *, cwd: Path
) -> subprocess.CompletedProcess[str]:
    """Call a tool of such a program."""
    return run_with(row, "call", tool, json.dumps(arguments), cwd=cwd)
