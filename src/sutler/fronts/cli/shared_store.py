"""`sutler store` creates and moves stores and registers their members; `sutler token` issues the
tokens that members use over HTTP."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import closing

from sutler.errors import UsageError
from sutler.fronts.cli.options import (
    add_actions,
    add_store,
    flag,
    integer,
    one_of,
    value,
)
from sutler.fronts.console import Console
from sutler.store.fences import ROLES
from sutler.store.location import is_url

ACTIONS = {
    "init": "make the schema and a tenant in the database of URL, or update the schema",
    "status": "show schema, login, memberships and projects of a store",
    "members": "list members; 'members add NAME --role ROLE', 'members remove NAME'",
    "move": "move this project's store to --to URL, or back with --to sqlite",
    "backup": "write this project's store to FILE",
    "restore": "fill an empty store of this project from FILE",
}
SQLITE = "sqlite"


def configure_store(parser: argparse.ArgumentParser) -> None:
    add_actions(parser, ACTIONS)
    _where(parser)
    value(parser, "--to", "URL", "with move: the target, or sqlite", "")
    one_of(parser, "--role", ROLES, "with members add", "reader")
    value(
        parser,
        "--projects",
        "NAMES",
        "with members add: the projects of this member, comma-separated (default: all)",
        "*",
    )
    value(
        parser,
        "--quota",
        "LIMITS",
        "limits of a day over HTTP, as calls=10k,bytes=100m,tokens=2m: of a member with"
        " members add, of the tenant with init",
        "",
    )
    flag(
        parser,
        "--no-login",
        "with members add: no login of the database; the member uses HTTP alone",
    )


def configure_token(parser: argparse.ArgumentParser) -> None:
    one_of(parser, "action", ("create", "list", "revoke"), "make, list or end tokens")
    value(parser, "words", "ID", "with revoke: ids of tokens", nargs="*")
    _where(parser)
    value(parser, "--person", "NAME", "with create: for this member", "")
    one_of(parser, "--scope", ("read", "write"), "tools that it opens", "read")
    value(parser, "--projects", "NAMES", "projects that it opens", "*")
    integer(parser, "--days", "days that it lives", 90)


def _where(parser: argparse.ArgumentParser) -> None:
    add_store(parser, "PostgreSQL URL of the store")
    value(parser, "--tenant", "NAME", "tenant (default team)", "team")


def run_store(args: argparse.Namespace, console: Console) -> int:
    actions = {
        "init": _init,
        "status": _status,
        "members": _members,
        "move": _move,
        "backup": _backup,
        "restore": _restore,
    }
    return actions[args.action](args, console)


def _url(args: argparse.Namespace, word: str = "") -> str:
    url: str = word or args.store
    if not is_url(url):
        raise UsageError(
            "no PostgreSQL URL was given" if not url else "this is no PostgreSQL URL",
            rule="postgresql://USER:PASSWORD@HOST/DATABASE",
            next_step="name it with --store or SUTLER_STORE",
        )
    return url


def _init(args: argparse.Namespace, console: Console) -> int:
    from sutler.access.quotas import parse_quota
    from sutler.store.team import create

    url = _url(args, *args.words[:1])
    schema = create(url, args.tenant, parse_quota(args.quota).text())
    console.answer(f"the store has schema {schema} and the tenant {args.tenant}\n")
    console.note("members get a login each: sutler store members add NAME --role writer")
    return 0


def _status(args: argparse.Namespace, console: Console) -> int:
    from sutler.store.team import status

    now = status(_url(args, *args.words[:1]))
    rows = [f"PostgreSQL {now.server}, schema {now.schema}, login {now.login}"]
    if now.superuser:
        rows.append("this login is a superuser: no row is fenced for it; clients refuse it")
    rows += [f"{tenant}: {role} of {which}" for tenant, role, which in now.memberships]
    rows += [f"  {project}" for project in now.projects]
    return console.reply(now, "\n".join(rows))


def _members(args: argparse.Namespace, console: Console) -> int:
    from sutler.access.quotas import parse_quota
    from sutler.store import team

    url, words = _url(args), args.words
    if len(words) == 2 and words[0] == "add":
        projects = " ".join(args.projects.split(","))
        member = team.Member(words[1], args.role, projects, parse_quota(args.quota).text())
        password = team.add_member(url, args.tenant, member, login=not args.no_login)
        console.note(f"{member.login} is {member.role} of {args.tenant}")
        if password:
            console.note("the member's URL, shown this once:")
            console.answer(team.url_of(url, member.login, password))
        elif not args.no_login:
            console.note("the login existed, its password is as before: ALTER ROLE changes it")
        return 0
    if len(words) == 2 and words[0] == "remove":
        if not team.remove_member(url, args.tenant, words[1]):
            raise UsageError(
                f"{words[1]} is no member of {args.tenant}",
                next_step="list them with 'sutler store members'",
            )
        console.note(f"{words[1]} is no member of {args.tenant} any more")
        return 0
    if words:
        raise UsageError("members takes 'add NAME', 'remove NAME' or nothing")
    listed = team.members(url, args.tenant)
    rows = [f"{m.login:24} {m.role:9} {m.projects}  {m.quota}".rstrip() for m in listed]
    return console.reply({"members": listed}, "\n".join(rows) + "\n")


def _move(args: argparse.Namespace, console: Console) -> int:
    from sutler.access.relocation import ledger_at, move

    if args.to != SQLITE and not is_url(args.to):
        raise UsageError("no target was given", next_step="--to URL, or --to sqlite")
    root = os.getcwd()
    target = {**os.environ, "SUTLER_STORE": "" if args.to == SQLITE else args.to}
    source = {**os.environ, "SUTLER_STORE": args.store}
    if (source["SUTLER_STORE"] or SQLITE) == args.to:
        raise UsageError("source and target are the same", next_step="--to URL, or --to sqlite")
    with ledger_at(root, source) as here, ledger_at(root, target) as there:
        moved = move(here, there, time.time())
    console.answer(
        f"{moved.rows:,} rows are in {moved.project}; the ledger verifies to row {moved.head:,}\n"
    )
    console.note(
        "unset SUTLER_STORE from now on" if args.to == SQLITE else "set SUTLER_STORE from now on"
    )
    return 0


def _backup(args: argparse.Namespace, console: Console) -> int:
    from sutler.access.relocation import backup, ledger_at
    from sutler.store.atomic import replacing

    path, environ = _file(args), {**os.environ, "SUTLER_STORE": args.store}
    os.umask(0o077)  # a backup holds the bytes that writes replaced, secrets included
    with ledger_at(os.getcwd(), environ) as ledger, replacing(path) as write:
        head = backup(ledger, write)
    console.answer(
        f"{path}: the store with {head:,} ledger rows, {os.path.getsize(path):,} bytes\n"
    )
    return 0


def _restore(args: argparse.Namespace, console: Console) -> int:
    from sutler.access.relocation import ledger_at, restore

    path = _file(args)
    environ = {**os.environ, "SUTLER_STORE": args.store}
    with open(path, "rb") as stream, ledger_at(os.getcwd(), environ) as ledger:
        restored = restore(ledger, stream, time.time())
    console.answer(
        f"{restored.rows:,} rows are in {restored.project}; the ledger verifies to row"
        f" {restored.head:,}\n"
    )
    return 0


def _file(args: argparse.Namespace) -> str:
    if len(args.words) != 1:
        raise UsageError("no file was named", next_step=f"sutler store {args.action} FILE")
    return str(args.words[0])


def run_token(args: argparse.Namespace, console: Console) -> int:
    from sutler.store import tokens
    from sutler.store.postgres import member_database

    database, tenant = member_database(_url(args), args.tenant)
    with closing(database):
        if args.action == "create":
            person, projects = args.person or database.person, " ".join(args.projects.split(","))
            text = tokens.issue(
                database, tenant, person, args.scope, projects, args.days, time.time()
            )
            console.note(f"a token of {person} to {args.scope}, for {args.days} days; shown once:")
            console.answer(text)
            return 0
        if args.action == "list":
            listed = tokens.listed(database, tenant)
            rows = [
                f"{t.id}  {t.person:20} {t.scope:6} {t.projects:12} until {t.expires[:10]}"
                + (f"  revoked {t.revoked[:10]}" if t.revoked else "")
                for t in listed
            ]
            return console.reply({"tokens": listed}, "\n".join(rows) or "no tokens")
        for id in args.words:
            if not tokens.revoke(database, tenant, id, time.time()):
                raise UsageError(f"no token {id[:40]!r}", next_step="see 'sutler token list'")
            console.note(f"token {id} is revoked")
        if not args.words:
            raise UsageError("no token was named", next_step="sutler token revoke ID")
        return 0
