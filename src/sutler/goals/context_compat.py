"""`--context` by claw's rules, for byte-compatible sections.

Intended differences: the walk is sorted; links that leave the folder are not followed; credentials
and files that an AI-ignore file denies are not read."""

from __future__ import annotations

import codecs
import os

from msgspec import Struct
from msgspec.structs import replace

from sutler.errors import SutlerError
from sutler.goals.claw import Claw
from sutler.goals.context_files import (
    ContextFile,
    Gathered,
    Issue,
    Wanted,
    scan_at,
    secret_name,
)
from sutler.goals.section import components
from sutler.paths import RelPath, quote
from sutler.scan.git import find_repository
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded, Problem, ScanRules, Snapshot, covered

_MARKS = (
    codecs.BOM_UTF8,
    codecs.BOM_UTF16_LE,
    codecs.BOM_UTF16_BE,
    codecs.BOM_UTF32_LE,
    codecs.BOM_UTF32_BE,
)
_WITHHELD = ("credentials", "ai_denied", "hard_link")
"""Exclusion reasons that claw lacks; files excluded for these reasons are always reported."""


class _Seen(Struct, frozen=True):
    folder: str
    path: RelPath
    spelling: str
    size: int


def gather_files(wanted: Wanted) -> Gathered:
    """Collect files, errors and warnings in claw's order of checks."""
    clean = wanted.clean
    files: list[ContextFile] = []
    errors: list[Issue] = []
    warnings: list[str] = []
    withheld: list[str] = []
    counts: dict[str, int] = {}
    seen: list[_Seen] = []
    for argument in wanted.paths:
        seen += _discover(argument, wanted, withheld)
    for candidate in seen:
        if secret_name(candidate.spelling, clean):
            withheld.append(f"Left out: {clean(candidate.spelling, '')} (its name holds a secret)")
            continue
        outcome = _read(candidate, wanted.claw, counts)
        if isinstance(outcome, Issue):
            errors.append(outcome)
        elif outcome is None:
            warnings.append(f"Skipped binary file: {candidate.spelling}")
        else:
            display = _relative(candidate.spelling, wanted.cwd)
            files.append(ContextFile(display, clean(outcome, display)))
    return Gathered(tuple(files), tuple(errors), tuple(warnings), tuple(withheld))


def _relative(path: str, cwd: str) -> str:
    """Make an absolute path relative to the current folder; keep relative paths as they are."""
    names, base = components(path), components(os.path.realpath(cwd))
    if path.startswith("/") and names[: len(base)] == base and len(names) > len(base):
        return "/".join(names[len(base) :])
    return path


def _discover(argument: str, wanted: Wanted, withheld: list[str]) -> list[_Seen]:
    host = os.path.join(wanted.cwd, argument)
    if not os.path.exists(host):
        raise SutlerError(f"Path does not exist: {argument}")
    real = os.path.realpath(host)
    if not os.path.isdir(host):
        folder = os.path.dirname(real)
        snapshot = scan_at(real, wanted.cwd, replace(wanted.rules, hidden=False))
        withheld += [_left_out(argument, exclusion) for exclusion in snapshot.excluded]
        return [_Seen(folder, entry.path, argument, entry.size) for entry in snapshot.entries]
    rules = replace(wanted.rules, hidden=False, depth=wanted.depth)
    snapshot = _scanned(real, wanted.cwd, rules)
    for problem in snapshot.problems:
        if problem.kind == "denied":
            raise SutlerError(
                f"Permission denied: {argument.rstrip('/')}/{problem.path}".rstrip("/")
            )
    prefix = argument if argument.endswith("/") else f"{argument}/"
    withheld += [
        _left_out(prefix + exclusion.path, exclusion)
        for exclusion in snapshot.excluded
        if exclusion.reason in _WITHHELD
    ]
    candidates = [
        _Seen(real, entry.path, prefix + entry.path, entry.size) for entry in snapshot.entries
    ]
    candidates += [
        link
        for exclusion in snapshot.excluded
        if exclusion.reason == "symlink" and (link := _link(real, prefix, exclusion))
    ]
    admitted = [
        candidate for candidate in candidates if not _excluded(candidate.spelling, wanted.claw)
    ]
    # The original walks in the order of the disk, which differs between machines.
    return sorted(admitted, key=lambda candidate: candidate.spelling)


