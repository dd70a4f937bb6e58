"""`--copy`: the clipboard program of this desktop, or the terminal itself by OSC 52."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Callable

from sutler.errors import RefusedError, SutlerError

_PROGRAMS = (
    ("WAYLAND_DISPLAY", ("wl-copy",)),
    ("DISPLAY", ("xclip", "-selection", "clipboard")),
    ("DISPLAY", ("xsel", "--clipboard", "--input")),
    ("", ("pbcopy",)),
    ("", ("clip.exe",)),
)
OSC52_LIMIT = 100_000
"""Bytes that common terminals accept in one OSC 52 sequence."""
SECONDS = 10
"""Time limit for a clipboard program to take the text."""


def copy(text: str, by_terminal: Callable[[str], None] | None = None) -> str:
    """Copy `text`; return its destination. The present owner of the terminal passes
    `by_terminal`."""
    data = text.encode()
    for variable, command in _PROGRAMS:
        wanted = not variable or os.environ.get(variable)
        if wanted and shutil.which(command[0]) and _handed_to(command, data):
            return f"clipboard ({command[0]})"
    if by_terminal is None:
        return _by_terminal(data)
    _check(data)
    by_terminal(text)
    return "clipboard (terminal)"


def _handed_to(command: tuple[str, ...], data: bytes) -> bool:
    """Pass data to a clipboard program. xclip and wl-copy stay in the background to serve it, so a
    pipe for their output would never end."""
    null = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command, input=data, stdout=null, stderr=null, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _by_terminal(data: bytes) -> str:
    """Ask the terminal to set the clipboard by OSC 52, which works over SSH. Only base64 of the
    pack is sent."""
    _check(data)
    try:
        with open("/dev/tty", "wb", buffering=0) as terminal:
            terminal.write(b"\x1b]52;c;" + base64.b64encode(data) + b"\x07")
    except OSError as error:
        raise SutlerError(
            "there is no clipboard program and no terminal to ask",
            next_step="install wl-copy, xclip or pbcopy, or write to a file with -o",
        ) from error
    return "clipboard (terminal)"


def _check(data: bytes) -> None:
    if len(data) > OSC52_LIMIT:
        raise RefusedError(
            f"the pack has {len(data):,} bytes and a terminal takes {OSC52_LIMIT:,}",
            rule="no clipboard program was found, so the terminal is asked (OSC 52)",
            next_step="install wl-copy, xclip or pbcopy, or write to a file with -o",
        )
