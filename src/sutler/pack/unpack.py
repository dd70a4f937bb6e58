"""Write the files of a pack below a directory: missing parents are created, and nothing is written
through a link or over a file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from msgspec import Struct

from sutler.errors import RefusedError, UsageError
from sutler.formats.document import PROCESSED, Pack, Section
from sutler.pack.diff import AnyPack, pack_digests, shown_texts
from sutler.paths import RelPath, basename, parse_relpath, quote, rel_of
from sutler.scan.text import encode
from sutler.survey.wire import FullPack, SummaryPack
from sutler.system import fs

_DIRECTORY = fs.O_RDONLY | fs.O_DIRECTORY | fs.O_NOFOLLOW | fs.O_CLOEXEC
_NEW = fs.O_WRONLY | fs.O_CREAT | fs.O_EXCL | fs.O_NOFOLLOW | fs.O_CLOEXEC


class UnpackedFile(Struct, frozen=True):
    """A file as a pack shows it. `source` is the digest of the project's own file."""

    path: RelPath
    level: str
    data: bytes
    mode: int
    source: str


def project_of(pack: AnyPack) -> str:
    """Return the name of the project that a pack was made of; for a task pack, the task's id."""
    if isinstance(pack, Pack):
        return pack.preamble.project
    if isinstance(pack, FullPack | SummaryPack):
        return basename(pack.metadata.source_root)
    return pack.task.id


def unpacked(pack: AnyPack) -> list[UnpackedFile]:
    """Return the files of a pack. A document holds text alone: its files are UTF-8 without a
    mode."""
    if isinstance(pack, Pack):
        return [
            UnpackedFile(section.path, section.level, _data(section), section.mode, section.source)
            for section in pack.sections
        ]
    if isinstance(pack, SummaryPack):
        raise UsageError(
            "a summary cannot be unpacked",
            rule="it holds facts about files, not their text",
            next_step="make a pack of --type full",
        )
    digests = pack_digests(pack)
    return [
        UnpackedFile(
            rel_of(path), level, text.encode("utf-8", "replace"), 0o644, digests.get(path, "")
        )
        for path, level, text in shown_texts(pack)
    ]


def _data(section: Section) -> bytes:
    """Return the bytes of the file: in its own encoding if the pack shows all of it. For the output
    of a processor, only that text exists."""
    own = section.level == "full" and section.encoding != PROCESSED
    return encode(section.body.text, section.encoding if own else "utf-8")


def deposit(directory: str, files: Iterable[tuple[RelPath, bytes, int]]) -> int:
    """Write each (path, data, mode) below `directory`, which is created if it is absent. Return
    their number.

    A path that exists is refused before anything is written; later collisions (another process)
    stop the work."""
    wanted = list(files)
    for path, _, _ in wanted:
        if parse_relpath(path) != path or not path:
            raise RefusedError(
                f"{quote(path)} is no plain path", rule="unpacked files stay below the directory"
            )
    os.makedirs(directory, exist_ok=True)
    root = fs.open(directory, fs.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC)
    try:
        taken = [path for path, _, _ in wanted if _exists(root, path)]
        if taken:
            shown = ", ".join(map(quote, taken[:5])) + (
                f" and {len(taken) - 5:,} more" if len(taken) > 5 else ""
            )
            raise RefusedError(
                f"{shown} already exist{'s' if len(taken) == 1 else ''}",
                rule="unpack writes over nothing",
                next_step="unpack into an empty directory",
            )
        for path, data, mode in wanted:
            _create(root, path, data, mode)
    finally:
        fs.close(root)
    return len(wanted)


def _exists(root: int, path: str) -> bool:
    """Return whether an object is at `path`, or in its way; links are not followed."""
    fd, opened = root, False
    *parents, name = path.split("/")
    try:
        for parent in parents:
            try:
                step = fs.open(parent, _DIRECTORY, dir_fd=fd)
            except FileNotFoundError:
                return False
            except OSError:  # a file or a link stands where a folder should be
                return True
            if opened:
                fs.close(fd)
            fd, opened = step, True
        try:
            fs.stat(name, dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True
    finally:
        if opened:
            fs.close(fd)


def _create(root: int, path: str, data: bytes, mode: int) -> None:
    fd, opened = root, False
    *parents, name = path.split("/")
    try:
        for parent in parents:
            with suppress(FileExistsError):
                fs.mkdir(parent, 0o777, dir_fd=fd)
            step = fs.open(parent, _DIRECTORY, dir_fd=fd)
            if opened:
                fs.close(fd)
            fd, opened = step, True
        file = fs.open(name, _NEW, 0o777 if mode & 0o100 else 0o666, dir_fd=fd)
        with os.fdopen(file, "wb") as stream:
            stream.write(data)
    except OSError as error:
        raise RefusedError(
            f"cannot write {quote(path)}: {os.strerror(error.errno or 0)}",
            next_step="free the place or the space, and unpack into an empty directory",
        ) from None
    finally:
        if opened:
            fs.close(fd)
