"""Files given with `--context`: paths, globs, ranges of lines and stdin become files.

A path that the user names is held to the rules for named files; what a folder or a glob selects, to
the rules of a scan. The text that goes into the prompt is made in `section`.
"""

from __future__ import annotations

import os
import re

from msgspec import Struct
from msgspec.structs import replace

from sutler.goals.context_files import (
    Candidate,
    Clean,
    ContextFile,
    Discovery,
    Gathered,
    Issue,
    Wanted,
    issue_of,
    limit,
    read,
    scan_at,
    shown_path,
)
from sutler.goals.symlinks import links_in
from sutler.paths import RelPath, quote
from sutler.scan.globs import GlobSet
from sutler.scan.root import Root
from sutler.scan.snapshot import FileEntry, ScanRules, Snapshot
from sutler.scan.walk import explain

STDIN = "stdin"
"""The shown path of the text that `-` stands for."""
_LINES = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?")


def gather_files(wanted: Wanted, *, clean: Clean | None = None) -> Gathered:
    """Discover, limit and read; every error is collected, so that strict mode reports all."""
    found = discover(wanted)
    files = read(limit(found, wanted.claw), found, wanted.claw, clean)
    if wanted.stdin is not None:
        text = clean(wanted.stdin, STDIN) if clean else wanted.stdin
        files.append(ContextFile(STDIN, text))
    if wanted.paths and not files and not found.errors:
        found.warnings.append("no files were found in the given paths")
    return Gathered(tuple(files), tuple(found.errors), tuple(found.warnings))


def discover(wanted: Wanted) -> Discovery:
    """Every file below the given paths that the filters admit, in the order given, sorted below
    each.
    """
    found = Discovery([], [], [], set())
    for given in wanted.paths:
        host = os.path.join(wanted.cwd, given)
        if given == "-" and wanted.stdin is not None:
            continue
        if os.path.isdir(host):
            _discover_folder(found, os.path.realpath(host), wanted)
        elif os.path.exists(host):
            _discover_file(found, os.path.realpath(host), given, wanted)
        elif not _discover_lines(found, given, wanted) and not _discover_glob(found, given, wanted):
            message = "broken symbolic link" if os.path.lexists(host) else "does not exist"
            found.errors.append(Issue("missing", given, f"Path {message}: {quote(given)}"))
    return found


def _discover_lines(found: Discovery, given: str, wanted: Wanted) -> bool:
    """`PATH:10-40` and `PATH:10`, where PATH is a file."""
    match = _LINES.fullmatch(given)
    host = os.path.join(wanted.cwd, match[1]) if match else ""
    if not match or not os.path.isfile(host):
        return False
    first = int(match[2])
    last = int(match[3] or first)
    if not 0 < first <= last:
        message = f"Not a range of lines: {quote(given)}"
        found.errors.append(Issue("missing", given, message))
        return True
    start = len(found.candidates)
    found.seen.discard(os.path.realpath(host))  # two ranges of one file are two sections
    _discover_file(found, os.path.realpath(host), match[1], wanted)
    ranged = [replace(one, lines=(first, last)) for one in found.candidates[start:]]
    found.candidates[start:] = ranged
    return True


def _discover_glob(found: Discovery, given: str, wanted: Wanted) -> bool:
    """A glob selects among the files that a scan of the current folder finds."""
    if not any(char in given for char in "*?[{"):
        return False
    selected = GlobSet([given if given.startswith("/") else f"/{given}"])
    whole = Discovery([], [], [], set())
    _discover_folder(whole, os.path.realpath(wanted.cwd), wanted)
    matching = [one for one in whole.candidates if selected.match(RelPath(one.shown))]
    if not matching:
        found.errors.append(Issue("missing", given, f"No file matches: {quote(given)}"))
    for one in matching:
        where = os.path.join(one.folder, one.path)
        if where not in found.seen:
            found.seen.add(where)
            found.candidates.append(one)
    return True


def _discover_file(found: Discovery, host: str, given: str, wanted: Wanted) -> None:
    """A file the user named: filters do not apply, only what binds even a named file (credentials,
    AI denials).
    """
    folder = os.path.dirname(host)
    snapshot = scan_at(host, wanted.cwd, wanted.rules)
    for one in snapshot.excluded:
        why = f"{one.reason.replace('_', ' ')}: {one.rule}"
        found.errors.append(Issue("withheld", given, f"Left out: {quote(given)} ({why})"))
    _admit(found, folder, snapshot, wanted.cwd)


