"""The command line inside the picker: each line becomes a tool call, so that it is judged and
recorded.

Commands that change picks belong to the app; they are in the same table for `/help`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct

from sutler.access.door import Door
from sutler.access.setup import SessionView
from sutler.errors import UsageError
from sutler.fronts.console import read_text
from sutler.paths import counted, extension, parse_place, quote
from sutler.store.records import Listing, PatchResult, Reading, Version
from sutler.tools import call

PREVIEW_LINES = 200  # more than the tallest terminal shows at once


class Scene(Struct, frozen=True):
    """State of the screen for a command: the file under the cursor and the figures."""

    here: str
    unit: str
    limit: int | None
    used: int
    picked: int
    files: tuple[tuple[str, int], ...]  # every path with its tokens


class Reply(Struct, frozen=True):
    """A title for the status line and the text below it. `wrote` says that files may have
    changed."""

    title: str
    text: str = ""
    wrote: bool = False


Act = Callable[[Door, Sequence[str], Scene], Reply]


class Slash(Struct, frozen=True):
    """One command; without `act` it belongs to the app."""

    name: str
    usage: str
    help: str
    act: Act | None = None


def parse(line: str) -> tuple[str, list[str]]:
    """Parse `/open "a b.py":1-3` into a name and its words. Blanks separate words; quotes group
    them, as in listings."""
    head, _, rest = line.strip().lstrip("/").partition(" ")
    words = [match[0] for match in re.finditer(r'(?:"(?:[^"\\]|\\.)*"|\S)+', rest)]
    return head.lower(), words


def named(scene: Scene, words: Sequence[str]) -> str:
    """Return the file of a command: the named one, else the one under the cursor."""
    if words:
        return words[0]
    if not scene.here:
        raise UsageError("no file is named, and none is under the cursor", next_step="give a path")
    return quote(scene.here)


def files(door: Door, words: Sequence[str], scene: Scene) -> Reply:
    del scene
    result = call(door, "list_files", {"globs": list(words)})
    assert isinstance(result, Listing)  # noqa: S101  # the table of tools says so
    withheld = f", {result.withheld:,} withheld" if result.withheld else ""
    return Reply(f"{counted(len(result.paths), 'file')}{withheld}", "\n".join(result.paths))


def open_(door: Door, words: Sequence[str], scene: Scene) -> Reply:
    path, span = parse_place(named(scene, words))
    if span:
        result = call(door, "read_lines", {"path": path, "start": span.start, "end": span.end})
    else:
        result = call(door, "read_file", {"path": path})
    return reading_reply(result)


def preview(door: Door, path: str) -> Reply:
    """Return the beginning and the end of a file, as the pane beside the tree shows it."""
    return reading_reply(
        call(door, "get_excerpt", {"path": quote(path), "max_lines": PREVIEW_LINES})
    )


def reading_reply(result: object) -> Reply:
    assert isinstance(result, Reading)  # noqa: S101  # the table of tools says so
    secrets = f", {result.redactions:,} secrets redacted" if result.redactions else ""
    more = ", more below: /open PATH:A-B" if result.next else ""
    lines = f"{result.first}-{result.last} of {result.total or 'many'} lines"
    title = f"{result.path}:{lines}{secrets}{more}"
    return Reply(title, "\n".join([*result.notes, result.text]) if result.notes else result.text)


def patch(door: Door, words: Sequence[str], scene: Scene) -> Reply:
    del scene
    if not words or words[0] == "-":  # stdin is the keyboard
        raise UsageError("/patch needs a FILE", next_step="give the file that holds the patch")
    result = call(door, "apply_patch", {"patch": read_text(words[0]), "reason": "picker"})
    assert isinstance(result, PatchResult)  # noqa: S101  # the table of tools says so
    return Reply(result.message, result.diff, wrote=True)


def diff(door: Door, words: Sequence[str], scene: Scene) -> Reply:
    path, *versions = [named(scene, words), *words[1:3]]
    arguments = dict(zip(("version1", "version2"), versions, strict=False))
    text = call(door, "get_diff", {"path": path, **arguments})
    return Reply(
        f"{path}: {'what changed' if text else 'nothing changed since it was first seen'}",
        str(text),
    )


def history(door: Door, words: Sequence[str], scene: Scene) -> Reply:
    path = named(scene, words)
    result = call(door, "get_file_history", {"path": path})
    assert isinstance(result, tuple)  # noqa: S101  # the table of tools says so
    rows = [
        f"{version.id:<32}  {version.at[:19]}  {version.origin:<8} {version.size:>9,}  "
        f"{version.author} {version.note}".rstrip()
        for version in result
        if isinstance(version, Version)
    ]
    return Reply(f"{path}: {len(rows):,} known versions", "\n".join(rows))


def stats(door: Door, words: Sequence[str], scene: Scene) -> Reply:
    """Return the files by ending, and the calls of this session."""
    if words not in ([], ["files"]):
        raise UsageError(f"/stats knows no {words[0]!r}", next_step="use /stats files")
    listing, view = call(door, "list_files", {}), call(door, "get_session", {})
    assert isinstance(listing, Listing)  # noqa: S101  # the table of tools says so
    assert isinstance(view, SessionView)  # noqa: S101  # the table of tools says so
    count: Counter[str] = Counter()
    tokens: Counter[str] = Counter()
    for path, weight in scene.files:
        ending = extension(path) or "(none)"
        count[ending] += 1
        tokens[ending] += weight
    rows = [
        f"{ending:<12} {count[ending]:>7,} files {tokens[ending]:>11,}"
        for ending in sorted(count, key=lambda one: (-tokens[one], one))
    ]
    session = view.session
    rows += [
        "",
        (
            f"this session: {counted(session.calls, 'call')}, {session.refused:,} refused,"
            f" {counted(len(session.buffers), 'file')} read, {len(session.edits):,} written,"
            f" {len(view.stale):,} out of date"
        ),
    ]
    rows += [
        f"  read  {one.path}{'  (out of date)' if one.path in view.stale else ''}"
        for one in session.buffers
    ]
    rows += [
        f"  wrote {one.path}{'  (outcome unknown)' if one.pending else ''}" for one in session.edits
    ]
    title = (
        f"{counted(len(listing.paths), 'file')} may be read, {len(scene.files):,} here, "
        f"{scene.picked:,}"
        " picked"
    )
    return Reply(title, "\n".join(rows))


def budget(door: Door, words: Sequence[str], scene: Scene) -> Reply:
    """Return the pack's budget, and the rest of this session's reads and writes."""
    del words
    view = call(door, "get_session", {})
    assert isinstance(view, SessionView)  # noqa: S101  # the table of tools says so
    caller = door.gate.caller
    spent = door.gate.store.spent(caller.id, caller.session)
    limit = "no limit" if scene.limit is None else f"of {scene.limit:,}"
    rows = [
        f"{name:<7} {getattr(spent, name):>11,} {_of(getattr(caller.limits, name))}"
        for name in _COUNTED
    ]
    head = f"pack: about {scene.used:,} {limit} {scene.unit}"
    return Reply(head, "\n".join(["used by this session:", *rows]))


_COUNTED = ("reads", "writes", "bytes", "tokens")


def _of(limit: int | None) -> str:
    return "no limit" if limit is None else f"of {limit:,}"


def help_(door: Door, words: Sequence[str], scene: Scene) -> Reply:
    del door, words, scene
    return Reply("commands", help_text())


def help_text() -> str:
    lines = [f"{slash.usage:<28} {slash.help}" for slash in SLASHES]
    keys = [f"{name:<28} {what}" for name, what in KEYS]
    return "\n".join(
        [*lines, "", "Words without a slash search the names; a glob works too.", "", *keys]
    )


SLASHES = (
    Slash("files", "/files [GLOB …]", "list the files that may be read", files),
    Slash("open", "/open PATH[:A-B]", "read a file, or lines of it", open_),
    Slash("patch", "/patch FILE", "apply a patch, after approval", patch),
    Slash("diff", "/diff [PATH [FROM [TO]]]", "what changed in a file", diff),
    Slash("history", "/history [PATH]", "its known versions", history),
    Slash("why", "/why [PATH]", "why a pack would hold it, or leave it out"),
    Slash("stats", "/stats files", "files by ending; what was read and written", stats),
    Slash("budget", "/budget [SIZE [UNIT]]", "show the budget, or set it: 20k tokens", budget),
    Slash("add", "/add GLOB …", "pick what matches"),
    Slash("drop", "/drop GLOB …", "drop what matches"),
    Slash("profile", "/profile [NAME]", "list profiles, or pick what one selects"),
    Slash("keep", "/keep NAME", "write the picks as a profile into the project's settings"),
    Slash("export", "/export FILE", "write the list of picked files"),
    Slash("pack", "/pack FILE", "pack what is picked"),
    Slash("copy", "/copy", "pack it into the clipboard"),
    Slash("quit", "/quit", "done: print the list, or pack to -o"),
    Slash("help", "/help", "this page", help_),
)
BY_NAME = {one.name: one for one in SLASHES}

KEYS = (
    ("space", "pick or drop the file or folder"),
    ("enter, right, left", "open and close folders"),
    ("a", "pick all that is shown, or drop it"),
    ("f", "find by name or glob; escape ends it"),
    ("/", "type a command"),
    ("s", "sort by name or by weight"),
    ("v, tab", "show or hide the text; change panes"),
    ("w, e, c", "pack to a file, export the list, copy the pack"),
    ("p", "profiles"),
    ("q", "done"),
    ("ctrl+c", "leave; the picks are kept for the next time"),
)
