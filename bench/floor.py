"""Build the floor program and make its input, when a C compiler is there."""

import os
import shutil
import subprocess
from collections.abc import Sequence

from bench.peers import Found, Tool

_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "floor.c")
_RECIPE = ("LIST", "OUT")
TOOL = Tool(
    "floor",
    dict.fromkeys(("raw", "tokens", "full"), _RECIPE),
    "a C compiler on PATH (cc, gcc or clang)",
)


def build(folder: str) -> Found | None:
    """The compiled floor, or None without a working compiler."""
    compiler = next((c for c in map(shutil.which, ("cc", "gcc", "clang")) if c), None)
    if compiler is None:
        return None
    program = os.path.join(folder, "floor")
    done = subprocess.run(
        [compiler, "-O2", "-o", program, _SOURCE], capture_output=True, check=False, timeout=600
    )
    return Found(TOOL, (program,), "C") if done.returncode == 0 else None


def write_list(files: Sequence[str], path: str) -> str:
    """The list that the floor reads: paths, each ended by a NUL."""
    with open(path, "wb") as out:
        out.writelines(os.fsencode(file) + b"\0" for file in files)
    return path
