"""Git's index: the files that a repository tracks."""

from __future__ import annotations

import os
from typing import Final

from msgspec import Struct

from sutler.scan.git import NOTHING, Repository, Tracked, read_plain
from sutler.scan.snapshot import Problem

_INDEX_LIMIT: Final = 1 << 29  # millions of entries; beyond it the file is damaged


class _MalformedError(Exception):
    pass


class _Entries(Struct, frozen=True, gc=False):
    names: list[bytes]
    modes: list[int]
    end: int


def read_tracked(repository: Repository, settings: dict[str, str]) -> Tracked | Problem:
    """Return the tracked paths, or a Problem if the index cannot be read; then nothing counts as
    tracked."""
    width = 32 if settings.get("extensions.objectformat", "").lower() == "sha256" else 20
    path = os.path.join(repository.git_dir, "index")
    if not os.path.lexists(path):
        return NOTHING
    data = read_plain(path, _INDEX_LIMIT)
    if data is None:
        return Problem(
            ".git/index", "malformed", "not a readable regular file; nothing counts as tracked"
        )
    try:
        return _tracked(data, width, repository)
    except (_MalformedError, IndexError, ValueError) as error:
        return Problem(".git/index", "malformed", f"{error}; nothing counts as tracked")


def _tracked(data: bytes, width: int, repository: Repository) -> Tracked:
    entries = _entries(data, width)
    pairs = list(zip(entries.names, entries.modes, strict=True))
    link = _extension(data, entries.end, width, b"link")
    if link is not None and link[:width].strip(b"\0"):
        name = f"sharedindex.{link[:width].hex()}"
        shared = read_plain(os.path.join(repository.git_dir, name), _INDEX_LIMIT)
        if shared is None:
            raise _MalformedError("its shared part is missing")
        base = _entries(shared, width)
        gone = _bits(link, width, len(base.names))
        pairs += [
            pair for i, pair in enumerate(zip(base.names, base.modes, strict=True)) if i not in gone
        ]
    names = os.fsdecode(b"\0".join(name for name, _ in pairs)).split("\0")
    kinds = [mode & 0o170000 for _, mode in pairs]
    links = (
        # A submodule, as git marks it.
        {name for name, kind in zip(names, kinds, strict=True) if kind == 0o160000}
        if pairs
        else set()
    )
    sparse = (
        # A folder of a sparse index.
        {name for name, kind in zip(names, kinds, strict=True) if kind == 0o040000}
        if pairs
        else set()
    )
    # An entry without a name replaces one of the shared index and keeps that one's name.
    return Tracked(
        frozenset(names) - links - sparse - {""}, frozenset(links), tuple(sorted(sparse - {""}))
    )


def _entries(data: bytes, width: int) -> _Entries:
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise _MalformedError("not an index of version 2, 3 or 4")
    if count > len(data) // (42 + width):
        raise _MalformedError("it claims more entries than it can hold")
    names: list[bytes] = []
    modes: list[int] = []
    at, head, previous, total = 12, 42 + width, b"", 0
    for _ in range(count):
        start = at + head + (2 if data[at + head - 2] & 0x40 and version > 2 else 0)
        if version == 4:  # paths share their beginning with the one before
            strip, start = _varint(data, start)
            end = data.index(b"\0", start)
            if strip > len(previous):
                raise _MalformedError("a name is cut below nothing")
            name = previous = previous[: len(previous) - strip] + data[start:end]
            total += len(name)
            if total > _INDEX_LIMIT:
                raise _MalformedError("its names are absurdly long")
            after = end + 1
        else:
            end = data.index(b"\0", start)
            name = data[start:end]
            after = at + ((end - at + 8) & ~7)
        names.append(name)
        modes.append((data[at + 26] << 8) | data[at + 27])
        at = after
    return _Entries(names, modes, at)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    value = byte & 127
    while byte & 128:
        at += 1
        byte = data[at]
        value = ((value + 1) << 7) | (byte & 127)
        if value > 1 << 32:
            raise _MalformedError("a length is absurd")
    return value, at + 1


def _extension(data: bytes, at: int, width: int, wanted: bytes) -> bytes | None:
    while at + 8 <= len(data) - width:
        size = int.from_bytes(data[at + 4 : at + 8], "big")
        if data[at : at + 4] == wanted:
            return data[at + 8 : at + 8 + size]
        at += 8 + size
    return None


def _bits(data: bytes, at: int, limit: int) -> set[int]:
    """Return the positions set in an EWAH bitmap: runs of equal words, then literal words, 64 bits
    each."""
    if len(data) < at + 8:
        return set()
    words = int.from_bytes(data[at + 4 : at + 8], "big")
    if words * 8 > len(data):
        raise _MalformedError("a bitmap is longer than its file")
    buffer = [int.from_bytes(data[at + 8 + 8 * i : at + 16 + 8 * i], "big") for i in range(words)]
    found: set[int] = set()
    index = bit = 0
    while index < words and bit < limit:
        run, literals = (buffer[index] >> 1) & 0xFFFFFFFF, buffer[index] >> 33
        if buffer[index] & 1:
            found.update(range(bit, min(bit + 64 * run, limit)))
        bit += 64 * run
        for word in buffer[index + 1 : index + 1 + literals]:
            found.update(bit + i for i in range(64) if word >> i & 1)
            bit += 64
        index += 1 + literals
    return found
