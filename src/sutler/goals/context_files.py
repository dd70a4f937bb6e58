"""Files of a context section: types, limits and reading."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import groupby
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from sutler.goals.claw import Claw
from sutler.paths import RelPath, quote
from sutler.scan.root import Reader, Root
from sutler.scan.snapshot import Problem, ScanRules, Snapshot
from sutler.scan.text import decode
from sutler.scan.walk import scan

Kind = Literal[
    "missing",
    "denied",
    "too_large",
    "too_many",
    "undecodable",
    "unreadable",
    "withheld",
    "over_ceiling",
]
Clean = Callable[[str, str], str]
"""Takes a text and its path and returns the text that may leave."""


def unchanged(text: str, path: str) -> str:
    """Return the text as it is: the redactor that changes nothing."""
    del path
    return text


Ask = Callable[[str], bool]
"""Takes the report and returns whether to go on."""

NEAR = 0.8
"""Share of a limit from which a warning is issued."""


class Issue(Struct, frozen=True):
    """An error of one path; the error mode decides what follows."""

    kind: Kind
    path: str
    message: str


class ContextFile(Struct, frozen=True):
    """A file's text under its display path; `source` is the digest of the raw file, or "" if the
    text is only a part of it."""

    path: str
    content: str
    source: str = ""


class Gathered(Struct, frozen=True):
    """Files, errors and warnings. `withheld`: files that sutler's rules exclude and claw's do not
    (compat only)."""

    files: tuple[ContextFile, ...] = ()
    errors: tuple[Issue, ...] = ()
    warnings: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


class Wanted(Struct, frozen=True):
    """A request for context files: the paths as written, the current folder, the depth, the limits.
    `stdin` is the text that `-` stands for. `rules` are those of the door `goal`. `tell` is the
    progress callback with the number of files so far."""

    paths: tuple[str, ...]
    cwd: str
    claw: Claw
    rules: ScanRules
    depth: int | None = None
    stdin: str | None = None
    tell: Callable[[int], None] | None = None
    clean: Clean = unchanged


class Candidate(Struct, frozen=True):
    """A file that passed the filters: its folder (a host path), its path there, its display path,
    its size, and the requested lines (first and last, from 1)."""

    folder: str
    path: RelPath
    display: str
    size: int
    lines: tuple[int, int] | None = None

    @property
    def parent(self) -> str:
        return os.path.dirname(self.display) or "."


class Discovery:
    """Accumulator of discovery. `seen` holds real paths, so that each file is added once."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.candidates: list[Candidate] = []
        self.errors: list[Issue] = []
        self.warnings: list[str] = []
        self.seen: set[str] = set()

    def add(self, candidate: Candidate) -> None:
        where = os.path.join(candidate.folder, candidate.path)
        if where not in self.seen:
            self.seen.add(where)
            self.candidates.append(candidate)


def scan_at(
    host: str, cwd: str, rules: ScanRules, tell: Callable[[int], None] | None = None
) -> Snapshot:
    """Scan a real path. Result paths are relative to the folder, or to the folder of the file.

    If `host` is below the current folder, the scan starts at the current folder. This applies the
    ignore files and denials of the folders in between, inside and outside of a repository."""
    folder = host if os.path.isdir(host) else os.path.dirname(host)
    start = os.path.realpath(cwd)
    if host != start and not host.startswith(start.rstrip("/") + "/"):
        start = folder
    with Root(start) as root:
        named = [] if host == start else [RelPath(os.path.relpath(host, start))]
        snapshot = scan(root, rules, named, tell)
    prefix = "" if folder == start else os.path.relpath(folder, start) + "/"
    if not prefix:
        return snapshot
    below: dict[str, Any] = {
        name: tuple(
            replace(item, path=RelPath(item.path.removeprefix(prefix)))
            for item in getattr(snapshot, name)
        )
        for name in ("entries", "excluded", "problems")
    }
    return replace(snapshot, **below)


def shown_path(host: str, cwd: str) -> str:
    return os.path.relpath(host, os.path.realpath(cwd))


def issue_of(problem: Problem, display: str) -> Issue:
    path = quote(display)
    match problem.kind:
        case "denied":
            return Issue("denied", display, f"Permission denied: {path}")
        case "missing" | "vanished":
            return Issue("missing", display, f"File not found: {path}")
        case _:
            return Issue(
                "unreadable", display, f"I/O error reading {path}: {problem.detail or problem.kind}"
            )


