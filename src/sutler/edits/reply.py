"""Parser for a model's chat reply with changes: fenced files with a name, edit blocks, diffs and
patches amid prose.

Nothing is guessed. A fence without a name changes nothing and is reported. An ambiguous name, a
file that is given twice, or a file with "the rest stays as it is" refuses the whole reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from sutler.edits.hunks import apply, replace_once
from sutler.edits.patch import FilePatch, parse
from sutler.errors import ConflictError, RefusedError, UsageError
from sutler.paths import quote

MAX_CHARS = 8 << 20  # no answer is longer, but a file piped by mistake may be
MAX_BLOCKS = 1_000  # each block looks for its place in a file

_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})[ \t]*([^\r]*?)[ \t]*\r?$")
_NAMED = re.compile(
    r"(?:^|[\s{])(?:file(?:name|path)?|path|title|name)\s*[=:]\s*"
    r"""(?:"([^"]+)"|'([^']+)'|([^\s}]+))""",
    re.I,
)
_WORD = r"[^\s`*\"'<>|:]+"
_PATH = re.compile(
    rf"{_WORD}/{_WORD}|(?:{_WORD})?\.[A-Za-z0-9_+-]{{1,12}}|(?:Makefile|Dockerfile|LICENSE|README)"
)
_CAPTION = re.compile(
    r"^\s*(?:#{1,6}\s+|[-*+]\s+|\d+[.)]\s+)?(?:\*\*|__)?"
    r"(?:(?:new |create |update |modify |edit )?file(?:name|path)?\s*:?\s+)?"
    r"(?:\*\*|__)?[`\"']?(?P<path>[^\s`*\"']+)[`\"']?(?:\*\*|__)?\s*"
    r"(?:\((?:new|new file|created|updated|modified)\))?"
    r"\s*:?\s*(?:\*\*|__)?\s*$",
    re.I,
)  # fmt: skip
_OPEN = re.compile(r"^<{5,9} ?(?:SEARCH|ORIGINAL|HEAD|OLD)\b.*$")
_MIDDLE = re.compile(r"^={5,9}\s*$")
_CLOSE = re.compile(r"^>{5,9} ?(?:REPLACE|UPDATED|NEW)\b.*$")
_TAG = re.compile(r"""^<file\s+(?:path|name)=(?:"([^"<>]+)"|'([^'<>]+)')\s*>\s*$""")
_ELIDED = re.compile(
    r"^\s*(?:#|//|--|;|%|/\*|<!--|\{/\*)?\s*(?:\.\.\.|…)?\s*[(\[]?\s*"
    r"(?:(?:the )?rest of|(?:your |the )?"
    r"(?:existing|remaining|previous|unchanged|original|other)\b.{0,30}\b"
    r"(?:code|file|contents?|functions?|methods?|imports|lines|logic|implementation)|same as before"
    r"|unchanged).{0,60}(?:\.\.\.|…)?.{0,10}$",
    re.I,
)  # fmt: skip
_DIFFS = ("diff", "patch", "udiff")

Kind = Literal["file", "edit", "patch"]


class Change(NamedTuple):
    """One block that changes one file. `line` is its line in the reply."""

    path: str
    kind: Kind
    line: int
    text: str = ""
    old: str = ""
    patch: FilePatch | None = None


class Reply(NamedTuple):
    """The changes in the reply's order, and the ignored blocks with the reason."""

    changes: tuple[Change, ...]
    notes: tuple[str, ...]


class _Block(NamedTuple):
    """A fenced block: its first line, the info string of its fence, its lines, and a path on the
    line above."""

    line: int
    info: str
    body: list[str]
    caption: str


def read_reply(text: str) -> Reply:
    """Return all changes of a reply; refuse one whose blocks are ambiguous."""
    if len(text) > MAX_CHARS:
        raise RefusedError(f"a reply of {len(text):,} characters", rule=f"at most {MAX_CHARS:,}")
    lines = text.split("\n")
    changes: list[Change] = []
    notes: list[str] = []
    if (first := next((line for line in lines if line.strip()), "")) and (
        first.startswith(("diff --git ", "--- ", "*** Begin Patch"))
    ):
        return Reply(tuple(_patched(lines, 1)), ())
    for part in _parts(lines):
        if isinstance(part, Change):
            changes.append(part)
        else:
            _block(part, changes, notes)
        if len(changes) > MAX_BLOCKS:
            raise RefusedError(
                "the reply has too many blocks", rule=f"at most {MAX_BLOCKS:,} changes"
            )
    if not changes:
        raise UsageError(
            "no change in this reply" + (f"; {notes[0]}" if notes else ""),
            rule="a reply holds fenced files with names, edit blocks, or patches",
            next_step="name the file in the fence (```python src/app.py), or send a unified diff",
        )
    return Reply(tuple(changes), tuple(notes))


