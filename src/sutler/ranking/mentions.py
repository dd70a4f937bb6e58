"""Files that a task names: paths, links, stack frames of many languages, and hunks of a diff.

Every repetition of these patterns is bounded or cannot be entered twice at the same place: a task is
untrusted text.
"""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

URL = re.compile(r"\b[a-z][a-z0-9+.-]{0,20}://[^\s)>\]\"'`]+")
_BLOB_LINK = re.compile(
    r"/(?:blob|tree|raw|src|blame|edit)/[^/\s]{1,200}/([^\s#?)]{1,500})(?:#L(\d{1,9}))?"
)
_PATH = re.compile(
    r"(?<![\w@/.~\\+-])((?:[A-Za-z]:)?[~.\w/\\+-]{0,300}[\w+-]\.[A-Za-z][A-Za-z0-9]{0,5})\b"
    r"(?::(\d{1,9}))?"
)
_PLACE = r"(?P<path>[\w.$/\\:@~+-]{1,300}\.\w{1,5}):(?P<line>\d{1,9})"
_INNERMOST_LAST = (
    re.compile(
        r'File "(?P<path>[^"\n]{1,500})", line (?P<line>\d{1,9})(?:, in (?P<name>\S{1,200}))?'
    ),
    re.compile(
        r"^[ \t]{0,20}(?:File )?(?P<path>[\w~./\\<>:-]{1,300}\.\w{1,9})(?: in |:(?P<line>\d{1,9}), in )"
        r"(?P<name>\w{1,200})",
        re.M,
    ),
)
"""Stack frames of Python and of IPython."""
_INNERMOST_FIRST = (
    # Go: the call stands in the line above
    re.compile(
        rf"^(?P<name>[\w./()*\[\]-]{{1,200}})\([^\n]{{0,300}}\)\n[ \t]{{1,8}}{_PLACE}", re.M
    ),
    # Rust: the same with a number before the call
    re.compile(
        rf"^[ \t]{{0,8}}\d{{1,4}}: (?P<name>[\w:<> ]{{1,300}})\n[ \t]{{1,20}}at {_PLACE}", re.M
    ),
    # Java, JavaScript
    re.compile(
        rf"^[ \t]{{0,20}}at[ \t]{{1,4}}(?:(?P<name>[\w$.<>\[\] ]{{1,200}}?) ?)?\(?{_PLACE}", re.M
    ),
    # C and C++: gdb and the sanitizers
    re.compile(
        r"^[ \t]{0,8}#\d{1,4}[ \t]{1,4}(?:0x[0-9a-f]{1,16}[ \t]in[ \t])?(?P<name>[\w:~]{1,200})"
        rf"[^\n]{{0,300}}?[ \t]{_PLACE}",
        re.M,
    ),
    # Ruby
    re.compile(rf"^[ \t]{{0,8}}(?:from )?{_PLACE}:in [`'](?P<name>[^'\n]{{1,200}})'", re.M),
    # PHP
    re.compile(
        r"^#\d{1,4} (?P<path>[\w./\\-]{1,300}\.\w{1,5})\((?P<line>\d{1,9})\): (?P<name>[\w\\:>-]{1,200})",
        re.M,
    ),
)
_HUNK = re.compile(
    r"^\+\+\+ (?:b/)?(?P<path>[^\t\n]{1,500})\n@@ -\d{1,9}(?:,\d{1,9})? \+(?P<line>\d{1,9})", re.M
)
_HUNK_CONTEXT = 3  # unchanged lines that a hunk starts with
_JVM = frozenset({"java", "kt", "scala", "groovy"})
_ANONYMOUS = frozenset({"anonymous", "async", "main"})
_NAME = re.compile(r"[A-Za-z_]\w{0,199}")
_FRAMES = (*_INNERMOST_LAST, *_INNERMOST_FIRST)
_DIFF_HEAD = re.compile(
    r"^(?:diff --git |index [0-9a-f]|--- (?:a/|/dev)|\+\+\+ (?:b/|/dev))[^\n]{1,1000}$", re.M
)


class Mention(Struct, frozen=True, gc=False):
    """A path that the task names; `strength` falls for outer stack frames; `line` is 0 when none is
    given.
    """

    path: str
    line: int
    frame: bool
    strength: float
    function: str = ""
    titled: bool = False


def mentions_of(text: str) -> tuple[Mention, ...]:
    """Paths in URLs, stack frames, diffs and running text; the innermost frames are the
    strongest.
    """
    mentions: dict[tuple[str, int, bool], Mention] = {}
    for url in URL.findall(text):
        for path, line in _BLOB_LINK.findall(url):
            _add(mentions, Mention(path, int(line or 0), False, 1.0))
    bare = URL.sub(" ", text)
    frames = _frames(bare)
    for frame in frames:
        _add(mentions, frame)
    for match in _HUNK.finditer(bare):
        line = int(match["line"]) + _HUNK_CONTEXT
        _add(mentions, Mention(match["path"].strip(), line, False, 1.0))
    title_end = len(bare) - len(bare.lstrip().partition("\n")[2])
    framed_paths = {match["path"] for pattern in _FRAMES for match in pattern.finditer(bare)}
    for match in _PATH.finditer(_DIFF_HEAD.sub(_blank, bare)):
        path, line = match.groups()
        if path not in framed_paths:
            titled = match.start() < title_end
            framed = bool(line) and not titled
            _add(mentions, Mention(path, int(line or 0), framed, 1.0, "", titled))
    return tuple(mentions.values())[:200]


def _frames(text: str) -> list[Mention]:
    """Stack frames of any language, each with its function."""
    frames: list[Mention] = []
    for patterns, first in ((_INNERMOST_LAST, False), (_INNERMOST_FIRST, True)):
        for pattern in patterns:
            matches = list(pattern.finditer(text))
            for i, match in enumerate(matches):
                part = i / len(matches) if first else 1 - (i + 1) / len(matches)
                name = (_NAME.findall(match["name"] or "") or [""])[-1]
                name = "" if name in _ANONYMOUS else name
                path = _with_package(match["path"], match["name"] or "")
                if not path.startswith("<"):
                    line = int(match["line"] or 0)
                    frames.append(Mention(path, line, True, 1.0 - 0.6 * part, name))
    return frames


def _blank(match: re.Match[str]) -> str:
    """Spaces in place of a match: what follows keeps its position."""
    return " " * len(match[0])


def _with_package(path: str, name: str) -> str:
    """A frame of the JVM names the file alone; the package of its function leads to the folder."""
    parts = name.split(".")
    if path.rpartition(".")[2] in _JVM and "/" not in path and len(parts) > 2:
        return "/".join((*parts[:-2], path))
    return path


def _add(mentions: dict[tuple[str, int, bool], Mention], mention: Mention) -> None:
    clean = replace(mention, path=mention.path.replace("\\", "/").removeprefix("./").lstrip("~/"))
    key = (clean.path, clean.line, clean.frame)
    if key not in mentions or mentions[key].strength < clean.strength:
        mentions[key] = clean


def is_trace(code: str) -> bool:
    if "Traceback (most recent call last)" in code:
        return True
    return any(len(pattern.findall(code)) > 1 for pattern in _FRAMES)
