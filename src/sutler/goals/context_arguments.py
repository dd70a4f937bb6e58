"""Resolve `--context` arguments (paths, globs, line ranges, stdin) to files.

The rules for named files apply to a path that the user names. The rules of a scan apply to files
that a folder or a glob selects. The module `section` renders the files for the prompt."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from sutler.goals.context_files import (
    Candidate,
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
from sutler.paths import RelPath, quote
from sutler.scan.globs import GlobSet
from sutler.scan.root import Root
from sutler.scan.snapshot import FileEntry, ScanRules, Snapshot
from sutler.scan.walk import explain

STDIN = "stdin"
"""The display path of the text that `-` stands for."""
_LINES = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?")
_REPORTED = ("credentials", "ai_denied", "symlink", "hard_link", "special", "mount_point")
"""Exclusions that the user did not configure; configured filters stay silent."""


def gather_files(wanted: Wanted) -> Gathered:
    """Discover, limit and read. Collect every error, so that strict mode reports all of them."""
    discovery = discover(wanted)
    files = read(limit(discovery), discovery)
    if wanted.stdin is not None:
        files.append(ContextFile(STDIN, wanted.clean(wanted.stdin, STDIN)))
    if wanted.paths and not files and not discovery.errors:
        discovery.warnings.append("no files were found in the given paths")
    return Gathered(tuple(files), tuple(discovery.errors), tuple(discovery.warnings))


def discover(wanted: Wanted) -> Discovery:
    """Find every file below the paths that the filters admit, in the order of the paths, sorted
    within each."""
    discovery = Discovery(wanted)
    for argument in wanted.paths:
        host = os.path.join(wanted.cwd, argument)
        if argument == "-" and wanted.stdin is not None:
            continue
        if os.path.isdir(host):
            _discover_folder(discovery, os.path.realpath(host))
        elif os.path.exists(host):
            _discover_file(discovery, os.path.realpath(host), argument)
        elif not (_discover_lines(discovery, argument) or _discover_glob(discovery, argument)):
            what = "broken symbolic link" if os.path.lexists(host) else "does not exist"
            _missing(discovery, argument, f"Path {what}: {quote(argument)}")
    return discovery


def _missing(discovery: Discovery, argument: str, message: str) -> None:
    discovery.errors.append(Issue("missing", argument, message))


def _discover_lines(discovery: Discovery, argument: str) -> bool:
    """Handle `PATH:10-40` and `PATH:10`, where PATH is a file; return False for anything else."""
    match = _LINES.fullmatch(argument)
    host = os.path.join(discovery.wanted.cwd, match[1]) if match else ""
    if not match or not os.path.isfile(host):
        return False
    first = int(match[2])
    last = int(match[3] or first)
    if not 0 < first <= last:
        _missing(discovery, argument, f"Not a range of lines: {quote(argument)}")
        return True
    start = len(discovery.candidates)
    discovery.seen.discard(os.path.realpath(host))  # two ranges of one file are two sections
    _discover_file(discovery, os.path.realpath(host), match[1])
    ranged = [replace(candidate, lines=(first, last)) for candidate in discovery.candidates[start:]]
    discovery.candidates[start:] = ranged
    return True


def _discover_glob(discovery: Discovery, argument: str) -> bool:
    """Select by glob among the files of a scan of the current folder; return False if `argument` is
    not a glob."""
    if not any(char in argument for char in "*?[{"):
        return False
    # Anchored at the current folder, as in a shell.
    selected = GlobSet([argument if argument.startswith("/") else f"/{argument}"])
    whole = Discovery(discovery.wanted)
    _discover_folder(whole, os.path.realpath(discovery.wanted.cwd))
    matching = [item for item in whole.candidates if selected.match(RelPath(item.display))]
    if not matching:
        _missing(discovery, argument, f"No file matches: {quote(argument)}")
    for candidate in matching:
        discovery.add(candidate)
    return True


def _discover_file(discovery: Discovery, host: str, argument: str) -> None:
    """Add a file that the user named. Filters do not apply; credentials and AI denials are excluded
    all the same."""
    snapshot = scan_at(host, discovery.wanted.cwd, discovery.wanted.rules)
    for exclusion in snapshot.excluded:
        why = f"{exclusion.reason.replace('_', ' ')}: {exclusion.rule}"
        message = f"Left out: {quote(argument)} ({why})"
        discovery.errors.append(Issue("withheld", argument, message))
    _admit(discovery, os.path.dirname(host), snapshot)


def _discover_folder(discovery: Discovery, host: str) -> None:
    claw = discovery.wanted.claw
    plain = [name.rstrip("/") for name in claw.excluded_directories]
    globs = [name for name in plain if any(char in name for char in "*?[{")]
    rules = replace(
        discovery.wanted.rules,
        depth=discovery.wanted.depth,
        excluded_directories=tuple(name for name in plain if name not in globs),
        excluded_extensions=claw.excluded_extensions,
    )
    _scan_folder(discovery, host, _Filter(rules, GlobSet(f"{glob}/" for glob in globs)))


_NO_GLOBS = GlobSet(())


class _Filter(Struct, frozen=True):
    """Filters of a folder scan: the rules, and the excluded directories that are globs."""

    rules: ScanRules
    globs: GlobSet


def _scan_folder(discovery: Discovery, host: str, filter: _Filter, alias: str = "") -> None:
    """Scan one folder. `alias` is the path of the link that led to it; the display paths of its
    files start with the alias."""
    wanted, candidates = discovery.wanted, discovery.candidates
    snapshot = scan_at(host, wanted.cwd, filter.rules, wanted.tell)
    start = len(candidates)
    _warn_exclusions(discovery, host, snapshot)
    _admit(discovery, host, snapshot, filter.globs)
    if alias:
        candidates[start:] = [
            replace(item, display=os.path.join(alias, item.path)) for item in candidates[start:]
        ]
    if wanted.claw.symlinks == "follow":
        _follow_links(discovery, host, snapshot, filter, alias)
        candidates[start:] = sorted(candidates[start:], key=lambda item: item.display)


# A link is followed only inside the project: its target must lie below the named folder or below
# the current one, and the same filters apply to it as to other files there. The decision uses the
# real path. Reading goes through a descriptor of the target's folder and follows no link.
def _follow_links(
    discovery: Discovery, host: str, snapshot: Snapshot, filter: _Filter, alias: str
) -> None:
    """Add the targets of the links in a folder, under the paths of the links. Each target is added
    once, because links can form cycles."""
    cwd = discovery.wanted.cwd
    bounds = (os.path.realpath(cwd), host)
    for link in links_in(host, snapshot, bounds):
        shown = shown_path(os.path.join(host, link.path), cwd)
        display = os.path.join(alias, link.path) if alias else shown
        if link.obstacle:
            warning = f"Left out: {quote(display)} (a symbolic link: {link.obstacle})"
            discovery.warnings.append(warning)
            continue
        bound = next(top for top in bounds if f"{link.real}/".startswith(f"{top}/"))
        target = None if link.real in discovery.seen else _admitted(bound, link.real, filter)
        if target is None:
            continue
        discovery.seen.add(link.real)
        # The depth of the link counts, so that links cannot exceed the depth limit.
        above = link.path.count("/") + 1
        depth = None if filter.rules.depth is None else filter.rules.depth - above
        if os.path.isfile(link.real):
            folder, name = os.path.split(link.real)
            discovery.candidates.append(Candidate(folder, RelPath(name), display, target.size))
        elif depth is None or depth >= 0:
            deeper = replace(filter, rules=replace(filter.rules, depth=depth))
            _scan_folder(discovery, link.real, deeper, display)


class Link(Struct, frozen=True):
    """A link at `path` (below the scanned folder), its real path, and why it is not followed; ""
    if it may be."""

    path: str
    real: str
    obstacle: str


def links_in(host: str, snapshot: Snapshot, bounds: Sequence[str]) -> Iterator[Link]:
    """Yield the links that a scan of `host` excluded, with their targets. `bounds` are real folders
    that a target must be below."""
    for exclusion in snapshot.excluded:
        if exclusion.reason == "symlink":
            path = exclusion.path.rstrip("/")
            link = os.path.join(host, path)
            real = os.path.realpath(link)
            yield Link(path, real, _obstacle(link, real, bounds))


def _obstacle(link: str, real: str, bounds: Sequence[str]) -> str:
    if not any(_below(real, bound) for bound in bounds):
        # First check: do not reveal whether a file outside exists.
        return "it leads out of the project"
    if not os.path.exists(link):
        return "it leads nowhere"
    if os.path.isdir(real):
        loops = _below(os.path.realpath(os.path.dirname(link)), real)
        return "it leads back to a folder that holds it" if loops else ""
    return "" if os.path.isfile(real) else "it leads to something that is not a file"


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _admitted(bound: str, real: str, filter: _Filter) -> FileEntry | None:
    """Return the target if a scan from `bound` would include it, else None. A link must not bypass
    a filter or an ignore file."""
    path = RelPath(os.path.relpath(real, bound))
    if filter.globs.match(path, directory=True):
        return None
    with Root(bound) as root:
        verdict = explain(root, replace(filter.rules, depth=None), path)
    return verdict if isinstance(verdict, FileEntry) else None


def _warn_exclusions(discovery: Discovery, host: str, snapshot: Snapshot) -> None:
    followed = discovery.wanted.claw.symlinks == "follow"
    for exclusion in snapshot.excluded:
        reason = exclusion.reason
        if reason in _REPORTED and not (reason == "symlink" and followed):
            shown = shown_path(os.path.join(host, exclusion.path), discovery.wanted.cwd)
            why = f"{reason.replace('_', ' ')}: {exclusion.rule}"
            discovery.warnings.append(f"Left out: {quote(shown)} ({why})")


def _admit(discovery: Discovery, host: str, snapshot: Snapshot, globs: GlobSet = _NO_GLOBS) -> None:
    cwd = discovery.wanted.cwd
    for problem in snapshot.problems:
        display = shown_path(os.path.join(host, problem.path), cwd)
        discovery.errors.append(issue_of(problem, display))
    for entry in snapshot.entries:
        if not globs.match(entry.path):
            display = shown_path(os.path.join(host, entry.path), cwd)
            discovery.add(Candidate(host, entry.path, display, entry.size))
