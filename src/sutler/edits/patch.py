"""Parser for patches of models: unified diffs and the "*** Begin Patch" form.

A patch is parsed completely, in linear time and within limits, before any file is read. `hunks`
applies it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from sutler.errors import RefusedError, UsageError
from sutler.paths import quote, unquote

MAX_CHARS = 8 << 20  # the parser keeps every line of it
MAX_FILES = 200  # all are staged and exchanged together, or none is
MAX_HUNKS = 20_000  # each may search the whole file for its place

Kind = Literal["change", "create", "delete"]
_HEADER = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_REFUSED = {
    "rename from ": "a rename",
    "rename to ": "a rename",
    "copy from ": "a copy",
    "copy to ": "a copy",
    "GIT binary patch": "a binary patch",
    "Binary files ": "a binary patch",
    "*** Move to: ": "a rename",
}
_MODES = {"100644": 0o644, "100755": 0o755}
_BETWEEN = (
    "diff ",
    "Index: ",
    "From ",
    "-- ",
    "--\r",
)  # lines that may be between the hunks of two files
_NO_END = "\\ No newline at end of file"


class Piece(NamedTuple):
    """One hunk. `first` is the line in its header, from 1 (0: none); `line` is its line in the
    patch. `anchors` are lines that it must follow; `bare_old` and `bare_new` mean that the side's
    last line has no line end."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    unchanged: tuple[tuple[int, int], ...]
    first: int
    line: int
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    bare_old: bool = False
    bare_new: bool = False


class FilePatch(NamedTuple):
    """The part of a patch for one file; the path is spelt as in the patch."""

    path: str
    kind: Kind
    pieces: tuple[Piece, ...]
    mode: int = 0


def _malformed(line: int, what: str, next_step: str = "") -> UsageError:
    return UsageError(
        f"patch line {line}: {what}",
        rule="a patch is read whole or not at all",
        next_step=next_step,
    )


def parse(text: str, path: str = "") -> tuple[FilePatch, ...]:
    """Return the files that a patch changes, in its order; each at most once. With a path the patch
    may be bare hunks for that file."""
    if len(text) > MAX_CHARS:
        raise RefusedError(f"a patch of {len(text):,} characters", rule=f"at most {MAX_CHARS:,}")
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    first = next((line for line in lines if line.strip()), "")
    if path and first.startswith("@@"):
        return (_bare(lines, path),)
    files = tuple(_begin_patch(lines) if first.rstrip() == "*** Begin Patch" else _unified(lines))
    if not files:
        raise UsageError(
            "no patch in this text",
            rule="a patch is a unified diff or stands between *** Begin Patch and *** End Patch",
            next_step=(
                "begin with '--- a/PATH' and '+++ b/PATH', then '@@ -1,3 +1,4 @@' and the lines"
            ),
        )
    if len(files) > MAX_FILES or sum(len(file.pieces) for file in files) > MAX_HUNKS:
        raise RefusedError(
            "the patch is too large", rule=f"at most {MAX_FILES} files and {MAX_HUNKS:,} hunks"
        )
    names = [file.path for file in files]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UsageError(
            f"{quote(twice)} occurs twice in the patch",
            next_step="put all its hunks under one header",
        )
    return files


# the unified form


def _bare(lines: list[str], path: str) -> FilePatch:
    """Parse hunks without a file header, for a file that the caller names."""
    start = next(at for at, line in enumerate(lines) if line.strip())
    pieces, end = _pieces(lines, start)
    if rest := next((at for at in range(end, len(lines)) if lines[at].strip()), 0):
        raise _malformed(
            rest + 1,
            "text behind the last hunk",
            "every hunk begins with '@@ -1,3 +1,4 @@' and its counts are right",
        )
    return FilePatch(path, "change", pieces)


