"""Versions that a write builds upon: the one a session saw last, the bytes of a version, and diffs
between two."""

from __future__ import annotations

from hashlib import sha256
from typing import NamedTuple

from sutler.access.door import Door
from sutler.edits.difference import unified
from sutler.errors import RefusedError, SutlerError
from sutler.paths import RelPath, quote
from sutler.scan.text import ENCODINGS, encode, lines_of
from sutler.store.records import Outcome, unseal


def last_seen(door: Door, path: RelPath) -> str:
    """Return the digest of the file as this session last read or wrote it; empty if it did
    neither."""
    rows = door.gate.store.audit_of(door.gate.caller.session, path, 200)
    for entry in map(unseal, reversed(rows)):
        whole = entry.effect == "write" or entry.first > 0  # a summary has no lines of the file
        if entry.phase == "done" and entry.success and entry.after and whole:
            return entry.after
    return ""


def known_bytes(door: Door, path: RelPath, base: str) -> bytes | None:
    """Return the bytes of a version, by its id or digest: stored by a write, or encoded from the
    text of an earlier answer if their digest is the version's."""
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
    # A whole digest needs no row.
    digest = version.digest if version else base if len(base) == 64 else ""
    if not digest:
        return None
    data = store.blob(digest)
    if data is not None:
        return data if sha256(data).hexdigest() == digest else None
    text = door.text_of(path, digest)
    return None if text is None else _bytes_of(text, digest)


class Shown(NamedTuple):
    """A file as a model was shown it: its digest, and its text if that was complete."""

    digest: str
    text: str = ""


def keep_shown(door: Door, seen: Shown | None) -> str:
    """Return the digest. Its bytes are stored as a base for a merge if the text encodes to them; a
    text alone proves nothing."""
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
        except UnicodeError:  # the text holds a character that this encoding lacks
            continue
        if sha256(data).hexdigest() == digest:
            return data
    return None


NO_CHANGE = "no change"
_VERSIONS = 1_000  # a file that is written in a loop has endless versions


def get_diff(
    door: Door, path: str, version1: str | None = None, version2: str | None = None
) -> str:
    """Return a unified diff, empty without a change. Without a named version the second side is the
    working file, and the first one the newest known version that differs from it. Both sides are
    redacted before they are compared."""
    versions = (("version1", version1), ("version2", version2))
    args = tuple((name, version) for name, version in versions if version)

    def perform(where: RelPath) -> tuple[str, Outcome]:
        text = _diff(door, where, version1, version2)
        most = door.gate.caller.profile.max_chars
        if len(text) > most:
            raise RefusedError(
                f"a diff of {len(text):,} characters",
                rule=f"at most {most:,} for this caller",
                next_step="read the lines that matter",
            )
        size = len(text.encode("utf-8", "replace"))
        return text, Outcome(bytes=size, tokens=door.setup.count(text))

    return door.enter("get_diff", path, args, perform)


def _diff(door: Door, path: RelPath, version1: str | None, version2: str | None) -> str:
    new_name, new = _side(door, path, version2)
    recorded = door.gate.store.versions(path, _VERSIONS)
    older = next((version.id for version in recorded if version.id != new_name), new_name)
    old_name, old = new_name, new
    if version1 or recorded:
        old_name, old = _side(door, path, version1 or older)
    name = quote(path)
    return unified(lines_of(old), lines_of(new), f"{name} {old_name}", f"{name} {new_name}")


def _side(door: Door, path: RelPath, version: str | None) -> tuple[str, str]:
    """Return a version's name and clean text, by default of the working file."""
    if version is None:
        page = door.pages.whole(path)
        door.remember(path, page)
        return page.version, page.text
    for recorded in door.gate.store.versions(path, _VERSIONS):
        if version in (recorded.id, recorded.digest):
            text = door.text_of(path, recorded.digest) if recorded.digest else ""
            if text is not None:
                return version, text
            break
    raise SutlerError(
        f"no version {version[:40]!r} of {quote(path)}",
        next_step="see the file's history for known versions",
    )
