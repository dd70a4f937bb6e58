"""Archives on disk as projects: wheel, sdist, npm tarball, zip."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from hashlib import file_digest
from typing import IO, NamedTuple

from sutler.errors import RefusedError
from sutler.paths import quote
from sutler.remote.shelf import Writer, fetched, plain_path

ZIPS = (".whl", ".zip")
TARS = (".tar.gz", ".tgz", ".tar", ".tar.xz", ".tar.bz2")
_BROKEN = (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, ValueError,
           RuntimeError, NotImplementedError)  # fmt: skip


class Member(NamedTuple):
    """A regular file of an archive, and how to open it."""

    name: str
    size: int
    executable: bool
    open: Callable[[], IO[bytes] | None]


def is_archive(path: str) -> bool:
    """Return whether a file from the user is an archive by its name."""
    return path.lower().endswith((*ZIPS, *TARS)) and os.path.isfile(path)


def unpacked(path: str, environ: Mapping[str, str]) -> str:
    """Return a folder with the regular files of an archive, cached from an earlier run. A single
    folder at the top is left out, as in sdists and npm tarballs."""
    what = f"the archive {quote(os.path.basename(path))}"
    try:
        with open(path, "rb") as stream:
            digest = file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise RefusedError(f"{what}: {error.strerror}") from None
    name = os.path.basename(path)
    for ending in (*TARS, *ZIPS):
        if name.lower().endswith(ending):
            name = name[: -len(ending)]
            break

    def fill(folder: str) -> None:
        try:
            _fill(path, Writer(folder, what), what)
        except _BROKEN as error:
            raise RefusedError(
                f"{what} cannot be read: {error}", rule="an archive is complete and not encrypted"
            ) from None

    return fetched(f"archive {digest} {name}", name or "archive", environ, fill)


def _fill(path: str, writer: Writer, what: str) -> None:
    if path.lower().endswith(ZIPS):
        with zipfile.ZipFile(path) as archive:
            _write(list(_of_zip(archive)), writer, what)
    else:
        with tarfile.open(path, "r:*") as tar:
            _write(list(_of_tar(tar)), writer, what)


def _write(members: list[Member], writer: Writer, what: str) -> None:
    cut = _top(members)
    for name, size, executable, opened in members:
        _checked(name, what, writer, size)
        stream = opened()
        data = b""
        if stream is not None:
            with stream:
                data = stream.read(size + 1)  # one byte too many shows a size that is not true
        writer.write(name[cut:], _bounded(data, size, what), executable=executable)


def _of_zip(archive: zipfile.ZipFile) -> Iterator[Member]:
    seen: set[str] = set()
    for info in archive.infolist():
        mode = info.external_attr >> 16
        if info.is_dir() or (stat.S_IFMT(mode) and not stat.S_ISREG(mode)):
            continue
        name = info.filename
        if name not in seen:
            seen.add(name)
            yield Member(name, info.file_size, bool(mode & 0o100), partial(archive.open, info))


def _of_tar(tar: tarfile.TarFile) -> Iterator[Member]:
    # A name may occur again: extraction would end with the last of them.
    last = {info.name: info for info in tar if info.isreg()}
    for name, info in last.items():
        opened = partial(tar.extractfile, info)
        yield Member(name.removeprefix("./"), info.size, bool(info.mode & 0o100), opened)


def _top(members: list[Member]) -> int:
    """Return the length of the one folder that holds everything, with its slash; else 0."""
    tops = {name.partition("/")[0] + "/" for name, *_ in members}
    nested = all("/" in name for name, *_ in members)
    return len(next(iter(tops))) if len(tops) == 1 and nested else 0


def _checked(name: str, what: str, writer: Writer, size: int) -> None:
    if not plain_path(name):
        raise RefusedError(
            f"{what} holds the path {quote(name)}", rule="a path stays inside its folder"
        )
    writer.room(size)


def _bounded(data: bytes, size: int, what: str) -> bytes:
    if len(data) > size:
        raise RefusedError(
            f"{what} holds more bytes than it declares", rule="a member has its stated size"
        )
    return data
