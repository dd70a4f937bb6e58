"""The longer statements of `sql`, in the dialect that both databases share."""

from __future__ import annotations

AUDIT = "SELECT seq, call, phase, session, path, hash, body FROM audit WHERE project = ?"
VERSION = (
    "SELECT id, path, digest, size, at, author, origin, note, mode, call FROM versions WHERE project = ? AND path = ?"
)
NEWEST = "SELECT n, digest, call FROM versions WHERE project = ? AND path = ? ORDER BY n DESC LIMIT 1"
KNOWN = "SELECT 1 FROM facts WHERE project = ? AND digest = ? AND kind = ? AND tool = ?"
PENDING = (
    "SELECT a.seq, a.call, a.phase, a.session, a.path, a.hash, a.body, p.boot, p.mark, (SELECT COUNT(*) FROM audit d "
    "WHERE d.project = p.project AND d.call = p.call AND d.phase = 'done') "
    "FROM pending p JOIN audit a ON a.project = p.project AND a.seq = p.seq WHERE p.project = ? ORDER BY a.seq"
)
AT_ONCE = 32
SETTLE = f"DELETE FROM pending WHERE project = ? AND call IN ({', '.join('?' * AT_ONCE)})"  # noqa: S608  # our own words
HEAD = {  # nobody else may chain meanwhile: SQLite has one writer at a time anyway
    "sqlite": "SELECT seq, hash FROM heads WHERE project = ? AND name = 'audit'",
    "postgres": "SELECT seq, hash FROM heads WHERE project = ? AND name = 'audit' FOR UPDATE",
}
MOVE = "UPDATE heads SET seq = ?, hash = ? WHERE project = ? AND name = 'audit'"
CHAIN = "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, call, phase) DO NOTHING"
CHARGE = (
    "INSERT INTO spending VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (project, caller, session) DO UPDATE SET "
    "reads = spending.reads + excluded.reads, writes = spending.writes + excluded.writes, "
    "bytes = spending.bytes + excluded.bytes, tokens = spending.tokens + excluded.tokens"
)
SPENT = "SELECT reads, writes, bytes, tokens FROM spending WHERE project = ? AND caller = ? AND session = ?"
APPROVAL = "SELECT body, state, settled_by, used_by FROM approvals WHERE project = ?"
