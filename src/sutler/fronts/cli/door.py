"""`sutler ls|read|search|summarize|session` and the ledger's `log|verify|approve|deny|stats`: the
door from a shell.

The caller is the user who runs the command, as the system knows it; nothing in the arguments says
who asks.
"""

from __future__ import annotations

import argparse
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import msgspec

from sutler.access import grants
from sutler.access.audit import export, verify_export
from sutler.access.door import Door
from sutler.access.registry import opening, refresh
from sutler.errors import DeniedError, SutlerError, UsageError
from sutler.fronts.cli.console import Console
from sutler.paths import ROOT, quote
from sutler.store.records import (
    PROFILES,
    Approval,
    AuditRow,
    Call,
    Caller,
    Listing,
    Outcome,
    Reading,
    stamp,
    unseal,
)
from sutler.system import fs
from sutler.tools import TOOLS, call, open_door, open_store

_RANGE = re.compile(r"(?P<path>.+?):(?P<start>\d+)(?:-(?P<end>\d+))?$", re.DOTALL)


def caller(args: argparse.Namespace) -> Caller:
    profile = PROFILES[getattr(args, "profile", None) or "person"]
    return Caller(f"cli:uid{fs.getuid()}", os.environ.get("SUTLER_SESSION", "cli"), profile)


def add_profile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--profile",
        choices=sorted(PROFILES),
        default="person",
        help="limits on the size of an answer (default person)",
    )


@contextmanager
def opened(args: argparse.Namespace, console: Console) -> Iterator[Door]:
    def ask(approval: Approval) -> bool | None:
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return None
        console.note(describe(approval))
        return _confirm("allow this once?")

    with open_door(".", caller(args), ask=ask) as door:
        yield door


def _confirm(question: str) -> bool:
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def describe(approval: Approval) -> str:
    """Everything an approval is bound to, each on its line and escaped."""
    rows = [
        ("approval", f"{approval.id} ({approval.state}, until {approval.expires})"),
        ("tool", approval.tool),
        ("path", quote(approval.path)),
        ("arguments", approval.args),
        ("rule", approval.rule),
        ("caller", f"{approval.caller}, session {approval.session}"),
        ("from", approval.base or "-"),
        ("to", approval.result or "-"),
    ]
    shown = [f"  {name:<10} {value}" for name, value in rows]
    return "\n".join([*shown, *(f"  | {line}" for line in approval.preview.split("\n") if line)])


def answer(console: Console, body: object, text: str) -> int:
    if console.as_json:
        found = msgspec.to_builtins(body)
        console.answer_json(found if isinstance(found, dict) else {"result": found})
    else:
        console.answer(text)
    return 0


# ls, read, search, summarize


def configure_ls(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "globs", nargs="*", metavar="GLOB", help="only files that match one of these"
    )
    parser.add_argument(
        "-l", "--long", action="store_true", help="add size, version, tag and sensitivity"
    )
    add_profile(parser)