def _unified(lines: list[str]) -> Iterator[FilePatch]:
    at, mode, below = 0, 0, False
    while at < len(lines):
        line = lines[at].rstrip("\r")
        below = below and bool(line) and not line.startswith(_BETWEEN)
        if below and line[0] in " +-" and not _file_header(lines, at):
            raise _malformed(
                at + 1,
                "a line of a hunk outside of any hunk",
                "every hunk begins with '@@ -1,3 +1,4 @@'",
            )
        if what := next((what for start, what in _REFUSED.items() if line.startswith(start)), ""):
            raise _malformed(
                at + 1, f"{what} is not applied here", "delete one file and create the other"
            )
        if line.startswith(("new file mode ", "deleted file mode ", "new mode ")):
            word = line.split()[-1]
            if word not in _MODES:
                raise _malformed(at + 1, f"mode {word[:20]} is not a plain file's")
            mode = _MODES[word] if line.startswith("new") else 0
        if line.startswith("@@ "):
            raise _malformed(
                at + 1, "a hunk without a file", "put '--- a/PATH' and '+++ b/PATH' before it"
            )
        if not (
            line.startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")
        ):
            at += 1
            continue
        path, kind = _names(lines[at], lines[at + 1], at + 1)
        pieces, at = _pieces(lines, at + 2)
        if not pieces:
            raise _malformed(
                at, f"no hunk for {quote(path)}", "a hunk begins with '@@ -1,3 +1,4 @@'"
            )
        if kind == "create" and (len(pieces) > 1 or pieces[0].old):
            raise _malformed(
                pieces[0].line, "a new file has one hunk, and it only adds", "use '@@ -0,0 +1,N @@'"
            )
        yield FilePatch(path, kind, pieces, mode)
        mode, below = 0, True


def _names(old: str, new: str, line: int) -> tuple[str, Kind]:
    before, after = _name(old, line), _name(new, line + 1)
    if before == after == "/dev/null":
        raise _malformed(line, "neither side names a file")
    if before == "/dev/null":
        return (after[2:] if after.startswith("b/") else after), "create"
    if after == "/dev/null":
        return (before[2:] if before.startswith("a/") else before), "delete"
    if before.startswith("a/") and after.startswith("b/"):
        before, after = before[2:], after[2:]
    if before != after:
        raise _malformed(
            line,
            f"{quote(before)} and {quote(after)} are two names",
            "a rename is not applied here",
        )
    return after, "change"


def _name(header: str, line: int) -> str:
    name = header[4:].rstrip("\r").split("\t", 1)[0].rstrip()
    if "\r" in name or not name:
        raise _malformed(line, "no file name")
    if len(name) > 1 and name[0] == name[-1] == '"':
        try:
            return unquote(name)
        except ValueError:
            raise _malformed(line, "a quoted name that cannot be read") from None
    return name


def _pieces(lines: list[str], at: int) -> tuple[tuple[Piece, ...], int]:
    pieces: list[Piece] = []
    while at < len(lines) and lines[at].startswith("@@"):
        header = _HEADER.match(lines[at])
        if header is None:
            if lines[at].startswith("@@ -"):
                raise _malformed(
                    at + 1, f"{lines[at][:60]!r} is no hunk header", "write it as '@@ -1,3 +1,4 @@'"
                )
            piece, at = _body(lines, at, (), None)
        else:
            piece, at = _body(lines, at, (), (_count(header[2]), _count(header[4])))
            first = int(header[1])
            piece = piece._replace(first=first if piece.old else first + 1)
        pieces.append(piece)
    return tuple(pieces), at


def _count(digits: str | None) -> int:
    return 1 if digits is None else int(digits)


_STOPS = ("@@", "diff --git ", "*** ")


