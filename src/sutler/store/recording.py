"""Inside one transaction of the ledger: entries are chained and paid for, and the versions they speak of are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from sutler.store.base import Query
from sutler.store.rows import charge, over, says_the_same
from sutler.store.state import boot
from sutler.store.statements import AUDIT, CHAIN, CHARGE, MOVE, NEWEST, SPENT
from sutler.values.access import AuditEntry, AuditRow, Caller, Limits, Spent, Version, seal
from sutler.values.errors import DeniedError
from sutler.values.paths import quote

_NOTHING, _UNLIMITED = Spent(), Limits()
Newest = dict[str, tuple[int, str, str]]
"""What a transaction knows of each path: the number, the digest and the call of its newest version."""


class Place(NamedTuple):
    """A project's chain, and how its head is taken so that it has one writer at a time."""

    project: str
    head: str


def chain(
    query: Query, place: Place, entries: Sequence[AuditEntry], caller: Caller | None, still: Mapping[str, str]
) -> tuple[AuditRow, ...]:
    """Entries as rows at the chain's end. With a `caller`, a budget that is overdrawn refuses all of it."""
    project, rows = place.project, list[AuditRow]()
    first = seq, prev = query(place.head, (project,))[0]
    for entry in entries:
        row = seal(entry, seq + 1, prev)
        query(CHAIN, (project, row.seq, row.call, row.phase, row.session, row.path, row.hash, row.body))
        if not query.changes():
            seen = query(f"{AUDIT} AND call = ? AND phase = ?", (project, entry.call, entry.phase))
            rows.append(AuditRow(*seen[0]))  # a retry after a lost reply
            continue
        rows.append(row)
        seq, prev = row.seq, row.hash
        mark = still.get(entry.call)
        if row.phase == "intent":
            query("INSERT INTO pending VALUES (?, ?, ?, ?, ?)", (project, row.call, row.seq, boot(), mark or ""))
        elif entry.effect == "write" and mark is None:
            query("DELETE FROM pending WHERE project = ? AND call = ?", (project, row.call))
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
    if last is not None and version.origin == "seen":  # known before, and now something else that nobody wrote here
        version = msgspec.structs.replace(version, origin="external", author="unknown")
    number = last[0] + 1 if last is not None else 1
    what = (version.id, version.digest, version.size)
    rest = (version.at, version.author, version.origin, version.note, version.mode, version.call)
    query("INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (project, path, number, *what, *rest))
    newest[path] = number, version.digest, version.call
