"""Versions that a write builds upon: what a session saw last, and the bytes of a version."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from sutler.access.door import Door
from sutler.paths import RelPath
from sutler.scan.text import ENCODINGS, encode
from sutler.store.records import unseal


def last_seen(door: Door, path: RelPath) -> str:
    """The digest of the file as this session last read or wrote it; empty when it did neither."""
    rows = door.gate.store.audit_of(door.gate.caller.session, path, 200)
    for entry in map(unseal, reversed(rows)):
        whole = entry.effect == "write" or entry.first > 0  # a summary is not what the file says
        if entry.phase == "done" and entry.success and entry.after and whole:
            return entry.after
    return ""


def known_bytes(door: Door, path: RelPath, base: str) -> bytes | None:
    """The bytes of a version, by its id or digest: kept by a write, or made again from the text
    that was handed out, which is only believed when its digest is the version's."""
    if not base:
        return None
    store = door.gate.store
    version = next(
        (
            version
            for version in store.versions(path, 1_000)
            if base in (version.id, version.digest)
        ),
        None,
    )
    digest = version.digest if version else base if len(base) == 64 else ""
    if not digest:
        return None
    data = store.blob(digest)
    if data is not None:
        return data if sha256(data).hexdigest() == digest else None
    text = door.text_of(path, digest)
    return None if text is None else _bytes_of(text, digest)


class Shown(NamedTuple):
    """A file as a model was shown it: its digest, and its text if that was all of it."""

    digest: str
    text: str = ""


def keep_shown(door: Door, seen: Shown | None) -> str:
    """The digest, whose bytes are kept as a base for a merge if the text gives them again; a text
    alone proves nothing."""
    if seen is None:
        return ""
    data = _bytes_of(seen.text, seen.digest) if seen.text else None
    if data is not None:
        door.gate.store.put_blob(seen.digest, data)
    return seen.digest


def _bytes_of(text: str, digest: str) -> bytes | None:
    for encoding in ENCODINGS:
        try:
            data = encode(text, encoding)
        except UnicodeError:
            continue
        if sha256(data).hexdigest() == digest:
            return data
    return None
