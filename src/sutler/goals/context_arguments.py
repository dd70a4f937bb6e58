"""Resolve `--context` arguments (paths, globs, line ranges, stdin) to files.

The rules for named files apply to a path that the user names. The rules of a scan apply to files
that a folder or a glob selects. The module `section` renders the files for the prompt."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from sutler.goals import context_files
from sutler.paths import RelPath, quote
from sutler.scan.globs import GlobSet
from sutler.scan.root import Root
from sutler.scan.snapshot import FileEntry, ScanRules, Snapshot
from sutler.scan.walk import explain

Leads = Literal["file", "folder", "nowhere", "outside", "loop", "special"]


# A link is followed only inside the project: its target must lie below the named folder or below
# the current one, and the same filters apply to it as to other files there. The decision uses the
# real path. Reading goes through a descriptor of the target's folder and follows no link.
class Link(Struct, frozen=True):
    """A link at `path` (below the scanned folder), its real path, and the kind of its target."""

    path: str
    real: str
    leads: Leads


def links_in(host: str, snapshot: Snapshot, bounds: Sequence[str]) -> Iterator[Link]:
    """Yield the links that a scan of `host` excluded, with their targets. `bounds` are real folders
    that a target must be below."""
    for exclusion in snapshot.excluded:
        if exclusion.reason == "symlink":
            path = exclusion.path.rstrip("/")
            link = os.path.join(host, path)
            real = os.path.realpath(link)
            yield Link(path, real, _leads(link, real, bounds))


def _leads(link: str, real: str, bounds: Sequence[str]) -> Leads:
    if not any(_below(real, bound) for bound in bounds):
        return "outside"  # first check: do not reveal whether a file outside exists
    if not os.path.exists(link):
        return "nowhere"
    if os.path.isdir(real):
        return "loop" if _below(os.path.realpath(os.path.dirname(link)), real) else "folder"
    return "file" if os.path.isfile(real) else "special"


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


STDIN = "stdin"
"""The display path of the text that `-` stands for."""
_LINES = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?")


def gather_files(
    wanted: context_files.Wanted, *, clean: context_files.Clean | None = None
) -> context_files.Gathered:
    """Discover, limit and read. Collect every error, so that strict mode reports all of them."""
    discovery = discover(wanted)
    files = context_files.read(
        context_files.limit(discovery, wanted.claw), discovery, wanted.claw, clean
    )
    if wanted.stdin is not None:
        text = clean(wanted.stdin, STDIN) if clean else wanted.stdin
        files.append(context_files.ContextFile(STDIN, text))
    if wanted.paths and not files and not discovery.errors:
        discovery.warnings.append("no files were found in the given paths")
    return context_files.Gathered(tuple(files), tuple(discovery.errors), tuple(discovery.warnings))


def discover(wanted: context_files.Wanted) -> context_files.Discovery:
    """Find every file below the paths that the filters admit, in the order of the paths, sorted
    within each."""
    discovery = context_files.Discovery([], [], [], set())
    for argument in wanted.paths:
        host = os.path.join(wanted.cwd, argument)
        if argument == "-" and wanted.stdin is not None:
            continue
        if os.path.isdir(host):
            _discover_folder(discovery, os.path.realpath(host), wanted)
        elif os.path.exists(host):
            _discover_file(discovery, os.path.realpath(host), argument, wanted)
        elif not _discover_lines(discovery, argument, wanted) and not _discover_glob(
            discovery, argument, wanted
        ):
            message = "broken symbolic link" if os.path.lexists(host) else "does not exist"
            discovery.errors.append(
                context_files.Issue("missing", argument, f"Path {message}: {quote(argument)}")
            )
    return discovery


def _discover_lines(
    discovery: context_files.Discovery, argument: str, wanted: context_files.Wanted
) -> bool:
    """Handle `PATH:10-40` and `PATH:10`, where PATH is a file; return False for anything else."""
    match = _LINES.fullmatch(argument)
    host = os.path.join(wanted.cwd, match[1]) if match else ""
    if not match or not os.path.isfile(host):
        return False
    first = int(match[2])
    last = int(match[3] or first)
    if not 0 < first <= last:
        message = f"Not a range of lines: {quote(argument)}"
        discovery.errors.append(context_files.Issue("missing", argument, message))
        return True
    start = len(discovery.candidates)
    discovery.seen.discard(os.path.realpath(host))  # two ranges of one file are two sections
    _discover_file(discovery, os.path.realpath(host), match[1], wanted)
    ranged = [replace(candidate, lines=(first, last)) for candidate in discovery.candidates[start:]]
    discovery.candidates[start:] = ranged
    return True


def _discover_glob(
    discovery: context_files.Discovery, argument: str, wanted: context_files.Wanted
) -> bool:
    """Select by glob among the files of a scan of the current folder; return False if `argument` is
    not a glob."""
    if not any(char in argument for char in "*?[{"):
        return False
    # Anchored at the current folder, as in a shell.
    selected = GlobSet([argument if argument.startswith("/") else f"/{argument}"])
    whole = context_files.Discovery([], [], [], set())
    _discover_folder(whole, os.path.realpath(wanted.cwd), wanted)
    matching = [
        candidate for candidate in whole.candidates if selected.match(RelPath(candidate.display))
    ]
    if not matching:
        discovery.errors.append(
            context_files.Issue("missing", argument, f"No file matches: {quote(argument)}")
        )
    for candidate in matching:
        where = os.path.join(candidate.folder, candidate.path)
        if where not in discovery.seen:
            discovery.seen.add(where)
            discovery.candidates.append(candidate)
    return True


def _discover_file(
    discovery: context_files.Discovery, host: str, argument: str, wanted: context_files.Wanted
) -> None:
    """Add a file that the user named. Filters do not apply; credentials and AI denials are excluded
    all the same."""
    folder = os.path.dirname(host)
    snapshot = context_files.scan_at(host, wanted.cwd, wanted.rules)
    for exclusion in snapshot.excluded:
        why = f"{exclusion.reason.replace('_', ' ')}: {exclusion.rule}"
        discovery.errors.append(
            context_files.Issue("withheld", argument, f"Left out: {quote(argument)} ({why})")
        )
    _admit(discovery, folder, snapshot, wanted.cwd)


def _discover_folder(
    discovery: context_files.Discovery, host: str, wanted: context_files.Wanted
) -> None:
    plain = [name.rstrip("/") for name in wanted.claw.excluded_directories]
    globs = [name for name in plain if any(char in name for char in "*?[{")]
    rules = replace(
        wanted.rules,
        depth=wanted.depth,
        excluded_directories=tuple(name for name in plain if name not in globs),
        excluded_extensions=wanted.claw.excluded_extensions,
    )
    _scan_folder(discovery, host, wanted, _Filter(rules, GlobSet(f"{glob}/" for glob in globs)))


_NO_GLOBS = GlobSet(())


class _Filter(Struct, frozen=True):
    """Filters of a folder scan: the rules, and the excluded directories that are globs."""

    rules: ScanRules
    globs: GlobSet


def _scan_folder(
    discovery: context_files.Discovery,
    host: str,
    wanted: context_files.Wanted,
    filter: _Filter,
    alias: str = "",
) -> None:
    """Scan one folder. `alias` is the path of the link that led to it; the display paths of its
    files start with the alias."""
    snapshot = context_files.scan_at(host, wanted.cwd, filter.rules, wanted.tell)
    start = len(discovery.candidates)
    _warn_exclusions(discovery, host, snapshot, wanted)
    _admit(discovery, host, snapshot, wanted.cwd, filter.globs)
    if alias:
        moved = [
            replace(candidate, display=os.path.join(alias, candidate.path))
            for candidate in discovery.candidates[start:]
        ]
        discovery.candidates[start:] = moved
    if wanted.claw.symlinks == "follow":
        _follow_links(discovery, host, snapshot, wanted, filter, alias)
        discovery.candidates[start:] = sorted(
            discovery.candidates[start:], key=lambda candidate: candidate.display
        )


def _follow_links(
    discovery: context_files.Discovery,
    host: str,
    snapshot: Snapshot,
    wanted: context_files.Wanted,
    filter: _Filter,
    alias: str,
) -> None:
    """Add the targets of the links in a folder, under the paths of the links. Each target is added
    once, because links can form cycles."""
    bounds = (os.path.realpath(wanted.cwd), host)
    for link in links_in(host, snapshot, bounds):
        display = (
            os.path.join(alias, link.path)
            if alias
            else context_files.shown_path(os.path.join(host, link.path), wanted.cwd)
        )
        if link.leads in _WHY_NOT:
            discovery.warnings.append(
                f"Left out: {quote(display)} (a symbolic link: {_WHY_NOT[link.leads]})"
            )
            continue
        bound = next(top for top in bounds if f"{link.real}/".startswith(f"{top}/"))
        target = None if link.real in discovery.seen else _admitted(bound, link.real, filter)
        if target is None:
            continue
        discovery.seen.add(link.real)
        # The depth of the link counts, so that links cannot exceed the depth limit.
        depth = (
            None if filter.rules.depth is None else filter.rules.depth - link.path.count("/") - 1
        )
        if link.leads == "file":
            folder, name = os.path.split(link.real)
            discovery.candidates.append(
                context_files.Candidate(folder, RelPath(name), display, target.size)
            )
        elif depth is None or depth >= 0:
            _scan_folder(
                discovery,
                link.real,
                wanted,
                replace(filter, rules=replace(filter.rules, depth=depth)),
                display,
            )


def _admitted(bound: str, real: str, filter: _Filter) -> FileEntry | None:
    """Return the target if a scan from `bound` would include it, else None. A link must not bypass
    a filter or an ignore file."""
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


def _warn_exclusions(
    discovery: context_files.Discovery, host: str, snapshot: Snapshot, wanted: context_files.Wanted
) -> None:
    """Warn about exclusions that the user did not configure; configured filters stay silent."""
    followed = wanted.claw.symlinks == "follow"
    for exclusion in snapshot.excluded:
        if exclusion.reason == "symlink" and followed:
            continue
        if exclusion.reason in (
            "credentials",
            "ai_denied",
            "symlink",
            "hard_link",
            "special",
            "mount_point",
        ):
            display = quote(
                context_files.shown_path(os.path.join(host, exclusion.path), wanted.cwd)
            )
            discovery.warnings.append(
                f"Left out: {display} ({exclusion.reason.replace('_', ' ')}: {exclusion.rule})"
            )


def _admit(
    discovery: context_files.Discovery,
    host: str,
    snapshot: Snapshot,
    cwd: str,
    globs: GlobSet = _NO_GLOBS,
) -> None:
    for problem in snapshot.problems:
        display = context_files.shown_path(os.path.join(host, problem.path), cwd)
        discovery.errors.append(context_files.issue_of(problem, display))
    for entry in snapshot.entries:
        where = os.path.join(host, entry.path)
        if globs.match(entry.path) or where in discovery.seen:
            continue
        discovery.seen.add(where)
        discovery.candidates.append(
            context_files.Candidate(
                host, entry.path, context_files.shown_path(where, cwd), entry.size
            )
        )
