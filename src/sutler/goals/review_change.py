"""Print the change that the shipped goal `review` examines, as a unified diff on stdout.

The change is the unstaged changes, else the staged ones, else the last commit; with
`SUTLER_ARG_BASE` everything since that commit. Its name goes to stderr. Git only lists stored
objects: no filter, hook, pager or external diff of a repository runs. Files that a scan excludes
are excluded from the change.

python -m sutler.goals.review_change"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from sutler.edits.difference import unified
from sutler.errors import SutlerError
from sutler.paths import RelPath, quote
from sutler.scan.commits import plumbing
from sutler.scan.git import find_repository
from sutler.scan.objects import Blob, blob_id, contents, resolve, tree_of
from sutler.scan.root import Root
from sutler.scan.snapshot import Problem, ScanRules, Snapshot, covered
from sutler.scan.walk import scan

MAX_COMPARED = 64 * 1024 * 1024
"""Size in bytes above which a file of the working tree is not compared."""
Texts = Mapping[str, bytes | None]
"""Contents by path; None where a file is too large to compare."""


def main() -> int:
    try:
        name, text = change(os.getcwd(), os.environ.get("SUTLER_ARG_BASE", ""))
    except SutlerError as error:
        sys.stderr.write(f"{error.what}\n")
        return 1
    if name:
        sys.stderr.write(f"{name}\n")
    sys.stdout.buffer.write(text.encode("utf-8", "ignore"))
    return 0


def change(folder: str, base: str) -> tuple[str, str]:
    """Return the name of the change and its diff; two empty texts if there is nothing to review."""
    repository = find_repository(folder)
    if repository is None:
        return "", ""
    below = os.path.realpath(folder)[len(repository.top) :].strip("/")
    prefix = f"{below}/" if below else ""
    git = repository.git_dir
    with Root(folder) as root:
        snapshot = scan(root, ScanRules(skip_file_bytes=None))
        if base:
            start = _since(git, base)
            return f"the change since {base}", _diff(
                git, _tree(git, start, prefix), _tree(git, "HEAD", prefix), snapshot
            )
        index = _index(git, prefix)
        unstaged = _unstaged(git, index, root, snapshot)
    if unstaged:
        return "the unstaged changes", unstaged
    head = _tree(git, "HEAD", prefix)
    staged = _diff(git, head, index, snapshot)
    if staged:
        return "the staged changes", staged
    if not head:
        return "", ""
    return "the last commit", _diff(git, _tree(git, "HEAD^", prefix), head, snapshot)


def _since(git: str, base: str) -> str:
    try:
        commit = resolve(git, base)
    except SutlerError:
        raise SutlerError(f"no such commit: {base}") from None
    # The common ancestor: commits on `base` after the fork are not part of the change.
    common = plumbing(git, ["merge-base", commit, "HEAD"]).decode("ascii", "replace").strip()
    return common or commit


def _tree(git: str, revision: str, prefix: str) -> dict[str, Blob]:
    """Return the files of a revision; none if it does not exist, as before the first commit."""
    try:
        return tree_of(git, resolve(git, revision), prefix)
    except SutlerError:
        return {}


def _index(git: str, prefix: str) -> dict[str, Blob]:
    """Return the staged files. Sizes are 0: `ls-files` does not print them, and they are unused."""
    listed = plumbing(git, ["ls-files", "--stage", "-z"])
    files: dict[str, Blob] = {}
    for row in listed.split(b"\0"):
        head, _, raw = row.partition(b"\t")
        words = head.split()
        path = raw.decode("utf-8", "surrogateescape")
        if len(words) == 3 and words[0].startswith(b"100") and path.startswith(prefix):
            files[path[len(prefix) :]] = Blob(words[1].decode(), 0)
    return files


def _unstaged(git: str, index: Mapping[str, Blob], root: Root, snapshot: Snapshot) -> str:
    """Diff the tracked files whose bytes differ from the staged ones. Line ends alone are no
    difference: git may convert them at checkout."""
    here = {str(entry.path) for entry in snapshot.entries}
    closed = frozenset(item.path for item in snapshot.excluded)
    old: dict[str, Blob] = {}
    new: dict[str, bytes | None] = {}
    with root.reader() as reader:
        for path, blob in index.items():
            if path not in here:
                if not covered(path, closed):
                    old[path] = blob
                continue
            read = reader.read(RelPath(path), MAX_COMPARED)
            if isinstance(read, Problem):
                continue
            plain = read.data.replace(b"\r\n", b"\n")
            if blob.id not in (blob_id(read.data, len(blob.id)), blob_id(plain, len(blob.id))):
                old[path], new[path] = blob, read.data
    before = contents(git, old.values())
    return _joined({path: before.get(blob.id) for path, blob in old.items()}, new)


def _diff(git: str, old: Mapping[str, Blob], new: Mapping[str, Blob], snapshot: Snapshot) -> str:
    """Diff two sets of stored files."""
    closed = frozenset(item.path for item in snapshot.excluded)
    paths = [
        path
        for path in sorted({*old, *new})
        if not covered(path, closed) and _id(old, path) != _id(new, path)
    ]
    before, after = (
        contents(git, [files[path] for path in paths if path in files]) for files in (old, new)
    )
    return _joined(
        {path: before.get(old[path].id) for path in paths if path in old},
        {path: after.get(new[path].id) for path in paths if path in new},
    )


def _id(files: Mapping[str, Blob], path: str) -> str:
    return files[path].id if path in files else ""


def _joined(old: Texts, new: Texts) -> str:
    return "".join(_file(path, old, new) for path in sorted({*old, *new}))


def _file(path: str, old: Texts, new: Texts) -> str:
    before, after = old.get(path, b""), new.get(path, b"")
    name = quote(path)
    # A NUL in the first 8,000 bytes is git's own test for a binary file.
    if before is None or after is None or b"\0" in before[:8000] or b"\0" in after[:8000]:
        return f"Binary or large file {name} differs\n"
    names = (
        f"a/{name}" if path in old else "/dev/null",
        f"b/{name}" if path in new else "/dev/null",
    )
    return unified(_lines(before), _lines(after), *names)


def _lines(data: bytes) -> list[str]:
    """Split into lines with their ends; drop bytes that are not UTF-8."""
    return data.decode("utf-8", "ignore").splitlines(keepends=True)


if __name__ == "__main__":
    raise SystemExit(main())
