"""What a change touches, read from file names, from git's status letters, or from a unified
diff.
"""

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
    """One file a line, as `git diff --name-only` or `--name-status` prints them; `is_new` judges
    bare names.
    """
    found: list[Change] = []
    for raw in lines:
        line = raw.rstrip("\r\n")
        status = _STATUS.fullmatch(line)
        if status is None:
            path = _plain(line.strip())
            found += [Change(path, is_new(path))] if path else []
            continue
        letter, _, names = status.groups()
        paths = [_plain(name) for name in names.split("\t")]
        found.append(Change(paths[-1], letter in "ACR"))
        if letter == "R" and len(paths) > 1:
            found.append(Change(paths[0]))
    return _unique(found)


def changes_from_diff(diff: str) -> list[Change]:
    """The files of a unified diff, git's or plain: a rename touches both names, an empty new file
    counts too.
    """
    found: list[Change] = []
    lines = iter(diff.splitlines())
    before = ""
    old = new = 0  # lines of the hunk that are still to come: text in a hunk is no header
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
            found.append(Change(_git_name(line)))
        elif line.startswith("new file mode") and found:
            found[-1] = Change(found[-1].file, True)
        elif line.startswith(("rename from ", "copy from ")):
            found = [*found[:-1], *([Change(_plain(line[12:]))] if line[0] == "r" else [])]
        elif line.startswith(("rename to ", "copy to ")):
            found.append(Change(_plain(line.split(" to ", 1)[1]), True))
        elif side and side[1] == "---":
            before = _side(side[2])
        elif side:
            after = _side(side[2])
            found.append(Change(before if after == _NEITHER else after, before == _NEITHER))
    return _unique(found)


def _git_name(line: str) -> str:
    """`diff --git a/x b/x`: the second half; names that differ come with `rename` lines of their
    own.
    """
    rest = line.removeprefix("diff --git ")
    if rest.endswith('"'):
        return _side(rest[rest.rindex(' "') + 1 :])
    half = rest[len(rest) // 2 + 1 :]
    return _side(half if half.startswith("b/") else rest.rsplit(" ", 1)[-1])


def _plain(name: str) -> str:
    """A name as git prints it: quoted where it must be, every byte beyond ASCII in octal."""
    return unquote(name).encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _side(name: str) -> str:
    plain = _plain(name.strip())
    return plain[2:] if plain.startswith(("a/", "b/")) else plain


def _unique(found: list[Change]) -> list[Change]:
    """Each file once, in order of its name; new if anything says so."""
    merged: dict[str, bool] = {}
    for change in found:
        if change.file and change.file != _NEITHER:
            merged[change.file] = merged.get(change.file, False) or change.new
    return [Change(path, merged[path]) for path in sorted(merged)]
