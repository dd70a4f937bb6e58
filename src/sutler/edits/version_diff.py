"""The changes between two recorded versions of a file, or from one to the file as it is."""

from __future__ import annotations

from sutler.access.door import Door
from sutler.edits.difference import unified
from sutler.errors import RefusedError, SutlerError
from sutler.paths import RelPath, quote
from sutler.scan.text import lines_of
from sutler.store.records import Outcome

NO_CHANGE = "no change"
_VERSIONS = 1_000  # a file that is written in a loop has versions without end


def get_diff(
    door: Door, path: str, version1: str | None = None, version2: str | None = None
) -> str:
    """A unified diff, empty without a change. The second side is the working file if no version is
    named, the first one the newest known version that differs from it. Both sides are redacted
    before they are compared."""
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
    """A version's name and clean text; the working file when no version is named."""
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
