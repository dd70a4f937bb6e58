"""Files of a context section: the types, the limits, and the reading."""

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
"""From this share of a limit on, a warning says that the limit is near."""


GOAL_RULES = ScanRules(default_excludes=False, skip_file_bytes=None)
"""The rules of the door `goal` without any settings."""


class Issue(Struct, frozen=True):
    """An error of one path: what the mode decides about."""

    kind: Kind
    path: str
    message: str


class ContextFile(Struct, frozen=True):
    """A file's text under the path shown to the model; `source` is the digest of the raw file where
    the text is all of it.
    """

    path: str
    content: str
    source: str = ""


class Gathered(Struct, frozen=True):
    """Files with what went wrong. `withheld`: what a rule of sutler keeps back in compat."""

    files: tuple[ContextFile, ...] = ()
    errors: tuple[Issue, ...] = ()
    warnings: tuple[str, ...] = ()
    withheld: tuple[str, ...] = ()


class Wanted(Struct, frozen=True):
    """What a run wants of its files: the paths as given, where from, how deep, under which limits.
    `stdin` is the text that `-` stands for, `rules` are those of the door `goal`, `tell` the progress callback with the number of files so far.
    """

    paths: tuple[str, ...]
    cwd: str
    claw: Claw
    depth: int | None = None
    stdin: str | None = None
    rules: ScanRules = GOAL_RULES
    tell: Callable[[int], None] | None = None


class Candidate(Struct, frozen=True):
    """A file that passed the filters: its folder (a host path), its path there, its shown path, its
    size, and the lines of it that are wanted (first and last, from 1).
    """

    folder: str
    path: RelPath
    shown: str
    size: int
    lines: tuple[int, int] | None = None

    @property
    def parent(self) -> str:
        return os.path.dirname(self.shown) or "."


class Discovery(Struct):
    """What discovery found so far; de-duplicated by where a file really is."""

    candidates: list[Candidate]
    errors: list[Issue]
    warnings: list[str]
    seen: set[str]


def scan_at(
    host: str, cwd: str, rules: ScanRules, tell: Callable[[int], None] | None = None
) -> Snapshot:
    """What a scan finds at a real path; a folder's paths are relative to it, a file's to its
    folder. Below the current folder the scan starts there, so that the ignore files and denials on
    the way down hold, whether or not this is a repository.
    """
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
        entries=tuple(replace(one, path=_stripped(one.path, prefix)) for one in snapshot.entries),
        excluded=tuple(replace(one, path=_stripped(one.path, prefix)) for one in snapshot.excluded),
        problems=tuple(replace(one, path=_stripped(one.path, prefix)) for one in snapshot.problems),
    )


def _stripped(path: str, prefix: str) -> RelPath:
    return RelPath(path.removeprefix(prefix))


def shown_path(host: str, cwd: str) -> str:
    return os.path.relpath(host, os.path.realpath(cwd))


def issue_of(problem: Problem, shown: str) -> Issue:
    path = quote(shown)
    match problem.kind:
        case "denied":
            return Issue("denied", shown, f"Permission denied: {path}")
        case "missing" | "vanished":
            return Issue("missing", shown, f"File not found: {path}")
        case _:
            return Issue(
                "unreadable", shown, f"I/O error reading {path}: {problem.detail or problem.kind}"
            )


def limit(found: Discovery, claw: Claw) -> list[Candidate]:
    """Apply the size limit, then the number for each directory; one error for each directory that
    has too many.
    """
    small = [one for one in found.candidates if _small_enough(one, found, claw)]
    by_parent: dict[str, list[Candidate]] = {}
    for one in small:
        by_parent.setdefault(one.parent, []).append(one)
    most = claw.max_files_per_directory
    for parent, files in by_parent.items():
        if len(files) > most:
            message = (
                f"Too many files in directory: {quote(parent)}"
                f" ({len(files)} files exceeds limit of {most})"
            )
            found.errors.append(Issue("too_many", parent, message))
        elif len(files) >= NEAR * most:
            found.warnings.append(f"{quote(parent)} has {len(files)} files, the limit is {most}")
    admitted = {id(one) for files in by_parent.values() for one in files[:most]}
    return [one for one in small if id(one) in admitted]


def _small_enough(one: Candidate, found: Discovery, claw: Claw) -> bool:
    kilobytes = claw.max_file_size_kb
    if one.size > max_bytes(claw):
        size = -(-one.size // 1024)
        message = f"File too large: {quote(one.shown)} ({size} KB exceeds limit of {kilobytes} KB)"
        found.errors.append(Issue("too_large", one.shown, message))
        return False
    if one.size >= NEAR * kilobytes * 1024 and one.size:
        found.warnings.append(
            f"{quote(one.shown)} has {one.size // 1024} KB, the limit is {kilobytes} KB"
        )
    return True


def read(
    chosen: Sequence[Candidate], found: Discovery, claw: Claw, clean: Clean | None
) -> list[ContextFile]:
    """Each file once, in order, through a descriptor of its folder."""
    files: list[ContextFile] = []
    at = 0
    while at < len(chosen):
        folder = chosen[at].folder
        with Root(folder) as root, root.reader() as reader:
            while at < len(chosen) and chosen[at].folder == folder:
                one = chosen[at]
                at += 1
                if clean and secret_name(one.shown, clean):
                    found.warnings.append(
                        f"Left out: {clean(quote(one.shown), '')} (its name holds a secret)"
                    )
                    continue
                blob = reader.read(one.path, max_bytes(claw))
                if isinstance(blob, Problem):
                    found.errors.append(issue_of(blob, one.shown))
                    continue
                decoded = decode(blob.data)
                if decoded is None:
                    found.warnings.append(f"Skipped binary file: {quote(one.shown)}")
                elif decoded.issue:
                    message = f"UTF-8 decoding error: {quote(one.shown)}"
                    found.errors.append(Issue("undecodable", one.shown, message))
                else:
                    text = clean(decoded.text, one.shown) if clean else decoded.text
                    taken = _taken(text, one, sha256(blob.data).hexdigest())
                    if isinstance(taken, Issue):
                        found.errors.append(taken)
                    else:
                        files.append(taken)
    return files


def _taken(text: str, one: Candidate, source: str) -> ContextFile | Issue:
    """The whole text, or the wanted lines of it: cut after redaction."""
    if one.lines is None:
        return ContextFile(one.shown, text, source)
    first, last = one.lines
    rows = text.splitlines(keepends=True)
    shown = f"{one.shown}:{first}-{last}"
    if first > len(rows):
        message = f"No such lines: {quote(shown)} (the file has {len(rows)})"
        return Issue("missing", shown, message)
    return ContextFile(shown, "".join(rows[first - 1 : last]))


def max_bytes(claw: Claw) -> int:
    """The size limit of a file; no file is larger than the largest number that a read takes."""
    return min(claw.max_file_size_kb * 1024, sys.maxsize)


def secret_name(path: str, clean: Clean) -> bool:
    """A name cannot be rewritten without becoming a lie, so a file whose name holds a secret stays
    out.
    """
    return clean(quote(path), "") != quote(path)
