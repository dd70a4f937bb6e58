"""Files given with `--context`: found, limited, read once, and judged by the error mode.

Discovery and limits come before any reading, so that a strict run fails on what is too large or too
many without having opened a file. The text that goes into the prompt is made in `section`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from sutler.config import Mode
from sutler.errors import RefusedError, SutlerError
from sutler.goals.claw import Claw
from sutler.goals.symlinks import links_in
from sutler.paths import RelPath, quote
from sutler.scan.globs import GlobSet
from sutler.scan.root import Root
from sutler.scan.snapshot import FileEntry, Problem, ScanRules, Snapshot
from sutler.scan.text import decode
from sutler.scan.walk import explain, scan

Kind = Literal[
    "missing", "denied", "too_large", "too_many", "undecodable", "unreadable", "withheld"
]
Clean = Callable[[str, str], str]
"""Takes a text and its path and gives the text that may leave."""
Ask = Callable[[str], bool]
"""Shown the report, says whether to go on."""

NEAR = 0.8
"""From this share of a limit on, a warning says that the limit is near."""


class Issue(Struct, frozen=True):
    """An error of one path: what the mode decides about."""

    kind: Kind
    path: str
    message: str


class ContextFile(Struct, frozen=True):
    """A file's text under the path shown to the model."""

    path: str
    content: str


class Gathered(Struct, frozen=True):
    files: tuple[ContextFile, ...] = ()
    errors: tuple[Issue, ...] = ()
    warnings: tuple[str, ...] = ()


class Wanted(Struct, frozen=True):
    """What a run wants of its files: the paths as given, where from, how deep, under which
    limits.
    """

    paths: tuple[str, ...]
    cwd: str
    claw: Claw
    depth: int | None = None


class Candidate(Struct, frozen=True):
    """A file that passed the filters: its folder (a host path), its path there, how it is shown,
    its size.
    """

    folder: str
    path: RelPath
    shown: str
    size: int

    @property
    def parent(self) -> str:
        return os.path.dirname(self.shown) or "."


class Discovery(Struct):
    """What discovery found so far; de-duplicated by where a file really is."""

    candidates: list[Candidate]
    errors: list[Issue]
    warnings: list[str]
    seen: set[str]


def gather_files(wanted: Wanted, *, clean: Clean | None = None) -> Gathered:
    """Discover, limit and read. In strict mode errors found before reading end the work before
    reading.
    """
    found = discover(wanted)
    chosen = limit(found, wanted.claw)
    if wanted.claw.error_handling_mode == "strict" and found.errors:
        return Gathered((), tuple(found.errors), tuple(found.warnings))
    files = read(chosen, found, wanted.claw, clean)
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
        if not os.path.exists(host):
            message = "broken symbolic link" if os.path.lexists(host) else "does not exist"
            found.errors.append(Issue("missing", given, f"Path {message}: {quote(given)}"))
        elif os.path.isdir(host):
            _discover_folder(found, os.path.realpath(host), wanted)
        else:
            _discover_file(found, os.path.realpath(host), given, wanted)
    return found


def shown_path(host: str, cwd: str) -> str:
    return os.path.relpath(host, os.path.realpath(cwd))


def _discover_file(found: Discovery, host: str, given: str, wanted: Wanted) -> None:
    """A file the user named: filters do not apply, only what binds even a named file (credentials,
    AI denials).
    """
    folder, name = os.path.split(host)
    with Root(folder) as root:
        snapshot = scan(
            root, ScanRules(default_excludes=False, skip_file_bytes=None), [RelPath(name)]
        )
    for one in snapshot.excluded:
        why = f"{one.reason.replace('_', ' ')}: {one.rule}"
        found.errors.append(Issue("withheld", given, f"Left out: {quote(given)} ({why})"))
    _admit(found, folder, snapshot, wanted.cwd)


def _discover_folder(found: Discovery, host: str, wanted: Wanted) -> None:
    plain = [name.rstrip("/") for name in wanted.claw.excluded_directories]
    globs = [name for name in plain if any(char in name for char in "*?[{")]
    rules = ScanRules(
        default_excludes=False,
        hidden=False,
        depth=wanted.depth,
        skip_file_bytes=None,
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
    with Root(host) as root:
        snapshot = scan(root, filter.rules)
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
            message = f"Too many files in directory: {quote(parent)} ({len(files)} files exceeds limit of {most})"
            found.errors.append(Issue("too_many", parent, message))
        elif len(files) >= NEAR * most:
            found.warnings.append(f"{quote(parent)} has {len(files)} files, the limit is {most}")
    kept = {one.shown for files in by_parent.values() for one in files[:most]}
    return [one for one in small if one.shown in kept]


def _small_enough(one: Candidate, found: Discovery, claw: Claw) -> bool:
    kilobytes = claw.max_file_size_kb
    if one.size > kilobytes * 1024:
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
                blob = reader.read(one.path, claw.max_file_size_kb * 1024)
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
                    files.append(ContextFile(one.shown, text))
    return files


def secret_name(path: str, clean: Clean) -> bool:
    """A name cannot be rewritten without becoming a lie, so a file whose name holds a secret stays
    out.
    """
    return clean(quote(path), "") != quote(path)


def judge(
    gathered: Gathered,
    mode: Mode,
    ask: Ask | None,
    note: Callable[[str], None],
    *,
    compat: bool = False,
) -> None:
    """strict refuses on any error, flexible asks, ignore goes on. Warnings are always said (compat:
    with errors only).
    """
    if not compat:
        for warning in gathered.warnings:
            note(f"warning: {warning}")
    if not gathered.errors:
        return
    lines = [issue.message for issue in gathered.errors]
    refused = SutlerError if compat else RefusedError
    if mode == "strict":
        raise refused(
            f"Context processing failed with {len(lines)} error(s):\n  " + "\n  ".join(lines)
        )
    if mode == "ignore":
        for line in lines if not compat else [*gathered.warnings, *lines]:
            note(f"ignored: {line}" if not compat else line)
        return
    if ask is None:
        raise RefusedError(
            f"{len(lines)} problem(s) with the context files, and no terminal to ask on:\n  "
            + "\n  ".join(lines),
            rule="error_handling_mode: flexible",
            next_step="correct them, or choose --mode ignore or --mode strict",
        )
    if not ask(report(gathered)):
        raise refused("Context processing aborted by user.")


def report(gathered: Gathered) -> str:
    """What a person decides on in flexible mode."""
    lines = ["Context processing issues:", "", f"Errors ({len(gathered.errors)}):"]
    lines += [f"  - {issue.message}" for issue in gathered.errors]
    if gathered.warnings:
        lines += [
            "",
            f"Warnings ({len(gathered.warnings)}):",
            *(f"  - {one}" for one in gathered.warnings),
        ]
    lines += ["", f"Successfully processed {len(gathered.files)} file(s)."]
    return "\n".join(lines)
