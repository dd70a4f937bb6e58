"""Random calls by members of two tenants: no row, name or byte of the other may appear.

    python -m bench.fleet.isolation [--calls 100000] [--seed 1]

Each tenant writes its own word into every column that takes text. A call is a method of the store,
or a statement of the member's own, under the own project, the other's project, or with the session
settings changed. Afterwards the ledgers of both verify, and hold no word of the other.
"""

# ruff: noqa: S608  # tables are our own
from __future__ import annotations

import argparse
import random
import sys
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.stores import entry, joined, serving

from sutler.errors import SutlerError
from sutler.paths import RelPath
from sutler.store.connection import Pool
from sutler.store.identity import Identity
from sutler.store.postgres import PostgresDatabase, open_postgres
from sutler.store.records import Approval, AuditEntry, RegistryRow, Version
from sutler.store.sql import Store
from sutler.store.tables import TABLES

PROBED = (*TABLES, "tokens", "usage", "members", "teams")
ROLES = ("reader", "writer", "approver", "admin")


class Member:
    """A login with its store, a raw connection, and the word of its tenant."""

    def __init__(self, admin: str, tenant: str, role: str, word: str) -> None:
        self.word, self.role, self.tenant = word, role, tenant
        url = joined(admin, tenant, f"{role}-{word}", role)
        self.store: Store = open_postgres(url, Identity("web"))
        self.raw = PostgresDatabase(Pool(url), self.store.project)

    def close(self) -> None:
        self.store.close()
        self.raw.close()


def _entry(member: Member, rng: random.Random) -> AuditEntry:
    word = member.word
    effect, phase = rng.choice([("read", "done"), ("write", "intent"), ("read", "refused")])
    return entry(
        f"{word}-{rng.getrandbits(64):x}",
        caller=word,
        session=f"{word}-{rng.randrange(9)}",
        path=f"{word}/{rng.randrange(9)}.py",
        detail=word,
        person=member.store.person,
        effect=effect,
        phase=phase,
    )


def _version(member: Member, rng: random.Random) -> Version:
    digest = f"{member.word}-{rng.randrange(50)}"
    path = RelPath(f"{member.word}/{rng.randrange(9)}.py")
    return Version(id=digest, path=path, digest=digest, size=1, at="t", author=member.word)


def _approval(member: Member, rng: random.Random) -> Approval:
    word = member.word
    return Approval(
        id=f"{rng.randrange(200)}", tool=word, path=RelPath(word), base=word, result=word,
        args=word, policy=word, caller=word, session=word, created="1", expires="9",
    )  # fmt: skip


def store_call(member: Member, rng: random.Random) -> object:
    """One method of the store, in the member's own project."""
    store, word = member.store, member.word
    number = str(rng.randrange(200))
    calls: list[Callable[[], object]] = [
        lambda: store.append(_entry(member, rng)),
        lambda: store.record((_entry(member, rng),), versions=(_version(member, rng),)),
        lambda: store.put_fact(number, "clean", word, word.encode()),
        lambda: store.fact(number, "clean", word),
        lambda: store.put_blob(number, f"{word} {number}".encode()),
        lambda: store.blob(number),
        lambda: store.add_version(_version(member, rng)),
        lambda: store.versions(f"{word}/{rng.randrange(9)}.py"),
        lambda: store.put_receipt((number, "1", word, word.encode())),
        lambda: store.receipts(20),
        lambda: store.sent(number),
        lambda: store.update_registry((RegistryRow(RelPath(word), 1, word, 1, word),)),
        lambda: store.registry(),
        lambda: store.add_approval(_approval(member, rng)),
        lambda: store.approvals("pending", 20),
        lambda: store.settle(number, "approved", word),
        lambda: store.use(number, word),
        lambda: store.audit(max(0, store.head()[0] - 20)),
        lambda: store.audit_of(f"{word}-1", None, 20),
        lambda: store.pending_count(),
        lambda: store.spent(word, f"{word}-1"),
        lambda: store.tally(),
        lambda: store.head(),
    ]
    return rng.choice(calls)()


