"""Files of a tree, written from git's objects into a private folder without a checkout.

The folder looks like a work tree: an index lists all files as tracked, so that the rules of a
project decide as they do in a checkout. A sketch has the names and sizes of all files, and the
contents only of those that rules are read from."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha1

from sutler.errors import RefusedError, SutlerError
from sutler.pack.unpack import deposit
from sutler.paths import basename, parse_relpath
from sutler.scan.commits import plumbing
from sutler.scan.objects import MAX_BLOB, Blob, contents, tree_of

_BATCH_BYTES = 32_000_000
_ENTRY = struct.Struct(">10I20sH")
_REGULAR = 0o100644


def export(source: str, tree: str, folder: str) -> dict[str, Blob]:
    """Write the regular files of a tree below `folder`. Skip links, submodules and invalid or
    unsafe names."""
    blobs = _tracked(source, tree, folder)
    fill(source, blobs, folder)
    return blobs


def sketch(source: str, tree: str, folder: str) -> dict[str, Blob]:
    """Write the names and sizes of the regular files of a tree, and the contents of files whose
    name begins with a dot: all that a scan reads."""
    blobs = _tracked(source, tree, folder)
    hidden = {path: blob for path, blob in blobs.items() if basename(path).startswith(".")}
    fill(source, hidden, folder)
    for path, blob in blobs.items():
        if path not in hidden:
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "xb") as stream:
                stream.truncate(blob.size)  # a hole: no space, and zeros if it is read
    return blobs


def export_files(source: str, tree: str, paths: Iterable[str], folder: str) -> None:
    """Write these files of a tree below `folder`."""
    wanted = set(paths)
    blobs = {path: blob for path, blob in tree_of(source, tree).items() if path in wanted}
    fill(source, blobs, folder)


def fill(source: str, blobs: Mapping[str, Blob], folder: str) -> None:
    """Write these files below `folder`; those above the limit of a blob are left out."""
    for paths in batches(blobs):
        texts = whole(source, [blobs[path] for path in paths])
        files = [
            (parse_relpath(path), texts[blobs[path].id], 0o644)
            for path in paths
            if blobs[path].id in texts
        ]
        deposit(folder, files)


def whole(source: str, blobs: Iterable[Blob]) -> dict[str, bytes]:
    """Return the contents of blobs by id, without those above the limit. An error if git ends
    before the last: what is missing would count as no text, for each repository with the blob."""
    wanted = list(blobs)
    texts = contents(source, wanted)
    if any(blob.id not in texts for blob in wanted if blob.size <= MAX_BLOB):
        raise SutlerError(
            "git cannot read all blobs of its tree",
            next_step="check the repository with 'git fsck', then 'sutler fleet retry' and run",
        )
    return texts


def batches(blobs: Mapping[str, Blob]) -> Iterator[list[str]]:
    """Yield the paths in order, in groups whose contents fit in memory."""
    paths: list[str] = []
    size = 0
    for path, blob in sorted(blobs.items()):
        paths.append(path)
        size += blob.size if blob.size <= MAX_BLOB else 0
        if size > _BATCH_BYTES:
            yield paths
            paths, size = [], 0
    if paths:
        yield paths


def _tracked(source: str, tree: str, folder: str) -> dict[str, Blob]:
    """Make `folder` a work tree without files whose index lists those of the tree."""
    listed = tree_of(source, tree)
    # One missing blob, and git lists no sizes at all.
    if not listed and b"\n100" in b"\n" + plumbing(source, ["ls-tree", "-r", tree]):
        raise RefusedError(
            "blobs of its tree are missing, as in a partial clone",
            rule="a repository is read whole",
            next_step="fetch what is missing, then 'sutler fleet retry' and run",
        )
    blobs = {path: blob for path, blob in listed.items() if _plain(path)}
    for name in ("objects", "refs"):
        os.makedirs(os.path.join(folder, ".git", name))
    for name, data in (("HEAD", b"ref: refs/heads/main\n"), ("index", _index(blobs))):
        with open(os.path.join(folder, ".git", name), "xb") as stream:
            stream.write(data)
    return blobs


def _index(paths: Iterable[str]) -> bytes:
    """Return an index of git, version 2, that only names files."""
    names = sorted(os.fsencode(path) for path in paths)
    parts = [b"DIRC", struct.pack(">2I", 2, len(names))]
    for name in names:
        head = _ENTRY.pack(*(0,) * 6, _REGULAR, *(0,) * 3, bytes(20), min(len(name), 0xFFF))
        parts += [head, name, bytes(8 - (len(head) + len(name)) % 8)]
    data = b"".join(parts)
    return data + sha1(data, usedforsecurity=False).digest()


def _plain(path: str) -> bool:
    try:
        parts = parse_relpath(path).split("/")
    except SutlerError:  # a name that no dataset can hold
        return False
    # A crafted tree can hold `.git` or `.GIT`, which git itself never checks out.
    return ".git" not in (part.lower() for part in parts)
