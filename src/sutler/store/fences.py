"""Row-level security of a PostgreSQL store: what a member of a tenant may read and change.

The column `project` holds `TENANT/NAME`. A connection names one project (`sutler.project`); the
database decides by the membership of the login role whether its rows exist for this connection.
Both conditions are needed, because any role that can log in can change a session setting.

A login with the role `server` acts for the member in `sutler.person`, so that a server of many
people is fenced like a connection of each of them. `sutler_right()` is an uncorrelated subquery in
every policy: PostgreSQL computes it once per statement, not once per row.

A fleet is a project of the tenant. A member sees those of its repositories that are among the own
projects, and the facts of a blob if `fleet_blobs` says that one of these repositories holds it.
Only members of all projects, who run the workers, may write there: a row of `fleet_blobs` opens the
facts of a blob whose id is known."""

# ruff: noqa: S608  # policies and functions consist of our own words
from __future__ import annotations

from sutler.store.tables import READ, TABLES, Rights

ROLES = ("reader", "writer", "approver", "admin", "server")
GROUP = "sutler_member"
"""Role that holds the rights on the tables; each login of a member inherits them."""
_TENANT = "split_part(current_setting('sutler.project', true), '/', 1)"
_FUNCTION = "LANGUAGE sql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS"
_MINE = "project = current_setting('sutler.project', true) AND (SELECT sutler_right()) >= "

_CHECKS = {  # further conditions on new rows
    # A member signs ledger rows with the own name; the outcome of another member's write may be
    # recorded by recovery.
    "audit": (
        "(body::jsonb ->> 'person' = (SELECT sutler_person())"
        " OR (SELECT sutler_right()) >= 4"
        " OR ((SELECT sutler_serves()) AND sutler_right_of(body::jsonb ->> 'person') >= 1)"
        " OR (phase <> 'intent' AND sutler_intended(call)))"
        " AND (phase <> 'intent' OR (SELECT sutler_right()) >= 2)"
    ),
    "versions": "(origin <> 'written' OR (SELECT sutler_right()) >= 2)",
    "approvals": "(state = 'pending' OR (SELECT sutler_right()) >= 4)",
}
_SETTLED = "(state = 'used' OR (SELECT sutler_right()) >= 3)"
"""A writer uses up an approval; only an approver gives or denies it."""


def _fenced(table: str) -> tuple[str, str]:
    """Without FORCE the owner of the table would pass."""
    return (
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    )


def _policies(table: str, rights: Rights) -> tuple[str, ...]:
    insert, update, delete = (f"{_MINE}{right}" for right in rights)
    extra = f" AND {_CHECKS[table]}" if table in _CHECKS else ""
    settled = f" AND {_SETTLED}" if table == "approvals" else ""
    return (
        *_fenced(table),
        f"CREATE POLICY reading ON {table} FOR SELECT USING ({_MINE}{READ})",
        f"CREATE POLICY adding ON {table} FOR INSERT WITH CHECK ({insert}{extra})",
        f"CREATE POLICY changing ON {table} FOR UPDATE USING ({update})"
        f" WITH CHECK ({update}{settled})",
        f"CREATE POLICY removing ON {table} FOR DELETE USING ({delete})",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {GROUP}",
    )


