"""Apply a patch or an edit to a text, without fuzz.

A hunk applies where all its old lines are, byte for byte except for the line end. A hunk that fits
in two places is refused, with the lines named, so that the next try can choose."""

from __future__ import annotations

from collections.abc import Sequence

from sutler.edits.patch import Piece
from sutler.errors import ConflictError, RefusedError, UsageError

MAX_LOOKS = 2_000_000
"""Limit of line comparisons for the place of one hunk; a hunk of blank lines fits everywhere."""


def apply(pieces: Sequence[Piece], text: str, *, unique: bool = False) -> str:
    """Return the text with every hunk applied. `unique`: the text that the patch was made for is
    unknown, so each hunk must fit in one place only."""
    lines = text.split("\n")
    tail = lines.pop()
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in lines]
    plain = [line.removesuffix("\r") for line in lines]
    if tail:
        plain.append(tail)
        ends.append("")
    where: dict[str, list[int]] = {}
    for number, line in enumerate(plain):
        where.setdefault(line, []).append(number)
    out: list[str] = []
    at = 0
    for piece in pieces:
        start = _place(piece, plain, where, unique=unique)
        if start < at:
            raise ConflictError(
                f"the hunk on patch line {piece.line} begins before the one above it ends (line"
                f" {start + 1})",
                rule="hunks stand in order and do not overlap",
                next_step="join the two hunks, or put them in the order of the file",
            )
        _check_end(piece, plain, ends, start)
        out += [plain[n] + ends[n] for n in range(at, start)]
        out += _replaced(piece, plain, ends, start)
        at = start + len(piece.old)
    out += [plain[n] + ends[n] for n in range(at, len(plain))]
    return "".join(out)


def _place(piece: Piece, plain: list[str], where: dict[str, list[int]], *, unique: bool) -> int:
    old = [line.removesuffix("\r") for line in piece.old]
    stated = piece.first - 1
    if not old:
        return _insertion(piece, plain, unique=unique)
    places = _matches(old, plain, where)
    if piece.anchors:
        after = _after(piece, where)
        places = [at for at in places if at > after]
    if piece.at_end:
        places = [at for at in places if at + len(old) == len(plain)]
    if len(places) == 1 or (not unique and stated in places):
        return places[0] if len(places) == 1 else stated
    if places:
        numbers = ", ".join(str(at + 1) for at in places[:20])
        raise ConflictError(
            f"the hunk on patch line {piece.line} fits in {len(places)} places: lines {numbers}",
            rule="an edit applies in one place only",
            next_step="add lines of context until only one place fits",
        )
    raise ConflictError(
        _mismatch(piece, old, plain, stated),
        rule="a hunk applies exactly or not at all",
        next_step="",
    )


def _insertion(piece: Piece, plain: list[str], *, unique: bool) -> int:
    """Return where a hunk without old lines goes: to its stated line, which counts only if its
    author saw this text."""
    if piece.at_end or not plain:
        return len(plain)
    if unique or not 0 < piece.first <= len(plain) + 1:
        raise ConflictError(
            f"the hunk on patch line {piece.line} only adds and has no context",
            rule="an edit applies in one place only",
            next_step="add the lines around it as context",
        )
    return piece.first - 1


def _after(piece: Piece, where: dict[str, list[int]]) -> int:
    """Return the line of the last anchor; each anchor occurs once below the one before."""
    at = -1
    for anchor in piece.anchors:
        places = [
            n
            for line, numbers in where.items()
            if line.strip() == anchor
            for n in numbers
            if n > at
        ]
        if len(places) != 1:
            numbers = ", ".join(str(n + 1) for n in sorted(places)[:20]) or "none"
            raise ConflictError(
                f"the anchor {anchor[:80]!r} before patch line {piece.line + 1} stands on lines:"
                f" {numbers}",
                rule="an anchor occurs once",
                next_step="use another anchor, or context instead of it",
            )
        at = places[0]
    return at


def _matches(old: list[str], plain: list[str], where: dict[str, list[int]]) -> list[int]:
    """Return every place of the old lines, searched by the rarest of them."""
    rarest = min(range(len(old)), key=lambda n: (len(where.get(old[n], ())), n))
    candidates = where.get(old[rarest], [])
    if len(candidates) * len(old) > MAX_LOOKS:
        raise RefusedError(
            "the old lines of a hunk fit almost anywhere", rule=f"at most {MAX_LOOKS:,} lines are"
            " compared",
            next_step="add a line of context that is not repeated",
        )  # fmt: skip
    starts = (at - rarest for at in candidates)
    return [at for at in starts if at >= 0 and plain[at : at + len(old)] == old]


