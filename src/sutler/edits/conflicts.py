"""Answers to a refused edit: both changes, the present file, the next step, and suggestions. All
texts are clean.

Suggestions come from the structure of the two changes and from the user's review command. They are
diffs of the present file. Nothing here is applied: a caller sends one back as a patch for the
version that the conflict names, and it passes the gate like any other."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from sutler.access.door import Door
from sutler.edits.difference import unified
from sutler.edits.merge import Clash
from sutler.edits.proposal import propose
from sutler.errors import ConflictError, SutlerError
from sutler.paths import RelPath, quote
from sutler.scan.text import lines_of
from sutler.store.records import Call, ClashText, Conflict, Outcome, Suggestion

REGION = 40  # enough for another edit without another read
MAX_DIFF = 40_000  # a longer proposal costs the model more than a new read of the file
_SHOWN = 60  # a conflict over a whole file would repeat the file three times
_AGAIN = (
    "read the file again and repeat the edit on what it holds now",
    "give both changes and the base to a reviewer and write its answer",
    "ask a person to decide",
)


class Sides(NamedTuple):
    """The three texts of a merge, and the version of the first."""

    version: str
    base: str
    ours: str
    theirs: str


class Met(NamedTuple):
    """Two overlapping changes of one file."""

    path: RelPath
    sides: Sides


def overlap(door: Door, path: RelPath, sides: Sides, clashes: Sequence[Clash]) -> ConflictError:
    """Build the conflict of two changes of the same place. The pieces are cut from texts that were
    redacted whole."""
    clean = [door.gate.clean_text(path, text, _digest(text)).text.split("\n") for text in sides[1:]]
    texts = []
    for clash in clashes[:20]:
        parts = []
        for lines, at, piece in zip(clean, clash.lines, clash[1:], strict=True):
            region = lines[at - 1 : at - 1 + len(piece)]
            more = [f"… {len(region) - _SHOWN} more lines"] if len(region) > _SHOWN else []
            parts.append("\n".join([*region[:_SHOWN], *more]))
        texts.append(ClashText(clash.lines[0], *parts))
    where = ", ".join(str(clash.lines[1]) for clash in clashes[:20])
    conflict = Conflict(
        path=quote(path),
        kind="overlap",
        base_version=sides.version,
        current_version=door.pages.digest(path)[:32],
        clashes=tuple(texts),
        region=_region("\n".join(clean[1]), clashes[0].lines[1]),
        proposals=_AGAIN,
    )
    return ConflictError(
        f"{quote(path)} changed since it was read, in the same place: line {where}",
        rule="two changes of one place are not merged",
        next_step=f"{_AGAIN[0]}; it now holds:\n{conflict.region}",
        conflict=conflict,
        sides=Met(path, sides),
    )


def stale(door: Door, path: RelPath, base: str) -> ConflictError:
    """Build the conflict of an edit for an unknown version that is not the present one."""
    try:
        page = door.pages.whole(path)
        version, text = page.version, page.text
    except SutlerError:
        version, text = door.pages.digest(path)[:32], ""
    what = "changed since it was read" if base else "was not read in this session"
    conflict = Conflict(
        path=quote(path),
        kind="stale",
        base_version=base[:64],
        current_version=version,
        region=_region(text, 1),
        proposals=_AGAIN,
    )
    return ConflictError(
        f"{quote(path)} {what}",
        rule="a write replaces what its author saw and nothing else",
        next_step=f"read it, then repeat the write with base {version}",
        conflict=conflict,
    )


def unfit(door: Door, path: RelPath, clean: str, fault: ConflictError) -> ConflictError:
    """Build the conflict of an edit that does not fit, with the region of the present file where it
    was searched."""
    line = _line_in(fault.what)
    region = _region(clean, line) if line else ""
    conflict = Conflict(
        path=quote(path),
        kind="mismatch",
        base_version="",
        current_version=door.pages.digest(path)[:32],
        region=region,
        proposals=_AGAIN[:1],
    )
    step = f"{fault.next_step}; " if fault.next_step else ""
    step += f"around line {line} the file holds:\n{region}" if region else _AGAIN[0]
    return ConflictError(
        f"{quote(path)}: {fault.what}",
        rule=fault.rule,
        next_step=step,
        conflict=conflict,
    )


def several(faults: Sequence[ConflictError], files: int) -> ConflictError:
    """Build one error for several files that reject their edit, so that one more try can correct
    them all."""
    conflicts = [fault.conflict for fault in faults if isinstance(fault.conflict, Conflict)]
    whole = (
        msgspec.structs.replace(conflicts[0], others=tuple(conflicts[1:])) if conflicts else None
    )
    steps = "\n".join(
        f"{fault.what.splitlines()[0]}: {fault.next_step}" for fault in faults if fault.next_step
    )
    return ConflictError(
        f"{len(faults)} of {files} files do not take their edit, so none was changed: "
        + "; ".join(fault.what for fault in faults),
        rule=faults[0].rule,
        next_step=steps,
        conflict=whole,
    )


def advised(door: Door, fault: ConflictError, met: Sequence[Met]) -> ConflictError:
    """Return the same conflict, with suggestions for each file with overlapping changes."""
    conflict = fault.conflict
    if not isinstance(conflict, Conflict) or not met:
        return fault
    advice = {quote(side.path): _suggestions(door, side) for side in met}
    files = [
        _with(conflicting, *advice.get(conflicting.path, ((), ())))
        for conflicting in (conflict, *conflict.others)
    ]
    whole = msgspec.structs.replace(files[0], others=tuple(files[1:]))
    suggested = "".join(
        f"\nsuggested by {suggestion.by}, not applied ({suggestion.note});"
        f" to take it, send it as a patch with base {file.current_version}:\n{suggestion.diff}"
        for file in files
        for suggestion in file.suggestions
    )
    return ConflictError(
        fault.what,
        rule=fault.rule,
        next_step=fault.next_step + suggested.rstrip("\n"),
        conflict=whole,
    )


def _with(conflict: Conflict, suggestions: Sequence[Suggestion], notes: Sequence[str]) -> Conflict:
    return msgspec.structs.replace(
        conflict, suggestions=tuple(suggestions), proposals=(*conflict.proposals, *notes)
    )


def _suggestions(door: Door, met: Met) -> tuple[tuple[Suggestion, ...], tuple[str, ...]]:
    path = met.path
    base, ours, theirs = (
        door.gate.clean_text(path, text, _digest(text)).text for text in met.sides[1:]
    )
    suggestions: list[Suggestion] = []
    notes: list[str] = []
    if proposal := propose(path, base, ours, theirs):
        suggestions += _suggestion("structure", path, ours, proposal.text, proposal.note)
    if door.setup.review is not None:
        try:
            text = _reviewed(door, path, (base, ours, theirs))
            suggestions += _suggestion(
                "review", path, ours, door.gate.clean(text, path).text, "by the review command"
            )
        except SutlerError as fault:
            notes.append(door.gate.clean(fault.what, "").text[:300])
    return tuple(suggestions), tuple(notes)


def _reviewed(door: Door, path: RelPath, texts: tuple[str, str, str]) -> str:
    """Ask the review command, which gets only text that the caller may read, and record the
    request."""
    review = door.setup.review
    call = Call(id=secrets.token_hex(12), tool="review", effect="read", path=path)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)

    def perform() -> tuple[str, Outcome]:
        return (review(quote(path), *texts) if review else ""), Outcome(bytes=size)

    return door.gate.enter(call, perform)


def _suggestion(
    by: Literal["structure", "review"], path: RelPath, ours: str, text: str, note: str
) -> list[Suggestion]:
    name = quote(path)
    diff = unified(lines_of(ours), lines_of(text), f"a/{name}", f"b/{name}") if text else ""
    return [Suggestion(by, note, diff)] if diff and len(diff) <= MAX_DIFF else []


def _line_in(what: str) -> int:
    """Return the line that an error names, to show the file around it; 0 for none."""
    words = what.replace(",", " ").replace(":", " ").split()
    for word, number in pairwise(words):
        if (
            word in ("line", "lines")
            and number.isdigit()
            and words[words.index(word) - 1] != "patch"
        ):
            return int(number)
    return 0


def _region(text: str, line: int) -> str:
    lines = text.split("\n")
    start = max(0, min(line - 1, len(lines)) - REGION // 2)
    return "\n".join(
        f"{start + n + 1}: {line[:300]}" for n, line in enumerate(lines[start : start + REGION])
    )


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