def _scanned(folder: str, cwd: str, rules: ScanRules) -> Snapshot:
    """Scan by claw's rules: outside a git repository .gitignore files have no effect, .ignore files
    do."""
    snapshot = scan_at(folder, cwd, rules)
    if find_repository(folder) is not None:
        return snapshot
    # This scan ignores both kinds of files; the exclusions by .ignore come from the first one.
    bare = scan_at(folder, cwd, replace(rules, git_rules=False))
    ignored = {
        exclusion.path
        for exclusion in snapshot.excluded
        if exclusion.reason == "ignored" and os.path.basename(exclusion.rule.source) != ".gitignore"
    }
    entries = [entry for entry in bare.entries if not covered(entry.path, ignored)]
    return replace(bare, entries=tuple(entries))


def _left_out(path: str, exclusion: Excluded) -> str:
    return f"Left out: {quote(path)} ({exclusion.reason.replace('_', ' ')}: {exclusion.rule})"


def _link(folder: str, prefix: str, exclusion: Excluded) -> _Seen | None:
    """Return the target of a link to a file inside the folder, else None. A broken link ends the
    run, as in claw."""
    host = os.path.join(folder, exclusion.path)
    real = os.path.realpath(host)
    if not os.path.exists(host):
        raise SutlerError(
            f"No such file or directory: {prefix}{exclusion.path} is a broken symbolic link"
        )
    if not os.path.isfile(host) or os.path.commonpath([real, folder]) != folder:
        return None
    return _Seen(
        folder,
        RelPath(os.path.relpath(real, folder)),
        prefix + exclusion.path,
        os.stat(real).st_size,
    )


def _excluded(path: str, claw: Claw) -> bool:
    name = path.rsplit("/", 1)[-1]
    dot = name.rfind(".")
    extension = name[dot + 1 :] if dot > 0 else ""
    if extension and extension in claw.excluded_extensions:
        return True
    return any(part in claw.excluded_directories for part in components(path))


def _read(candidate: _Seen, claw: Claw, counts: dict[str, int]) -> str | Issue | None:
    """Return the text, an Issue, or None for a binary file."""
    kilobytes = candidate.size // 1024
    if kilobytes > claw.max_file_size_kb:
        limit = claw.max_file_size_kb
        message = (
            f"File too large: {candidate.spelling} ({kilobytes} KB exceeds limit of {limit} KB)"
        )
        return Issue("too_large", candidate.spelling, message)
    parent = os.path.dirname(candidate.spelling)
    counts[parent] = counts.get(parent, 0) + 1
    if counts[parent] > claw.max_files_per_directory:
        limit, count = claw.max_files_per_directory, counts[parent]
        message = f"Too many files in directory: {parent} ({count} files exceeds limit of {limit})"
        return Issue("too_many", parent, message)
    with Root(candidate.folder) as root:
        blob = root.read(candidate.path)
    if isinstance(blob, Problem):
        denied = blob.kind == "denied"
        message = (
            f"Permission denied: {candidate.spelling}"
            if denied
            else f"I/O error reading {candidate.spelling}: {blob.detail}"
        )
        return Issue("denied" if denied else "unreadable", candidate.spelling, message)
    if _binary(blob.data):
        return None
    try:
        return blob.data.decode("utf-8")
    except UnicodeDecodeError:
        return Issue(
            "undecodable", candidate.spelling, f"UTF-8 decoding error: {candidate.spelling}"
        )


def _binary(data: bytes) -> bool:
    if data.startswith(_MARKS):
        return False
    return b"\0" in data[:1024] or data.startswith((b"%PDF", b"\x89PNG"))