def _discover_folder(found: Discovery, host: str, wanted: Wanted) -> None:
    plain = [name.rstrip("/") for name in wanted.claw.excluded_directories]
    globs = [name for name in plain if any(char in name for char in "*?[{")]
    rules = replace(
        wanted.rules,
        depth=wanted.depth,
        excluded_directories=tuple(name for name in plain if name not in globs),
        excluded_extensions=wanted.claw.excluded_extensions,
    )
    _scan_folder(found, host, wanted, _Filter(rules, GlobSet(f"{glob}/" for glob in globs)))


_NO_GLOBS = GlobSet(())


class _Filter(Struct, frozen=True):
    """How a folder is scanned: the rules, and the excluded directories that are globs."""

    rules: ScanRules
    globs: GlobSet


def _scan_folder(
    found: Discovery, host: str, wanted: Wanted, filter: _Filter, alias: str = ""
) -> None:
    """`alias` is the path of the link that led here: what is found is shown below it."""
    snapshot = scan_at(host, wanted.cwd, filter.rules, wanted.tell)
    start = len(found.candidates)
    _warn_exclusions(found, host, snapshot, wanted)
    _admit(found, host, snapshot, wanted.cwd, filter.globs)
    if alias:
        moved = [
            replace(one, shown=os.path.join(alias, one.path)) for one in found.candidates[start:]
        ]
        found.candidates[start:] = moved
    if wanted.claw.symlinks == "follow":
        _follow_links(found, host, snapshot, wanted, filter, alias)
        found.candidates[start:] = sorted(found.candidates[start:], key=lambda one: one.shown)


def _follow_links(
    found: Discovery, host: str, snapshot: Snapshot, wanted: Wanted, filter: _Filter, alias: str
) -> None:
    """What the links of a folder lead to, under the links' own names. Each target once: links can
    make circles.
    """
    bounds = (os.path.realpath(wanted.cwd), host)
    for link in links_in(host, snapshot, bounds):
        shown = (
            os.path.join(alias, link.path)
            if alias
            else shown_path(os.path.join(host, link.path), wanted.cwd)
        )
        if link.leads in _WHY_NOT:
            found.warnings.append(
                f"Left out: {quote(shown)} (a symbolic link: {_WHY_NOT[link.leads]})"
            )
            continue
        bound = next(one for one in bounds if f"{link.real}/".startswith(f"{one}/"))
        target = None if link.real in found.seen else _admitted(bound, link.real, filter)
        if target is None:
            continue
        found.seen.add(link.real)
        depth = (
            None if filter.rules.depth is None else filter.rules.depth - link.path.count("/") - 1
        )
        if link.leads == "file":
            folder, name = os.path.split(link.real)
            found.candidates.append(Candidate(folder, RelPath(name), shown, target.size))
        elif depth is None or depth >= 0:
            _scan_folder(
                found,
                link.real,
                wanted,
                replace(filter, rules=replace(filter.rules, depth=depth)),
                shown,
            )


def _admitted(bound: str, real: str, filter: _Filter) -> FileEntry | None:
    """The target, if a scan would have come upon it: a link opens no folder that a filter or an
    ignore file closes.
    """
    path = RelPath(os.path.relpath(real, bound))
    if filter.globs.match(path, directory=True):
        return None
    with Root(bound) as root:
        verdict = explain(root, replace(filter.rules, depth=None), path)
    return verdict if isinstance(verdict, FileEntry) else None


_WHY_NOT = {
    "nowhere": "it leads nowhere",
    "outside": "it leads out of the project",
    "loop": "it leads back to a folder that holds it",
    "special": "it leads to something that is not a file",
}


def _warn_exclusions(found: Discovery, host: str, snapshot: Snapshot, wanted: Wanted) -> None:
    """Filters that the user set stay silent; what a person would not expect is said."""
    followed = wanted.claw.symlinks == "follow"
    for one in snapshot.excluded:
        if one.reason == "symlink" and followed:
            continue
        if one.reason in (
            "credentials",
            "ai_denied",
            "symlink",
            "hard_link",
            "special",
            "mount_point",
        ):
            shown = quote(shown_path(os.path.join(host, one.path), wanted.cwd))
            found.warnings.append(f"Left out: {shown} ({one.reason.replace('_', ' ')}: {one.rule})")


def _admit(
    found: Discovery, host: str, snapshot: Snapshot, cwd: str, globs: GlobSet = _NO_GLOBS
) -> None:
    for problem in snapshot.problems:
        shown = shown_path(os.path.join(host, problem.path), cwd)
        found.errors.append(issue_of(problem, shown))
    for entry in snapshot.entries:
        where = os.path.join(host, entry.path)
        if globs.match(entry.path) or where in found.seen:
            continue
        found.seen.add(where)
        found.candidates.append(Candidate(host, entry.path, shown_path(where, cwd), entry.size))