_TEAM: tuple[str, ...] = (
    # Roles belong to the whole server, and another database of it may have made this one.
    f"DO $$ BEGIN CREATE ROLE {GROUP} NOLOGIN;"
    " EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
    "CREATE TABLE teams (tenant TEXT PRIMARY KEY, quota TEXT NOT NULL)",
    "CREATE TABLE members (tenant TEXT NOT NULL, login TEXT NOT NULL, role TEXT NOT NULL,"
    " projects TEXT NOT NULL, quota TEXT NOT NULL, PRIMARY KEY (tenant, login))",
    "CREATE TABLE tokens (tenant TEXT NOT NULL, id TEXT NOT NULL, person TEXT NOT NULL,"
    " digest TEXT NOT NULL, scope TEXT NOT NULL, projects TEXT NOT NULL, created TEXT NOT NULL,"
    " expires TEXT NOT NULL, revoked TEXT NOT NULL, PRIMARY KEY (tenant, id))",
    "CREATE TABLE usage (tenant TEXT NOT NULL, person TEXT NOT NULL, day TEXT NOT NULL,"
    " calls BIGINT NOT NULL, bytes BIGINT NOT NULL, tokens BIGINT NOT NULL,"
    " PRIMARY KEY (tenant, person, day))",
    f"CREATE FUNCTION sutler_serves() RETURNS BOOLEAN {_FUNCTION} $$ SELECT EXISTS (SELECT 1 FROM"
    f" members WHERE tenant = {_TENANT} AND login = session_user AND role = 'server') $$",
    f"CREATE FUNCTION sutler_person() RETURNS TEXT {_FUNCTION} $$ SELECT CASE WHEN sutler_serves()"
    " THEN coalesce(nullif(current_setting('sutler.person', true), ''), session_user::text)"
    " ELSE session_user::text END $$",
    f"CREATE FUNCTION sutler_right_of(person TEXT) RETURNS INTEGER {_FUNCTION} $$ SELECT"
    " coalesce(max(CASE role WHEN 'reader' THEN 1 WHEN 'writer' THEN 2 WHEN 'approver' THEN 3"
    " WHEN 'admin' THEN 4 WHEN 'server' THEN 2 ELSE 0 END), 0) FROM members"
    f" WHERE tenant = {_TENANT} AND login = person AND (projects = '*'"
    " OR split_part(current_setting('sutler.project', true), '/', 2)"
    " = ANY (string_to_array(projects, ' '))) $$",
    f"CREATE FUNCTION sutler_right() RETURNS INTEGER {_FUNCTION}"
    " $$ SELECT sutler_right_of(sutler_person()) $$",
    f"CREATE FUNCTION sutler_intended(id TEXT) RETURNS BOOLEAN {_FUNCTION} $$ SELECT EXISTS"
    " (SELECT 1 FROM audit WHERE project = current_setting('sutler.project', true)"
    " AND call = id AND phase = 'intent') $$",
    "CREATE FUNCTION sutler_memberships() RETURNS TABLE (tenant TEXT, role TEXT, projects TEXT)"
    f" {_FUNCTION} $$ SELECT tenant, role, projects FROM members WHERE login = session_user"
    " ORDER BY tenant $$",
    # Projects are listed for members of the tenant; the owner of this function must see all rows
    # of `heads`, which is why its security is not forced.
    f"CREATE FUNCTION sutler_projects(of TEXT) RETURNS TABLE (project TEXT) {_FUNCTION} $$ SELECT"
    " h.project FROM heads h JOIN members m ON m.tenant = split_part(h.project, '/', 1)"
    " WHERE m.tenant = of AND m.login = session_user AND (m.projects = '*'"
    " OR split_part(h.project, '/', 2) = ANY (string_to_array(m.projects, ' ')))"
    " ORDER BY h.project $$",
    f"CREATE FUNCTION sutler_quotas() RETURNS TABLE (person TEXT, quota TEXT) {_FUNCTION} $$ SELECT"
    f" '', quota FROM teams WHERE tenant = {_TENANT} UNION ALL SELECT login, quota FROM members"
    f" WHERE tenant = {_TENANT} AND sutler_serves() $$",
    *(
        sql
        for name, table in TABLES.items()
        if table.rights
        for sql in _policies(name, table.rights)
    ),
    "ALTER TABLE heads NO FORCE ROW LEVEL SECURITY",
    *_fenced("tokens"),
    *_fenced("usage"),
    f"CREATE POLICY own ON tokens USING (tenant = {_TENANT} AND (SELECT sutler_right()) >= 1 AND"
    " (person = (SELECT sutler_person()) OR (SELECT sutler_right()) >= 4"
    " OR (SELECT sutler_serves()))) WITH CHECK (person = (SELECT sutler_person())"
    " OR (SELECT sutler_right()) >= 4)",
    f"CREATE POLICY own ON usage USING (tenant = {_TENANT} AND (SELECT sutler_right()) >= 1 AND"
    " (person IN ('', (SELECT sutler_person())) OR (SELECT sutler_right()) >= 4"
    " OR (SELECT sutler_serves()))) WITH CHECK ((SELECT sutler_serves()))",
    f"GRANT SELECT, INSERT, UPDATE ON tokens, usage TO {GROUP}",
    f"GRANT SELECT ON sutler_migrations TO {GROUP}",
)

_ALL = "(SELECT sutler_reads_all())"
_MEMBER = f"SELECT 1 FROM members WHERE tenant = {_TENANT} AND login = sutler_person()"

_FLEET: tuple[str, ...] = (
    f"CREATE FUNCTION sutler_reads_all() RETURNS BOOLEAN {_FUNCTION} $$ SELECT EXISTS ({_MEMBER}"
    " AND projects = '*') $$",
    # A name in a fleet can have slashes, the name of a project cannot.
    f"CREATE FUNCTION sutler_reads(repo TEXT) RETURNS BOOLEAN {_FUNCTION} $$ SELECT EXISTS ("
    f"{_MEMBER} AND replace(repo, '/', '.') = ANY (string_to_array(projects, ' '))) $$",
    # The owner of this function must see all rows, which is why their security is not forced.
    f"CREATE FUNCTION sutler_fleet() RETURNS BOOLEAN {_FUNCTION} $$ SELECT EXISTS (SELECT 1 FROM"
    " fleet_repos WHERE project = current_setting('sutler.project', true)) $$",
    "ALTER TABLE fleet_repos NO FORCE ROW LEVEL SECURITY",
    *(
        f"CREATE POLICY by_repository ON {table} AS RESTRICTIVE USING ({_ALL} OR"
        f" sutler_reads(repo)) WITH CHECK ({_ALL})"
        for table in ("fleet_repos", "fleet_units")
    ),
    *_fenced("fleet_blobs"),
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

FENCES = (*_TEAM, *_FLEET)
"""Statements for PostgreSQL alone, besides the tables of both databases."""