def run_ls(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        found = door.list_files(tuple(args.globs))
        while found.next:  # a person gets all of it
            more = door.list_files(tuple(args.globs), cursor=found.next)
            found = Listing((*found.paths, *more.paths), found.withheld, found.problems, more.next)
        if not args.long:
            return answer(console, found, "".join(f"{path}\n" for path in found.paths))
        rows = {quote(row.path): row for row in refresh(door)[0]}
        shown = [rows[path] for path in found.paths if path in rows]
        text = "".join(
            f"{row.size:>10,}  {row.version[:12]:<12}  {' '.join(row.tags):<6} "
            f" {row.sensitivity:<11}  {quote(row.path)}\n"
            for row in shown
        )
        return answer(console, {"files": shown}, text)


def configure_read(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "path", metavar="PATH[:A-B]", help="a file of this project, or lines A to B of it"
    )
    parser.add_argument(
        "--cursor", default="", help="continue a long answer: 'next' of the previous answer"
    )
    parser.add_argument(
        "--known",
        default="",
        metavar="VERSION",
        help="version that you already have; if it is current, no text is printed",
    )
    parser.add_argument(
        "--excerpt", type=int, metavar="LINES", help="only beginning and end, at most LINES lines"
    )
    add_profile(parser)


def run_read(args: argparse.Namespace, console: Console) -> int:
    span = _RANGE.fullmatch(args.path)
    with opened(args, console) as door:
        if args.excerpt is not None:
            found = call(door, "get_excerpt", {"path": args.path, "max_lines": args.excerpt})
        elif span:
            start = int(span["start"])
            given = {
                "path": span["path"],
                "start": start,
                "end": int(span["end"] or start),
                "since": args.known,
            }
            found = call(door, "read_lines", given)
        else:
            found = call(
                door, "read_file", {"path": args.path, "cursor": args.cursor, "since": args.known}
            )
    assert isinstance(found, Reading)  # noqa: S101  # the table says so
    for note in found.notes:
        console.note(note)
    if found.unchanged:
        console.note(f"unchanged since version {found.version}")
    if found.next:
        console.note(
            f"lines {found.first} to {found.last} of {found.total or 'many'}; go on with --cursor"
            f" {found.next}"
        )
    if console.as_json:
        return answer(console, found, "")
    console.stream([found.text.encode("utf-8", "replace")])
    return 0


def configure_search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="TEXT", help="text to find")
    parser.add_argument(
        "globs", nargs="*", metavar="GLOB", help="only in files that match one of these"
    )
    parser.add_argument(
        "-E",
        "--regex",
        action="store_true",
        help="interpret TEXT as a regular expression (RE2: linear time)",
    )
    parser.add_argument("-I", "--ignore-case", action="store_true", help="case-insensitive search")
    add_profile(parser)


