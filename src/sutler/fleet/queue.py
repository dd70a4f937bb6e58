"""The queue: the state of each unit of work (waiting, running, done, failed), shared by all
workers.

A worker claims a unit under a lease. If the worker ends without an answer, the lease expires and
the unit is claimed again; after `MOST_TRIES` claims it fails. Results are named by the unit's key,
so that work done twice gives the same object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct

from sutler.fleet.catalogue import Fleet, Repository
from sutler.store.base import Database, Query, Row

MOST_TRIES = 5
LEASE_SECONDS = 60
_PATIENCE = 80.0
"""Seconds for which a transaction is tried: work outlives a restart of the server."""
_AT_ONCE = 200
"""Rows of one statement."""

State = Literal["waiting", "running", "done", "failed", "replaced"]
"""The files of a replaced unit are about to be removed; it counts nowhere."""
STATES: tuple[State, ...] = ("waiting", "running", "done", "failed")

_NOW = {
    "sqlite": "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
    "postgres": "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)",
}
_PUT_FACT = (
    "INSERT INTO facts (project, digest, kind, tool, body) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
_ADD = (
    "INSERT INTO fleet_units (project, key, repo, tree, kind, version, policy, "
    "state, tries, worker, lease, reason, tables) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '', 0, '', ?) ON CONFLICT (project, key)"
)
_REMOVE = (
    "DELETE FROM fleet_units WHERE project = ? AND repo = ? AND state NOT IN ('done', 'replaced')",
    "UPDATE fleet_units SET state = 'replaced' WHERE project = ? AND repo = ?",
    "DELETE FROM fleet_blobs WHERE project = ? AND repo = ?",
    "DELETE FROM fleet_repos WHERE project = ? AND repo = ?",
)
_COLUMNS = "key, repo, tree, kind, version, policy, state, tries, reason, tables"


class Unit(Struct, frozen=True):
    """A unit of work: a kind of result for one tree of one repository, under one version of sutler
    and one policy. `tables` are the tables that a finished unit has rows in."""

    key: str
    repo: str
    tree: str
    kind: str
    version: str
    policy: str
    state: State = "waiting"
    tries: int = 0
    reason: str = ""
    tables: tuple[str, ...] = ()


class Queue:
    """Units and repositories of one fleet, in SQLite or PostgreSQL."""

    def __init__(self, database: Database, project: str) -> None:
        self._database = database
        self._project = project
        self._now = _NOW[database.dialect]
        # Concurrent claims must not wait for each other; SQLite has one writer at a time.
        self._skip = " FOR UPDATE SKIP LOCKED" if database.dialect == "postgres" else ""

    def close(self) -> None:
        self._database.close()

    def add_repositories(self, repositories: Iterable[Repository]) -> int:
        """Add repositories, or update their sources; return how many are new."""
        rows = list(repositories)

        def work(query: Query) -> int:
            before = self._count(query, "fleet_repos")
            for repository in rows:
                query(
                    "INSERT INTO fleet_repos (project, repo, source) VALUES (?, ?, ?) "
                    "ON CONFLICT (project, repo) DO UPDATE SET source = excluded.source",
                    (self._project, repository.name, repository.source),
                )
            return self._count(query, "fleet_repos") - before

        return self._database.transact(work, write=True)

    def remove_repositories(self, names: Iterable[str]) -> None:
        """Remove repositories and their units; the files of finished ones are about to be removed,
        as those of replaced ones are."""

        def work(query: Query) -> None:
            for name in names:
                for sql in _REMOVE:
                    query(sql, (self._project, name))

        self._database.transact(work, write=True)

    def repositories(self) -> tuple[Repository, ...]:
        rows = self._database.select(
            "SELECT repo, source FROM fleet_repos WHERE project = ? ORDER BY repo", (self._project,)
        )
        return tuple(Repository(repo, source) for repo, source in rows)

    def source(self, repo: str) -> str:
        """Return the source of a repository; empty if it is not in the catalogue."""
        rows = self._database.select(
            "SELECT source FROM fleet_repos WHERE project = ? AND repo = ?", (self._project, repo)
        )
        return str(rows[0][0]) if rows else ""

    def enqueue(self, units: Iterable[Unit]) -> int:
        """Add the units that the queue does not hold; return how many were added."""
        rows = list(units)

        def work(query: Query) -> int:
            added = 0
            for unit in rows:
                query(
                    f"{_ADD} DO UPDATE SET state = 'waiting', tries = 0, "
                    "reason = '' WHERE fleet_units.state = 'replaced'",
                    _added(self._project, unit, "waiting"),
                )
                added += query.changes()
            return added

        return self._database.transact(work, write=True)

    def claim(self, worker: str) -> Unit | None:
        """Claim the next unit under a lease for this worker; return None if no unit waits."""

        def work(query: Query) -> list[Row]:
            query(
                "UPDATE fleet_units SET state = 'failed', "  # noqa: S608  # our own words
                "reason = 'its worker ended without an answer' "
                f"WHERE project = ? AND state = 'running' AND lease < {self._now} AND tries >= ?",
                (self._project, MOST_TRIES),
            )
            return query(
                "UPDATE fleet_units SET state = 'running', tries = tries + 1, "  # noqa: S608
                "worker = ?, "
                f"lease = {self._now} + ? WHERE project = ? AND key = ("
                "SELECT key FROM fleet_units WHERE project = ? AND (state = 'waiting' "
                f"OR (state = 'running' AND lease < {self._now})) "
                f"ORDER BY tries, key LIMIT 1{self._skip}) RETURNING {_COLUMNS}",
                (worker, LEASE_SECONDS * 1000, self._project, self._project),
            )

        rows = self._database.transact(work, write=True)
        return _unit(rows[0]) if rows else None

    def renew(self, key: str, worker: str) -> bool:
        """Extend a lease; False if another worker has the unit."""
        return self._settle(key, worker, f"lease = {self._now} + {LEASE_SECONDS * 1000}", ())

    def finish(self, unit: Unit, tables: Iterable[str]) -> bool:
        """Record a result whose files are in place, and replace the unit of an older tree, version
        or policy in the same transaction. False if the unit is no longer wanted: then its files are
        removed as those of a replaced one."""

        def work(query: Query) -> bool:
            query(
                # Of any worker: the result of one that lost its lease is as good as that
                # of the next. Without it slow workers would take a unit from each other until it
                # has failed, and each would throw a result away.
                "UPDATE fleet_units SET state = 'done', reason = '', tables = ? "
                "WHERE project = ? AND key = ? AND state <> 'replaced'",
                (" ".join(tables), self._project, unit.key),
            )
            wanted = query.changes() == 1
            if wanted:
                query(
                    "UPDATE fleet_units SET state = 'replaced' WHERE project = ? AND repo = ? "
                    "AND kind = ? AND key <> ? AND state = 'done'",
                    (self._project, unit.repo, unit.kind, unit.key),
                )
            else:
                query(f"{_ADD} DO NOTHING", _added(self._project, unit, "replaced", tables))
            return wanted

        return self._database.transact(work, write=True)

    def clear(self, remove: Callable[[Unit], object]) -> None:
        """Drop replaced units with the facts of their trees, and remove their files. Until that is
        committed nothing can queue them again, so that no new file has the name of one that is
        removed."""

        def work(query: Query) -> None:
            rows = query(
                "DELETE FROM fleet_units WHERE project = ? AND key IN (SELECT key "  # noqa: S608
                f"FROM fleet_units WHERE project = ? AND state = 'replaced'{self._skip}) "
                f"RETURNING {_COLUMNS}",
                (self._project, self._project),
            )
            for unit in map(_unit, rows):
                query(
                    "DELETE FROM facts WHERE project = ? AND digest = ?", (self._project, unit.key)
                )
                remove(unit)

        self._database.transact(work, write=True)

    def fail(self, key: str, worker: str, reason: str, *, again: bool) -> bool:
        """Record a failure; with `again` the unit waits for another try, if one is left."""
        state = (
            f"state = CASE WHEN tries < {MOST_TRIES} THEN 'waiting' ELSE 'failed' END"
            if again
            else "state = 'failed'"
        )
        return self._settle(key, worker, f"{state}, reason = ?", (reason[:500],))

    def retry(self) -> int:
        """Reset all failed units to waiting, with all their tries."""
        return self._change(
            "UPDATE fleet_units SET state = 'waiting', tries = 0 "
            "WHERE project = ? AND state = 'failed'",
            (self._project,),
        )

    def forget(self, keys: Iterable[str]) -> None:
        """Delete units, such as those of an old tree, version or policy."""

        def work(query: Query) -> None:
            for key in keys:
                query("DELETE FROM fleet_units WHERE project = ? AND key = ?", (self._project, key))

        self._database.transact(work, write=True)

    def units(self, repo: str = "", state: str = "", kind: str = "") -> tuple[Unit, ...]:
        rows = self._database.select(
            f"SELECT {_COLUMNS} FROM fleet_units "  # noqa: S608  # our own columns
            "WHERE project = ? AND state <> 'replaced' AND (? = '' OR repo = ?) "
            "AND (? = '' OR state = ?) AND (? = '' OR kind = ?) ORDER BY repo, kind, key",
            (self._project, repo, repo, state, state, kind, kind),
        )
        return tuple(map(_unit, rows))

    def counts(self) -> Counter[str]:
        """Return how many units are in each state."""
        rows = self._database.select(
            "SELECT state, count(*) FROM fleet_units WHERE project = ? AND state <> 'replaced' "
            "GROUP BY state",
            (self._project,),
        )
        return Counter(dict(rows))

    def open_units(self) -> int:
        """Return how many units wait or run."""
        counts = self.counts()
        return counts["waiting"] + counts["running"]

    def unfinished(self) -> int:
        """Return how many units have no result: open ones and failed ones."""
        counts = self.counts()
        return counts.total() - counts["done"]

    def fact(self, blob: str, kind: str, tool: str) -> bytes | None:
        return self.facts_of([(blob, kind)], tool).get((blob, kind))

    def facts_of(self, names: Iterable[tuple[str, str]], tool: str) -> dict[tuple[str, str], bytes]:
        """Return the facts that the store has of these (blob, kind)."""
        wanted = sorted(set(names))
        bodies: dict[tuple[str, str], bytes] = {}
        for at in range(0, len(wanted), _AT_ONCE):
            some = wanted[at : at + _AT_ONCE]
            rows = self._database.select(
                "SELECT digest, kind, body FROM facts WHERE project = ? AND tool = ? "  # noqa: S608
                f"AND (digest, kind) IN (VALUES {', '.join(['(?, ?)'] * len(some))})",
                (self._project, tool, *(word for name in some for word in name)),
            )
            bodies |= {(blob, kind): bytes(body) for blob, kind, body in rows}
        return bodies

    def put_facts(self, rows: Iterable[tuple[str, str, str, bytes]]) -> None:
        """Store facts: (blob, kind, tool, body). An existing fact stays as it is."""
        facts = list(rows)

        def work(query: Query) -> None:
            for fact in facts:
                query(_PUT_FACT, (self._project, *fact))

        if facts:
            self._database.transact(work, write=True)

    def replace_facts(self, kind: str, rows: Iterable[tuple[str, str, str, bytes]]) -> None:
        """Store facts of the whole fleet in place of all whose kind begins so."""
        facts = list(rows)

        def work(query: Query) -> None:
            query(
                "DELETE FROM facts WHERE project = ? AND (kind = ? OR kind LIKE ?)",
                (self._project, kind, f"{kind}:%"),
            )
            for fact in facts:
                query(_PUT_FACT, (self._project, *fact))

        self._database.transact(work, write=True)

    def hold(self, unit: Unit, blobs: Iterable[str]) -> None:
        """Record which blobs the repository of a unit holds: its readers may read their facts. A
        unit that was dropped records none, and one beside an index of another tree drops none."""
        wanted = sorted(set(blobs))
        repo = unit.repo

        def work(query: Query) -> None:
            units = query(
                "SELECT key, kind, tree FROM fleet_units WHERE project = ? AND repo = ?",
                (self._project, repo),
            )
            if unit.key not in {row[0] for row in units}:
                return
            trees = {tree for _, kind, tree in units if kind == "index"}
            rows = query(
                "SELECT blob FROM fleet_blobs WHERE project = ? AND repo = ?", (self._project, repo)
            )
            held = {row[0] for row in rows}
            old = held.difference(wanted) if unit.kind == "index" or trees <= {unit.tree} else ()
            for blob in sorted(old):
                query(
                    "DELETE FROM fleet_blobs WHERE project = ? AND repo = ? AND blob = ?",
                    (self._project, repo, blob),
                )
            for blob in wanted:
                if blob not in held:
                    query(
                        "INSERT INTO fleet_blobs (project, repo, blob) VALUES (?, ?, ?) "
                        "ON CONFLICT DO NOTHING",
                        (self._project, repo, blob),
                    )

        self._database.transact(work, write=True)

    def tidy(self, version: str) -> int:
        """Delete facts that no current tree needs; return how many. None while a unit is open or
        has failed: it may have recorded its blobs in place of those that the unit before it, which
        still counts, needs."""
        return self._change(
            "DELETE FROM facts WHERE project = ? AND kind LIKE ? AND (tool <> ? OR NOT EXISTS "
            "(SELECT 1 FROM fleet_blobs b WHERE b.project = facts.project "
            "AND b.blob = facts.digest)) AND NOT EXISTS (SELECT 1 FROM fleet_units u "
            "WHERE u.project = facts.project AND u.state IN ('waiting', 'running', 'failed'))",
            (self._project, "facts:%", version),
        )

    def _settle(self, key: str, worker: str, change: str, values: tuple[str, ...]) -> bool:
        sql = (
            f"UPDATE fleet_units SET {change} "  # noqa: S608  # our own columns
            "WHERE project = ? AND key = ? AND worker = ? AND state = 'running'"
        )
        return self._change(sql, (*values, self._project, key, worker)) == 1

    def _change(self, sql: str, values: tuple[str, ...]) -> int:
        def work(query: Query) -> int:
            query(sql, values)
            return query.changes()

        return self._database.transact(work, write=True)

    def _count(self, query: Query, table: str) -> int:
        sql = f"SELECT count(*) FROM {table} WHERE project = ?"  # noqa: S608  # our own tables
        rows = query(sql, (self._project,))
        return int(rows[0][0])


def open_queue(fleet: Fleet, *, wait: bool = False) -> Queue:
    """Connect to the fleet's database, and `wait` for a server that restarts; a SQLite file gets
    its schema here."""
    project = f"fleet-{fleet.name}"
    if fleet.store:
        from sutler.store.connection import Pool
        from sutler.store.postgres import PostgresDatabase

        shared = PostgresDatabase(Pool(fleet.store), project, patience=_PATIENCE)
        shared.admit(wait=wait)
        return Queue(shared, shared.project)
    from sutler.store.migrations import migrate
    from sutler.store.sqlite import SqliteDatabase

    local = SqliteDatabase(fleet.database)
    migrate(local)
    return Queue(local, project)


def _added(project: str, unit: Unit, state: State, tables: Iterable[str] = ()) -> Row:
    names = project, unit.key, unit.repo, unit.tree, unit.kind, unit.version, unit.policy
    return *names, state, " ".join(tables)


def _unit(row: Row) -> Unit:
    key, repo, tree, kind, version, policy, state, tries, reason, tables = row
    return Unit(key, repo, tree, kind, version, policy, state, tries, reason, tuple(tables.split()))