def raw_call(member: Member, other: Member, rng: random.Random) -> object:
    """A statement of the member's own, with any settings."""
    project = rng.choice([member.store.project, other.store.project, "", "%"])
    person = rng.choice(["", other.store.person, "postgres"])
    table, theirs = rng.choice(PROBED), other.store.project
    statements: list[tuple[str, tuple[str, ...]]] = [
        (f"SELECT * FROM {table}", ()),
        (f"SELECT count(*) FROM {table}", ()),
        (f"DELETE FROM {table} WHERE project = ?", (theirs,)),
        (f"UPDATE {table} SET project = ? WHERE project = ?", (member.store.project, theirs)),
        ("SELECT * FROM sutler_projects(?)", (other.tenant,)),
        ("SELECT sutler_right(), sutler_person(), sutler_serves()", ()),
        ("SELECT * FROM sutler_memberships()", ()),
        ("SELECT * FROM sutler_quotas()", ()),
        ("INSERT INTO facts VALUES (?, 'x', 'x', 'x', 'x')", (theirs,)),
        ("INSERT INTO heads VALUES (?, 'audit', 0, 'x') ON CONFLICT DO NOTHING", (theirs,)),
    ]  # fmt: skip
    sql, values = rng.choice(statements)
    settings = "SELECT set_config('sutler.project', ?, true), set_config('sutler.person', ?, true)"

    def work(query: Any) -> object:
        query(settings, (project, person))
        return query(sql, values)

    answer = member.raw.transact(work, write=True)
    if sql.startswith("SELECT count") and table in TABLES:
        # Under the other's name, or none, there is nothing to count.
        assert project == member.store.project or answer == [(0,)], (sql, project, answer)
        return ""
    # The member put this name into its own settings; it is not a row of the other.
    return "" if "sutler_person" in sql else answer


@contextmanager
def two_tenants(admin: str) -> Iterator[tuple[list[Member], list[Member]]]:
    run = uuid.uuid4().hex[:6]
    sides = []
    for word in (f"alder{run}", f"birch{run}"):
        sides.append([Member(admin, f"{word}t", role, word) for role in ROLES])
    try:
        yield sides[0], sides[1]
    finally:
        for member in (*sides[0], *sides[1]):
            member.close()


def run(admin: str, calls: int, seed: int) -> Counter[str]:
    """Return counts of answered and refused calls; raise AssertionError on a leak."""
    rng, counts = random.Random(seed), Counter[str]()
    with two_tenants(admin) as (first, second):
        for _ in range(calls):
            mine, theirs = (first, second) if rng.random() < 0.5 else (second, first)
            member, other = rng.choice(mine), rng.choice(theirs)
            raw = rng.random() < 0.4
            kind = "statement" if raw else "method"
            try:
                answer = raw_call(member, other, rng) if raw else store_call(member, rng)
                counts[f"{kind} answered"] += 1
            except SutlerError as error:
                answer = str(error)
                counts[f"{kind} refused"] += 1
            assert other.word not in repr(answer), (member.role, repr(answer)[:300])
        for mine, theirs in ((first, second), (second, first)):
            last = ""
            for page in range(0, mine[0].store.head()[0], 1_000):
                for row in mine[0].store.audit(page, 1_000):
                    assert theirs[0].word not in row.body
                    assert not last or f'"prev":"{last}"' in row.body, "the chain is broken"
                    last = row.hash
            counts["ledger rows"] += mine[0].store.head()[0]
    return counts


def _without_syncs(admin: str) -> None:
    """Durability is not measured here, and the disk would be most of the time."""
    import psycopg

    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET fsync = off")
        connection.execute("SELECT pg_reload_conf()")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with serving() as admin:
        _without_syncs(admin)
        counts = run(admin, args.calls, args.seed)
    print(", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())))
    print(f"{args.calls:,} calls: 0 rows, names or bytes of the other tenant")
    return 0


if __name__ == "__main__":
    sys.exit(main())