def _parts(lines: list[str]) -> Iterator[Change | _Block]:
    """Yield the fenced blocks of the reply, and the changes outside of any."""
    at, name = 0, ""
    while at < len(lines):
        line = lines[at].rstrip("\r")
        if fence := _FENCE.match(lines[at]):
            end = _end_of(lines, at, fence)
            yield _Block(
                at + 1, fence[3], _body(lines[at + 1 : end], len(fence[1])), _caption(lines, at)
            )
            at = end
        elif _OPEN.match(line):
            name = _caption(lines, at) or name
            change, at = _edit(lines, at, name)
            yield change
        elif tag := _TAG.match(line):
            end = next((n for n in range(at + 1, len(lines)) if lines[n].strip() == "</file>"), -1)
            if end < 0:
                raise UsageError(f"reply line {at + 1}: a <file> without its </file>")
            yield Change(tag[1] or tag[2], "file", at + 1, _text(lines[at + 1 : end]))
            at = end
        elif line.rstrip() == "*** Begin Patch" or _headed(lines, at):
            end = _patch_end(lines, at)
            yield from _patched(lines[at:end], at + 1)
            at = end - 1
        at += 1


def _headed(lines: list[str], at: int) -> bool:
    return lines[at].startswith("--- ") and at + 2 < len(lines) and lines[at + 1].startswith("+++ ")


def _patch_end(lines: list[str], at: int) -> int:
    """Return the end of a patch outside of any fence: its last line, or the start of prose."""
    if lines[at].rstrip() == "*** Begin Patch":
        end = next(
            (n for n in range(at, len(lines)) if lines[n].rstrip() == "*** End Patch"),
            len(lines) - 1,
        )
        return end + 1
    end = at + 2
    while end < len(lines) and (
        lines[end][:1] in (" ", "+", "-", "@", "\\") or _headed(lines, end)
    ):
        end += 1
    return end


def _end_of(lines: list[str], at: int, fence: re.Match[str]) -> int:
    """Return the closing fence. A second opening one of the same kind inside would make the pairs
    ambiguous."""
    mark, inner = fence[2], 0
    for n in range(at + 1, len(lines)):
        other = _FENCE.match(lines[n])
        if not other or other[2][0] != mark[0] or len(other[2]) < len(mark):
            continue
        if not other[3]:
            if inner:
                raise UsageError(
                    f"reply line {inner}: a fence inside the fence of line {at + 1} that is not"
                    " shorter",
                    rule="a block must have one end",
                    next_step=f"fence the outer block with {len(mark) + 1} or more {mark[0]!r}",
                )
            return n
        if mark[0] not in other[3]:
            inner = inner or n + 1
    raise UsageError(
        f"reply line {at + 1}: a fence that is never closed", next_step="send the whole reply"
    )


def _body(lines: list[str], indent: int) -> list[str]:
    """Return the lines of a block without the indentation of its fence."""
    if not indent:
        return lines
    return [line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines]


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _caption(lines: list[str], at: int) -> str:
    """Return a path that stands alone on the last non-empty line before `at`."""
    above = at - 1
    while above >= 0 and not lines[above].strip():
        above -= 1
    caption = _CAPTION.match(lines[above]) if above >= 0 else None
    if caption is None or not _PATH.fullmatch(caption["path"].rstrip(":")):
        return ""
    return caption["path"].rstrip(":")


def _named(info: str) -> str:
    """Return a path in a fence's first line: `python src/app.py`, `python:src/app.py`, `python
    title="src/app.py"`."""
    if name := _NAMED.search(info):
        return str(next(filter(None, name.groups())))
    words = info.split()
    if words and ":" in words[0]:
        return words[0].partition(":")[2]
    # ```.py is a language spelt with a dot
    paths = [
        word
        for n, word in enumerate(words)
        if (n or word[0] != ".") and _PATH.fullmatch(word.strip("`\"'()"))
    ]
    return paths[-1].strip("`\"'()") if len(paths) == 1 and len(words) <= 2 else ""


def _block(block: _Block, changes: list[Change], notes: list[str]) -> None:
    body, name = block.body, _named(block.info) or block.caption
    first = next((line for line in body if line.strip()), "")
    if any(_OPEN.match(line) for line in body):
        changes += _edits(block, name)
    elif (block.info.split()[:1] and block.info.split()[0].lower() in _DIFFS) or _is_patch(body):
        if not _is_patch(body) and name and first.startswith("@@"):
            body = [f"--- a/{name}", f"+++ b/{name}", *body]
        changes += _patched(body, block.line + 1)
    elif tagged := _TAG.match(first.strip()):
        raise UsageError(
            f"reply line {block.line}: a <file> inside a fence ({tagged[1] or tagged[2]})",
            next_step="use the one or the other",
        )
    elif name:
        changes.append(Change(name, "file", block.line, _text(body)))
    else:
        hint = f"; its first line says {first.strip()[:60]!r}" if _comment_path(first) else ""
        notes.append(f"the block on line {block.line} names no file and was left alone{hint}")


