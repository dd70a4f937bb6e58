"""Rows of the store: the longer statements, conversion of rows to values, and the steps of
transactions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from sutler.errors import DeniedError
from sutler.paths import RelPath, quote, unquote
from sutler.store import records
from sutler.store.base import Database, Query, Row
from sutler.store.records import ReceiptRow

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
NAMED = "SELECT value FROM named WHERE project = ? AND name = ?"
MOVED = "moved"
"""Name of the mark of a store whose ledger continues elsewhere."""
APPROVAL = "SELECT body, state, settled_by, used_by FROM approvals WHERE project = ?"

UNLIMITED = records.Limits()
_REMEMBERED = 4_096  # it saves queries only; evicted rows are queried again
_NOTHING = records.Spent()
Newest = dict[str, tuple[int, str, str]]
"""Cache of a transaction by path: number, digest and call of the newest version."""


def version_of(row: Row) -> records.Version:
    id, path, digest, size, at, author, origin, note, mode, call = row
    return records.Version(
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


def approval_of(row: Row) -> records.Approval:
    body, state, settled_by, used_by = row
    approval = msgspec.json.decode(body, type=records.Approval)
    return msgspec.structs.replace(
        approval,
        path=RelPath(unquote(approval.path)),
        state=state,
        settled_by=settled_by,
        used_by=used_by,
    )


def registry_row_of(row: Row) -> records.RegistryRow:
    path, size, digest, mtime_ns, version, tags, sensitivity, language = row
    return records.RegistryRow(
        RelPath(unquote(path)),
        size,
        digest,
        mtime_ns,
        version,
        tuple(tags.split()),
        sensitivity,
        language,
    )


def charge(entry: records.AuditEntry) -> records.Spent:
    """Return the cost of an entry. A write is charged before it happens, a read before its text is
    sent."""
    if entry.phase == "intent":
        return records.Spent(writes=1)
    if entry.phase != "done":
        return records.Spent()
    return records.Spent(reads=int(entry.effect != "write"), bytes=entry.bytes, tokens=entry.tokens)


def over(spent: records.Spent, limits: records.Limits) -> str:
    """Return the rule of the budget that is exceeded; empty if none is."""
    for name in ("reads", "writes", "bytes", "tokens"):
        limit, used = getattr(limits, name), getattr(spent, name)
        if limit is not None and used > limit:
            return f"budget: {name} <= {limit}"
    return ""


def says_the_same(digest: str, call: str, version: records.Version) -> bool:
    """Return whether `version` repeats the newest one. A write always adds a version; a read adds
    one only if the content differs."""
    return call == version.call if version.call else digest == version.digest


# The functions below run inside one transaction, except `moved_to`.


class Place(NamedTuple):
    """A project's chain, and the statement that reads its head and locks out other writers."""

    project: str
    head: str


def chain(
    query: Query, place: Place, entries: Sequence[records.AuditEntry], caller: records.Caller | None
) -> tuple[records.AuditRow, ...]:
    """Append entries to the chain and charge them. With a `caller`, raise DeniedError if a budget
    is exceeded, which rolls back all entries."""
    project, rows = place.project, list[records.AuditRow]()
    first = seq, prev = query(place.head, (project,))[0]
    for entry in entries:
        row = records.seal(entry, seq + 1, prev)
        if row.phase != "intent" and entry.effect == "write":
            query("DELETE FROM pending WHERE project = ? AND call = ?", (project, row.call))
        query(
            CHAIN,
            (project, row.seq, row.call, row.phase, row.session, row.path, row.hash, row.body),
        )
        if not query.changes():
            seen = query(f"{AUDIT} AND call = ? AND phase = ?", (project, entry.call, entry.phase))
            rows.append(records.AuditRow(*seen[0]))  # a retry after a lost reply
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


def _charge(
    query: Query, project: str, entry: records.AuditEntry, caller: records.Caller | None
) -> None:
    cost, who = charge(entry), (project, entry.caller, entry.session)
    if cost == _NOTHING:
        return
    query(CHARGE, (*who, cost.reads, cost.writes, cost.bytes, cost.tokens))
    if caller is not None and caller.limits != UNLIMITED:
        rule = over(records.Spent(*query(SPENT, who)[0]), caller.limits)
        if rule:
            raise DeniedError(f"{entry.tool} would overdraw the budget of this session", rule=rule)


