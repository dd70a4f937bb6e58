"""Read the files that a change touches from names, git's status letters, or a unified diff."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from sutler.paths import unquote
from sutler.tasks.wire import Change

_STATUS = re.compile(r"([ACDMRTUX])(\d{0,3})\t(.+)")
_GIT = re.compile(r'diff --git (?:"a/|a/)')
_SIDE = re.compile(r"(---|\+\+\+) (.*?)(?:\t.*)?$")
_NEITHER = "/dev/null"


def changes_from_names(lines: Iterable[str], is_new: Callable[[str], bool]) -> list[Change]:
    """Read one file per line, in the format of `git diff --name-only` or `--name-status`. `is_new`
    decides for names without a status."""
    changes: list[Change] = []
    for raw in lines:
        line = raw.rstrip("\r\n")
        status = _STATUS.fullmatch(line)
        if status is None:
            path = _plain(line.strip())
            changes += [Change(path, is_new(path))] if path else []
            continue
        letter, _, names = status.groups()
        paths = [_plain(name) for name in names.split("\t")]
        changes.append(Change(paths[-1], letter in "ACR"))
        if letter == "R" and len(paths) > 1:
            changes.append(Change(paths[0]))
    return _unique(changes)


def changes_from_diff(diff: str) -> list[Change]:
    """Read the files of a unified diff, git's or plain. A rename touches both names; an empty new
    file counts too."""
    changes: list[Change] = []
    lines = iter(diff.splitlines())
    before = ""
    old = new = 0  # remaining lines of the hunk: text in a hunk is not a header
    for line in lines:
        if old > 0 or new > 0:
            old -= line[:1] in ("-", " ", "")
            new -= line[:1] in ("+", " ", "")
            continue
        hunk = re.match(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", line)
        side = _SIDE.match(line)
        if hunk:
            old, new = (1 if count is None else int(count) for count in hunk.groups())
        elif _GIT.match(line):
            changes.append(Change(_git_name(line)))
        elif line.startswith("new file mode") and changes:
            changes[-1] = Change(changes[-1].file, True)
        elif line.startswith(("rename from ", "copy from ")):
            # Replaces the entry of the `diff --git` line. A copy does not touch its source.
            changes = [*changes[:-1], *([Change(_plain(line[12:]))] if line[0] == "r" else [])]
        elif line.startswith(("rename to ", "copy to ")):
            changes.append(Change(_plain(line.split(" to ", 1)[1]), True))
        elif side and side[1] == "---":
            before = _side(side[2])
        elif side:
            after = _side(side[2])
            changes.append(Change(before if after == _NEITHER else after, before == _NEITHER))
    return _unique(changes)


def _git_name(line: str) -> str:
    """Return the second name of `diff --git a/x b/x`. If they differ, `rename` lines follow."""
    rest = line.removeprefix("diff --git ")
    if rest.endswith('"'):
        return _side(rest[rest.rindex(' "') + 1 :])
    half = rest[len(rest) // 2 + 1 :]
    return _side(half if half.startswith("b/") else rest.rsplit(" ", 1)[-1])


def _plain(name: str) -> str:
    """Decode a name as git prints it: quoted if needed, with non-ASCII bytes in octal."""
    return unquote(name).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _side(name: str) -> str:
    plain = _plain(name.strip())
    return plain[2:] if plain.startswith(("a/", "b/")) else plain


def _unique(changes: list[Change]) -> list[Change]:
    """Merge the changes per file, sorted by name; a file is new if any of its changes is."""
    merged: dict[str, bool] = {}
    for change in changes:
        if change.file and change.file != _NEITHER:
            merged[change.file] = merged.get(change.file, False) or change.new
    return [Change(path, merged[path]) for path in sorted(merged)]
