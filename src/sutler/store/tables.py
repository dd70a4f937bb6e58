"""The tables of a store: their columns, their keys, who may change their rows, and whether a backup
holds them. Each has a column `project` besides, which is part of its key."""

from __future__ import annotations

from typing import Final, NamedTuple

READ, WRITE, APPROVE, ADMIN, NEVER = 1, 2, 3, 4, 9
"""Rights of the roles of members, each with those below it; a server of many people has WRITE."""

Rights = tuple[int, int, int]


class Table(NamedTuple):
    """Columns, none of which may be NULL. `key`: those of the primary key, the order of rows in a
    backup. `rights`: the least right for insert, update and delete; None for a table with policies
    of its own."""

    columns: str
    key: str
    rights: Rights | None
    more: str = ""  # further constraints
    copied: bool = True  # with the project, to another store and to a backup

    def create(self, name: str) -> str:
        columns = "".join(f"{column} NOT NULL, " for column in self.columns.split(", "))
        key = f"PRIMARY KEY (project, {self.key}){self.more}"
        return f"CREATE TABLE {name} (project TEXT NOT NULL, {columns}{key})"


_WRITERS: Final = (WRITE, WRITE, WRITE)

TABLES: Final[dict[str, Table]] = {
    "named": Table("name TEXT, value {blob}", "name", (READ, WRITE, ADMIN)),
    "registry": Table(
        "path TEXT, size BIGINT, digest TEXT, mtime_ns BIGINT, version TEXT, tags TEXT,"
        " sensitivity TEXT, language TEXT",
        "path",
        (READ, READ, READ),
    ),
    "facts": Table(
        "digest TEXT, kind TEXT, tool TEXT, body {blob}", "digest, kind, tool", (READ, WRITE, WRITE)
    ),
    "receipts": Table("pack TEXT, at TEXT, body TEXT", "pack, at", (READ, NEVER, ADMIN)),
    # Contents of a pack, stored once however often it left.
    "sent": Table("pack TEXT, files {blob}", "pack", (READ, NEVER, ADMIN)),
    "blobs": Table("digest TEXT, data {blob}", "digest", (WRITE, NEVER, WRITE)),
    "versions": Table(
        "path TEXT, n BIGINT, id TEXT, digest TEXT, size BIGINT, at TEXT, author TEXT, origin TEXT,"
        " note TEXT, mode INTEGER, call TEXT",
        "path, n",
        (READ, NEVER, WRITE),
    ),
    "approvals": Table(
        "id TEXT, created TEXT, state TEXT, settled_by TEXT, used_by TEXT, body TEXT",
        "id",
        (READ, WRITE, ADMIN),
    ),
    "heads": Table("name TEXT, seq BIGINT, hash TEXT", "name", (READ, READ, ADMIN)),
    # A read leaves a row here, its costs and its clean text, so that a reader inserts too.
    "audit": Table(
        "seq BIGINT, call TEXT, phase TEXT, session TEXT, path TEXT, hash TEXT, body TEXT",
        "seq",
        (READ, NEVER, ADMIN),
        more=", UNIQUE (project, call, phase)",
    ),
    "spending": Table(
        "caller TEXT, session TEXT, reads BIGINT, writes BIGINT, bytes BIGINT, tokens BIGINT",
        "caller, session",
        (READ, READ, ADMIN),
    ),
    # Writes that wait for their outcome.
    "pending": Table("call TEXT, seq BIGINT", "call", _WRITERS, copied=False),
    "fleet_repos": Table("repo TEXT, source TEXT", "repo", _WRITERS, copied=False),
    "fleet_units": Table(
        "key TEXT, repo TEXT, tree TEXT, kind TEXT, version TEXT, policy TEXT, state TEXT, tries"
        " BIGINT, worker TEXT, lease BIGINT, reason TEXT, tables TEXT",
        "key",
        _WRITERS,
        copied=False,
    ),
    # Which repository holds which blob.
    "fleet_blobs": Table("repo TEXT, blob TEXT", "blob, repo", None, copied=False),
}

INDEXES: Final = {
    "audit_by_session": "audit (project, session, path, seq)",
    "approvals_by_state": "approvals (project, state, created)",
    "fleet_units_by_state": "fleet_units (project, state, tries, key)",
    "fleet_blobs_by_repo": "fleet_blobs (project, repo)",
}
