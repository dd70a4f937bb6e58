"""Row-level security of fleets: a member sees the repositories among the own projects, and the
facts of a blob if one of these repositories holds it.

A fleet is a project of the tenant. Within it, `fleet_blobs` says which repository holds which blob.
Only members of all projects, who run the workers, may write there: a row of it opens the facts of a
blob whose id is known."""

# ruff: noqa: S608  # policies and functions consist of our own words
from __future__ import annotations

from sutler.store.fences import FUNCTION, GROUP, TENANT

BLOBS = (
    "CREATE TABLE fleet_blobs (project TEXT NOT NULL, repo TEXT NOT NULL, blob TEXT NOT NULL, "
    "PRIMARY KEY (project, blob, repo))",
    "CREATE INDEX fleet_blobs_by_repo ON fleet_blobs (project, repo)",
)

_MINE = "project = current_setting('sutler.project', true) AND (SELECT sutler_right()) >= "
_ALL = "(SELECT sutler_reads_all())"
_MEMBER = f"SELECT 1 FROM members WHERE tenant = {TENANT} AND login = sutler_person()"

FLEET_FENCES: tuple[str, ...] = (
    f"CREATE FUNCTION sutler_reads_all() RETURNS BOOLEAN {FUNCTION} $$ SELECT EXISTS ({_MEMBER}"
    " AND projects = '*') $$",
    # A name in a fleet can have slashes, the name of a project cannot.
    f"CREATE FUNCTION sutler_reads(repo TEXT) RETURNS BOOLEAN {FUNCTION} $$ SELECT EXISTS ("
    f"{_MEMBER} AND replace(repo, '/', '.') = ANY (string_to_array(projects, ' '))) $$",
    # The owner of this function must see all rows, which is why their security is not forced.
    f"CREATE FUNCTION sutler_fleet() RETURNS BOOLEAN {FUNCTION} $$ SELECT EXISTS (SELECT 1 FROM"
    " fleet_repos WHERE project = current_setting('sutler.project', true)) $$",
    "ALTER TABLE fleet_repos NO FORCE ROW LEVEL SECURITY",
    *(
        f"CREATE POLICY by_repository ON {table} AS RESTRICTIVE USING ({_ALL} OR"
        f" sutler_reads(repo)) WITH CHECK ({_ALL})"
        for table in ("fleet_repos", "fleet_units")
    ),
    "ALTER TABLE fleet_blobs ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE fleet_blobs FORCE ROW LEVEL SECURITY",
    f"CREATE POLICY reading ON fleet_blobs FOR SELECT USING ({_MINE}1 AND ({_ALL} OR"
    " sutler_reads(repo)))",
    f"CREATE POLICY writing ON fleet_blobs USING ({_MINE}2 AND {_ALL}) WITH CHECK ({_MINE}2 AND"
    f" {_ALL})",
    f"GRANT SELECT, INSERT, UPDATE, DELETE ON fleet_blobs TO {GROUP}",
    # The inner tables are fenced too: only units and holders that the member reads count.
    f"CREATE POLICY by_holder ON facts AS RESTRICTIVE FOR SELECT USING (NOT (SELECT"
    f" sutler_fleet()) OR {_ALL} OR EXISTS (SELECT 1 FROM fleet_blobs b WHERE b.project ="
    " facts.project AND b.blob = facts.digest) OR EXISTS (SELECT 1 FROM fleet_units u WHERE"
    " u.project = facts.project AND u.key = facts.digest))",
    f"CREATE POLICY by_worker ON facts AS RESTRICTIVE FOR INSERT WITH CHECK (NOT (SELECT"
    f" sutler_fleet()) OR {_ALL})",
)
