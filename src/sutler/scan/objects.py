"""Trees and blobs of a revision, read as objects, and the differences of the work tree.

Only plumbing runs (see `history`), and the comparison is our own: a hostile configuration has no
filter, text conversion or external diff to hook into. Contents are compared raw, as stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha1, sha256

from msgspec import Struct

from sutler.errors import UsageError
from sutler.paths import RelPath, quote
from sutler.scan.commits import plumbing
from sutler.scan.root import Reader
from sutler.scan.snapshot import FileEntry, Problem

MAX_BLOB = 4_000_000
"""Limit in bytes of an old version that is read; the change of a larger one is named and not
shown."""


class Blob(Struct, frozen=True, gc=False):
    id: str
    size: int


class Change(Struct, frozen=True):
    """A path that differs from the revision; `old` is None for a new file, `gone` for a deleted
    one."""

    path: RelPath
    old: Blob | None
    gone: bool = False


def resolve(git_dir: str, revision: str) -> str:
    """Return the id of the commit that `revision` names."""
    if revision.startswith("-") or "\0" in revision:
        raise UsageError(
            f"{quote(revision)} is no revision", next_step="name a branch, a tag or a commit"
        )
    found = plumbing(
        git_dir, ["rev-list", "--max-count=1", "--end-of-options", revision, "--"]
    ).decode("ascii", "replace")
    if not found.strip():
        advice = "name the first commit alone" if ".." in revision else "see 'git log'"
        raise UsageError(f"no commit named {quote(revision)} here", next_step=advice)
    return found.strip()


def tree_of(git_dir: str, commit: str, below: str = "") -> dict[str, Blob]:
    """Return every regular file of a commit: path from `below` (a prefix such as `src/`) -> blob.
    Blobs that a partial clone lacks are left out."""
    listed = plumbing(
        git_dir, ["ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", commit]
    )
    files: dict[str, Blob] = {}
    for row in listed.split(b"\0"):
        head, _, raw = row.partition(b"\t")
        words = head.split()
        path = raw.decode("utf-8", "surrogateescape")
        regular = len(words) == 4 and words[0].startswith(b"100") and words[3].isdigit()
        if regular and path.startswith(below):
            files[path[len(below) :]] = Blob(words[2].decode(), int(words[3]))
    return files


def changes(entries: Sequence[FileEntry], reader: Reader, old: Mapping[str, Blob]) -> list[Change]:
    """Return the differences between a revision's files and the scanned ones, sorted by path. A
    file of the same size is compared by its blob id; excluded files do not count as gone unless
    their folder was scanned."""
    found: list[Change] = []
    here = {entry.path for entry in entries}
    for entry in entries:
        was = old.get(entry.path)
        if was is None:
            found.append(Change(entry.path, None))
        elif was.size != entry.size or _blob_id(reader, entry.path, len(was.id)) != was.id:
            found.append(Change(entry.path, was))
    found += [
        Change(RelPath(path), blob, gone=True)
        for path, blob in old.items()
        if RelPath(path) not in here
    ]
    return sorted(found, key=lambda change: change.path)


def _blob_id(reader: Reader, path: RelPath, length: int) -> str:
    blob = reader.read(path)
    return "" if isinstance(blob, Problem) else blob_id(blob.data, length)


def blob_id(content: bytes, length: int) -> str:
    """Return the id under which git stores these bytes; ids of 64 digits belong to a SHA-256
    repository."""
    data = b"blob %d\0" % len(content) + content
    if length == 64:  # SHA-256 repositories
        return sha256(data).hexdigest()
    return sha1(data, usedforsecurity=False).hexdigest()


def contents(git_dir: str, blobs: Iterable[Blob]) -> dict[str, bytes]:
    """Return the bytes of blobs by id; those above the limit are left out."""
    wanted = sorted({blob.id for blob in blobs if blob.size <= MAX_BLOB})
    if not wanted:
        return {}
    out = plumbing(
        git_dir, ["cat-file", "--batch"], "".join(f"{one}\n" for one in wanted).encode("ascii")
    )
    found: dict[str, bytes] = {}
    at = 0
    while at < len(out):
        end = out.find(b"\n", at)
        words = out[at:end].split()
        if end < 0 or len(words) != 3:
            break
        size = int(words[2])
        found[words[0].decode("ascii", "replace")] = out[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return found