def limit(discovery: Discovery) -> list[Candidate]:
    """Apply the size limit, then the limit of files per directory. A directory over the limit gives
    one error and its first files."""
    small = [item for item in discovery.candidates if _small_enough(item, discovery)]
    by_parent: dict[str, list[Candidate]] = {}
    for candidate in small:
        by_parent.setdefault(candidate.parent, []).append(candidate)
    most = discovery.wanted.claw.max_files_per_directory
    for parent, files in by_parent.items():
        count = len(files)
        if count > most:
            message = f"Too many files in directory: {quote(parent)}"
            message += f" ({count} files exceeds limit of {most})"
            discovery.errors.append(Issue("too_many", parent, message))
        elif count >= NEAR * most:
            discovery.warnings.append(f"{quote(parent)} has {count} files, the limit is {most}")
    # By identity: a line range given twice makes two equal candidates.
    admitted = {id(candidate) for files in by_parent.values() for candidate in files[:most]}
    return [candidate for candidate in small if id(candidate) in admitted]


def _small_enough(candidate: Candidate, discovery: Discovery) -> bool:
    claw, name = discovery.wanted.claw, quote(candidate.display)
    most = claw.max_file_size_kb
    if candidate.size > max_bytes(claw):
        size = -(-candidate.size // 1024)
        message = f"File too large: {name} ({size} KB exceeds limit of {most} KB)"
        discovery.errors.append(Issue("too_large", candidate.display, message))
        return False
    if candidate.size >= NEAR * most * 1024 and candidate.size:
        size = candidate.size // 1024
        discovery.warnings.append(f"{name} has {size} KB, the limit is {most} KB")
    return True


def read(chosen: Sequence[Candidate], discovery: Discovery) -> list[ContextFile]:
    """Read the candidates in order. Neighbours in one folder share its descriptor."""
    files: list[ContextFile] = []
    for folder, neighbours in groupby(chosen, key=lambda candidate: candidate.folder):
        with Root(folder) as root, root.reader() as reader:
            for candidate in neighbours:
                file = _read(candidate, reader, discovery)
                if isinstance(file, Issue):
                    discovery.errors.append(file)
                elif file is not None:
                    files.append(file)
    return files


def _read(candidate: Candidate, reader: Reader, discovery: Discovery) -> ContextFile | Issue | None:
    """Return a file, an error, or None after a warning."""
    name, clean = quote(candidate.display), discovery.wanted.clean
    if secret_name(candidate.display, clean):
        discovery.warnings.append(f"Left out: {clean(name, '')} (its name holds a secret)")
        return None
    blob = reader.read(candidate.path, max_bytes(discovery.wanted.claw))
    if isinstance(blob, Problem):
        return issue_of(blob, candidate.display)
    decoded = decode(blob.data)
    if decoded is None:
        discovery.warnings.append(f"Skipped binary file: {name}")
        return None
    if decoded.issue:
        return Issue("undecodable", candidate.display, f"UTF-8 decoding error: {name}")
    text = clean(decoded.text, candidate.display)
    return _taken(text, candidate, sha256(blob.data).hexdigest())


def _taken(text: str, candidate: Candidate, source: str) -> ContextFile | Issue:
    """Return the whole text or the requested lines. The cut follows redaction, because a secret can
    span several lines."""
    if candidate.lines is None:
        return ContextFile(candidate.display, text, source)
    first, last = candidate.lines
    rows = text.splitlines(keepends=True)
    display = f"{candidate.display}:{first}-{last}"
    if first > len(rows):
        message = f"No such lines: {quote(display)} (the file has {len(rows)})"
        return Issue("missing", display, message)
    return ContextFile(display, "".join(rows[first - 1 : last]))


def max_bytes(claw: Claw) -> int:
    """Return the size limit of a file, capped at the largest size that a read accepts."""
    return min(claw.max_file_size_kb * 1024, sys.maxsize)


def secret_name(path: str, clean: Clean) -> bool:
    """Return whether a path holds a secret. Such a file is left out: a redacted path would be
    wrong."""
    return clean(quote(path), "") != quote(path)
