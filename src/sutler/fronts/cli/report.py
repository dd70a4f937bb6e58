"""`sutler report` and `sutler pack --report`: the page that shows the use of a budget."""

from __future__ import annotations

import argparse
import os
import sys

from sutler.errors import UsageError
from sutler.fronts.cli import options
from sutler.fronts.cli.options import value
from sutler.fronts.console import Console, read_bytes
from sutler.pack.page.build import Watch, view_of_pack, view_of_run
from sutler.pack.page.html import page
from sutler.pack.page.view import View
from sutler.pack.project import Project
from sutler.pack.receipts import Receipt
from sutler.pack.report import Report
from sutler.paths import quote
from sutler.secrets.cleaner import redacted_text
from sutler.store.atomic import write_atomic


def configure_report(parser: argparse.ArgumentParser) -> None:
    options.explain(
        parser,
        "The page shows a map of the budget, what is in and why, what was left out and by\n"
        "which rule, the receipt and the digests. It is one file and needs no network.",
    )
    value(parser, "pack", "PACK", "a pack in any format; '-' is stdin")
    value(parser, "-o --output", "FILE", "write to FILE, whole or not at all; '-' is stdout")
    value(parser, "--against", "OTHER", "show differences from this pack")


def run_report(args: argparse.Namespace, console: Console) -> int:
    if args.pack == args.against == "-":
        raise UsageError("both packs come from stdin", next_step="give one of them as a file")
    if not args.output and not args.json and sys.stdout.isatty():
        raise UsageError(
            "a page is nothing to read in a terminal",
            next_step="write it to a file with -o report.html",
        )
    if args.output and any(_is_same(args.output, pack) for pack in (args.pack, args.against)):
        raise UsageError(
            f"-o {quote(args.output)} would replace the pack", next_step="write to another file"
        )
    other = read_bytes(args.against) if args.against else None
    view = view_of_pack(read_bytes(args.pack), Project(), os.environ, other)
    if args.json:
        from msgspec import to_builtins

        console.answer_json(to_builtins(view))
        return 0
    written = page(view).encode()
    if args.output and args.output != "-":
        write_atomic(args.output, [written])
        console.note(redacted_text(_summary(view, args.output, len(written))))
    else:
        console.stream([written])
    return 0


def _is_same(output: str, pack: str | None) -> bool:
    if not pack or not (os.path.exists(output) and os.path.exists(pack)):
        return False
    return os.path.samefile(output, pack)


def _summary(view: View, output: str, size: int) -> str:
    whole = view.measures[0]
    changes = f", {len(view.against.rows):,} differences" if view.against else ""
    return (
        f"report of {len(view.files):,} files, {whole.total:,} {whole.name}{changes}: "
        f"{quote(output)} ({size:,} bytes), to be opened in a browser"
    )


def write_report(
    file: str, report: Report, watch: Watch, project: Project, goal: str, receipt: Receipt
) -> None:
    """Write the page of a pack that this run made."""
    name = redacted_text(project.name)
    view = view_of_run(report, watch, project=name, goal=project.quotable(goal), receipt=receipt)
    write_atomic(file, [page(view).encode()])