def run_search(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        kind: Literal["literal", "regex"] = "regex" if args.regex else "literal"
        found = door.search(
            args.query, kind=kind, globs=tuple(args.globs), ignore_case=args.ignore_case
        )
    console.note(f"{len(found.hits)} hits in {found.files:,} files, {found.skipped:,} skipped")
    if found.stopped:
        console.note(f"stopped at {found.stopped}; narrow the search")
    rows = []
    for hit in found.hits:
        rows += [
            f"{hit.path}:{hit.first + n}: {line}\n" for n, line in enumerate(hit.text.split("\n"))
        ]
    return answer(console, found, "".join(rows))


def configure_summarize(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file of this project")
    parser.add_argument(
        "--max-tokens",
        type=int,
        default=400,
        metavar="N",
        help="maximum tokens of the summary (default 400)",
    )
    add_profile(parser)


def run_summarize(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        text = door.summarize_file(args.path, args.max_tokens)
    return answer(console, {"summary": text}, text)


def configure_session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--open",
        action="store_true",
        help="open a session: refresh the registry, show the entry documents",
    )
    add_profile(parser)


def run_session(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        if args.open:
            start = opening(door, tuple(tool.name for tool in TOOLS))
            documents = "".join(
                f"\n== {one.path} ({one.version[:12]})\n{one.text}" for one in start.documents
            )
            head = (
                f"{start.files:,} files, {start.bytes:,} bytes, {start.changed:,} changed since"
                " last time\n"
            )
            return answer(console, start, f"{head}tools: {', '.join(start.tools)}\n{documents}")
        view = door.session()
    found = view.session
    lines = [f"session {found.id}: {found.calls:,} calls, {found.refused:,} refused"]
    for buffer in found.buffers:
        spans = ",".join(f"{span.start}-{span.end}" for span in buffer.spans)
        late = "  out of date" if buffer.path in view.stale else ""
        lines.append(f"  read   {buffer.path}:{spans}{late}")
    lines += [f"  {'edit ?' if edit.pending else 'edit  '} {edit.path}" for edit in found.edits]
    lines += [f"  waits  approval {one}" for one in found.waiting]
    return answer(console, view, "\n".join(lines) + "\n")


# the ledger


def configure_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n", type=int, default=20, metavar="N", help="the newest N rows (default 20)"
    )
    parser.add_argument("--session", default="", help="only rows of this session")
    parser.add_argument(
        "--packs", action="store_true", help="list receipts of packs instead of calls"
    )
    parser.add_argument(
        "--export", metavar="FILE", help="write every row as JSON lines ('-': stdout)"
    )
    keep = parser.add_argument_group("rotation and retention")
    keep.add_argument(
        "--rotate", type=int, metavar="KEEP", help="archive all but the newest KEEP rows"
    )
    keep.add_argument(
        "--keep-versions",
        type=int,
        metavar="N",
        help="drop all but the newest N versions of each file",
    )
    keep.add_argument(
        "--compact", action="store_true", help="free the disk space of dropped rows and versions"
    )
    keep.add_argument(
        "--clear-cache", action="store_true", help="delete summaries and other cached facts"
    )


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
        if (
            args.rotate is not None
            or args.keep_versions is not None
            or args.clear_cache
            or args.compact
        ):
            return 0
        if args.export:
            return _export(args.export, door, console)
        rows = _newest(door, args.session, max(1, args.n))
    entries = [unseal(row) for row in rows]
    text = "".join(
        f"{one.seq:>7}  {one.at[:19]}  {one.caller:<14.14} {one.tool:<16.16} {one.phase:<7}"
        f" {'ok    ' if one.success else 'failed' if one.phase == 'done' else one.verdict:<6}"
        f" {one.path}{'' if one.verdict == 'allow' and one.success else f'  ({one.rule})'}\n"
        for one in entries
    )
    return answer(console, {"rows": entries}, text)


def _recorded(door: Door, tool: str, act: object) -> object:
    """An act on the ledger itself, with its own row."""
    assert callable(act)  # noqa: S101  # for the type checker
    one = Call(id=secrets.token_hex(16), tool=tool, effect="list", path=ROOT)
    return door.gate.enter(one, lambda: (act(), Outcome()))


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
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a pack, or an exported ledger; default: this project's ledger",
    )


def run_verify(args: argparse.Namespace, console: Console) -> int:
    if args.file:
        from sutler.fronts.cli.packs import is_pack, verify_pack

        if is_pack(args.file):
            return verify_pack(args.file, console)
        with open(args.file, encoding="ascii") as file:
            count, wrong = verify_export(file)
        if wrong:
            raise SutlerError(f"row {count + 1} of the file does not hold: {wrong}")
        return answer(console, {"ok": True, "rows": count}, f"{count:,} rows hold")
    store, ledger = open_store(os.getcwd(), os.environ)
    try:
        found = ledger.verify()
    finally:
        store.close()
    if not found.ok:
        raise SutlerError(
            f"the ledger does not hold at row {found.bad}: {found.detail}",
            rule="every row carries the hash of the one before",
            next_step="export it, and compare with a backup",
        )
    return answer(
        console,
        found,
        f"{found.rows:,} rows hold; last signed: row {found.checkpoint:,} of {found.head:,}",
    )


def configure_approve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="id of the approval; without one, list the pending approvals",
    )
    parser.add_argument(
        "--session",
        action="store_true",
        help="allow further writes to the file's folder in the same session",
    )
    parser.add_argument(
        "--list", action="store_true", help="list pending approvals and the grants for sessions"
    )
    parser.add_argument(
        "--revoke", metavar="N", help="end a grant by its number in --list, or 'all'"
    )


def run_approve(args: argparse.Namespace, console: Console) -> int:
    if args.revoke:
        return _revoke(args.revoke, args, console)
    if args.list:
        return _list_grants(args, console)
    return _settle(args, console, "approved")


