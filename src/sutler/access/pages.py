"""Lines of a file, clean and bounded, whatever the file's size.

A file up to `WHOLE` bytes is read, redacted and only then sliced, so that no range can cut a secret
in half. A larger one is never read whole: its lines are located by counting newlines in a stream,
and the requested region is redacted with a margin on both sides that is longer than any key block.
Lines end at `\\n` alone and keep the characters before it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from functools import lru_cache
from hashlib import sha256

from msgspec import Struct

from sutler.access.gate import Gate
from sutler.access.large_files import MARGIN, SCANNED, digest_of, offset_of, read_at, sound_lines
from sutler.errors import RefusedError, SutlerError, UsageError
from sutler.formats.document import CleanText
from sutler.paths import RelPath, quote
from sutler.scan.root import Blob, Root, problem_of
from sutler.scan.snapshot import Problem
from sutler.scan.steady import PATIENCE, QUIET, Patience, changing, mark, read_at_rest, rest
from sutler.scan.text import decode, lines_of
from sutler.store.records import version_id
from sutler.system import fs

WHOLE = 4 << 20
KEPT = 1 << 20  # larger texts would evict all others from the cache
_CURSOR = re.compile(r"([1-9][0-9]{0,11})@([0-9a-f]{32})")


Linked = Callable[[RelPath, os.stat_result], bool]


class Page(Struct, frozen=True):
    """Some lines of one version of a file. `total` is None if the end was not reached; `whole` is
    the complete clean text, for small files only; `notes` are for the reader."""

    text: str
    first: int
    last: int
    total: int | None
    version: str
    digest: str
    size: int
    findings: int = 0
    cut: bool = False
    notes: tuple[str, ...] = ()
    whole: str = ""

    @property
    def more(self) -> bool:
        return self.cut or self.total is None or self.last < self.total


class Bounds(Struct, frozen=True):
    """Limits of a page in lines and characters."""

    lines: int
    chars: int


def place_of(cursor: str) -> tuple[int, str]:
    """Parse a cursor: the line to continue from and its version; without a cursor, the beginning of
    any."""
    if not cursor:
        return 1, ""
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise UsageError(
            "not a cursor of this door", next_step="use the cursor of the last answer, or none"
        )
    return int(match[1]), match[2]


class _Wanted(Struct, frozen=True):
    """The requested lines of a file: to the end if `last` is None."""

    path: RelPath
    first: int
    last: int | None
    bounds: Bounds


@lru_cache(maxsize=8)  # an agent pages through a few files; each text may have a megabyte
def _cached_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a text that is read in pieces; the last few texts are cached."""
    return tuple(lines_of(text))


