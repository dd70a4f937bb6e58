"""Scan a tree to a Snapshot: every path ends as an entry, an exclusion with its rule, or a problem.
Single paths are decided by the same code, folder by folder down from the root."""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from typing import Final

from sutler.paths import RelPath
from sutler.scan.descent import Descent
from sutler.scan.folders import Frame
from sutler.scan.root import DIRECTORY, Root, problem_of
from sutler.scan.snapshot import Excluded, FileEntry, Problem, Rule, ScanRules, Snapshot
from sutler.system import fs

MOST_NAMES: Final = 1_000_000  # all are held by inode to find hard links
UNKNOWN: Final = "its other names cannot be listed"
"""Reason to withhold a file with several names if the tree cannot be read whole."""


def scan(
    root: Root,
    rules: ScanRules,
    named: Sequence[RelPath] = (),
    tell: Callable[[int], None] | None = None,
) -> Snapshot:
    """Return everything below the root, or only the named files and folders, sorted by path. `tell`
    is called with the number of files so far, once for each folder."""
    walk = Descent(root, rules)
    walk.tell = tell
    if named:
        for path in sorted(set(named)):
            visit(walk, path, named=True)
    else:
        walk.descend(walk.top(), "")
    withhold_links(walk)
    return walk.found.snapshot(walk.directories, walk.problems())


def explain(
    root: Root, rules: ScanRules, path: RelPath, *, named: bool = False
) -> FileEntry | Excluded | Problem:
    """Return a scan's decision about one path, by the same code. A directory that is entered is an
    entry too."""
    walk = Descent(root, rules)
    folder = visit(walk, path, named=named, enter=False)
    withhold_links(walk)
    results: list[FileEntry | Excluded | Problem] = [
        *walk.found.entries,
        *walk.found.excluded,
        *walk.found.problems,
    ]
    return results[0] if results else folder or Problem(path, "missing", "no such file")


def withhold_links(walk: Descent) -> None:
    """Exclude each file with another name below the root that a binding rule excludes: a hard link
    is the file that it links to."""
    linked = [entry for entry in walk.found.entries if entry.links > 1]
    if not linked:
        return
    names = names_by_inode(walk.root, frozenset(entry.inode for entry in linked))
    refused: dict[str, str] = {}
    for entry in linked:
        others = [name for name in (names or {}).get(entry.inode, ()) if name != entry.path]
        reason = next(filter(None, (kept_out(walk, name) for name in others)), "")
        if names is None:
            refused[entry.path] = UNKNOWN
        elif reason:
            refused[entry.path] = f"another name of a file that stays out: {reason}"
    walk.found.entries = [entry for entry in walk.found.entries if entry.path not in refused]
    for path, why in refused.items():
        walk.found.excluded.append(Excluded(path, "hard_link", Rule("hard link", why)))


def names_by_inode(root: Root, inodes: frozenset[int] | None = None) -> dict[int, list[str]] | None:
    """Return every name below the root of files with these inodes, or of all, in closed, hidden and
    version control folders too. None if a folder cannot be listed or there are too many names."""
    names: dict[int, list[str]] = {}
    device, seen, todo = fs.fstat(root.fd).st_dev, 0, [""]
    while todo:
        folder = todo.pop()
        try:
            fd = root.open(RelPath(folder), DIRECTORY)
        except FileNotFoundError:  # removed since its parent was listed
            continue
        except OSError:  # a name in it may be one that must stay out
            return None
        try:
            if fs.fstat(fd).st_dev != device:
                continue  # a hard link cannot lead to another file system
            with fs.scandir(fd) as listing:
                for entry in listing:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(path)
                    elif inodes is None or entry.inode() in inodes:
                        names.setdefault(entry.inode(), []).append(path)
        except OSError:  # a name in it may be one that must stay out
            return None
        finally:
            fs.close(fd)
        if seen > MOST_NAMES:
            return None
    return names


def kept_out(walk: Descent, path: str) -> str:
    """Return the binding reason that excludes a path even if it is named; empty if there is
    none."""
    probe = Descent(walk.root, walk.rules)
    visit(probe, path, named=True, enter=False)
    for item in probe.found.excluded:
        if item.reason in ("credentials", "ai_denied") or item.rule.source == "git":
            return item.reason
    return ""


def visit(walk: Descent, path: str, *, named: bool, enter: bool = True) -> FileEntry | None:
    """Decide one path by walking down to it. With `enter`, a folder is scanned."""
    walk.found.several = True
    frame, prefix = walk.top(), ""
    *heads, last = path.split("/")
    if not last:
        if enter:
            walk.descend(frame, "")
        else:
            fs.close(frame.fd)
        return FileEntry(RelPath(""), 0, mode=0o040755, named=named)
    for name in heads:
        below = step(walk, frame, name, prefix, path, named)
        fs.close(frame.fd)
        if below is None:
            return None
        frame = below
        prefix += name + "/"
    try:
        return arrive(walk, frame, last, prefix, named, enter)
    finally:
        fs.close(frame.fd)


def step(
    walk: Descent, frame: Frame, name: str, prefix: str, path: str, named: bool
) -> Frame | None:
    """Open the next directory on the way to a single path."""
    if not prepare(walk, frame, prefix, named):
        return None
    try:
        mode = fs.stat(name, dir_fd=frame.fd, follow_symlinks=False).st_mode
    except OSError as error:
        walk.found.absent(path, error)
        return None
    if not stat.S_ISDIR(mode):
        if stat.S_ISLNK(mode):
            walk.found.unfit(prefix + name, mode, 0)
        else:
            walk.found.problems.append(Problem(path, "missing", "no such file"))
        return None
    return walk.enter(frame, name, prefix, alone=True, named=named)


def prepare(walk: Descent, frame: Frame, prefix: str, named: bool) -> bool:
    """Load the rules of a directory on the way to a single path, cached for the next path."""
    if prefix not in walk.ruled:
        try:
            names = fs.listdir(frame.fd)
        except OSError as error:
            walk.found.problems.append(problem_of(prefix.rstrip("/"), error))
            return False
        if frame.closed and walk.vendored(frame, prefix, names):
            return False
        if not walk.governed(frame, prefix, names, bool(prefix), named):
            return False
        walk.ruled[prefix] = frame.node, frame.ground
    frame.node, frame.ground = walk.ruled[prefix]
    return True


def arrive(
    walk: Descent, frame: Frame, name: str, prefix: str, named: bool, enter: bool
) -> FileEntry | None:
    """Decide the last name of a single path; a folder is returned as an entry."""
    if not prepare(walk, frame, prefix, named):
        return None
    path = prefix + name
    try:
        state = fs.stat(name, dir_fd=frame.fd, follow_symlinks=False)
    except OSError as error:
        walk.found.absent(path, error)
        return None
    if stat.S_ISDIR(state.st_mode):
        child = step(walk, frame, name, prefix, path, named)
        if child is None:
            return None
        if enter:
            child.depth = 0
            walk.descend(child, path + "/")
        else:
            fs.close(child.fd)
        return FileEntry(RelPath(path), 0, mode=state.st_mode, named=named)
    if path in walk.mounts:
        walk.found.mounted(path)
        return None
    if named:
        verdict = walk.judge.binding(frame.node, name, False, path)
    else:
        verdict = walk.file_verdict(frame, name, path, False)
    if (verdict or frame.closed) and walk.out(frame, verdict, path):
        return None
    walk.found.admit(path, state, named)
    return None