def add_version(query: Query, project: str, version: records.Version, newest: Newest) -> None:
    """Append to a path's history, unless the newest version is the same."""
    path = quote(version.path)
    last = newest.get(path)
    if last is None and (rows := query(NEWEST, (project, path))):
        last = rows[0][0], rows[0][1], rows[0][2]
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


def update_registry(
    query: Query, project: str, fresh: Sequence[records.RegistryRow], gone: Sequence[str]
) -> None:
    """Replace the rows of fresh files; delete those of files that are gone."""
    for path in (*gone, *(row.path for row in fresh)):
        query("DELETE FROM registry WHERE project = ? AND path = ?", (project, quote(path)))
    for row in fresh:
        state = (row.size, row.digest, row.mtime_ns, row.version)
        labels = (" ".join(row.tags), row.sensitivity, row.language)
        query(
            "INSERT INTO registry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (project, quote(row.path), *state, *labels),
        )


def put_receipt(query: Query, project: str, receipt: ReceiptRow) -> None:
    """Store a receipt, and the list of the pack's files if it is not there yet."""
    pack, at, body, files = receipt
    earlier = query("SELECT 1 FROM sent WHERE project = ? AND pack = ?", (project, pack))
    if files and not earlier:
        query("INSERT INTO sent VALUES (?, ?, ?)", (project, pack, files))
    query(
        "INSERT INTO receipts VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (project, pack, at, body),
    )


def put_fact(query: Query, key: tuple[str, str, str, str], body: bytes) -> None:
    """Store a fact by project, digest, kind and tool, unless it is there."""
    if not query(KNOWN, key):  # a lookup is cheaper than a large insert that changes nothing
        query("INSERT INTO facts VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", (*key, body))


def moved_to(database: Database, project: str) -> str:
    """Return the project in which this ledger continues; empty if it continues here."""
    rows = database.select(NAMED, (project, MOVED))
    return bytes(rows[0][0]).decode() if rows else ""


class Recent:
    """Facts that this process stored lately, so that they are not looked up again; with `versions`
    also the last content of each path. Then a content that another process changed and changed
    back meanwhile is not recorded a second time."""

    def __init__(self, *, versions: bool = False) -> None:
        self._versions = versions
        self._facts: set[tuple[str, str, str]] = set()
        self._digests: dict[str, str] = {}

    def clear(self) -> None:
        self._facts.clear()
        self._digests.clear()

    def has_fact(self, fact: records.Fact) -> bool:
        return fact[:3] in self._facts

    def has_version(self, version: records.Version) -> bool:
        last = self._digests.get(version.path) if self._versions else None
        return version.origin == "seen" and last == version.digest

    def remember(self, versions: Sequence[records.Version], facts: Sequence[records.Fact]) -> None:
        """Add what a committed transaction stored."""
        if len(self._facts) + len(self._digests) > _REMEMBERED:
            self.clear()
        self._facts.update(fact[:3] for fact in facts)
        self._digests.update((version.path, version.digest) for version in versions)


def add_seen(
    query: Query,
    project: str,
    versions: Sequence[records.Version],
    facts: Sequence[records.Fact],
    recent: Recent,
) -> None:
    """Store versions and facts, except those that are known to be stored."""
    newest: Newest = {}
    for version in versions:
        if not recent.has_version(version):
            add_version(query, project, version, newest)
    for fact in facts:
        if not recent.has_fact(fact):
            put_fact(query, (project, *fact[:3]), fact[3])


@lru_cache(maxsize=_REMEMBERED)
def slot_of(project: str, path: str) -> str:
    """Return the lock of a path: one of 256."""
    return records.sha256(f"{project} {quote(path)}")[:2]


def put_named(query: Query, project: str, name: str, value: bytes | None) -> None:
    """Set a named value of a project, or remove it."""
    query("DELETE FROM named WHERE project = ? AND name = ?", (project, name))
    if value is not None:
        query("INSERT INTO named VALUES (?, ?, ?)", (project, name, value))
