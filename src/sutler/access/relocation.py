"""Move, back up and restore a project's store, with its ledger verified before and signed after.

A moved store keeps its rows and a mark with its new place; opening it is refused, because a ledger
that continues in two places is no chain. The chain continues in the target with a row about the
move."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from msgspec import UNSET, Struct

from sutler.access.audit import Ledger, Verification
from sutler.errors import DeniedError, RefusedError
from sutler.store import copies, home, location
from sutler.store.base import Query
from sutler.store.records import AuditEntry, stamp
from sutler.store.rows import MOVED, moved_to, put_named
from sutler.store.sql import Store


class Relocation(Struct, frozen=True):
    """Result of a move or a restore: rows, and the verified head of the ledger in the target."""

    project: str
    rows: int
    head: int


@contextmanager
def ledger_at(root: str, environ: Mapping[str, str]) -> Iterator[Ledger]:
    """Open the ledger of a project, also one that was moved away."""
    directory, project, key = home.project_folder(root, environ)
    store = location.connect(root, directory, project, environ)
    try:
        yield Ledger(store, directory, key, shared=bool(environ.get("SUTLER_STORE")))
    finally:
        store.close()


def _verified(ledger: Ledger) -> Verification:
    checked = ledger.verify()
    if not checked.ok:
        raise RefusedError(
            f"the ledger does not verify at row {checked.bad}: {checked.detail}",
            rule="only a sound ledger is moved, backed up or restored",
            next_step="inspect that row with 'sutler log'; restore a backup if it was changed",
        )
    return checked


def _still(store: Store) -> None:
    if store.pending_count():
        raise RefusedError(
            "writes of this project wait for their outcome",
            rule="a store is copied when no write is under way",
            next_step="end the servers of this project; 'sutler session' settles old writes",
        )


def move(source: Ledger, target: Ledger, at: float) -> Relocation:
    """Copy all rows, continue the chain there, sign it, and close the source for good. A move that
    was interrupted can be repeated."""
    here, there = source.store, target.store
    _verified(source)
    _still(here)
    head, rows = here.head(), 0
    if not _arrived(there, head):
        _require_prefix(here, there)
        entry = _entry("store_move", there, f"head {head[1]}", at)
        rows = _fill(there, copies.pages(here.database, here.project), entry)
    _verified(target)
    target.close(stamp(at))
    _mark(here, there.project)
    return Relocation(there.project, rows, there.head()[0])


def _arrived(there: Store, head: tuple[int, str]) -> bool:
    """Return whether the target holds the source's head already, from an interrupted move."""
    rows = there.audit(head[0] - 1, 1) if head[0] else ()
    return (
        bool(rows)
        and (rows[0].seq, rows[0].hash) == head
        and not moved_to(there.database, there.project)
    )


def _require_prefix(here: Store, there: Store) -> None:
    """Raise RefusedError unless the target is empty, or an earlier part of the same chain that was
    moved away."""
    seq, hash = there.head()
    rows = here.audit(seq - 1, 1) if seq else ()
    same = bool(rows) and (rows[0].seq, rows[0].hash) == (seq, hash)
    if seq and not (same and moved_to(there.database, there.project)):
        raise RefusedError(
            f"the target has a ledger of {seq} rows for {there.project}",
            rule="two ledgers are not merged",
            next_step="name another project with SUTLER_PROJECT",
        )


def _mark(store: Store, target: str) -> None:
    store.database.transact(
        lambda query: put_named(query, store.project, MOVED, target.encode()), write=True
    )


def _fill(store: Store, content: Iterable[copies.Page], entry: AuditEntry) -> int:
    """Replace the rows of a project, and append the entry in the same transaction: without it two
    chains would be equal, and the one that continues would be unknown."""

    def work(query: Query) -> int:
        copies.clear(query, store.project)
        if query("SELECT 1 FROM heads WHERE project = ?", (store.project,)):
            raise DeniedError(
                f"this member may not replace the rows of {store.project}",
                rule="the role admin moves and restores stores",
                next_step="ask an administrator of the store ('sutler store members')",
            )
        count = copies.insert(query, store.project, pages)
        store.extend(query, (entry,))
        return count

    pages = list(content)  # a transaction that is tried again needs them again
    return store.database.transact(work, write=True)


def backup(ledger: Ledger, write: Callable[[bytes], object]) -> int:
    """Write a backup of the verified store; return the number of the ledger's last row."""
    store = ledger.store
    _verified(ledger)
    _still(store)
    head = store.head()
    content = copies.pages(store.database, store.project)
    copies.dump(copies.header_of(store.project, head), content, write)
    if store.head() != head:
        raise RefusedError(
            "the store changed while it was copied",
            rule="a backup is of one moment",
            next_step="try again when no agent works",
        )
    return head[0]


def restore(ledger: Ledger, stream: IO[bytes], at: float) -> Relocation:
    """Fill an empty store from a backup. Checkpoints of the lost store are set aside: they may name
    rows that the backup does not have."""
    store = ledger.store
    if store.head()[0]:
        raise RefusedError(
            f"the store of this project has a ledger of {store.head()[0]} rows",
            rule="a backup is restored into an empty store",
            next_step="move the project's state directory aside first",
        )
    header, content = copies.load(stream)
    rows = _fill(store, content, _entry("store_restore", store, f"head {header.hash}", at))
    ledger.set_aside(secrets.token_hex(4))
    checked = _verified(ledger)
    ledger.close(stamp(at))
    return Relocation(store.project, rows, checked.head)


def _entry(tool: str, store: Store, detail: str, at: float) -> AuditEntry:
    return AuditEntry(
        call=secrets.token_hex(16),
        phase="done",
        at=stamp(at),
        caller=f"cli:pid{os.getpid()}",
        session="store",
        tool=tool,
        effect="list",
        path="",
        verdict="allow",
        rule="administrator",
        detail=detail,
        person=store.person or UNSET,
    )
