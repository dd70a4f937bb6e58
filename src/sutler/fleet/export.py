"""Files of a tree, written from git's objects into a private folder without a checkout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sutler.errors import SutlerError
from sutler.pack.unpack import deposit
from sutler.paths import parse_relpath
from sutler.scan.objects import Blob, contents, tree_of

_BATCH_BYTES = 32_000_000


def export(source: str, tree: str, folder: str) -> dict[str, Blob]:
    """Write the regular files of a tree below `folder`. Skip links, submodules and invalid or
    unsafe names."""
    blobs = {path: blob for path, blob in tree_of(source, tree).items() if _plain(path)}
    _export(source, blobs, folder)
    return blobs


def export_files(source: str, tree: str, paths: Iterable[str], folder: str) -> None:
    """Write these files of a tree below `folder`."""
    wanted = set(paths)
    blobs = {path: blob for path, blob in tree_of(source, tree).items() if path in wanted}
    _export(source, blobs, folder)


def _export(source: str, blobs: Mapping[str, Blob], folder: str) -> None:
    paths: list[str] = []
    size = 0
    for path, blob in sorted(blobs.items()):
        paths.append(path)
        size += blob.size
        if size > _BATCH_BYTES:
            _write(source, {name: blobs[name] for name in paths}, folder)
            paths, size = [], 0
    _write(source, {name: blobs[name] for name in paths}, folder)


def _plain(path: str) -> bool:
    try:
        parts = parse_relpath(path).split("/")
    except SutlerError:
        return False
    # A crafted tree can hold `.git` or `.GIT`, which git itself never checks out.
    return ".git" not in (part.lower() for part in parts)


def _write(source: str, blobs: Mapping[str, Blob], folder: str) -> None:
    texts = contents(source, blobs.values())
    files = [
        (parse_relpath(path), texts[blob.id], 0o644)
        for path, blob in blobs.items()
        if blob.id in texts
    ]
    deposit(folder, files)
