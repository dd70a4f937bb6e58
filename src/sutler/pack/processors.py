"""Programs of the user that convert a file to text: `"*.pdf" = "pdftotext {file} -"`.

Only the user's own settings can name them. A program gets a copy of the file in an empty folder,
few variables, and limits on time and output. Its text is redacted like any other, and cached if
redaction finds nothing in it: secrets are never cached."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from hashlib import sha256

from sutler.errors import UsageError
from sutler.pack.cache import decoded, encoded
from sutler.process import Bounds, capture
from sutler.scan.globs import GlobSet
from sutler.scan.snapshot import Problem
from sutler.store import home

SECONDS = 30.0  # one document; a converter that hangs must not hang the pack
LARGEST = 16 << 20
"""Limit of a processor's output in bytes."""
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "TZ")


class Processors:
    """Processors of the settings, in their order: the first glob that matches decides."""

    def __init__(self, rows: Sequence[str]) -> None:
        self._rows = [_row(row) for row in rows]
        self._last: tuple[str, bytes] = ("", b"")  # a file may be requested twice in a row

    def words_for(self, path: str) -> list[str]:
        """Return the program and its arguments for a file; empty if no glob matches."""
        return next((words for globs, words in self._rows if globs.match(path)), [])

    def text_of(self, path: str, data: bytes, digest: str) -> bytes | Problem | None:
        """Return the output of the file's processor, cached or new; None for a file without one."""
        words = self.words_for(path)
        if not words:
            return None
        place = _place(words, path, digest)
        if self._last[0] != place:
            kept = decoded(home.cached(place, os.environ), bytes)
            printed = _output(path, words, data) if kept is None else kept
            if isinstance(printed, Problem):
                return printed
            self._last = (place, printed)
        return self._last[1]

    def keep(self, path: str, digest: str, text: str) -> None:
        """Cache a text that redaction left unchanged."""
        place = _place(self.words_for(path), path, digest)
        if home.cached_file(place, os.environ) is None:
            home.keep(place, encoded(text.encode("utf-8", "replace")), os.environ, durable=False)


def _place(words: Sequence[str], path: str, digest: str) -> str:
    """Return the cache name for the output of these words about a file: another program or script,
    another name."""
    ending = os.path.splitext(path)[1]  # the only part of the path that a program gets
    key = repr((digest, ending, LARGEST, [(word, _version(word)) for word in words]))
    return f"processed-{sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.bin"


def _version(word: str) -> tuple[int, ...]:
    """Return stat data that change if the program or script of a word is replaced."""
    try:
        state = os.stat(shutil.which(word) or word)
    except (OSError, ValueError):  # the run itself reports that it is missing
        return ()
    return state.st_ino, state.st_size, state.st_mtime_ns


def _row(row: str) -> tuple[GlobSet, list[str]]:
    glob, _, command = row.partition("=")
    try:
        words = shlex.split(command)
    except ValueError as error:
        words = []
        command = f"{command} ({error})"
    if not glob.strip() or not any("{file}" in word for word in words[1:]):
        raise UsageError(
            f"the processor '{row}' cannot be run: {command.strip() or 'no command'}",
            rule="a processor is a program and its arguments, one of which holds {file}",
            next_step='write it in your own config file: [processors] "*.pdf" = "pdftotext '
            '{file} -"',
        )
    return GlobSet((glob.strip(),)), words


def _output(path: str, words: Sequence[str], data: bytes) -> bytes | Problem:
    """Run a processor on a copy of the file, in a folder and a process group of its own."""
    with tempfile.TemporaryDirectory(prefix="sutler-processor-") as folder:
        copy = os.path.join(folder, "file" + os.path.splitext(path)[1])
        with open(copy, "wb") as stream:
            stream.write(data)
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        try:
            # Only the program itself is waited for, as its descendants end with it.
            done = capture(
                [word.replace("{file}", copy) for word in words],
                cwd=folder,
                env={**env, "HOME": folder},
                bounds=Bounds(SECONDS, LARGEST, patience=0.0),
            )
        except OSError as error:
            return Problem(path, "malformed", f"processor {words[0]}: {error.strerror}")
        if done.stopped or done.code:
            limits = {"time": f"longer than {SECONDS:.0f} seconds", "size": "too much output"}
            why = limits.get(done.stopped) or f"exit code {done.code}"
            return Problem(path, "malformed", f"processor {words[0]}: {why}")
        return done.out
