"""Files of a context section: types, limits and reading."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from sutler.goals.claw import Claw
from sutler.paths import RelPath, quote
from sutler.scan.root import Root
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
Ask = Callable[[str], bool]
"""Takes the report and returns whether to go on."""

NEAR = 0.8
"""Share of a limit from which a warning is issued."""


GOAL_RULES = ScanRules(default_excludes=False, skip_file_bytes=None)
"""Scan rules of the door `goal` if there are no settings."""


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
    depth: int | None = None
    stdin: str | None = None
    rules: ScanRules = GOAL_RULES
    tell: Callable[[int], None] | None = None


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


class Discovery(Struct):
    """Accumulator of discovery. `seen` holds real paths, so that each file is added once."""

    candidates: list[Candidate]
    errors: list[Issue]
    warnings: list[str]
    seen: set[str]


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
    return replace(
        snapshot,
        entries=tuple(
            replace(item, path=_stripped(item.path, prefix)) for item in snapshot.entries
        ),
        excluded=tuple(
            replace(item, path=_stripped(item.path, prefix)) for item in snapshot.excluded
        ),
        problems=tuple(
            replace(item, path=_stripped(item.path, prefix)) for item in snapshot.problems
        ),
    )


def _stripped(path: str, prefix: str) -> RelPath:
    return RelPath(path.removeprefix(prefix))


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


def limit(discovery: Discovery, claw: Claw) -> list[Candidate]:
    """Apply the size limit, then the limit of files per directory. A directory over the limit gives
    one error and its first files."""
    small = [
        candidate for candidate in discovery.candidates if _small_enough(candidate, discovery, claw)
    ]
    by_parent: dict[str, list[Candidate]] = {}
    for candidate in small:
        by_parent.setdefault(candidate.parent, []).append(candidate)
    most = claw.max_files_per_directory
    for parent, files in by_parent.items():
        if len(files) > most:
            message = (
                f"Too many files in directory: {quote(parent)}"
                f" ({len(files)} files exceeds limit of {most})"
            )
            discovery.errors.append(Issue("too_many", parent, message))
        elif len(files) >= NEAR * most:
            discovery.warnings.append(
                f"{quote(parent)} has {len(files)} files, the limit is {most}"
            )
    # By identity: a line range given twice makes two equal candidates.
    admitted = {id(candidate) for files in by_parent.values() for candidate in files[:most]}
    return [candidate for candidate in small if id(candidate) in admitted]


def _small_enough(candidate: Candidate, discovery: Discovery, claw: Claw) -> bool:
    kilobytes = claw.max_file_size_kb
    if candidate.size > max_bytes(claw):
        size = -(-candidate.size // 1024)
        message = (
            f"File too large: {quote(candidate.display)}"
            f" ({size} KB exceeds limit of {kilobytes} KB)"
        )
        discovery.errors.append(Issue("too_large", candidate.display, message))
        return False
    if candidate.size >= NEAR * kilobytes * 1024 and candidate.size:
        discovery.warnings.append(
            f"{quote(candidate.display)} has {candidate.size // 1024} KB,"
            f" the limit is {kilobytes} KB"
        )
    return True


def read(
    chosen: Sequence[Candidate], discovery: Discovery, claw: Claw, clean: Clean | None
) -> list[ContextFile]:
    """Read the candidates in order. Neighbours in one folder share its descriptor."""
    files: list[ContextFile] = []
    at = 0
    while at < len(chosen):
        folder = chosen[at].folder
        with Root(folder) as root, root.reader() as reader:
            while at < len(chosen) and chosen[at].folder == folder:
                candidate = chosen[at]
                at += 1
                if clean and secret_name(candidate.display, clean):
                    discovery.warnings.append(
                        f"Left out: {clean(quote(candidate.display), '')} (its name holds a secret)"
                    )
                    continue
                blob = reader.read(candidate.path, max_bytes(claw))
                if isinstance(blob, Problem):
                    discovery.errors.append(issue_of(blob, candidate.display))
                    continue
                decoded = decode(blob.data)
                if decoded is None:
                    discovery.warnings.append(f"Skipped binary file: {quote(candidate.display)}")
                elif decoded.issue:
                    message = f"UTF-8 decoding error: {quote(candidate.display)}"
                    discovery.errors.append(Issue("undecodable", candidate.display, message))
                else:
                    text = clean(decoded.text, candidate.display) if clean else decoded.text
                    taken = _taken(text, candidate, sha256(blob.data).hexdigest())
                    if isinstance(taken, Issue):
                        discovery.errors.append(taken)
                    else:
                        files.append(taken)
    return files


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
