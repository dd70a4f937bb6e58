"""Parts of a file too large for memory: its digest, the start of a line, and a window of its
bytes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from hashlib import sha256

from sutler.scan.text import lines_of

HASHED = 64 << 20  # a version is the digest of the bytes, and calls hash anew
SCANNED = 512 << 20  # counting more lines takes longer than an agent's call may
MARGIN = 64 << 10  # a secret that a window's edge cuts in two would not be recognized
_CHUNK = 1 << 20


def digest_of(fd: int, state: os.stat_result) -> str:
    """Return the content's digest; for a very large file one of its stat data, which changes with
    them."""
    if state.st_size > HASHED:
        marks = (
            f"{state.st_dev} {state.st_ino} {state.st_size} {state.st_mtime_ns} {state.st_ctime_ns}"
        )
        return sha256(f"state {marks}".encode()).hexdigest()
    digest = sha256()
    for chunk in _stream(fd, state.st_size):
        digest.update(chunk)
    return digest.hexdigest()


def offset_of(fd: int, size: int, line: int) -> int | None:
    """Return the offset of a line; None if the file ends before it, -1 if that place was not
    read."""
    wanted, looked = line - 1, 0
    if not wanted:
        return 0
    at = _next_data(fd, 0)
    while at < size:
        if looked >= SCANNED:
            return -1
        chunk = os.pread(fd, min(_CHUNK, size - at), at)
        if not chunk:
            break
        count = chunk.count(b"\n")
        if count >= wanted:
            here = -1
            for _ in range(wanted):
                here = chunk.find(b"\n", here + 1)
            return at + here + 1 if at + here + 1 < size else None
        wanted -= count
        looked += len(chunk)
        at = _next_data(fd, at + len(chunk))
    return None


def _next_data(fd: int, at: int) -> int:
    """Return the offset of the next stored byte: a hole has no line ends, and may be a terabyte
    long."""
    try:
        return os.lseek(fd, at, os.SEEK_DATA)
    except OSError as error:
        return at if error.errno != errno.ENXIO else 1 << 62
    except AttributeError:  # a platform without SEEK_DATA
        return at


def read_at(fd: int, start: int, length: int, size: int) -> bytes:
    parts, left = [], min(length, size - start)
    while left > 0 and (chunk := os.pread(fd, min(_CHUNK, left), start)):
        parts.append(chunk)
        start, left = start + len(chunk), left - len(chunk)
    return b"".join(parts)


def sound_lines(window: bytes, text: str, start: int, ends: bool) -> tuple[list[str], bool]:
    """Return the clean lines from byte `start` of a window that may be shown, and whether the only
    one is incomplete. Unless the file ends here, the last margin only serves to detect secrets that
    begin before it."""
    skip = window.count(b"\n", 0, start)
    lines = lines_of(text)
    if ends:
        return lines[skip:], False
    sound = lines[skip : window.count(b"\n", 0, len(window) - MARGIN)]
    if sound or skip >= len(lines):
        return sound, False
    return [lines[skip][: max(0, len(lines[skip]) - MARGIN)].rstrip("\n")], True


def _stream(fd: int, size: int) -> Iterator[bytes]:
    """Yield the file's bytes up to its size when it was opened, even if it grows."""
    at = 0
    while at < size and (chunk := os.pread(fd, min(_CHUNK, size - at), at)):
        yield chunk
        at += len(chunk)
