"""Text files that only a built-in name rule excludes: one line for each folder, in pack and
summary.

A name rule can be wrong about a project. So its exclusions are named, with the `--allow` that
admits them. Credentials are counted and not named. Files that an ignore rule excludes as well are
the project's own decision and not counted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from msgspec import Struct

from sutler.paths import RelPath, counted, quote
from sutler.scan.classify import extractable, facts_of
from sutler.scan.folders import COUNT_LIMIT
from sutler.scan.root import DIRECTORY, Root
from sutler.scan.snapshot import Excluded, Problem
from sutler.tokens.counter import Counter

MOST_FOLDERS = 12  # a monorepo has hundreds of vendor folders, and the pack is about others
READ_FILES, READ_BYTES = 200, 2_000_000
"""Limits of a folder in which lines are counted."""


class LeftOut(Struct, frozen=True):
    """Text files of one folder that one rule excludes. `lines` is None if not counted."""

    folder: str
    allow: str
    files: int
    more: bool = False
    lines: int | None = None

    def __str__(self) -> str:
        size = counted(self.files, "file", "+" if self.more else "")
        size += "" if self.lines is None else f", {counted(self.lines, 'line')}"
        if not self.allow:
            return f"left out by name: {quote(self.folder)} {size} named like credentials"
        return f"left out by name: {quote(self.folder)} {size}; --allow '{self.allow}'"


def left_out(root: Root, excluded: Iterable[Excluded]) -> tuple[LeftOut, ...]:
    """Return folders with text files that a built-in name rule alone excludes, by path."""
    groups: dict[tuple[str, str], list[tuple[str, int]]] = {}
    more: set[tuple[str, str]] = set()
    for item in excluded:
        if not item.by_name:
            continue
        credential = item.reason == "credentials"
        whole = item.path.endswith("/")
        folder = item.path if whole else item.path[: item.path.rfind("/") + 1] or "./"
        allow = "" if credential else f"{folder}**" if whole else _allow(folder, item)
        files = list(_below(root, item.path)) if whole else [(item.path, -1)]
        texts = [file for file in files if extractable(facts_of(file[0]))]
        if texts:
            groups.setdefault((folder, allow), []).extend(texts)
            if len(files) >= COUNT_LIMIT:
                more.add((folder, allow))
    return tuple(
        LeftOut(*key, len(files), key in more, _lines(root, files) if key[1] else None)
        for key, files in sorted(groups.items())
    )


def lines_of(folders: tuple[LeftOut, ...]) -> list[str]:
    """Render the lines for people and models; after many folders only a total."""
    lines = [str(folder) for folder in folders[:MOST_FOLDERS]]
    rest = folders[MOST_FOLDERS:]
    if rest:
        files = counted(sum(one.files for one in rest), "file")
        lines.append(f"left out by name: {counted(len(rest), 'more folder')}, {files}")
    return lines


def below_drawing(lines: list[str], count: Counter, limit: int | None) -> str:
    """Return the first of these lines, as many as a twentieth of the budget holds."""
    while lines and limit is not None and count("\n".join(lines)) > limit // 20:
        lines.pop()
    return "".join(f"\n{line}" for line in lines)


def _allow(folder: str, item: Excluded) -> str:
    if item.rule.pattern.endswith("/**"):  # a file in a folder that others of it enter
        return f"{folder}**"
    return f"{folder.removeprefix('./')}{item.rule.pattern.removeprefix('**/')}"


def _below(root: Root, folder: str) -> Iterator[tuple[str, int]]:
    """Yield files below a folder with their sizes, up to the limit of a count."""
    seen = 0
    todo = [folder.rstrip("/")]
    while todo and seen < COUNT_LIMIT:
        here = todo.pop()
        try:
            fd = root.open_by_steps(here, DIRECTORY)
        except OSError:  # unreadable: only listed files are counted
            continue
        try:
            with os.scandir(fd) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{here}/{entry.name}")
                elif entry.is_file(follow_symlinks=False) and seen < COUNT_LIMIT:
                    seen += 1
                    yield f"{here}/{entry.name}", entry.stat(follow_symlinks=False).st_size
        except OSError:  # vanished meanwhile
            continue
        finally:
            os.close(fd)


def _lines(root: Root, files: list[tuple[str, int]]) -> int | None:
    """Count lines of text files; None if there is too much to read."""
    if len(files) > READ_FILES or sum(size for _, size in files) > READ_BYTES:
        return None
    total = 0
    with root.reader() as reader:
        for path, _ in files:
            blob = reader.read(RelPath(path), READ_BYTES)
            if not isinstance(blob, Problem) and b"\0" not in blob.data:
                total += blob.data.count(b"\n") + (blob.data[-1:] not in (b"\n", b""))
    return total
