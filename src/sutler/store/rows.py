"""Rows of the store: the longer statements, rows as values, and the rows that one transaction of
the ledger adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from sutler.errors import DeniedError
from sutler.paths import RelPath, quote, unquote
from sutler.store.base import Query, Row
from sutler.store.records import (
    Approval,
    AuditEntry,
    AuditRow,
    Caller,
    Limits,
    RegistryRow,
    Spent,
    Version,
    seal,
)

AUDIT = "SELECT seq, call, phase, session, path, hash, body FROM audit WHERE project = ?"
VERSION = (
    "SELECT id, path, digest, size, at, author, origin, note, mode, call FROM versions WHERE"
    " project = ? AND path = ?"
)
NEWEST = (
    "SELECT n, digest, call FROM versions WHERE project = ? AND path = ? ORDER BY n DESC LIMIT 1"
)
KNOWN = "SELECT 1 FROM facts WHERE project = ? AND digest = ? AND kind = ? AND tool = ?"
PENDING = (
    "SELECT a.seq, a.call, a.phase, a.session, a.path, a.hash, a.body FROM pending p JOIN audit a"
    " ON a.project = p.project AND a.seq = p.seq WHERE p.project = ? ORDER BY a.seq"
)
HEAD = {  # locked against other writers; SQLite has one writer at a time anyway
    "sqlite": "SELECT seq, hash FROM heads WHERE project = ? AND name = 'audit'",
    "postgres": "SELECT seq, hash FROM heads WHERE project = ? AND name = 'audit' FOR UPDATE",
}
MOVE = "UPDATE heads SET seq = ?, hash = ? WHERE project = ? AND name = 'audit'"
CHAIN = (
    "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, call, phase) DO"
    " NOTHING"
)
CHARGE = (
    "INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, caller, session) DO"
    " UPDATE SET reads = spending.reads + excluded.reads, writes = spending.writes +"
    " excluded.writes, bytes = spending.bytes + excluded.bytes, tokens = spending.tokens +"
    " excluded.tokens"
)
SPENT = (
    "SELECT reads, writes, bytes, tokens FROM spending WHERE project = ? AND caller = ? AND"
    " session = ?"
)
APPROVAL = "SELECT body, state, settled_by, used_by FROM approvals WHERE project = ?"

_NOTHING, _UNLIMITED = Spent(), Limits()
Newest = dict[str, tuple[int, str, str]]
"""What a transaction knows of each path: the number, the digest and the call of its newest
version.
"""


def version_of(row: Row) -> Version:
    id, path, digest, size, at, author, origin, note, mode, call = row
    return Version(
        id=id,
        path=RelPath(unquote(path)),
        digest=digest,
        size=size,
        at=at,
        author=author,
        origin=origin,
        note=note,
        mode=mode,
        call=call,
    )


def approval_of(row: Row) -> Approval:
    body, state, settled_by, used_by = row
    found = msgspec.json.decode(body, type=Approval)
    return msgspec.structs.replace(
        found,
        path=RelPath(unquote(found.path)),
        state=state,
        settled_by=settled_by,
        used_by=used_by,
    )


def registry_row_of(row: Row) -> RegistryRow:
    path, size, digest, mtime_ns, version, tags, sensitivity, language = row
    return RegistryRow(
        RelPath(unquote(path)),
        size,
        digest,
        mtime_ns,
        version,
        tuple(tags.split()),
        sensitivity,
        language,
    )


def charge(entry: AuditEntry) -> Spent:
    """What an entry costs its caller. A write counts when it is about to happen, a read when it is
    about to leave.
    """
    if entry.phase == "intent":
        return Spent(writes=1)
    if entry.phase != "done":
        return Spent()
    return Spent(reads=int(entry.effect != "write"), bytes=entry.bytes, tokens=entry.tokens)


def over(spent: Spent, limits: Limits) -> str:
    """Which budget is overdrawn, as a rule; empty when none is."""
    for name in ("reads", "writes", "bytes", "tokens"):
        limit, used = getattr(limits, name), getattr(spent, name)
        if limit is not None and used > limit:
            return f"budget: {name} <= {limit}"
    return ""


def says_the_same(digest: str, call: str, version: Version) -> bool:
    """A write is a version of its own; what was merely seen adds nothing to the same content."""
    return call == version.call if version.call else digest == version.digest


# inside one transaction: entries are chained and charged, and the versions they name are kept


class Place(NamedTuple):
    """A project's chain, and how its head is taken so that it has one writer at a time."""

    project: str
    head: str


def chain(
    query: Query, place: Place, entries: Sequence[AuditEntry], caller: Caller | None
) -> tuple[AuditRow, ...]:
    """Entries as rows at the chain's end. With a `caller`, a budget that is overdrawn refuses all
    of it.
    """
    project, rows = place.project, list[AuditRow]()
    first = seq, prev = query(place.head, (project,))[0]
    for entry in entries:
        row = seal(entry, seq + 1, prev)
        if row.phase != "intent" and entry.effect == "write":
            query("DELETE FROM pending WHERE project = ? AND call = ?", (project, row.call))
        query(
            CHAIN,
            (project, row.seq, row.call, row.phase, row.session, row.path, row.hash, row.body),
        )
        if not query.changes():
            seen = query(f"{AUDIT} AND call = ? AND phase = ?", (project, entry.call, entry.phase))
            rows.append(AuditRow(*seen[0]))  # a retry after a lost reply
            continue
        rows.append(row)
        seq, prev = row.seq, row.hash
        if row.phase == "intent":
            query(
                "INSERT INTO pending (project, call, seq) VALUES (?, ?, ?)",
                (project, row.call, row.seq),
            )
        _charge(query, project, entry, caller)
    if (seq, prev) != first:
        query(MOVE, (seq, prev, project))
    return tuple(rows)


def _charge(query: Query, project: str, entry: AuditEntry, caller: Caller | None) -> None:
    cost, who = charge(entry), (project, entry.caller, entry.session)
    if cost == _NOTHING:
        return
    query(CHARGE, (*who, cost.reads, cost.writes, cost.bytes, cost.tokens))
    if caller is not None and caller.limits != _UNLIMITED:
        rule = over(Spent(*query(SPENT, who)[0]), caller.limits)
        if rule:
            raise DeniedError(f"{entry.tool} would overdraw the budget of this session", rule=rule)


def add_version(query: Query, project: str, version: Version, newest: Newest) -> None:
    """Append to a path's history, unless its newest version already says the same."""
    path = quote(version.path)
    last = newest.get(path)
    if last is None and (found := query(NEWEST, (project, path))):
        last = found[0][0], found[0][1], found[0][2]
    if last is not None and says_the_same(last[1], last[2], version):
        newest[path] = last
        return
    if last is not None and version.origin == "seen":  # the content changed without a write of ours
        version = msgspec.structs.replace(version, origin="external", author="unknown")
    number = last[0] + 1 if last is not None else 1
    what = (version.id, version.digest, version.size)
    rest = (version.at, version.author, version.origin, version.note, version.mode, version.call)
    query(
        "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (project, path, number, *what, *rest),
    )
    newest[path] = number, version.digest, version.call
