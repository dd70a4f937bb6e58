"""Seed 003's interface for a Python program: `sutler.open(".")`."""

from __future__ import annotations

import os
import secrets
import weakref
from collections.abc import Sequence
from contextlib import ExitStack

from sutler.access.grants import Ask
from sutler.edits.file_access import FileAccessInterface
from sutler.errors import UsageError
from sutler.store.records import PROFILES, Caller
from sutler.system import fs
from sutler.tools.opening import open_door


def open(
    path: str | os.PathLike[str] = ".",
    *,
    writable: Sequence[str] = (),
    ask: Ask | None = None,
    profile: str = "cloud",
) -> FileAccessInterface:
    """Open a project for an agent loop: policy, redaction, conflict checks and the ledger apply.

    `writable` are globs of files that may be written without asking. Any other write calls `ask`
    with the approval; without `ask` it raises DeniedError, and `sutler approve ID` settles it.

    >>> import sutler
    >>> with sutler.open(".", writable=["src/**"]) as files:            # doctest: +SKIP
    ...     text = files.read_lines("src/app.py", 50, 80)
    ...     result = files.write_file("src/new.py", "x = 1\\n", "create")
    ...     result["success"], result["version_id"]"""
    if profile not in PROFILES:
        raise UsageError(
            f"no profile {profile[:40]!r}", next_step=f"profiles: {', '.join(sorted(PROFILES))}"
        )
    session = os.environ.get("SUTLER_SESSION") or f"python:{secrets.token_hex(16)}"
    caller = Caller(f"python:uid{fs.getuid()}", session, PROFILES[profile])
    stack = ExitStack()
    door = stack.enter_context(
        open_door(os.fspath(path), caller, ask=ask, writable=tuple(writable))
    )
    files = FileAccessInterface(door)
    files.close = weakref.finalize(files, stack.close)  # at the end of the program at the latest
    return files
