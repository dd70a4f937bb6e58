"""Names that are impossible on some platform, or mean another file there.

A file that an agent creates should be the same file wherever the project is checked out. On Windows
`aux.c` is a device, `a.txt:x` a stream of `a.txt`, `a.txt.` and `a.txt ` are `a.txt`, and `GIT~1`
is `.git`."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_PORTS = (f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³")
_DEVICES = frozenset(("con", "prn", "aux", "nul", "conin$", "conout$", "clock$", *_PORTS))


@cache
def _short_name() -> re.Pattern[str]:
    """Compile the names of eight and three characters that Windows gives to longer ones."""
    return re.compile(r"[^.]{1,7}~[0-9]{1,6}(?:\.[^.]{0,3})?")


def unportable(path: str) -> str:
    """Return in a few words why a relative path is not the same everywhere; empty if it is."""
    for name in path.split("/"):
        if why := _name(name):
            return why
    return ""


def unseen(path: str) -> str:
    """Return the code point of an invisible or reordering character in a path: bidi controls,
    zero-width characters, a byte order mark, line separators. Empty if there is none."""
    if path.isascii():
        return ""
    hidden = (char for char in path if unicodedata.category(char) in ("Cf", "Zl", "Zp", "Cc"))
    char = next(hidden, "")
    return f"U+{ord(char):04X}" if char else ""


def _name(name: str) -> str:
    if not name:
        return ""
    if "\\" in name:
        return "a backslash separates folders on Windows"
    if ":" in name:
        return "a colon names a drive or a stream on Windows"
    if any(char in '<>"|?*' or char < " " or char == "\x7f" for char in name):
        return "a character that Windows has in no name"
    if name[-1] in ". ":
        return "Windows drops a dot or space at the end"
    stem = name.split(".", 1)[0].rstrip(" ").casefold()
    if stem in _DEVICES:
        return f"{stem.upper()} is a device on Windows"
    if _short_name().fullmatch(name):
        return "a short name of Windows, which means another"
    return ""
