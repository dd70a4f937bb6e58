"""`--since`, `--diff` and `--log`: changes as clean text, as lines of files, and as files that come
first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

from msgspec import Struct

from sutler.budget.selection import Choice, Material, Request
from sutler.edits.difference import unified
from sutler.errors import UsageError
from sutler.formats.document import CleanText
from sutler.paths import RelPath, normalize_path, quote
from sutler.scan.classify import facts_of
from sutler.scan.commits import read_history
from sutler.scan.git import (
    Repository,
    Tracked,
    find_repository,
    repository_config,
    user_config,
)
from sutler.scan.git_index import read_tracked
from sutler.scan.objects import Change, blob_id, changes, contents, resolve, tree_of
from sutler.scan.root import Reader, Root
from sutler.scan.snapshot import FileEntry, FileFacts, Problem, Snapshot
from sutler.scan.text import Loaded, decode
from sutler.secrets.cleaner import Clean
from sutler.tasks.wire import Change as TouchedFile

DIFF, LOG = "git/changes.diff", "git/log.txt"


class Changes(Struct, frozen=True):
    """Changed paths that still exist, their clean texts as sections, and for each path with a diff
    the lines that are new or around a deletion."""

    paths: tuple[RelPath, ...] = ()
    texts: tuple[Material, ...] = ()
    since: str = ""
    lines: Mapping[str, tuple[int, ...]] = {}

    def task(self) -> str:
        """Return the task for a ranking without a goal: the changed files."""
        return "".join(f"`{path}`\n" for path in self.paths[:40])


def changes_of(root: Root, snapshot: Snapshot, asked: Request, clean: Clean) -> Changes:
    """Read the requested changes from the repository's objects; its configuration takes no part."""
    repository = find_repository(root.anchor)
    if repository is None:
        raise UsageError(
            "this is not a git repository", rule="--since, --diff and --log read its history"
        )
    git_dir = repository.common
    texts: list[Material] = []
    paths: tuple[RelPath, ...] = ()
    lines: dict[str, tuple[int, ...]] = {}
    with root.reader() as reader:
        if asked.since or asked.diff:
            revision = asked.since or "HEAD"
            below = "/".join(repository.below(root.anchor))
            commit = resolve(repository.git_dir, revision)
            old = tree_of(git_dir, commit, f"{below}/" if below else "")
            found = _relevant(changes(snapshot.entries, reader, old), snapshot)
            paths = tuple(change.path for change in found if not change.gone) if asked.since else ()
            if asked.diff or asked.reviews:
                text, lines = _diff(found, git_dir, reader, clean)
                text = text or f"No file differs from {revision}.\n"
                texts.append(text_of_ours(DIFF, text, f"changes since {revision}", snapshot))
    if asked.log:
        commits = read_history(repository.git_dir, limit=asked.log)
        log = "".join(f"{one.id[:12]} {_first(one.message)}\n" for one in commits)
        texts.append(
            text_of_ours(LOG, clean(log, "").text, f"the last {len(commits)} commits", snapshot)
        )
    return Changes(paths, tuple(texts), asked.since, lines if asked.reviews else {})


def working_changes(root: Root, snapshot: Snapshot) -> list[TouchedFile]:
    """Return the files that the working tree changes against the last commit, for a contract. Every
    committed file is compared, excluded ones too; new files are those that no ignore rule
    excludes."""
    repository = find_repository(root.anchor)
    if repository is None:
        raise UsageError(
            "no change is given, and this is not a git repository",
            next_step="use --changed FILE, --new FILE, --stdin or --diff FILE ('-' for stdin)",
        )
    below = "/".join([*repository.below(root.anchor), ""])
    old = tree_of(repository.common, resolve(repository.git_dir, "HEAD"), below)
    settings = repository_config(repository)
    converts = _converts_line_ends(repository, settings)
    touched: list[TouchedFile] = []
    with root.reader() as reader:
        for path, was in sorted(old.items()):
            blob = reader.read(RelPath(path))
            if isinstance(blob, Problem) or not _is_blob(blob.data, was.id, converts):
                touched.append(TouchedFile(path))
    tracked = read_tracked(repository, settings)
    here: list[str] = [entry.path for entry in snapshot.entries]
    here += [one.path for one in snapshot.excluded if not (one.ignored or one.reason == "ignored")]
    for path in here:
        link = isinstance(tracked, Tracked) and tracked.link(f"{below}{path}")
        if path not in old and not (link or path.endswith("/")):
            touched.append(TouchedFile(path, True))
    return sorted(touched, key=lambda change: change.file)


def newness(folder: str) -> Callable[[str], bool]:
    """Return a function that decides whether a path from this folder is a new file: git does not
    track it; without git, no such file exists."""
    repository = find_repository(folder)
    tracked = read_tracked(repository, repository_config(repository)) if repository else None
    if repository is None or not isinstance(tracked, Tracked):
        return lambda path: not os.path.lexists(os.path.join(folder, normalize_path(path)))
    inside = os.path.relpath(folder, repository.top)
    prefix = "" if inside == "." else f"{inside}/"
    return lambda path: not tracked.file(f"{prefix}{normalize_path(path)}")


