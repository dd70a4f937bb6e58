"""`sutler ls|read|search|summarize|session`: the reading tools from a shell, and the common parts
of the tool commands.

The caller is the user who runs the command, by the system's account; no argument can change it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from sutler.access.door import Door
from sutler.access.registry import opening, refresh
from sutler.fronts.cli.options import flag, integer, one_of, value
from sutler.fronts.console import Console, at_terminal, confirm, described
from sutler.paths import counted, parse_place, quote
from sutler.store.records import PROFILES, Approval, Caller, Listing, Reading
from sutler.system import fs
from sutler.tools import TOOLS, call, open_door


def caller(args: argparse.Namespace) -> Caller:
    profile = PROFILES[getattr(args, "profile", None) or "person"]
    return Caller(f"cli:uid{fs.getuid()}", os.environ.get("SUTLER_SESSION", "cli"), profile)


def add_profile(parser: argparse.ArgumentParser) -> None:
    one_of(
        parser,
        "--profile",
        sorted(PROFILES),
        "limits on the size of an answer (default person)",
        "person",
    )


@contextmanager
def opened(args: argparse.Namespace, console: Console) -> Iterator[Door]:
    def ask(approval: Approval) -> bool | None:
        if not at_terminal():
            return None
        console.note(described(approval))
        return confirm("allow this once? [y/N] ")

    with open_door(".", caller(args), ask=ask) as door:
        yield door


# ls, read, search, summarize


def configure_ls(parser: argparse.ArgumentParser) -> None:
    value(parser, "globs", "GLOB", "only files that match one of these", nargs="*")
    flag(parser, "-l --long", "add size, version, tag and sensitivity")
    add_profile(parser)


def run_ls(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        listing = door.list_files(tuple(args.globs))
        while listing.next:  # a person gets all of it
            more = door.list_files(tuple(args.globs), cursor=listing.next)
            listing = Listing(
                (*listing.paths, *more.paths), listing.withheld, listing.problems, more.next
            )
        if not listing.paths:
            console.note("no file may be read here by these names; 'sutler ls' lists all")
        if not args.long:
            return console.reply(listing, "".join(f"{path}\n" for path in listing.paths))
        rows = {quote(row.path): row for row in refresh(door)[0]}
        listed = [rows[path] for path in listing.paths if path in rows]
        text = "".join(
            f"{row.size:>10,}  {row.version[:12]:<12}  {' '.join(row.tags):<6} "
            f" {row.sensitivity:<11}  {quote(row.path)}\n"
            for row in listed
        )
        return console.reply({"files": listed}, text)


def configure_read(parser: argparse.ArgumentParser) -> None:
    value(parser, "path", "PATH[:A-B]", "a file of this project, or lines A to B of it")
    value(parser, "--cursor", "CURSOR", "continue a long answer: 'next' of the previous answer", "")
    value(
        parser,
        "--known",
        "VERSION",
        "version that you already have; if it is current, no text is printed",
        "",
    )
    integer(parser, "--excerpt", "only beginning and end, at most LINES lines", metavar="LINES")
    add_profile(parser)


def run_read(args: argparse.Namespace, console: Console) -> int:
    path, span = parse_place(args.path)
    with opened(args, console) as door:
        if args.excerpt is not None:
            reading = call(door, "get_excerpt", {"path": args.path, "max_lines": args.excerpt})
        elif span:
            arguments = {"path": path, "start": span.start, "end": span.end, "since": args.known}
            reading = call(door, "read_lines", arguments)
        else:
            reading = call(
                door, "read_file", {"path": args.path, "cursor": args.cursor, "since": args.known}
            )
    assert isinstance(reading, Reading)  # noqa: S101  # the table says so
    for note in reading.notes:
        console.note(note)
    if reading.unchanged:
        console.note(f"unchanged since version {reading.version}")
    if reading.next:
        console.note(
            f"lines {reading.first} to {reading.last} of {reading.total or 'many'}; go on with "
            "--cursor"
            f" {reading.next}"
        )
    if console.as_json:
        return console.reply(reading, "")
    console.stream([reading.text.encode("utf-8", "replace")])
    return 0


def configure_search(parser: argparse.ArgumentParser) -> None:
    value(parser, "query", "TEXT", "text to find")
    value(parser, "globs", "GLOB", "only in files that match one of these", nargs="*")
    flag(parser, "-E --regex", "interpret TEXT as a regular expression (RE2: linear time)")
    flag(parser, "-I --ignore-case", "case-insensitive search")
    add_profile(parser)


def run_search(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        kind: Literal["literal", "regex"] = "regex" if args.regex else "literal"
        hits = door.search(
            args.query, kind=kind, globs=tuple(args.globs), ignore_case=args.ignore_case
        )
    console.note(
        f"{counted(len(hits.hits), 'hit')} in {counted(hits.files, 'file')}, {hits.skipped:,} "
        "skipped" + ("" if hits.hits or args.ignore_case else "; -I ignores case")
    )
    if hits.stopped:
        console.note(f"stopped at {hits.stopped}; narrow the search")
    rows = []
    for hit in hits.hits:
        rows += [
            f"{hit.path}:{hit.first + n}: {line}\n" for n, line in enumerate(hit.text.split("\n"))
        ]
    return console.reply(hits, "".join(rows))


def configure_summarize(parser: argparse.ArgumentParser) -> None:
    value(parser, "path", "PATH", "a file of this project")
    integer(parser, "--max-tokens", "maximum tokens of the summary (default 400)", 400)
    add_profile(parser)


def run_summarize(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        text = door.summarize_file(args.path, args.max_tokens)
    return console.reply({"summary": text}, text)


def configure_session(parser: argparse.ArgumentParser) -> None:
    flag(parser, "--open", "open a session: refresh the registry, show the entry documents")
    add_profile(parser)


def run_session(args: argparse.Namespace, console: Console) -> int:
    with opened(args, console) as door:
        if args.open:
            start = opening(door, tuple(tool.name for tool in TOOLS))
            documents = "".join(
                f"\n== {item.path} ({item.version[:12]})\n{item.text}" for item in start.documents
            )
            head = (
                f"{counted(start.files, 'file')}, {start.bytes:,} bytes, {start.changed:,} "
                "changed since"
                " last time\n"
            )
            return console.reply(start, f"{head}tools: {', '.join(start.tools)}\n{documents}")
        view = door.session()
    session = view.session
    lines = [f"session {session.id}: {counted(session.calls, 'call')}, {session.refused:,} refused"]
    for buffer in session.buffers:
        spans = ",".join(f"{span.start}-{span.end}" for span in buffer.spans)
        late = "  out of date" if buffer.path in view.stale else ""
        lines.append(f"  read   {buffer.path}:{spans}{late}")
    lines += [f"  {'edit ?' if edit.pending else 'edit  '} {edit.path}" for edit in session.edits]
    lines += [f"  waits  approval {item}" for item in session.waiting]
    return console.reply(view, "\n".join(lines) + "\n")
