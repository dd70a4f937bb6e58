"""Turn an unexpected exception into a bug report in a private file, and a message that names it.

A traceback in a terminal shows host paths and values, and names no next step. The report holds what
a developer needs: command, version, platform and traceback. It passes the redactor, names modules
instead of files, and replaces absolute paths, so that it can be sent as it is."""

from __future__ import annotations

import hashlib
import linecache
import os
import re
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType
from typing import TYPE_CHECKING

from sutler.errors import SutlerError
from sutler.version import VERSION

if TYPE_CHECKING:
    import threading

FOLDER = "bug-reports"
MOST_REPORTS = 50
"""Limit of stored reports; a server that fails at every call must not fill the disk."""
_FIRST, _LAST = 10, 40
"""Frames shown of a long traceback, such as an endless recursion's."""
_LONGEST_WORD = 300  # a pasted prompt on the command line is not part of a fault
_ABSOLUTE = re.compile(r"(?<![\w./<>~])(?:/|[A-Za-z]:\\)[^\s'\"`<>,;:)\]}]+")


def explain(
    words: Sequence[str], error: BaseException, environ: Mapping[str, str] = os.environ
) -> SutlerError:
    """Write the report and return the message for the user. Never raises: it runs in handlers."""
    text = _clean(build(words, error), environ)
    path = _write(text, environ)
    kind = type(error).__name__
    if not path:
        sys.stderr.write(text)
    where = f"the bug report {path}" if path else "the bug report above"
    message = _clean(str(error).partition("\n")[0][:_LONGEST_WORD], environ)
    return SutlerError(
        f"unexpected error: {kind} in {_place(error)}" + (f": {message}" if message else ""),
        rule="this is a fault in sutler",
        next_step=(
            f"read {where}, then send it to the developers; secrets and paths were removed from it"
        ),
    )


def build(words: Sequence[str], error: BaseException) -> str:
    """Return the report before redaction."""
    import platform
    import shlex

    lines = [
        "sutler bug report",
        "",
        f"version: sutler {VERSION}",
        f"python: {platform.python_implementation()} {platform.python_version()}",
        f"platform: {platform.system()} {platform.release()} {platform.machine()}",
        f"command: {shlex.join(['sutler', *(word[:_LONGEST_WORD] for word in words)])}",
        "",
        *_traceback(error),
    ]
    return "\n".join(lines) + "\n"


def guard_threads(words: Sequence[str]) -> None:
    """Report an exception that ends a thread of a server. Python's own hook would print a raw
    traceback."""
    import threading

    def report(fault: threading.ExceptHookArgs) -> None:
        if fault.exc_value is not None:
            log(explain(words, fault.exc_value))

    threading.excepthook = report


def log(message: SutlerError) -> None:
    """Write one line to a server's log."""
    sys.stderr.write(f"sutler: {message.what} ({message.rule}); {message.next_step}\n")
    sys.stderr.flush()


def _traceback(error: BaseException) -> Iterator[str]:
    """Yield the chain of exceptions, the last one at the end, as Python prints it."""
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None:
        yield from _traceback(earlier)
        yield "which led to:"
    yield "traceback, most recent call last:"
    frames = list(_frames(error))
    if len(frames) > _FIRST + _LAST:
        frames[_FIRST:-_LAST] = [f"  ... {len(frames) - _FIRST - _LAST} more frames"]
    yield from frames
    yield f"{type(error).__qualname__}: {_message(error)}"


def _message(error: BaseException) -> str:
    try:
        return str(error)[:2_000]
    except Exception:  # an exception whose own text fails must not hide the first fault
        return "(no text)"


def _frames(error: BaseException) -> Iterator[str]:
    for module, line, code in _steps(error):
        yield f"  {module}:{line} in {code.co_qualname}"
        # Lines of other packages are omitted: they could be a user's own script.
        if module.startswith("sutler.") and (
            text := linecache.getline(code.co_filename, line).strip()
        ):
            yield f"    {text}"


def _place(error: BaseException) -> str:
    """Return the innermost frame of this package."""
    places = [f"{name}:{line}" for name, line, _ in _steps(error) if name.startswith("sutler.")]
    return places[-1] if places else "sutler"


def _steps(error: BaseException) -> Iterator[tuple[str, int, CodeType]]:
    """Yield the module, line and code of each frame of a traceback."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield str(frame.f_globals.get("__name__", "?")), line, frame.f_code


def _clean(text: str, environ: Mapping[str, str]) -> str:
    try:
        from sutler.secrets.cleaner import redacted_text

        text = redacted_text(text)
    except Exception:  # the redactor itself may be what failed: then nothing unredacted is written
        return (
            f"sutler bug report\n\nversion: sutler {VERSION}\n(left out: the report could not be"
            " redacted)\n"
        )
    return _without_paths(text, environ)


def _without_paths(text: str, environ: Mapping[str, str]) -> str:
    """Replace absolute paths, known folders first, since their names may hold spaces."""
    folders = [_current_folder(), environ.get("HOME", ""), sys.prefix]
    for folder in sorted((folder for folder in folders if len(folder) > 1), key=len, reverse=True):
        text = text.replace(folder, "<path>")
    return _ABSOLUTE.sub("<path>", text)


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # a removed current folder may be the fault itself
        return ""


def _write(text: str, environ: Mapping[str, str]) -> str:
    """Write the report; return its file name, or "" if no state can be stored. Equal reports are
    one file."""
    try:
        from sutler.store import home

        folder = home.private_dir(os.path.join(home.home(environ), FOLDER))
        data = text.encode(errors="backslashreplace")
        path = os.path.join(folder, f"bug-{hashlib.sha256(data).hexdigest()[:12]}.txt")
        home.private_file(path, data)
        _make_room(folder)
    except Exception:  # a full disk or a broken installation: the report is printed instead
        return ""
    return path


def _make_room(folder: str) -> None:
    reports = [entry for entry in os.scandir(folder) if entry.name.startswith("bug-")]
    reports.sort(key=lambda entry: (entry.stat().st_mtime_ns, entry.name))
    for entry in reports[:-MOST_REPORTS]:
        os.unlink(entry.path)
