"""Results of the plans of a write: its diff, its answer, the preview for an approval, and the
versions to record."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

import msgspec

from sutler.access.door import Door
from sutler.access.gate import Gate
from sutler.edits.difference import unified
from sutler.edits.plan import Plan
from sutler.paths import RelPath, quote
from sutler.scan.text import decode, lines_of
from sutler.store.records import Call, FileChange, PatchResult, Version, version_id

SHOWN = 400
"""Limit of diff lines in an approval; further ones are counted."""
LONGEST = 500  # an approval is read by a person
CUT = " … ({} characters of this line are not shown)"


def versions_of(
    gate: Gate, plans: Sequence[Plan], calls: Sequence[Call], at: str, reason: str
) -> tuple[Version, ...]:
    """Return the versions that a write records: the content before, if it was unknown, and the
    content after."""
    versions: list[Version] = []
    note = gate.clean(reason, "").text[:300] if reason else ""
    for plan, call in zip(plans, calls, strict=True):
        if plan.idle:
            continue
        before = plan.before
        if before.digest:  # the store adds it if it is new
            versions.append(
                Version(
                    id=version_id(before.digest),
                    path=plan.path,
                    digest=before.digest,
                    size=len(before.data),
                    at=at,
                    author="unknown",
                    origin="seen",
                    note="found before a write",
                    mode=before.mode,
                )
            )
        after = plan.after
        versions.append(
            Version(
                id=version_id(plan.result) or "deleted",
                path=plan.path,
                digest=plan.result,
                size=len(after.data) if after else 0,
                at=at,
                author=gate.caller.id,
                origin="written",
                note=note,
                mode=(after.mode if after else 0),
                call=call.id,
            )
        )
    return tuple(versions)


def _clean(door: Door, path: RelPath, data: bytes, digest: str) -> str | None:
    decoded = decode(data)
    return None if decoded is None else door.gate.clean_text(path, decoded.text, digest).text


def shown_diff(door: Door, plans: Sequence[Plan]) -> str:
    """Return the changes of a write, between texts that were redacted whole."""
    parts = []
    for plan in plans:
        if plan.idle:
            continue
        after = plan.after
        old = _clean(door, plan.path, plan.before.data, plan.before.digest)
        new = _clean(door, plan.path, after.data, after.digest) if after else ""
        name = quote(plan.path)
        if old is None or new is None:
            parts.append(f"{name}: not text\n")
            continue
        names = (
            f"a/{name}" if plan.before.digest else "/dev/null",
            f"b/{name}" if after else "/dev/null",
        )
        text = unified(lines_of(old), lines_of(new), *names)
        parts.append(
            text or f"{name}: only what is redacted, the mode or hidden characters change\n"
        )
    return "".join(parts)


def answer(door: Door, plans: Sequence[Plan], *, dry_run: bool = False) -> PatchResult:
    """Return the answer of a write."""
    files = tuple(
        FileChange(
            path=quote(plan.path),
            version=version_id(plan.result),
            before=plan.before.digest,
            after=plan.result,
            size_before=len(plan.before.data),
            size_after=len(plan.after.data) if plan.after else 0,
            merged=plan.merged,
        )
        for plan in plans
    )
    changed = sum(not plan.idle for plan in plans)
    merged = any(plan.merged for plan in plans)
    word = "would change" if dry_run else "changed"
    message = (
        f"{word} {changed} file{'' if changed == 1 else 's'}" if changed else "nothing to change"
    )
    return PatchResult(
        success=True,
        message=f"{message}, merged with what others had changed" if merged else message,
        diff=shown_diff(door, plans),
        version_id=files[0].version if len(files) == 1 else "",
        merged=merged,
        dry_run=dry_run,
        files=files,
    )


def preview(door: Door, plans: Sequence[Plan]) -> str:
    """Render the preview for an approval: paths, sizes and counts, then the diff in its order;
    every line is escaped, and every omission is counted."""
    head = []
    for plan in plans:
        after = plan.after
        sizes = (
            f"{len(plan.before.data):,} -> {len(after.data):,} bytes"
            if after
            else f"{len(plan.before.data):,} bytes"
        )
        what = "delete" if after is None else "change" if plan.before.digest else "create"
        head.append(f"{what} {quote(plan.path)}: {sizes}")
    lines = [line for line in shown_diff(door, plans).split("\n") if line]
    body = [line for line in lines if not line.startswith(("+++ ", "--- "))]
    added = sum(line.startswith("+") for line in body)
    removed = sum(line.startswith("-") for line in body)
    head_lines = [_escaped(line) for line in lines[:SHOWN]]
    left = len(lines) - len(head_lines)
    count = f"{added + removed} changed lines" + (
        f"; {left} lines of the diff are not shown" if left > 0 else f" (+{added} -{removed})"
    )
    return "\n".join([*head, count, *head_lines])


def whole_call(calls: tuple[Call, ...], preview: str) -> Call:
    """Return the one call that a consent covers: for several files, a digest over all of them."""
    first = calls[0]
    if len(calls) == 1:
        return msgspec.structs.replace(first, preview=preview)
    marks = [(call.path, call.base, call.result) for call in calls]
    names = ", ".join(quote(call.path) for call in calls)
    return msgspec.structs.replace(
        first,
        args=(*first.args, ("files", names)),
        base=sha256(repr([mark[:2] for mark in marks]).encode()).hexdigest(),
        result=sha256(repr(marks).encode()).hexdigest(),
        preview=preview,
    )


def _escaped(line: str) -> str:
    """Escape control and bidi characters, so that the display equals the content, and count the
    omitted ones."""
    text = "".join(
        letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in line[:LONGEST]
    )
    return text if len(line) <= LONGEST else f"{text}{CUT.format(len(line) - LONGEST)}"
