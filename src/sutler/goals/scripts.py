"""Run context scripts: shell commands, in declared order, whose trimmed output the prompt can use.

Parameters reach a script in two ways: the template inserts them into the command, as in the
original; and environment variables (`SUTLER_ARG_<NAME>`) hold them, which are safe from shell
injection."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence

from sutler.errors import SutlerError
from sutler.goals.goal import Script
from sutler.goals.template import render
from sutler.process import Bounds, capture

DEFAULT_SECONDS = 60.0  # a script that waits for input would wait for ever
WHITE = (  # what Rust's trim() removes, which is less than Python's strip()
    "\t\n\x0b\x0c\r"
    " \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def variable(name: str) -> str:
    """Return the environment variable of a parameter: `dash-key` is SUTLER_ARG_DASH_KEY."""
    return "SUTLER_ARG_" + re.sub(r"[^A-Z0-9]", "_", name.upper())


def run_scripts(
    scripts: Sequence[Script],
    args: Mapping[str, str],
    *,
    cwd: str,
    env: Mapping[str, str],
    seconds: float = DEFAULT_SECONDS,
    note: Callable[[str], None] = lambda text: None,
) -> dict[str, str]:
    """Return the output by script name. The first failure ends the run. Output on stderr becomes a
    note."""
    full_env = {**env, **{variable(name): value for name, value in args.items()}}
    # Shipped goals run modules of this package, which the `python` on PATH may lack.
    full_env["SUTLER_PYTHON"] = sys.executable
    outputs: dict[str, str] = {}
    for script in scripts:
        command = render(script.command, {"Args": dict(args)}, name=script.name, environ=env)
        outputs[script.name], stderr = _run(script.name, command, cwd, full_env, seconds)
        if stderr:
            note(f"{script.name}: {stderr}")
    return outputs


def _run(
    name: str, command: str, cwd: str, env: Mapping[str, str], seconds: float
) -> tuple[str, str]:
    """Return a script's trimmed output, and at most 2,000 characters of its stderr."""
    bounds = Bounds(seconds=seconds)
    try:
        done = capture(["sh", "-c", command], cwd=cwd, env=env, bounds=bounds)
    except (OSError, ValueError) as error:
        raise SutlerError(f"Failed to execute context script '{name}': {error}") from None
    if done.stopped == "time":
        raise SutlerError(
            f"Context script '{name}' did not finish in {seconds:g} seconds\nscript: {command}",
            rule="script time limit",
            next_step="make it faster, or raise the limit with --script-timeout",
        )
    if done.stopped == "size":
        raise SutlerError(
            f"Context script '{name}' printed more than {bounds.out_bytes // 1024 // 1024} MiB\n"
            f"script: {command}",
            rule="script output limit",
            next_step="filter its output",
        )
    if done.code != 0:
        stderr = done.err.decode("utf-8", "replace")
        raise SutlerError(
            f"Context script '{name}' failed with status {done.status}:\n"
            f"{stderr.rstrip()}\nscript: {command}"
        )
    try:
        text = done.out.decode("utf-8").strip(WHITE)
        return text, done.err.decode("utf-8", "replace").strip()[:2000]
    except UnicodeDecodeError:
        raise SutlerError(
            f"Script output for '{name}' was not valid UTF-8",
            rule="what enters a prompt is UTF-8",
            next_step=(
                "end the script with `| iconv -c -f UTF-8 -t UTF-8`, which leaves other bytes out"
            ),
        ) from None
