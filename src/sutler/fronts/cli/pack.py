"""`sutler pack` and `sutler tokens`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence

import msgspec

from sutler import config
from sutler.disk.root import write_atomic
from sutler.engine import Ask, Project, Report, Shown, locate, receipts
from sutler.engine.clean import told
from sutler.fronts.cli import options
from sutler.fronts.cli.console import Console
from sutler.values.errors import UsageError
from sutler.values.paths import quote
from sutler.values.snapshot import Problem


def configure_pack(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_selection(parser)
    options.add_budget(parser)
    text = parser.add_argument_group("text")
    text.add_argument(
        "--goal", metavar="TEXT", help="the task: ranks the files, and stands at the end; '-' is stdin"
    )
    text.add_argument("-f", "--format", choices=("markdown", "xml", "json"), help="default markdown")
    text.add_argument("-n", "--line-numbers", action="store_true", help="number the lines of each file")
    text.add_argument(
        "--cut-over", metavar="SIZE", help="files above SIZE keep head and tail (default 50k; 0: whole)"
    )
    text.add_argument(
        "--on-decode-error", choices=("replace", "skip"), help="bytes that no encoding explains"
    )
    text.add_argument(
        "--mode", choices=("strict", "flexible", "ignore"), help="what a problem on the way means"
    )
    text.add_argument("--no-redact", action="store_true", help="leave secrets in; the receipt says so")
    out = parser.add_argument_group("destination")
    out.add_argument("-o", "--output", metavar="FILE", help="write there, all or nothing; '-' is stdout")
    out.add_argument("--copy", action="store_true", help="copy to the clipboard instead of printing")
    out.add_argument("--receipt", metavar="FILE", help="write the receipt of what left there as well")
    out.add_argument(
        "--split", metavar="SIZE", help="several packs of at most SIZE each: FILE.1.md, FILE.2.md …"
    )


def run_pack(args: argparse.Namespace, console: Console) -> int:
    project, goal = open_project(args)
    if args.output and args.output != "-":
        project = project.writing_to(*outputs(args.output, args.split))
    wants_tokens = args.counter is not None or not console.quiet or args.json
    packing = project.pack(goal=goal, ask=asker(console), count_tokens=wants_tokens)
    destination = "stdout"
    if args.split:
        from sutler.fronts.cli.split import write_parts

        destination = write_parts(packing, args.output, config.parse_size(args.split, "--split"))
    elif args.copy:
        from sutler.fronts.cli.clipboard import copy

        destination = copy(packing.text())
    elif args.output and args.output != "-":
        packing.write(args.output)
        destination = args.output
    elif args.json:
        packing.text()
    else:
        console.stream(packing.encoded())
    report, destination = packing.report, told(destination)
    leave_receipt(project, report, destination, args.receipt, console)
    if args.json:
        console.answer_json({"report": report, "destination": destination})
    console.note(summary(report, destination, console))
    return 0


def leave_receipt(project: Project, report: Report, destination: str, file: str | None, console: Console) -> None:
    """Store what left, and write it to `file` too if one is named."""
    receipt = receipts.receipt_of(
        report, project=told(project.name), destination=destination, redacted=project.settings.flag("redact")
    )
    receipt, trouble = receipts.recorded(receipt, project.place.root, os.environ)
    if trouble:
        console.note(trouble)
    if file:
        write_atomic(file, [msgspec.json.format(msgspec.json.encode(receipt), indent=2), b"\n"])


def outputs(output: str, split: str | None) -> list[str]:
    """The files this run writes, and those that an earlier run with more parts left behind."""
    if not split:
        return [output]
    folder = os.path.dirname(output) or "."
    stem, ending = os.path.splitext(os.path.basename(output))
    parts = re.compile(rf"{re.escape(stem)}\.\d+{re.escape(ending)}(\.\w+)?")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if parts.fullmatch(name)]


def configure_tokens(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_selection(parser)
    options.add_budget(parser)
    parser.set_defaults(no_budget=False)


def run_tokens(args: argparse.Namespace, console: Console) -> int:
    if not any((args.max_tokens, args.max_chars, args.max_bytes, args.tier)):
        args.no_budget = True
    project, _ = open_project(args)
    packing = project.pack()
    for _ in packing:
        pass
    if packing.report.tokens is None:
        raise UsageError(
            "--counter none counts nothing", next_step="name a vocabulary, or leave the flag out"
        )
    if args.json:
        console.answer_json({"tokens": packing.report.tokens, "counter": packing.report.budget.counter})
    else:
        console.answer(str(packing.report.tokens))
    return 0


def open_project(args: argparse.Namespace) -> tuple[Project, str]:
    """The project that a command line names, with its settings, and the goal."""
    goal = getattr(args, "goal", None) or ""
    paths = list(args.paths)
    if args.stdin:
        if goal == "-":
            raise UsageError("--stdin and --goal - both want stdin", next_step="give the goal as text")
        paths += names_from(sys.stdin.buffer.read())
        if not paths:
            raise UsageError("--stdin gave no file names", next_step="pipe a list of files, one a line")
    if goal == "-":
        goal = sys.stdin.buffer.read().decode("utf-8", "replace")
    place = locate(paths, os.getcwd())
    return Project(*paths, settings=options.settings_for(args, place.root)), goal


def names_from(data: bytes) -> list[str]:
    """File names as tools print them: NUL-separated if there is a NUL, else one a line."""
    separator = b"\0" if b"\0" in data else b"\n"
    return [os.fsdecode(name.rstrip(b"\r")) for name in data.split(separator) if name.strip()]


def asker(console: Console) -> Ask | None:
    """Ask a person, if one is there to answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(problems: Sequence[Problem]) -> bool:
        for problem in problems:
            console.note(f"  {quote(problem.path)}: {problem.kind} {problem.detail}".rstrip())
        sys.stderr.write("Continue with the files that are left? (y/n): ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    return ask


def summary(report: Report, destination: str, console: Console) -> str:
    """Six lines: what is in, what is out and why, the budget, what was changed on the way, the largest, where to."""
    out = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in report.out_by_reason()[:6])
    total = sum(count for _, count in report.out_by_reason())
    rows = (
        (
            "packed",
            f"{len(report.shown):,} of {report.scanned:,} files, {report.bytes:,} bytes of {report.format}",
        ),
        ("out", f"{total:,} files: {out}" if total else "nothing"),
        ("budget", _budget(report)),
        ("notes", _notes(report)),
        ("largest", ", ".join(_large(one) for one in report.largest()) or "no files"),
        (
            "pack",
            f"{report.pack_id[:16]} -> {quote(destination) if destination != 'stdout' else destination}",
        ),
    )
    return "\n".join(f"{console.paint(f'{title:>8}', '36')}  {text}" for title, text in rows)


def _budget(report: Report) -> str:
    tokens = (
        f"{report.tokens:,} tokens ({report.budget.counter})"
        if report.tokens is not None
        else "tokens not counted"
    )
    if report.budget.limit is None:
        return f"{tokens}, no limit"
    share = 100 * report.used / report.budget.limit
    used = f"{report.used:,} of {report.budget.limit:,} {report.budget.unit} ({share:.1f} %)"
    return used if report.budget.unit == "tokens" else f"{used}, {tokens}"


def _notes(report: Report) -> str:
    cut = sum(1 for one in report.shown if one.level != "full")
    listed = len(report.listing.paths)
    findings = sum(one.findings for one in report.shown)
    notes = [
        f"{count:,} {text}"
        for count, text in (
            (cut, "shown in part"),
            (listed, "listed by name only"),
            (report.listing.unnamed, "left out for the budget"),
            (findings, "secrets redacted"),
            (sum(report.hidden().values()), "hidden characters made visible"),
            (sum(1 for one in report.shown if one.links > 1), "with more than one hard link"),
            (len(report.problems), "problems"),
        )
        if count
    ]
    return ", ".join(notes) or "every file whole"


def _large(one: Shown) -> str:
    return f"{quote(one.path)} {one.weight:,}"
