"""`--context` as claw finds and reads files, for those who need its very section.

Differences that remain on purpose: the walk is sorted, and nothing is read through a link that
leaves the given folder, nor are credentials and files that an AI-ignore file denies.
"""

from __future__ import annotations

import codecs
import os

from msgspec import Struct
from msgspec.structs import replace

from sutler.errors import SutlerError
from sutler.goals.claw import Claw
from sutler.goals.context_files import (
    Clean,
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
from sutler.scan.snapshot import Excluded, Problem, ScanRules, Snapshot

_MARKS = (
    codecs.BOM_UTF8,
    codecs.BOM_UTF16_LE,
    codecs.BOM_UTF16_BE,
    codecs.BOM_UTF32_LE,
    codecs.BOM_UTF32_BE,
)
_WITHHELD = ("credentials", "ai_denied", "hard_link")
"""Reasons that claw does not know: a file left out for one of them is always reported."""


class _Seen(Struct, frozen=True):
    folder: str
    path: RelPath
    given: str
    size: int


def gather_files(wanted: Wanted, *, clean: Clean | None = None) -> Gathered:
    """Files, errors and warnings as claw has them, in claw's order of checks."""
    files: list[ContextFile] = []
    errors: list[Issue] = []
    warnings: list[str] = []
    withheld: list[str] = []
    counts: dict[str, int] = {}
    seen: list[_Seen] = []
    for given in wanted.paths:
        seen += _discover(given, wanted, withheld)
    for one in seen:
        if clean and secret_name(one.given, clean):
            withheld.append(f"Left out: {clean(one.given, '')} (its name holds a secret)")
            continue
        found = _read(one, wanted.claw, counts)
        if isinstance(found, Issue):
            errors.append(found)
        elif found is None:
            warnings.append(f"Skipped binary file: {one.given}")
        else:
            shown = _relative(one.given, wanted.cwd)
            files.append(ContextFile(shown, clean(found, shown) if clean else found))
    return Gathered(tuple(files), tuple(errors), tuple(warnings), tuple(withheld))


def _relative(given: str, cwd: str) -> str:
    """The current folder is taken off absolute paths only."""
    names, base = components(given), components(os.path.realpath(cwd))
    if given.startswith("/") and names[: len(base)] == base and len(names) > len(base):
        return "/".join(names[len(base) :])
    return given


def _discover(given: str, wanted: Wanted, withheld: list[str]) -> list[_Seen]:
    host = os.path.join(wanted.cwd, given)
    if not os.path.exists(host):
        raise SutlerError(f"Path does not exist: {given}")
    real = os.path.realpath(host)
    if not os.path.isdir(host):
        folder = os.path.dirname(real)
        snapshot = scan_at(real, wanted.cwd, replace(wanted.rules, hidden=False))
        withheld += [_left_out(given, one) for one in snapshot.excluded]
        return [_Seen(folder, entry.path, given, entry.size) for entry in snapshot.entries]
    rules = replace(wanted.rules, hidden=False, depth=wanted.depth)
    snapshot = _scanned(real, wanted.cwd, rules)
    for problem in snapshot.problems:
        if problem.kind == "denied":
            raise SutlerError(f"Permission denied: {given.rstrip('/')}/{problem.path}".rstrip("/"))
    prefix = given if given.endswith("/") else f"{given}/"
    withheld += [
        _left_out(prefix + one.path, one) for one in snapshot.excluded if one.reason in _WITHHELD
    ]
    found = [_Seen(real, entry.path, prefix + entry.path, entry.size) for entry in snapshot.entries]
    found += [
        link
        for one in snapshot.excluded
        if one.reason == "symlink" and (link := _link(real, prefix, one))
    ]
    kept = [one for one in found if not _excluded(one.given, wanted.claw)]
    return sorted(kept, key=lambda one: one.given)


def _scanned(folder: str, cwd: str, rules: ScanRules) -> Snapshot:
    """A scan by claw's rules: outside a git repository a .gitignore does not count, but an .ignore
    does.
    """
    snapshot = scan_at(folder, cwd, rules)
    if find_repository(folder) is not None:
        return snapshot
    bare = scan_at(folder, cwd, replace(rules, git_rules=False))
    ignored = {
        one.path
        for one in snapshot.excluded
        if one.reason == "ignored" and os.path.basename(one.rule.source) != ".gitignore"
    }
    entries = [entry for entry in bare.entries if not _below_any(entry.path, ignored)]
    return replace(bare, entries=tuple(entries))


def _below_any(path: str, closed: set[str]) -> bool:
    names = path.split("/")
    return path in closed or any(
        "/".join(names[:depth]) + "/" in closed for depth in range(1, len(names))
    )


def _left_out(path: str, one: Excluded) -> str:
    return f"Left out: {quote(path)} ({one.reason.replace('_', ' ')}: {one.rule})"


def _link(folder: str, prefix: str, one: Excluded) -> _Seen | None:
    """A link to a file is read through, if it stays inside; one to nowhere ends the run."""
    host = os.path.join(folder, one.path)
    real = os.path.realpath(host)
    if not os.path.exists(host):
        raise SutlerError(
            f"No such file or directory: {prefix}{one.path} is a broken symbolic link"
        )
    if not os.path.isfile(host) or os.path.commonpath([real, folder]) != folder:
        return None
    return _Seen(
        folder, RelPath(os.path.relpath(real, folder)), prefix + one.path, os.stat(real).st_size
    )


def _excluded(given: str, claw: Claw) -> bool:
    name = given.rsplit("/", 1)[-1]
    dot = name.rfind(".")
    extension = name[dot + 1 :] if dot > 0 else ""
    if extension and extension in claw.excluded_extensions:
        return True
    return any(part in claw.excluded_directories for part in components(given))


def _read(one: _Seen, claw: Claw, counts: dict[str, int]) -> str | Issue | None:
    """The text, what is wrong with it, or None for a binary file."""
    kilobytes = one.size // 1024
    if kilobytes > claw.max_file_size_kb:
        limit = claw.max_file_size_kb
        message = f"File too large: {one.given} ({kilobytes} KB exceeds limit of {limit} KB)"
        return Issue("too_large", one.given, message)
    parent = os.path.dirname(one.given)
    counts[parent] = counts.get(parent, 0) + 1
    if counts[parent] > claw.max_files_per_directory:
        limit, count = claw.max_files_per_directory, counts[parent]
        message = f"Too many files in directory: {parent} ({count} files exceeds limit of {limit})"
        return Issue("too_many", parent, message)
    with Root(one.folder) as root:
        blob = root.read(one.path)
    if isinstance(blob, Problem):
        denied = blob.kind == "denied"
        message = (
            f"Permission denied: {one.given}"
            if denied
            else f"I/O error reading {one.given}: {blob.detail}"
        )
        return Issue("denied" if denied else "unreadable", one.given, message)
    if _binary(blob.data):
        return None
    try:
        return blob.data.decode("utf-8")
    except UnicodeDecodeError:
        return Issue("undecodable", one.given, f"UTF-8 decoding error: {one.given}")


def _binary(data: bytes) -> bool:
    if data.startswith(_MARKS):
        return False
    return b"\0" in data[:1024] or data.startswith((b"%PDF", b"\x89PNG"))
