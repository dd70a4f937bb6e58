"""Settle pending approvals by a person: only one that was shown completely, in exactly this form,
while the file is unchanged."""

from __future__ import annotations

import re
import secrets
from typing import Literal

from msgspec import Struct

from sutler.access.door import Door
from sutler.edits.answer import CUT
from sutler.edits.replacement import held
from sutler.errors import ConflictError, UsageError
from sutler.paths import ROOT, quote
from sutler.store.records import Approval, Call, Outcome, canonical, sha256, stamp
from sutler.store.sql import Store

MAX_BYTES = 64 << 20  # the file is read to compare it with what was approved
_COUNTED = re.compile(r"\d+ changed lines; \d+ lines of the diff are not shown")
_UNSHOWN = re.compile(
    r": (?:not text|only what is redacted, the mode or hidden characters change)$", re.MULTILINE
)
_CUT = re.compile(re.escape(CUT).replace(re.escape("{}"), r"\d+") + "$", re.MULTILINE)


class Waiting(Struct, frozen=True):
    """An approval as a front shows it. `digest` is over all of it: a person who settles it confirms
    what they saw."""

    approval: Approval
    digest: str
    whole: bool


def waiting(store: Store, now: float) -> list[Waiting]:
    """Return the pending approvals, oldest first."""
    pending = [approval for approval in store.approvals("pending") if stamp(now) < approval.expires]
    return [
        as_shown(approval)
        for approval in sorted(pending, key=lambda approval: (approval.created, approval.id))
    ]


def as_shown(approval: Approval) -> Waiting:
    return Waiting(approval, sha256(canonical(approval)), whole(approval.preview))


def whole(preview: str) -> bool:
    """Return whether a preview omits nothing. Its own lines state that; a diff that imitates them
    can only give False."""
    return not (_COUNTED.search(preview) or _CUT.search(preview) or _UNSHOWN.search(preview))


def settle(
    door: Door, id: str, state: Literal["approved", "denied"], by: str, seen: str
) -> Approval:
    """Settle one approval for a person who saw it as `seen`. Approving needs more than denying: all
    of the change was shown, and the file is still the one that the change was made for."""
    store, gate = door.gate.store, door.gate
    approval = store.approval(id)
    if approval is None or approval.state != "pending" or stamp(gate.clock()) >= approval.expires:
        raise UsageError(
            f"no approval {quote(id[:40])} waits", next_step="list the pending approvals again"
        )
    now = as_shown(approval)
    if now.digest != seen:
        raise ConflictError(
            "this is not the approval that was shown", rule="what is shown is what is approved"
        )
    if state == "approved":
        if not now.whole:
            raise ConflictError(
                "the change is too long to be shown whole here",
                rule="what is not shown is not approved here",
                next_step=(
                    f"look at the change itself, then run 'sutler approve {approval.id}' in a"
                    " terminal"
                ),
            )
        _still(door, approval)
    call = Call(
        id=secrets.token_hex(16),
        tool=f"approval_{state}",
        effect="list",
        path=ROOT,
        args=(("id", approval.id),),
    )
    done = gate.enter(call, lambda: (store.settle(approval.id, state, by), Outcome()))
    if not done:
        raise ConflictError(
            f"approval {approval.id} was settled meanwhile",
            next_step="list the pending approvals again",
        )
    return approval


def _still(door: Door, approval: Approval) -> None:
    """Refuse if the file has changed. A change of one file binds that file's digest. A change of
    several binds a digest of them all, which the write itself compares with the files, not this
    function."""
    single = approval.result and approval.path and '["files",' not in approval.args
    if single and held(door.root, approval.path, MAX_BYTES).digest != approval.base:
        raise ConflictError(
            f"{quote(approval.path)} has moved on since the change was made",
            rule="what is shown is what is written",
            next_step="deny it; its author must read the file again",
        )
