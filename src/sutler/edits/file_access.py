"""The FileAccessInterface of seed 003 with its exact signatures, and content between explicit
delimiters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Self, TypedDict

from sutler.access.answering import marker
from sutler.access.door import Door
from sutler.edits.versions import get_diff
from sutler.edits.writer import Mode, Writer
from sutler.errors import ConflictError
from sutler.paths import quote
from sutler.store.records import PatchResult as Written
from sutler.store.records import Reading, Version


class PatchResult(TypedDict):
    """Seed 003's answer to a write."""

    success: bool
    message: str
    conflict: bool
    diff: str
    version_id: str


FileVersionMeta = Version
"""A recorded version of a file: id, digest, size, time, author, origin."""


class FileAccessInterface:
    """Seed 003's nine methods, with plain types as parameters and results. The last line of an
    answer states whether it was cut. Use it in a `with` block, or call `close`, which signs the
    ledger's head."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self.close: Callable[[], object] = lambda: None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def list_files(self, globs: list[str] | None = None) -> list[str]:
        listing = self._door.list_files(tuple(globs or ()))
        paths = list(listing.paths)
        while listing.next:
            listing = self._door.list_files(tuple(globs or ()), cursor=listing.next)
            paths += listing.paths
        return paths

    def read_file(self, filepath: str) -> str:
        return _plain(self._door.read_file(filepath))

    def read_lines(self, filepath: str, start: int, end: int) -> str:
        return _plain(self._door.read_lines(filepath, start, end))

    def get_excerpt(self, filepath: str, max_lines: int = 80) -> str:
        return self._door.get_excerpt(filepath, max_lines).text

    def get_diff(
        self, filepath: str, version1: str | None = None, version2: str | None = None
    ) -> str:
        return get_diff(self._door, filepath, version1, version2)

    def get_file_history(self, filepath: str) -> list[FileVersionMeta]:
        return list(self._door.get_file_history(filepath))

    def write_file(self, filepath: str, content: str, mode: Mode = "truncate") -> PatchResult:
        return _conflicts(lambda: Writer(self._door).write_file(filepath, content, mode=mode))

    def apply_patch(self, filepath: str, patch: str) -> PatchResult:
        return _conflicts(lambda: Writer(self._door).apply_patch(patch, path=filepath))

    def summarize_file(self, filepath: str, max_tokens: int) -> str:
        return self._door.summarize_file(filepath, max_tokens)


def _conflicts(write: Callable[[], Written]) -> PatchResult:
    """Turn a conflict into an answer, as in the seed's interface; every other refusal stays an
    error."""
    try:
        written = write()
    except ConflictError as conflict:
        return PatchResult(
            success=False, message=str(conflict), conflict=True, diff="", version_id=""
        )
    return PatchResult(
        success=written.success,
        message=written.message,
        conflict=written.conflict,
        diff=written.diff,
        version_id=written.version_id,
    )


def _plain(reading: Reading) -> str:
    if not reading.truncated:
        return reading.text
    rest = "unknown" if reading.total is None else str(reading.total)
    ended = "" if reading.text.endswith("\n") or not reading.text else "\n"
    note = marker(reading.version, f"cut after line {reading.last} of {rest}")
    return f"{reading.text}{ended}{note}\n"


def delimited(reading: Reading) -> str:
    """Render a reading for a prompt, between a pair of tags whose name cannot occur in the text."""
    name, turn = f"file-{reading.version[:12]}", 0
    while name in reading.text:
        turn += 1
        name = f"file-{reading.version[:12]}-{turn}"
    total = "?" if reading.total is None else reading.total
    facts = f'version="{reading.version}" total="{total}" trust="{reading.trust}"'
    path = quote(reading.path).replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
    place = f"{path}:{reading.first}-{reading.last}"
    ended = "" if reading.text.endswith("\n") or not reading.text else "\n"
    return f'<{name} at="{place}" {facts}>\n{reading.text}{ended}</{name}>\n'
