"""Comparison of two packs, and of one pack with the present files."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Struct

from sutler.errors import UsageError
from sutler.formats.document import Pack
from sutler.pack.serial import deserialize
from sutler.paths import wire_path
from sutler.survey import wire
from sutler.tasks.wire import ContextPack

AnyPack = Pack | wire.FullPack | wire.SummaryPack | ContextPack
"""A rendered pack as `parse` returns it, or one of the documents."""


def read_pack(data: bytes) -> AnyPack:
    """Read the pack in a file: markdown, xml, json or a document. Reading a rendered pack verifies
    it."""
    from sutler.formats import parse

    if not is_document(data):
        return parse(data)
    found = deserialize(data)
    if isinstance(found, wire.FullPack | wire.SummaryPack | ContextPack):
        return found
    raise UsageError(
        f"this is a {type(found).__name__} and not a pack",
        rule="packs are rendered packs, full packs, summary packs and task packs",
        next_step="give a file that `sutler pack -o` wrote",
    )


def is_document(data: bytes) -> bool:
    """Return whether this is JSON or MessagePack of the wire, and not a rendered pack."""
    head = data.lstrip()[:1]
    if head == b"{":
        try:
            return "about" not in msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False  # neither, so it is read as text
    # Maps of MessagePack.
    return bool(data) and (0x80 <= data[0] <= 0x8F or data[0] in (0xDE, 0xDF))


class _Seen(Struct, frozen=True):
    """A file as a pack shows it. An empty level means that it is only named, or unknown to the
    pack."""

    level: str
    text: str = ""
    digest: str = ""
    note: str = ""


_ABSENT = _Seen("", note="not in the project")
_UNNAMED = _Seen("", note="no room for its name, or gone")


def diff_packs(before: AnyPack, after: AnyPack) -> wire.PackDiff:
    """Compare two packs: files that entered, left, changed level or text, and why. Sorted by
    path."""
    old, new = _files(before), _files(after)
    unseen, gone = _unseen(before), _unseen(after)
    groups: dict[str, list[wire.PackChange]] = {
        "entered": [],
        "left": [],
        "level": [],
        "content": [],
    }
    for path in sorted(old.keys() | new.keys()):
        was, now = old.get(path, unseen), new.get(path, gone)
        kind = _kind(was, now)
        if kind:
            groups[kind].append(wire.PackChange(path, was.level, now.level, _why(kind, was, now)))
    return wire.PackDiff(
        entered=tuple(groups["entered"]),
        left=tuple(groups["left"]),
        level_changed=tuple(groups["level"]),
        content_changed=tuple(groups["content"]),
    )


def _unseen(pack: AnyPack) -> _Seen:
    """Return the state of a path that a pack does not name; it is unknown if the pack counted files
    without names."""
    counted = pack.listing.unnamed if isinstance(pack, Pack) else 0
    return _UNNAMED if counted else _ABSENT


def _kind(was: _Seen, now: _Seen) -> str:
    if was.level != now.level:
        return "entered" if not was.level else "left" if not now.level else "level"
    return "content" if was.level and (was.text != now.text or was.digest != now.digest) else ""


def _why(kind: str, was: _Seen, now: _Seen) -> str:
    if kind == "entered":
        before = "it was not in the project" if was is _ABSENT else f"it was left out ({was.note})"
        return f"{now.note}; {before}" if now.note else before
    if kind == "left":
        return "it is no longer in the project" if now is _ABSENT else now.note
    moved = bool(was.digest and now.digest and was.digest != now.digest)
    if kind == "content":
        if moved:
            return "the file changed"
        return "the text shown is another part, or was redacted otherwise"
    return "the file changed" if moved else now.note or "the budget or the kind of pack differs"


def _files(pack: AnyPack) -> dict[str, _Seen]:
    if isinstance(pack, Pack):
        listed = {
            wire_path(path): _Seen("", note="listed by name only") for path in pack.listing.paths
        }
        shown = {
            wire_path(one.path): _Seen(one.level, one.body.text, one.source, one.reason)
            for one in pack.sections
        }
        return {**listed, **shown}
    if isinstance(pack, ContextPack):
        docs = {
            item.path: _Seen(item.level, item.content, _text(item.digest), "task.context.docs")
            for item in pack.docs
        }
        files = {
            item.path: _Seen(item.level, item.content, _text(item.digest), item.reason)
            for item in pack.files
        }
        return {**docs, **files}
    found = {
        row.path: _Seen(
            "", digest=_text(row.digest), note=_text(row.exclusion_reason) or "listed only"
        )
        for row in pack.file_index
    }
    digests = {row.path: _text(row.digest) for row in pack.file_index}
    for path, level, text, note in _shown(pack):
        found[path] = _Seen(level, text, digests.get(path, ""), note)
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _shown(pack: wire.FullPack | wire.SummaryPack) -> list[tuple[str, str, str, str]]:
    if isinstance(pack, wire.SummaryPack):
        return [(item.path, "summary", repr(item), "key file") for item in pack.key_files_summary]
    notes = {key.path: f"key file ({key.importance})" for key in pack.key_files}
    # Earlier versions had the text of a key file in `key_files` alone: it is read from there too.
    texts: dict[str, wire.KeyFile | wire.FileContent] = {item.path: item for item in pack.key_files}
    texts |= {item.path: item for item in pack.contents}
    return [
        (path, level_of(item), item.content, notes.get(path, "text"))
        for path, item in texts.items()
    ]


def level_of(item: wire.KeyFile | wire.FileContent) -> str:
    """Return the level at which a document shows a file, in the words of a rendered pack."""
    if item.condensed is not UNSET:
        return "outline" if item.condensed == "outline" else "condensed"
    return "head_tail" if item.truncated else "full"


def pack_digests(pack: AnyPack) -> dict[str, str]:
    """Return the digests that a pack recorded, by path, for `verify` to compare."""
    if isinstance(pack, Pack):
        return {wire_path(one.path): one.source for one in pack.sections}
    if isinstance(pack, ContextPack):
        pairs = [(item.path, item.digest) for item in pack.files] + [
            (item.path, item.digest) for item in pack.docs
        ]
    else:
        pairs = [(row.path, row.digest) for row in pack.file_index]
    return {path: digest for path, digest in pairs if digest is not UNSET}


def shown_texts(pack: AnyPack) -> list[tuple[str, str, str]]:
    """Return path, level and text of every file that a pack shows, sorted."""
    return sorted(
        (path, seen.level, seen.text) for path, seen in _files(pack).items() if seen.level
    )


def whole_texts(pack: AnyPack) -> dict[str, str]:
    """Return the texts that a pack shows completely, by path."""
    if isinstance(pack, wire.SummaryPack):
        return {}
    return {path: seen.text for path, seen in _files(pack).items() if seen.level == "full"}


def verify(pack: AnyPack, current: Mapping[str, str]) -> tuple[wire.Moved, ...]:
    """Return files that changed since. `current` holds present digests; an absent path is gone."""
    recorded = pack_digests(pack)
    return tuple(
        wire.Moved(path, recorded[path], current.get(path, ""))
        for path in sorted(recorded)
        if current.get(path, "") != recorded[path]
    )