def _list_grants(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        store, now = door.gate.store, door.gate.clock()
        pending = [one for one in store.approvals("pending") if stamp(now) < one.expires]
        active = grants.active(store, now)
    rows = [
        f"grant {number}: {quote(grant.folder)} for {grant.caller}, session {grant.session}, "
        f"since {grant.at[:19]}, by {grant.by}"
        for number, grant in enumerate(active, 1)
    ]
    text = "\n\n".join([*map(describe, pending), *rows]) or "nothing waits, and no grant holds"
    return answer(console, {"pending": pending, "grants": active}, text)


def _revoke(which: str, args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        store, now = door.gate.store, door.gate.clock()
        active = grants.active(store, now)
        numbers = range(1, len(active) + 1) if which == "all" else [_number(which, len(active))]
        for number in numbers:
            grants.revoke(store, active[number - 1], f"person:uid{fs.getuid()}", now)
    ended = [quote(active[number - 1].folder) for number in numbers]
    return answer(console, {"revoked": ended}, f"revoked: {', '.join(ended) or 'nothing'}")


def _number(word: str, most: int) -> int:
    if word.isdecimal() and 1 <= int(word) <= most:
        return int(word)
    raise UsageError(f"no grant {word[:20]!r}", next_step="`sutler approve --list` numbers them")


def configure_deny(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="id of the approval; without one, list the pending approvals",
    )


def run_deny(args: argparse.Namespace, console: Console) -> int:
    return _settle(args, console, "denied")


def _settle(
    args: argparse.Namespace, console: Console, state: Literal["approved", "denied"]
) -> int:
    with opened(args, console) as door:
        store = door.gate.store
        if not args.id:
            waiting = [
                one for one in store.approvals("pending") if stamp(door.gate.clock()) < one.expires
            ]
            return answer(
                console,
                {"pending": waiting},
                "\n\n".join(map(describe, waiting)) or "nothing waits",
            )
        found = store.approval(args.id)
        if found is None or found.state != "pending" or stamp(door.gate.clock()) >= found.expires:
            raise UsageError(
                f"no approval {args.id[:40]!r} waits",
                next_step="`sutler approve` lists those that do",
            )
        console.note(describe(found))
        if state == "approved":
            _need_a_person(console)
        by = f"person:uid{fs.getuid()}"
        lasting = state == "approved" and args.session
        if lasting and not grants.grantable(found):
            raise UsageError(
                "this approval cannot be extended to a session",
                rule="control files, ignored files, `ask` rules and patches of several files ask each time",
                next_step=f"run `sutler approve {found.id}`",
            )
        settled = _recorded(door, f"approval_{state}", lambda: store.settle(found.id, state, by))
        folder = ""
        if settled and lasting:
            folder = grants.give(store, found, by, door.gate.clock())
    granted = f"; {quote(folder)} may be written in session {found.session}" if folder else ""
    return answer(console, {"id": found.id, "state": state}, f"{found.id} {state}{granted}")


def _need_a_person(console: Console) -> None:
    """An agent with a shell must not approve for itself by accident; it can still lie about a
    terminal.
    """
    if not sys.stdin.isatty():
        raise DeniedError(
            "approving needs a terminal",
            rule="a person approves",
            next_step="run this command in a terminal yourself",
        )
    if not _confirm("approve exactly this, once?"):
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
        {"caller": one, "session": session, **msgspec.to_builtins(cost)}
        for one, session, cost in spent
    ]
    text = "".join(
        f"{row['tool']:<18} ok {row['ok']:>7,}  failed {row['failed']:>5,}  refused"
        f" {row['refused']:>5,}  {row['mean_micros']:>7,} us\n"
        for row in rows
    )
    text += "".join(
        f"{one['caller']} in {one['session']}: {one['reads']:,} reads, {one['writes']:,} writes, "
        f"{one['bytes']:,} bytes, {one['tokens']:,} tokens\n"
        for one in used
    )
    return answer(console, {"tools": rows, "callers": used}, text)
