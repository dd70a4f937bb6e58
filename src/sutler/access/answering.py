"""Limits of one answer: as many lines, paths and tokens as the caller's profile allows."""

from __future__ import annotations

from collections.abc import Callable

from sutler.access.pages import Bounds, Page
from sutler.paths import RelPath, quote
from sutler.store.records import BackendProfile, Reading

Count = Callable[[str], int]


def as_many(
    lines: tuple[str, ...], profile: BackendProfile, count_tokens: Count
) -> tuple[int, str, int]:
    """Return how many lines one answer holds, at least one; their text and its tokens."""
    room, count = profile.max_chars, 0
    while count < len(lines) and (room >= 0 or not count):
        room -= len(lines[count]) + 1
        count += room >= 0 or not count
    while True:
        text = "\n".join(lines[:count])
        tokens = count_tokens(text)
        if tokens <= profile.max_tokens or count <= 1:
            return count, text, tokens
        count = max(1, count * profile.max_tokens // tokens * 95 // 100)


def within(read: Callable[[Bounds], Page], bounds: Bounds, most: int, count_tokens: Count) -> Page:
    """Return a page of at most `most` tokens; it is read again with fewer characters until it
    fits."""
    page = read(bounds)
    while len(page.text) > most and (used := count_tokens(page.text)) > most:
        bounds = Bounds(bounds.lines, max(1, len(page.text) * most // used * 95 // 100))
        page = read(bounds)
    return page


def reading_of(path: RelPath, page: Page, *, truncated: bool = False, next: str = "") -> Reading:
    return Reading(
        path=quote(path),
        version=page.version,
        first=page.first,
        last=page.last,
        total=page.total,
        text=page.text,
        truncated=truncated,
        next=next,
        redactions=page.findings,
        notes=page.notes,
    )


def marker(version: str, what: str) -> str:
    """Return our own note inside a text. It names the version, which a file cannot know about
    itself."""
    return f"[sutler {version[:12]}: {what}]"
