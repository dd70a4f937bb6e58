"""Render the templates of the current folder with Tera; the child process of `template.py`.

Runs as a script, with the folder that holds `pytera` as its argument. Reads one JSON request
(`main`, `context`, `out_bytes`) from standard input and writes the text to standard output. Exit
code 3 means that Tera rejected the template; the reason is on standard error. Imports nothing from
sutler, to keep the start short."""

from __future__ import annotations

import json
import sys
from contextlib import suppress

CPU_SECONDS = 5  # the kernel ends a template that loops; the engine has no limit of its own
MEMORY_BYTES = 512 << 20  # room for the interpreter, the engine and a text of OUT_BYTES
# The interpreter itself ends with 1 and 2.
REFUSED = 3
TOO_LONG = 4


def limit() -> None:
    """Limit CPU time and memory if the platform can; the parent's time limit applies everywhere."""
    if sys.platform == "win32":
        return
    import resource

    bounds = (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CORE, 0),  # a dump would leave the prompt on the disk
    )
    for kind, most in bounds:
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(OSError, ValueError):  # macOS has RLIMIT_AS and rejects some values
            resource.setrlimit(kind, (most, most))


def main() -> int:
    sys.path.insert(0, sys.argv[1])
    request = json.load(sys.stdin.buffer)
    limit()
    import pytera

    try:
        text = pytera.PyTera("**/*").render_template(request["main"], **request["context"])
    except Exception as error:
        sys.stderr.buffer.write(str(error).encode(errors="replace"))
        return REFUSED
    data = text.encode()
    if len(data) > request["out_bytes"]:
        return TOO_LONG
    sys.stdout.buffer.write(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
