"""Archives on disk as projects: wheel, sdist, npm tarball, zip."""

from __future__ import annotations

import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from hashlib import file_digest

from sutler.errors import RefusedError
from sutler.paths import quote
from sutler.remote.shelf import Writer, fetched, plain_path

ZIPS = (".whl", ".zip")
TARS = (".tar.gz", ".tgz", ".tar", ".tar.xz", ".tar.bz2")
_BROKEN = (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, ValueError,
           RuntimeError, NotImplementedError)  # fmt: skip

Member = tuple[str, int, bool, object]
"""Name, size, whether it is executable, and the library's own record of it."""


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
        with zipfile.ZipFile(path) as opened:
            members = list(_of_zip(opened))
            cut = _top(members)
            for name, size, executable, info in members:
                _checked(name, what, writer, size)
                with opened.open(info) as stream:  # type: ignore[arg-type]  # ours, as above
                    writer.write(name[cut:], _bounded(stream.read(size + 1), size, what),
                                 executable=executable)  # fmt: skip
        return
    with tarfile.open(path, "r:*") as tar:
        members = list(_of_tar(tar))
        cut = _top(members)
        for name, size, executable, info in members:
            _checked(name, what, writer, size)
            file = tar.extractfile(info)  # type: ignore[arg-type]  # ours, as above
            data = file.read(size + 1) if file is not None else b""
            writer.write(name[cut:], _bounded(data, size, what), executable=executable)


def _of_zip(opened: zipfile.ZipFile) -> Iterator[Member]:
    seen: set[str] = set()
    for info in opened.infolist():
        mode = info.external_attr >> 16
        if info.is_dir() or (stat.S_IFMT(mode) and not stat.S_ISREG(mode)):
            continue
        if info.filename not in seen:
            seen.add(info.filename)
            yield info.filename, info.file_size, bool(mode & 0o100), info


def _of_tar(opened: tarfile.TarFile) -> Iterator[Member]:
    last = {info.name: info for info in opened if info.isreg()}
    for name, info in last.items():
        yield name.removeprefix("./"), info.size, bool(info.mode & 0o100), info


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
        raise RefusedError(f"{what} holds more than it says", rule="a member has its stated size")
    return data
