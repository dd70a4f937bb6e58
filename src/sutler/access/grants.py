"""Consent of a person: to one call (an approval), or for a session and a folder (a grant).

An approval is bound to one effect, expires, and is used once. A grant is recorded in the ledger: a
row gives it, a later row revokes it. A grant is for one caller, session, policy and folder, and
only for writes that ask by default: control files, ignored files and the user's own `ask` rules
still ask. It ends after some hours, when it is revoked, when the policy changes, or when the ledger
is rotated."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

from sutler.errors import DeniedError
from sutler.paths import quote, unquote
from sutler.store.records import Approval, AuditEntry, Call, Caller, Decision, stamp, unseal
from sutler.store.sql import Store

DEFAULT_RULE = "default: ask writes"
"""The rule that a grant lifts."""
SECONDS = 8 * 3_600  # one working day: a yes for a session must end without being revoked
Consent = bool | Literal["session"]
"""Yes or no to one call; `session` is a yes that also holds for its folder and session."""
Ask = Callable[[Approval], Consent | None]
"""Callback of a front that asks a person; None if no answer is possible now."""
State = Literal["used", "pending", "declined"]
DECLINED = "the person was asked and declined"
DO_NOT_RETRY = (
    "do not repeat this call, and do not make the same change in another way; "
    "go on without it, or ask the person what to do instead"
)
_GRANTED, _REVOKED = "grant", "grant_revoked"
_PAGE = 5_000  # a ledger of millions of rows is read in constant memory


def obtain(
    store: Store, wanted: Approval, call: str, ask: Ask | None, by: str, clock: Callable[[], float]
) -> tuple[Approval, State]:
    """Return an approval for exactly the `wanted` effect, used for `call`; or the pending or
    declined one. With `ask` the person is asked now."""
    now = stamp(clock())
    for approval in store.approvals("approved"):
        if _covers(approval, wanted, now) and store.use(approval.id, call):
            return approval, "used"
    waiting = (
        approval for approval in store.approvals("pending") if _covers(approval, wanted, now)
    )
    pending = next(waiting, None)
    if pending is None:
        store.add_approval(wanted)
        pending = wanted
    answer = ask(pending) if ask else None
    if answer is None or answered(store, pending.id, answer, by) is None:
        return pending, "pending"
    # A person takes time to answer: the question may have expired meanwhile.
    if not (answer and stamp(clock()) < pending.expires and store.use(pending.id, call)):
        return pending, "declined"
    if answer == "session" and grantable(pending):
        give(store, pending, by, clock())
    return pending, "used"


def answered(store: Store, id: str, consent: Consent, by: str) -> bool | None:
    """Record a person's answer; return whether it is the final one. None for a yes of a team member
    without the right to approve: the approval stays pending."""
    try:
        return store.settle(id, "approved" if consent else "denied", by)
    except DeniedError:
        return None if consent else False


def _covers(approval: Approval, wanted: Approval, now: str) -> bool:
    return _binding(approval) == _binding(wanted) and now < approval.expires


def _binding(approval: Approval) -> tuple[str, ...]:
    """Return the fields that an approval binds; approvals that differ in one are for different
    effects."""
    effect = approval.tool, approval.path, approval.base, approval.result, approval.args
    return (*effect, approval.policy, approval.caller, approval.session)


class Grant(Struct, frozen=True):
    """A permission to write below a folder without an approval."""

    folder: str
    session: str
    caller: str
    policy: str
    at: str
    by: str


def grantable(approval: Approval) -> bool:
    """Return whether consent to this call may be extended to its folder."""
    return approval.rule == DEFAULT_RULE and '["files",' not in approval.args


def folder_of(path: str) -> str:
    """Return the glob of everything in a file's folder and below."""
    folder = path.rpartition("/")[0]
    return f"{folder}/**" if folder else "**"


def lifted(store: Store, caller: Caller, policy: str, call: Call, now: float) -> Decision | None:
    """Return the decision by which a grant allows a write that asks by default, or None."""
    globs = ["**"]
    for at, letter in enumerate(call.path):
        if letter == "/":
            globs.append(f"{call.path[:at]}/**")
    for glob in reversed(globs):
        rows = store.audit_of(caller.session, glob, 100)
        grant = _last(entry for entry in map(unseal, rows) if entry.tool in (_GRANTED, _REVOKED))
        bound = grant is not None and (grant.caller, grant.policy) == (caller.id, policy)
        if grant is not None and bound and _valid(grant, now):
            return Decision("allow", f"grant: {glob} in this session")
    return None


def give(store: Store, approval: Approval, by: str, now: float) -> str:
    """Record a grant for the folder of an approved call; return its glob."""
    folder = folder_of(approval.path)
    grant = Grant(folder, approval.session, approval.caller, approval.policy, stamp(now), by)
    store.record((_entry(grant, _GRANTED),), None)
    return folder


def revoke(store: Store, grant: Grant, by: str, now: float) -> None:
    ended = Grant(grant.folder, grant.session, grant.caller, grant.policy, stamp(now), by)
    store.record((_entry(ended, _REVOKED),), None)


def active(store: Store, now: float) -> tuple[Grant, ...]:
    """Return all valid grants, oldest first."""
    grants: dict[tuple[str, str], Grant] = {}
    for entry in _all(store):
        key = entry.session, entry.path
        if entry.tool == _GRANTED:
            grants.pop(key, None)
            grants[key] = _grant(entry)
        elif entry.tool == _REVOKED:
            grants.pop(key, None)
    return tuple(grant for grant in grants.values() if _valid(grant, now))


def _all(store: Store) -> Iterator[AuditEntry]:
    after = 0
    while page := store.audit(after, _PAGE):
        yield from map(unseal, page)
        after = page[-1].seq


def _last(entries: Iterator[AuditEntry]) -> Grant | None:
    newest: AuditEntry | None = None
    for entry in entries:
        newest = entry if newest is None or entry.seq > newest.seq else newest
    return _grant(newest) if newest is not None and newest.tool == _GRANTED else None


def _valid(grant: Grant, now: float) -> bool:
    return stamp(now - SECONDS) < grant.at <= stamp(now)


def _entry(grant: Grant, tool: str) -> AuditEntry:
    return AuditEntry(
        call=secrets.token_hex(16),
        phase="done",
        at=grant.at,
        caller=grant.caller,
        session=grant.session,
        tool=tool,
        effect="list",
        path=quote(grant.folder),
        args=(("policy", grant.policy), ("by", grant.by)),
        verdict="allow",
        rule="a person's consent" if tool == _GRANTED else "revoked by a person",
    )


def _grant(entry: AuditEntry) -> Grant:
    args = dict(entry.args)
    policy, by = args.get("policy", ""), args.get("by", "")
    return Grant(unquote(entry.path), entry.session, entry.caller, policy, entry.at, by)