def _body(
    lines: list[str], header: int, anchors: tuple[str, ...], counts: tuple[int, int] | None
) -> tuple[Piece, int]:
    """Parse the lines of one hunk. Counts must be right; without them, the hunk extends to the next
    header."""
    old: list[str] = []
    new: list[str] = []
    pairs: list[tuple[int, int]] = []
    bare = [False, False]
    at = header + 1
    while at < len(lines):
        line = lines[at]
        if line.startswith(_NO_END[:12]) and (old or new):
            sign = lines[at - 1][:1]
            bare = [bare[0] or sign in " -", bare[1] or sign in " +"]
        elif _complete(lines, at, (len(old), len(new)), counts):
            break
        elif line[:1] not in ("", " ", "-", "+"):
            raise _malformed(
                at + 1,
                f"{line[:40]!r} begins with no ' ', '-' or '+'",
                _counted(header, old, new, counts),
            )
        else:
            _take(line, old, new, pairs)
        at += 1
    if counts is not None and (len(old), len(new)) != counts:
        raise _malformed(
            header + 1, "the counts of this hunk are wrong", _counted(header, old, new, counts)
        )
    if not old and not new:
        raise _malformed(header + 1, "an empty hunk")
    return Piece(tuple(old), tuple(new), tuple(pairs), 0, header + 1, anchors, False, *bare), at


def _complete(
    lines: list[str], at: int, have: tuple[int, int], counts: tuple[int, int] | None
) -> bool:
    if counts is not None:
        return have == counts
    return lines[at].startswith(_STOPS) or _file_header(lines, at)


def _take(line: str, old: list[str], new: list[str], pairs: list[tuple[int, int]]) -> None:
    """Add one line of a hunk; an empty line is an empty line of context, since some editors strip
    its blank."""
    sign, rest = line[:1], line[1:]
    if sign in ("", " "):
        pairs.append((len(old), len(new)))
    if sign != "+":
        old.append(rest)
    if sign != "-":
        new.append(rest)


def _file_header(lines: list[str], at: int) -> bool:
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def _counted(header: int, old: list[str], new: list[str], counts: tuple[int, int] | None) -> str:
    if counts is None:
        return "begin every line of a hunk with ' ', '-' or '+'"
    return (
        f"the header on line {header + 1} says {counts[0]} old and {counts[1]} new lines; "
        f"{len(old)} old and {len(new)} new were found"
    )


# the form that agents send


def _begin_patch(lines: list[str]) -> Iterator[FilePatch]:
    at = next(n for n, line in enumerate(lines) if line.strip()) + 1
    ended = False
    while at < len(lines):
        line = lines[at].rstrip("\r")
        at += 1
        if line.rstrip() == "*** End Patch":
            ended = True
            break
        if line.startswith("*** Add File: "):
            start = at
            while at < len(lines) and lines[at].startswith("+"):
                at += 1
            new = tuple(added[1:] for added in lines[start:at])
            yield FilePatch(
                line[14:].strip(), "create", (Piece((), new, (), 1, start + 1),) if new else ()
            )
        elif line.startswith("*** Delete File: "):
            yield FilePatch(line[17:].strip(), "delete", ())
        elif line.startswith("*** Update File: "):
            pieces, at = _sections(lines, at)
            yield FilePatch(line[17:].strip(), "change", pieces)
        elif line.strip():
            raise _malformed(
                at, f"{line[:60]!r} is not expected here", "name a file: '*** Update File: PATH'"
            )
    if not ended:
        raise _malformed(len(lines), "the patch does not end", "close it with '*** End Patch'")


def _sections(lines: list[str], at: int) -> tuple[tuple[Piece, ...], int]:
    pieces: list[Piece] = []
    while at < len(lines):
        line = lines[at]
        if line.startswith("*** Move to: "):
            raise _malformed(
                at + 1, "a rename is not applied here", "delete one file and add the other"
            )
        if line.startswith("*** "):
            break
        anchors: list[str] = []
        while at < len(lines) and lines[at].startswith("@@"):
            anchors.append(lines[at][2:].strip())
            at += 1
        piece, at = _body(lines, at - 1, tuple(filter(None, anchors)), None)
        if at < len(lines) and lines[at].rstrip() == "*** End of File":
            piece, at = piece._replace(at_end=True), at + 1
        pieces.append(piece)
    if not pieces:
        raise _malformed(at, "an update without a hunk", "begin one with '@@'")
    return tuple(pieces), at
