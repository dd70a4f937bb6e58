"""Files of the user's choice, written whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from sutler.errors import SutlerError
from sutler.formats.document import Octets, Run
from sutler.paths import quote
from sutler.scan.root import TEMPORARY

_VECTOR: Final = 1024  # pieces that one system call takes


Write = Callable[[Run], None]
"""Append these pieces to the file."""


def write_atomic(path: str, chunks: Iterable[Octets]) -> None:
    """As `replacing`, from whole chunks."""
    with replacing(path) as write:
        for chunk in chunks:
            write((chunk,))


@contextmanager
def replacing(path: str) -> Iterator[Write]:
    """Write a file of the user's choice, all of it or nothing: on any failure the old file is
    intact. The new file is on the disk before it replaces an old one; without an old one there is
    no wait for the disk, since nothing can be lost.

    A link at `path` is replaced, not followed: a hostile project could aim it at a file of the
    user's.
    """
    directory, name = os.path.split(path)
    try:
        os.stat(path)
    except ValueError as error:  # a NUL, or letters that no file name can have
        raise _unwritable(path, error) from None
    except OSError:
        pass
    try:
        fd = os.open(directory or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        mode, old = _mode_of(fd, name)
        if mode is None:
            with open(path, "wb", buffering=0) as stream:
                yield partial(write_run, stream.fileno())
        else:
            with _replaced(fd, name, mode, wait=old) as write:
                yield write
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        os.close(fd)


def _unwritable(path: str, error: Exception) -> SutlerError:
    reason = os.strerror(error.errno or 0) if isinstance(error, OSError) else "not a path"
    return SutlerError(
        f"cannot write {quote(path)}: {reason}",
        rule="an output file is written whole or not at all",
        next_step="choose another place, or make room there, and run again",
    )


def _mode_of(fd: int, name: str) -> tuple[int | None, bool]:
    """The mode for the new file, and whether it replaces an old one; no mode for a device or pipe
    such as /dev/null, which is written as it is.
    """
    old = False
    try:
        state = os.stat(name, dir_fd=fd)
        if not stat.S_ISREG(state.st_mode) and not stat.S_ISDIR(state.st_mode):
            return None, False
        if f"{os.path.realpath(f'/proc/self/fd/{fd}')}/".startswith(("/dev/", "/proc/")):
            return None, False  # /dev/stdout, redirected to a file
        old = True
        state = os.stat(name, dir_fd=fd, follow_symlinks=False)
        if stat.S_ISREG(state.st_mode):
            return stat.S_IMODE(state.st_mode), True
    except FileNotFoundError:
        pass
    mask = os.umask(0o077)
    os.umask(mask)
    return 0o666 & ~mask, old


def write_run(fd: int, run: Run) -> None:
    """Write all of these pieces, one after the other."""
    for start in range(0, len(run), _VECTOR):
        rest = run[start : start + _VECTOR]
        while rest:
            sent, done = os.writev(fd, rest), 0
            if sent == sum(map(len, rest)):  # nearly always: no need to look where it stopped
                break
            while done < len(rest) and sent >= len(rest[done]):
                sent -= len(rest[done])
                done += 1
            rest = [memoryview(rest[done])[sent:], *rest[done + 1 :]] if sent else rest[done:]


@contextmanager
def _replaced(fd: int, name: str, mode: int, *, wait: bool) -> Iterator[Write]:
    temporary = f".{name[:60]}.{os.urandom(8).hex()}{TEMPORARY}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    file = os.open(temporary, flags, 0o600, dir_fd=fd)
    try:
        try:
            yield partial(write_run, file)
            os.fchmod(file, mode)
            if wait:
                os.fsync(file)
        finally:
            os.close(file)
        os.rename(temporary, name, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        os.unlink(temporary, dir_fd=fd)
        raise
    if wait:
        os.fsync(fd)