class Pages:
    """Reads pages below one root, for calls that the gate admits."""

    def __init__(self, root: Root, gate: Gate, linked: Linked) -> None:
        """`linked`: whether a file in this state has another name that is denied."""
        self._linked = linked
        self._root = root
        self._gate = gate
        self._owner = fs.fstat(root.fd).st_uid

    def read(self, path: RelPath, first: int, last: int | None, bounds: Bounds) -> Page:
        """Return lines `first` to `last` (to the end if None) inside the bounds."""
        wanted = _Wanted(path, first, last, bounds)
        fd = self._open(path)
        try:
            notes = self._inspect(path, fs.fstat(fd))
            patience = Patience()
            state = rest(fd, patience)
            if state is None:
                raise _problem(changing(path))
            if state.st_size > WHOLE:
                return self._large(fd, state, wanted, notes)
            blob = read_at_rest(fd, path, WHOLE, patience)
            if isinstance(blob, Problem):
                raise _problem(blob)
            return self._small(blob, wanted, notes)
        finally:
            fs.close(fd)

    def blob(self, path: RelPath, patience: Patience) -> Blob | Problem:
        """Return the bytes of a small file at rest."""
        try:
            fd = self._root.open(path)
        except OSError as error:
            return problem_of(path, error)
        try:
            return read_at_rest(fd, path, WHOLE, patience)
        finally:
            fs.close(fd)

    def _open(self, path: RelPath) -> int:
        try:
            return self._root.open(path)
        except OSError as error:
            raise _problem(problem_of(path, error)) from None
        except ValueError:
            raise RefusedError(
                f"{quote(path)[:200]} is not a path", rule="paths are plain names"
            ) from None

    def _inspect(self, path: RelPath, state: os.stat_result) -> tuple[str, ...]:
        if stat.S_ISDIR(state.st_mode):
            raise RefusedError(
                f"{quote(path) if path else 'the project'} is a folder",
                rule="only regular text files are read, never through links",
                next_step=f"list_files with the glob {quote(f'{path}/**' if path else '**')}",
            )
        if not stat.S_ISREG(state.st_mode):
            raise _problem(Problem(path, "special", "not a regular file"))
        if state.st_nlink > 1:
            if state.st_uid != self._owner:
                raise RefusedError(
                    f"{quote(path)} is a second name for another user's file",
                    rule="hard links stay with their owner",
                )
            # By the open descriptor: the name may lead to another file than the gate decided about.
            if self._linked(path, state):
                raise RefusedError(
                    f"{quote(path)} is another name of a file that is denied",
                    rule="a hard link is the file it links to",
                )
            return (f"this file has {state.st_nlink} names on disk (hard links)",)
        return ()

    def whole(self, path: RelPath) -> Page:
        """Return a small file's complete clean text; larger ones are refused."""
        page = self.read(path, 1, None, Bounds(WHOLE, WHOLE))
        if page.more:
            raise RefusedError(
                f"{quote(path)} is too large for this ({page.size:,} bytes)",
                rule=f"at most {WHOLE:,} bytes",
                next_step="read a range of its lines, or search it",
            )
        return page

    def digest(self, path: RelPath) -> str:
        """Return the present digest of a file; empty if it cannot be read."""
        try:
            fd = self._open(path)
        except SutlerError:  # absent, or a path that leads outside: no version is equal to it
            return ""
        try:
            state = fs.fstat(fd)
            return digest_of(fd, state) if stat.S_ISREG(state.st_mode) else ""
        finally:
            fs.close(fd)

    def _small(self, blob: Blob, wanted: _Wanted, notes: tuple[str, ...]) -> Page:
        path, first = wanted.path, wanted.first
        digest = sha256(blob.data).hexdigest()
        decoded = decode(blob.data)
        if decoded is None:
            raise _problem(Problem(path, "binary", "not text"))
        if decoded.issue:
            notes = (*notes, decoded.issue)
        clean = self._gate.clean_text(path, decoded.text, digest)
        notes = (*notes, *_hidden(clean))
        lines = _cached_lines(clean.text)
        text, end, cut = _fill(lines, first, wanted.last, wanted.bounds)
        whole = clean.text if len(blob.data) <= KEPT else ""
        findings = len(clean.findings)
        size, version = len(blob.data), version_id(digest)
        return Page(
            text, first, end, len(lines), version, digest, size, findings, cut, notes, whole
        )

    def _large(
        self, fd: int, state: os.stat_result, wanted: _Wanted, notes: tuple[str, ...]
    ) -> Page:
        path, first, size = wanted.path, wanted.first, state.st_size
        _refuse_binary(os.pread(fd, 8_192, 0), path)
        digest = digest_of(fd, state)
        start = offset_of(fd, size, first)
        if start is None:
            return Page(
                "", first, first - 1, first - 1, version_id(digest), digest, size, 0, False, notes
            )
        if start < 0:
            raise RefusedError(
                f"line {first} of {quote(path)} lies beyond the first {SCANNED >> 20} MiB",
                rule=f"lines are counted in the first {SCANNED:,} bytes",
                next_step="read earlier lines, or split the file",
            )
        before = max(0, start - MARGIN)
        window = read_at(fd, before, start - before + wanted.bounds.chars + 2 * MARGIN, size)
        notes = (*notes, *_grown(path, state, fs.fstat(fd)))
        clean = self._gate.clean(window.decode("utf-8", "replace"), path)
        notes = (*notes, *_hidden(clean))
        lines, partial = sound_lines(
            window, clean.text, start - before, before + len(window) >= size
        )
        asked = None if wanted.last is None else wanted.last - first + 1
        text, end, cut = _fill(lines, 1, asked, wanted.bounds)
        complete = before + len(window) >= size and end == len(lines) and not cut
        cut = (
            cut
            or partial
            or (not complete and end == len(lines) and (asked is None or asked > end))
        )
        last = end + first - 1
        total = last if complete else None
        return Page(
            text,
            first,
            last,
            total,
            version_id(digest),
            digest,
            size,
            len(clean.findings),
            cut,
            notes,
        )


def _grown(path: RelPath, before: os.stat_result, after: os.stat_result) -> tuple[str, ...]:
    """Return a note if a large file changed while it was read. Lines that a log gained do not
    affect the answer. After any other change, the lines may belong to another version than the
    named one."""
    if mark(before) == mark(after):
        return ()
    if after.st_size <= before.st_size:
        raise _problem(changing(path))
    return ("the file grew while it was read: this is what it held when it was opened",)


def _hidden(clean: CleanText) -> tuple[str, ...]:
    """Return the note about hidden text."""
    if not clean.hidden:
        return ()
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in clean.hidden)
    return (f"hidden characters made visible: {kinds}",)


def _problem(problem: Problem) -> SutlerError:
    name = quote(problem.path)[:200]
    if problem.kind in ("vanished", "missing"):
        return SutlerError(f"no file {name}", next_step="list the files, and mind the spelling")
    if problem.kind == "changing":
        return RefusedError(
            f"{name} is being written just now",
            rule=(
                f"a file is read when it rests for {QUIET * 1e3:.0f} ms, within"
                f" {PATIENCE * 1e3:.0f} ms of waiting"
            ),
            next_step=(
                "try again in a moment; of a file that never rests, such as a busy log, read a copy"
            ),
        )
    kinds = {
        "loop": "is a symbolic link",
        "binary": "is not text",
        "special": "is not a regular file",
    }
    what = kinds.get(problem.kind, f"cannot be read ({problem.kind}: {problem.detail})")
    return RefusedError(
        f"{name} {what}", rule="only regular text files are read, never through links"
    )


def _refuse_binary(head: bytes, path: RelPath) -> None:
    if b"\0" in head or head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _problem(Problem(path, "binary", "not text, or UTF-16 too large to decode"))


def _fill(
    lines: Sequence[str], first: int, last: int | None, bounds: Bounds
) -> tuple[str, int, bool]:
    """Return as many of the wanted lines as the bounds hold: text, last line, and whether a bound
    cut it."""
    wanted = lines[first - 1 : last]
    if len(wanted) <= bounds.lines and len(text := "".join(wanted)) <= bounds.chars:
        return text, first + len(wanted) - 1, False
    taken: list[str] = []
    room = bounds.chars
    for line in wanted[: bounds.lines]:
        if len(line) > room:
            if not taken:  # not even one line fits: show its beginning
                return line[:room], first, True
            break
        taken.append(line)
        room -= len(line)
    return "".join(taken), first + len(taken) - 1, len(taken) < len(wanted)