def _mismatch(piece: Piece, old: list[str], plain: list[str], stated: int) -> str:
    """Describe the wrong line at the hunk's place: its stated line, or the place of its first old
    line."""
    start = (
        stated if piece.first else next((n for n, line in enumerate(plain) if line == old[0]), -1)
    )
    if start < 0:
        return (
            f"the hunk on patch line {piece.line} fits nowhere; its first old line {old[0][:120]!r}"
            " is not in the file"
        )
    for n, line in enumerate(old):
        actual = repr(plain[start + n][:120]) if start + n < len(plain) else "the end of the file"
        if start + n >= len(plain) or plain[start + n] != line:
            return (
                f"the hunk on patch line {piece.line} does not fit: "
                f"line {start + n + 1} of the file is {actual}, the patch has {line[:120]!r}"
            )
    return f"the hunk on patch line {piece.line} does not fit after its anchor"


def _check_end(piece: Piece, plain: list[str], ends: list[str], start: int) -> None:
    last = start + len(piece.old)
    if piece.bare_old and (last != len(plain) or not ends or ends[-1]):
        raise ConflictError(
            f"the hunk on patch line {piece.line} says that the file has no final newline, and it"
            " has one",
            rule="a hunk applies exactly or not at all",
            next_step="leave out '\\ No newline at end of file'",
        )


def _replaced(piece: Piece, plain: list[str], ends: list[str], start: int) -> list[str]:
    """Return the hunk's new lines. Unchanged lines stay as in the file, and a new line has the line
    end of the one it replaces."""
    sources = {new: old for old, new in piece.unchanged}
    last = start + len(piece.old)
    near = next((ends[n] for n in (start, start - 1, 0) if 0 <= n < len(ends) and ends[n]), "\n")
    out: list[str] = []
    for n, line in enumerate(piece.new):
        if n in sources:
            at = start + sources[n]
            out.append(plain[at] + ends[at])
            near = ends[at] or near
        elif line.endswith("\r"):
            out.append(f"{line}\n")
        else:
            out.append(line + near)
    if last < len(plain) or not out:
        return _closed(out, last < len(plain), near)
    # the hunk reaches the end of the file: its last line ends as the patch says, else as the file
    # did
    bare = (
        piece.bare_new
        if piece.bare_new or piece.bare_old
        else bool(piece.old and not ends[-1] and len(piece.new) - 1 not in sources)
    )
    if bare or (len(piece.new) - 1 in sources and not out[-1].endswith("\n")):
        out[-1] = out[-1].removesuffix("\n").removesuffix("\r")
        return [*_closed(out[:-1], True, near), out[-1]]
    return _closed(out, True, near)


def _closed(out: list[str], every: bool, near: str) -> list[str]:
    """Complete line ends: only the file's last line may lack one."""
    return [line if line.endswith("\n") else line + near for line in out] if every else out


# replacing a text


def replace_once(text: str, old: str, new: str) -> str:
    """Return the text with its one occurrence of `old` replaced."""
    if not old:
        raise UsageError("nothing to look for", next_step="give the text that is to be replaced")
    count = text.count(old)
    if not count and "\r\n" in text and "\n" in old and "\r" not in old:
        old, new = old.replace("\n", "\r\n"), new.replace("\r\n", "\n").replace("\n", "\r\n")
        count = text.count(old)
    if count > 1:
        raise ConflictError(
            f"the old text occurs in {count} places: lines"
            f" {', '.join(map(str, _lines_with(text, old)))}",
            rule="an edit applies in one place only",
            next_step="add text around it until it occurs once",
        )
    if not count:
        raise ConflictError(
            f"the old text does not occur in the file; {_nearest(text, old)}",
            rule="an edit applies exactly or not at all",
        )
    at = text.index(old)
    end = text.find("\n", at)
    if end > 0 and text[end - 1] == "\r" and "\r" not in new:
        new = new.replace("\n", "\r\n")
    return text[:at] + new + text[at + len(old) :]


def _lines_with(text: str, old: str) -> list[int]:
    places: list[int] = []
    at, line, seen = text.find(old), 1, 0
    while at >= 0 and len(places) < 20:  # a longer message helps no reader
        line += text.count("\n", seen, at)
        places.append(line)
        seen, at = at, text.find(old, at + len(old))
    return places


def _nearest(text: str, old: str) -> str:
    """Describe the place of the first line of `old`, where a model should look."""
    head = next((line.strip() for line in old.split("\n") if line.strip()), "")
    places = [n for n, line in enumerate(text.split("\n"), 1) if head and head in line][:5]
    if not places:
        return f"nor does its first line {head[:120]!r}"
    return f"its first line {head[:120]!r} stands on line {', '.join(map(str, places))}"
