"""How a conflict could be settled: by the structure of the two changes, and by the user's review command.

Suggestions are diffs of the file as it is, made of clean text. Nothing here is ever applied: whoever likes one sends it
back as a patch for the version that the conflict names, and it goes through the gate like any other.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import sha256
from typing import Literal

import msgspec

from sutler.access.conflicts import Met
from sutler.access.door import Door
from sutler.access.pages import lines_of
from sutler.stages.difference import unified
from sutler.stages.settling import propose
from sutler.values.access import Call, Conflict, Outcome, Suggestion
from sutler.values.errors import ConflictError, SutlerError
from sutler.values.paths import RelPath, quote

MAX_DIFF = 40_000


def advised(door: Door, fault: ConflictError, met: Sequence[Met]) -> ConflictError:
    """The same conflict, with suggestions for each file in which two changes met."""
    conflict = fault.conflict
    if not isinstance(conflict, Conflict) or not met:
        return fault
    found = {quote(one.path): _suggestions(door, one) for one in met}
    files = [_with(one, *found.get(one.path, ((), ()))) for one in (conflict, *conflict.others)]
    whole = msgspec.structs.replace(files[0], others=tuple(files[1:]))
    shown = "".join(
        f"\nsuggested by {one.by}, not applied ({one.note});"
        f" to take it, send it as a patch with base {file.current_version}:\n{one.diff}"
        for file in files
        for one in file.suggestions
    )
    return ConflictError(fault.what, rule=fault.rule, next_step=fault.next_step + shown.rstrip("\n"), conflict=whole)


def _with(conflict: Conflict, suggestions: Sequence[Suggestion], notes: Sequence[str]) -> Conflict:
    return msgspec.structs.replace(conflict, suggestions=tuple(suggestions), proposals=(*conflict.proposals, *notes))


def _suggestions(door: Door, met: Met) -> tuple[tuple[Suggestion, ...], tuple[str, ...]]:
    path = met.path
    base, ours, theirs = (
        door.pages.clean_text(path, text, sha256(text.encode("utf-8", "surrogatepass")).hexdigest()).text
        for text in met.sides[1:]
    )
    found: list[Suggestion] = []
    notes: list[str] = []
    if proposal := propose(path, base, ours, theirs):
        found += _shown("structure", path, ours, proposal.text, proposal.note)
    if door.setup.review is not None:
        try:
            text = _reviewed(door, path, (base, ours, theirs))
            found += _shown("review", path, ours, door.gate.clean(text, path).text, "by the review command")
        except SutlerError as fault:
            notes.append(door.gate.clean(fault.what, "").text[:300])
    return tuple(found), tuple(notes)


def _reviewed(door: Door, path: RelPath, texts: tuple[str, str, str]) -> str:
    """The review command is shown what the caller may read, and that it was asked is on record."""
    review = door.setup.review
    call = Call(id=secrets.token_hex(12), tool="review", effect="read", path=path)
    size = sum(len(text.encode("utf-8", "replace")) for text in texts)

    def perform() -> tuple[str, Outcome]:
        return (review(quote(path), *texts) if review else ""), Outcome(bytes=size)

    return door.gate.enter(call, perform)


def _shown(by: Literal["structure", "review"], path: RelPath, ours: str, text: str, note: str) -> list[Suggestion]:
    name = quote(path)
    diff = unified(lines_of(ours), lines_of(text), f"a/{name}", f"b/{name}") if text else ""
    return [Suggestion(by, note, diff)] if diff and len(diff) <= MAX_DIFF else []
