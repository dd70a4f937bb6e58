"""Atomic writes to files that the user names: complete or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from sutler.errors import SutlerError
from sutler.paths import quote
from sutler.scan.root import TEMPORARY
from sutler.system import fs

Write = Callable[[bytes], object]
"""Append to the file."""


def write_atomic(path: str, chunks: Iterable[bytes]) -> None:
    """Write a file as `replacing` does, from whole chunks."""
    with replacing(path) as write:
        for chunk in chunks:
            write(chunk)


@contextmanager
def replacing(path: str) -> Iterator[Write]:
    """Replace a file atomically: on any failure the old file is intact. The new file is synced
    before it replaces an old one. Without an old one there is no sync, since nothing can be lost.

    A link at `path` is replaced, not followed: a hostile project could point it at a file of the
    user."""
    directory, name = os.path.split(path)
    try:
        fs.stat(path)
    except ValueError as error:  # a NUL, or a character that the encoding of file names lacks
        raise _unwritable(path, error) from None
    except OSError:
        pass
    try:
        fd = fs.open(directory or ".", fs.O_RDONLY | fs.O_DIRECTORY | fs.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        mode, old = _mode_of(fd, directory, name)
        if mode is None:
            with open(path, "wb") as stream:
                yield stream.write
        else:
            with _replaced(fd, name, mode, wait=old) as write:
                yield write
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        fs.close(fd)


def _unwritable(path: str, error: Exception) -> SutlerError:
    reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else "not a path"
    return SutlerError(
        f"cannot write {quote(path)}: {reason}",
        rule="an output file is written whole or not at all",
        next_step="choose another place, or make room there, and run again",
    )


def _mode_of(fd: int, directory: str, name: str) -> tuple[int | None, bool]:
    """Return the mode of the new file, and whether it replaces an old one. The mode is None for a
    device or pipe such as /dev/null, which is written directly."""
    old = False
    try:
        state = fs.stat(name, dir_fd=fd)
        if not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
            return None, False
        if f"{os.path.realpath(directory)}/".startswith(("/dev/", "/proc/")):
            return None, False  # /dev/stdout, redirected to a file
        old = True
        state = fs.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISREG(state.st_mode):
            return stat.S_IMODE(state.st_mode), True
    except FileNotFoundError:  # a new file: its mode comes from the umask
        pass
    mask = os.umask(0o077)  # the only way to read it is to set it
    os.umask(mask)
    return 0o666 & ~mask, old


@contextmanager
def _replaced(fd: int, name: str, mode: int, *, wait: bool) -> Iterator[Write]:
    # A name may have 255 bytes already.
    temporary = f".{name[:60]}.{os.urandom(8).hex()}{TEMPORARY}"
    flags = fs.O_WRONLY | fs.O_CREAT | fs.O_EXCL | fs.O_NOFOLLOW | fs.O_CLOEXEC
    file = fs.open(temporary, flags, 0o600, dir_fd=fd)
    try:
        try:
            with open(file, "wb", closefd=False) as stream:
                yield stream.write
            os.fchmod(file, mode)
            if wait:
                fs.fsync(file)  # before the rename: a power cut must not leave an empty file
        finally:
            fs.close(file)
        fs.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        fs.unlink(temporary, dir_fd=fd)
        raise
    if wait:
        fs.fsync(fd)