def _is_patch(body: list[str]) -> bool:
    # Only its head: a whole file may quote a patch further down.
    return any(
        _headed(body, n) or line.rstrip() == "*** Begin Patch" for n, line in enumerate(body[:40])
    )


def _comment_path(line: str) -> bool:
    words = line.strip().strip("#/*-<!>; ").split()
    return len(words) == 1 and bool(_PATH.fullmatch(words[0]))


def _patched(lines: list[str], line: int) -> Iterator[Change]:
    try:
        files = parse(_text(lines))
    except UsageError as wrong:
        raise UsageError(
            f"the patch on reply line {line}: {wrong.what}",
            rule=wrong.rule,
            next_step=wrong.next_step,
        ) from None
    for file in files:
        yield Change(file.path, "patch", line, patch=file)


def _edits(block: _Block, name: str) -> Iterator[Change]:
    at = 0
    while at < len(block.body):
        if _OPEN.match(block.body[at].rstrip("\r")):
            name = _caption(block.body, at) or name
            change, at = _edit(block.body, at, name, block.line)
            yield change
        at += 1


def _edit(lines: list[str], at: int, name: str, shift: int = 0) -> tuple[Change, int]:
    """Parse one search-and-replace block; return it and its last line."""
    where = at + 1 + shift
    middle = next(
        (n for n in range(at + 1, len(lines)) if _MIDDLE.match(lines[n].rstrip("\r"))), -1
    )
    end = next(
        (n for n in range(middle + 1, len(lines)) if _CLOSE.match(lines[n].rstrip("\r"))), -1
    )
    if middle < 0 or end < 0:
        raise UsageError(
            f"reply line {where}: an edit block that does not end", next_step="send the whole reply"
        )
    if not name:
        raise UsageError(
            f"reply line {where}: an edit block without a file",
            next_step="put the path on the line above",
        )
    if any(_OPEN.match(line) or _MIDDLE.match(line) for line in lines[middle + 1 : end]):
        raise UsageError(
            f"reply line {where}: an edit block with two middles",
            next_step="send one block for each edit",
        )
    return (
        Change(name, "edit", where, _text(lines[middle + 1 : end]), _text(lines[at + 1 : middle])),
        end,
    )


# applying changes


def make_of(changes: tuple[Change, ...]) -> Callable[[str, bool], str]:
    """Return a function that applies the changes of one file to its old text, in the reply's
    order."""

    def make(text: str, unique: bool) -> str:
        for n, change in enumerate(changes):
            if change.kind == "file":
                _refuse_elided(change, text)
                text = change.text
            elif change.patch is not None:
                # after another change the lines that a hunk names are no longer what its author
                # counted
                text = apply(change.patch.pieces, text, unique=unique or n > 0)
            elif change.old.strip() or not text:
                text = _edited(change, text)
            else:
                raise ConflictError(
                    f"the edit block on reply line {change.line} searches for nothing, and the file"
                    " has text",
                    next_step="search for the text that it replaces",
                )
        return text

    return make


def _edited(change: Change, text: str) -> str:
    if not change.old:
        return change.text
    old, new = change.old, change.text
    if old not in text and not text.endswith("\n") and text.endswith(old[:-1]) and "\r" not in text:
        old, new = old[:-1], new.removesuffix("\n")  # the file's last line has no line end
    try:
        return replace_once(text, old, new)
    except ConflictError as fault:
        raise ConflictError(
            f"the edit block on reply line {change.line}: {fault.what}",
            rule=fault.rule,
            next_step=fault.next_step,
        ) from None


def _refuse_elided(change: Change, old: str) -> None:
    """Refuse an abbreviated file: the omitted parts would be lost."""
    lines_before = set(old.split("\n"))
    for n, line in enumerate(change.text.split("\n")):
        if _ELIDED.match(line) and line not in lines_before and ("..." in line or "…" in line):
            raise RefusedError(
                f"{quote(change.path)} leaves out code on reply line {change.line + 1 + n}:"
                f" {line.strip()[:80]!r}",
                rule="a whole file replaces all of the old one",
                next_step="send the whole file, or only the changes as a diff or edit blocks",
            )


def by_file(changes: tuple[Change, ...]) -> dict[str, tuple[Change, ...]]:
    """Group the changes by file, files in the reply's order. A whole file, a creation or a deletion
    must be the only change of its file."""
    by_path: dict[str, tuple[Change, ...]] = {}
    for change in changes:
        by_path[change.path] = (*by_path.get(change.path, ()), change)
    for path, several in by_path.items():
        alone = [
            change
            for change in several
            if change.kind == "file" or (change.patch and change.patch.kind != "change")
        ]
        if len(several) > 1 and alone:
            lines = ", ".join(str(change.line) for change in several)
            raise UsageError(
                f"{quote(path)} occurs several times in the reply: lines {lines}",
                rule="a file is given whole once, or in edits",
                next_step="take out all but one",
            )
    return by_path
