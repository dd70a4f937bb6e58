"""`sutler log`, `verify`, `approve`, `deny` and `stats`: past calls, and pending approvals."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Literal

import msgspec

from sutler.access import grants
from sutler.access.audit import export, verify_export
from sutler.access.door import Door
from sutler.edits.consent import waiting
from sutler.errors import DeniedError, SutlerError, UsageError
from sutler.fronts.cli.door import opened
from sutler.fronts.cli.options import flag, integer, value
from sutler.fronts.console import Console, confirm, described
from sutler.paths import ROOT, quote
from sutler.store.records import Approval, AuditRow, Call, Outcome, stamp, unseal
from sutler.system import fs
from sutler.tools import open_ledger


def configure_log(parser: argparse.ArgumentParser) -> None:
    integer(parser, "-n", "the newest N rows (default 20)", 20)
    value(parser, "--session", "SESSION", "only rows of this session", "")
    flag(parser, "--packs", "list receipts of packs instead of calls")
    value(parser, "--export", "FILE", "write every row as JSON lines ('-': stdout)")
    keep = parser.add_argument_group("rotation and retention")
    integer(keep, "--rotate", "archive all but the newest KEEP rows", metavar="KEEP")
    integer(keep, "--keep-versions", "drop all but the newest N versions of each file")
    flag(keep, "--compact", "free the disk space of dropped rows and versions")
    flag(keep, "--clear-cache", "delete summaries and other cached facts")


def run_log(args: argparse.Namespace, console: Console) -> int:
    if args.packs:
        from sutler.fronts.cli.secrets import list_receipts
        from sutler.pack import receipts

        return list_receipts(
            receipts.receipts(os.getcwd(), os.environ, max(1, args.n), files=False), console
        )
    with opened(args, console) as door:
        ledger = door.gate.ledger
        if args.rotate is not None:
            path = _recorded(
                door, "rotate_log", lambda: ledger.rotate(args.rotate, stamp(door.gate.clock()))
            )
            console.note(f"archived to {path}" if path else "nothing to archive")
        if args.keep_versions is not None:
            dropped = _recorded(
                door,
                "keep_versions",
                lambda: door.gate.store.keep_versions(max(1, args.keep_versions)),
            )
            console.note(f"{dropped:,} versions dropped")
        if args.clear_cache:
            console.note(
                f"{_recorded(door, 'clear_cache', door.gate.store.forget_facts):,} facts forgotten"
            )
        if args.compact:
            _recorded(door, "compact", door.gate.store.compact)
            console.note("compacted")
        limits = args.rotate, args.keep_versions
        if limits != (None, None) or args.clear_cache or args.compact:
            return 0
        if args.export:
            return _export(args.export, door, console)
        rows = _newest(door, args.session, max(1, args.n))
    entries = [unseal(row) for row in rows]
    text = "".join(
        f"{entry.seq:>7}  {entry.at[:19]}  {entry.person or entry.caller:<14.14}"
        f" {entry.tool:<16.16} {entry.phase:<7}"
        f" {'ok    ' if entry.success else 'failed' if entry.phase == 'done' else entry.verdict:<6}"
        f" {entry.path}"
        f"{'' if entry.verdict == 'allow' and entry.success else f'  ({entry.rule})'}\n"
        for entry in entries
    )
    return console.reply({"rows": entries}, text)


def _recorded(door: Door, tool: str, act: object) -> object:
    """Perform an act on the ledger itself, with its own row."""
    assert callable(act)  # noqa: S101  # for the type checker
    request = Call(id=secrets.token_hex(16), tool=tool, effect="list", path=ROOT)
    return door.gate.enter(request, lambda: (act(), Outcome()))


def _newest(door: Door, session: str, count: int) -> tuple[AuditRow, ...]:
    if session:
        return door.gate.store.audit_of(session, None, count)
    return door.gate.store.audit(max(0, door.gate.store.head()[0] - count), count)


def _export(target: str, door: Door, console: Console) -> int:
    def lines() -> Iterator[str]:
        after = 0
        while page := door.gate.store.audit(after, 1_000):
            yield from export(page)
            after = page[-1].seq

    if target == "-":
        console.stream(line.encode() for line in lines())
        return 0
    fd = fs.open(target, fs.O_WRONLY | fs.O_CREAT | fs.O_EXCL | fs.O_NOFOLLOW | fs.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        file.writelines(lines())
    return 0


def configure_verify(parser: argparse.ArgumentParser) -> None:
    what = "a pack, or an exported ledger; default: this project's ledger"
    value(parser, "file", "FILE", what, nargs="?")


def run_verify(args: argparse.Namespace, console: Console) -> int:
    if args.file:
        from sutler.fronts.cli.packs import is_pack, verify_pack

        if is_pack(args.file):
            return verify_pack(args.file, console)
        # Rows are canonical JSON, in which any other character is escaped.
        with open(args.file, encoding="ascii") as file:
            count, wrong = verify_export(file)
        if wrong:
            raise SutlerError(f"row {count + 1} of the file does not hold: {wrong}")
        return console.reply({"ok": True, "rows": count}, f"{count:,} rows hold")
    with open_ledger(os.getcwd(), os.environ) as ledger:
        check = ledger.verify()
    if not check.ok:
        raise SutlerError(
            f"the ledger does not hold at row {check.bad}: {check.detail}",
            rule="every row carries the hash of the one before",
            next_step="export it, and compare with a backup",
        )
    return console.reply(
        check,
        f"{check.rows:,} rows hold; last signed: row {check.checkpoint:,} of {check.head:,}",
    )


def configure_approve(parser: argparse.ArgumentParser) -> None:
    _add_id(parser)
    flag(parser, "--session", "allow further writes to the file's folder in the same session")
    flag(parser, "--list", "list pending approvals and the grants for sessions")
    value(parser, "--revoke", "N", "end a grant by its number in --list, or 'all'")


def run_approve(args: argparse.Namespace, console: Console) -> int:
    if args.revoke:
        return _revoke(args.revoke, args, console)
    if args.list:
        return _list_grants(args, console)
    return _settle(args, console, "approved")


def _list_grants(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        pending, active = _pending(door), grants.active(door.gate.store, door.gate.clock())
    rows = [
        f"grant {number}: {quote(grant.folder)} for {grant.caller}, session {grant.session}, "
        f"since {grant.at[:19]}, by {grant.by}"
        for number, grant in enumerate(active, 1)
    ]
    text = "\n\n".join([*map(described, pending), *rows]) or "nothing waits, and no grant holds"
    return console.reply({"pending": pending, "grants": active}, text)


def _pending(door: Door) -> list[Approval]:
    """Return the pending approvals, oldest first."""
    return [item.approval for item in waiting(door.gate.store, door.gate.clock())]


def _revoke(which: str, args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        store, now = door.gate.store, door.gate.clock()
        active = grants.active(store, now)
        numbers = range(1, len(active) + 1) if which == "all" else [_number(which, len(active))]
        for number in numbers:
            grants.revoke(store, active[number - 1], f"person:uid{fs.getuid()}", now)
    ended = [quote(active[number - 1].folder) for number in numbers]
    return console.reply({"revoked": ended}, f"revoked: {', '.join(ended) or 'nothing'}")


def _number(word: str, most: int) -> int:
    if word.isdecimal() and 1 <= int(word) <= most:
        return int(word)
    raise UsageError(f"no grant {word[:20]!r}", next_step="`sutler approve --list` numbers them")


def configure_deny(parser: argparse.ArgumentParser) -> None:
    _add_id(parser)


def _add_id(parser: argparse.ArgumentParser) -> None:
    what = "id of the approval; without one, list the pending approvals"
    value(parser, "id", "ID", what, nargs="?")


def run_deny(args: argparse.Namespace, console: Console) -> int:
    return _settle(args, console, "denied")


def _settle(
    args: argparse.Namespace, console: Console, state: Literal["approved", "denied"]
) -> int:
    with opened(args, console) as door:
        store = door.gate.store
        pending = _pending(door)
        if not args.id:
            text = "\n\n".join(map(described, pending)) or "nothing waits"
            return console.reply({"pending": pending}, text)
        approval = next((item for item in pending if item.id == args.id), None)
        if approval is None:
            raise UsageError(
                f"no approval {args.id[:40]!r} waits",
                next_step="`sutler approve` lists those that do",
            )
        console.note(described(approval))
        if state == "approved":
            _need_a_person()
        by = f"person:uid{fs.getuid()}"
        lasting = state == "approved" and args.session
        if lasting and not grants.grantable(approval):
            raise UsageError(
                "this approval cannot be extended to a session",
                rule="control files, ignored files, `ask` rules and patches of several files "
                "ask each time",
                next_step=f"run `sutler approve {approval.id}`",
            )
        settled = _recorded(door, f"approval_{state}", lambda: store.settle(approval.id, state, by))
        folder = ""
        if settled and lasting:
            folder = grants.give(store, approval, by, door.gate.clock())
    granted = f"; {quote(folder)} may be written in session {approval.session}" if folder else ""
    return console.reply({"id": approval.id, "state": state}, f"{approval.id} {state}{granted}")


def _need_a_person() -> None:
    """Require a terminal: an agent with a shell must not approve for itself by accident; it can
    still fake a terminal."""
    if not sys.stdin.isatty():
        raise DeniedError(
            "approving needs a terminal",
            rule="a person approves",
            next_step="run this command in a terminal yourself",
        )
    if not confirm("approve exactly this, once? [y/N] "):
        raise DeniedError("not approved", rule="a person approves")


def configure_stats(parser: argparse.ArgumentParser) -> None:
    del parser


def run_stats(args: argparse.Namespace, console: Console) -> int:
    tools: Counter[tuple[str, str]] = Counter()
    micros: Counter[str] = Counter()
    with opened(args, console) as door:
        after = 0
        while page := door.gate.store.audit(after, 5_000):
            after = page[-1].seq
            for entry in map(unseal, page):
                tools[
                    entry.tool,
                    "refused" if entry.phase == "refused" else "ok" if entry.success else "failed",
                ] += 1
                micros[entry.tool] += entry.micros
        spent = door.gate.store.tally()
    rows = [
        {
            "tool": tool,
            **{name: tools[tool, name] for name in ("ok", "failed", "refused")},
            "mean_micros": (
                micros[tool]
                // max(1, sum(tools[tool, name] for name in ("ok", "failed", "refused")))
            ),
        }
        for tool in sorted({tool for tool, _ in tools})
    ]
    used = [
        {"caller": row, "session": session, **msgspec.to_builtins(cost)}
        for row, session, cost in spent
    ]
    text = "".join(
        f"{row['tool']:<18} ok {row['ok']:>7,}  failed {row['failed']:>5,}  refused"
        f" {row['refused']:>5,}  {row['mean_micros']:>7,} us\n"
        for row in rows
    )
    text += "".join(
        f"{row['caller']} in {row['session']}: {row['reads']:,} reads, {row['writes']:,} writes, "
        f"{row['bytes']:,} bytes, {row['tokens']:,} tokens\n"
        for row in used
    )
    return console.reply({"tools": rows, "callers": used}, text)