def _converts_line_ends(repository: Repository, settings: dict[str, str]) -> bool:
    """Return whether git may write other line ends into the work tree than a commit holds."""
    wanted = {**user_config(), **settings}.get("core.autocrlf", "").lower()
    attributes = (
        os.path.join(repository.top, ".gitattributes"),
        os.path.join(repository.common, "info", "attributes"),
    )
    return wanted in ("true", "input") or any(map(os.path.lexists, attributes))


def _is_blob(data: bytes, digest: str, converts: bool) -> bool:
    """Return whether a file equals the committed one, as it is or with the line ends of a
    checkout."""
    if blob_id(data, len(digest)) == digest:
        return True
    # Not every file that git stores has LF: one with CRLF in the commit was compared as it is.
    return (
        converts
        and b"\r\n" in data
        and blob_id(data.replace(b"\r\n", b"\n"), len(digest)) == digest
    )


def _first(message: str) -> str:
    return message.split("\n", 1)[0]


def _relevant(found: Sequence[Change], snapshot: Snapshot) -> list[Change]:
    """Drop changes of excluded files: a file that may not leave may not leave as a diff either."""
    kept_out = {item.path for item in snapshot.excluded}
    pruned = tuple(item.path for item in snapshot.excluded if item.path.endswith("/"))
    return [
        one
        for one in found
        if not (one.gone and (one.path in kept_out or one.path.startswith(pruned)))
    ]


def _diff(
    found: Sequence[Change], git_dir: str, reader: Reader, clean: Clean
) -> tuple[str, dict[str, tuple[int, ...]]]:
    """Return a unified diff of clean texts, and the changed lines of each file that still exists.
    Both sides are redacted whole before they are compared. For lock and generated files only the
    number of changed lines is stated: they repeat the contents of other files."""
    before = contents(git_dir, [one.old for one in found if one.old is not None])
    parts, derived = [], []
    lines: dict[str, tuple[int, ...]] = {}
    for one in found:
        old = _lines(before.get(one.old.id) if one.old else b"", one.path, clean)
        blob = None if one.gone else reader.read(one.path)
        new = _lines(
            b"" if blob is None or isinstance(blob, Problem) else blob.data, one.path, clean
        )
        name = quote(one.path)
        if old is None or new is None:
            parts.append(f"Binary or large file {name} differs\n")
            continue
        names = (f"a/{name}" if one.old else "/dev/null", "/dev/null" if one.gone else f"b/{name}")
        text = unified(old, new, *names)
        facts = facts_of(one.path)
        if facts.lock or facts.generated:
            added, removed = (_starting(mark, text) for mark in "+-")
            what = "Lock file" if facts.lock else "Generated file"
            derived.append(f"{what} {name}: {added} lines added, {removed} removed\n")
            continue
        parts.append(text)
        if not one.gone and one.old:  # the diff shows all of a new file
            lines[one.path] = touched_lines(text)
    return "".join(parts + derived), lines


def _starting(mark: str, diff: str) -> int:
    """Count the lines that a diff of one file adds (`+`) or removes (`-`)."""
    return sum(line.startswith(mark) for line in diff.split("\n")[2:])


def touched_lines(diff: str) -> tuple[int, ...]:
    """Return the lines of the new text that a diff of one file adds; for a deletion the lines
    around it."""
    lines: set[int] = set()
    at, last = 0, ""
    for line in diff.split("\n")[2:]:
        mark = line[:1]
        if last == "-" and mark not in ("-", "+"):
            lines |= {at - 1, at}
        if mark == "@":
            at = int(line.partition("+")[2].partition(" ")[0].partition(",")[0])
        elif mark == "+":
            lines.add(at)
        at += mark in ("+", " ")
        last = mark
    return tuple(sorted(line for line in lines if line > 0))


def _lines(data: bytes | None, path: str, clean: Clean) -> list[str] | None:
    decoded = decode(data) if data is not None else None
    if decoded is None:
        return None
    text = clean(decoded.text, path).text
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def text_of_ours(name: str, text: str, reason: str, snapshot: Snapshot) -> Material:
    """Present a clean text of ours as a file: named, so that it comes first, under a path that no
    file has."""
    taken = {entry.path for entry in snapshot.entries}
    path, number = name, 0
    while RelPath(path) in taken:
        number += 1
        stem, dot, ending = name.rpartition(".")
        path = f"{stem}-{number}{dot}{ending}"
    data = text.encode()
    entry = FileEntry(RelPath(path), len(data), named=True)
    language = "diff" if name == DIFF else ""
    choice = Choice(entry, FileFacts("text", "documentation", "doc", language), 0, 0.0, reason)
    return Material(
        choice, Loaded(entry.path, text, sha256(data).hexdigest(), len(data)), CleanText(text)
    )
