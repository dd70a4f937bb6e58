"""`sutler pack` and `sutler tokens`."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec

import sutler.config as config
from sutler.errors import RefusedError, UsageError
from sutler.formats import FORMATS
from sutler.formats.document import Section
from sutler.fronts.cli import options
from sutler.fronts.cli.console import Console, harmless
from sutler.pack import receipts
from sutler.pack.project import Packing, Project
from sutler.pack.report import WHOLE, Ask, Report, Shown
from sutler.paths import Span, quote, wire_path
from sutler.scan.place import locate
from sutler.scan.snapshot import Problem
from sutler.store.atomic import write_atomic
from sutler.tokens.counter import counter_for, token_counter

_OTHER_FORMATS = ("msgpack", "prompt", "assign")  # written, but no pack that `unpack` reads


def configure_pack(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_selection(parser)
    options.add_budget(parser)
    text = parser.add_argument_group("text")
    text.add_argument(
        "--goal",
        metavar="TEXT",
        help="task by which files are ranked; it is printed at the end of the pack; '-' is stdin",
    )
    text.add_argument(
        "--fill",
        action="store_true",
        help="with --goal: fill the budget; default: stop where more lines would be mostly noise",
    )
    text.add_argument(
        "--stop",
        metavar="P",
        help="with --goal: show regions whose probability of being useful is at least P (0 to 1)",
    )
    text.add_argument(
        "--cite",
        action="store_true",
        help="with --goal: print only path:start-end and the reasons, no text",
    )
    text.add_argument(
        "--stable-order",
        action="store_true",
        help="with --goal: files by category and path, which prompt caches keep; default: best first",
    )
    text.add_argument(
        "--task", metavar="FILE", help="pack for this task (YAML or JSON; '-' is stdin)"
    )
    text.add_argument(
        "-f",
        "--format",
        choices=(*FORMATS, *_OTHER_FORMATS),
        help=(
            f"{options.formats_help()}; assign: variable assignments; prompt (with --task): the"
            " text for a model; with --type or --task, json and msgpack are the documents of"
            " 'sutler schema'"
        ),
    )
    text.add_argument(
        "--type",
        choices=("auto", "full", "summary"),
        help="full: file contents; summary: facts only; auto: full if it fits",
    )
    text.add_argument(
        "--provider-limit",
        action="append",
        metavar="NAME=SIZE",
        help="a provider's limit for --type auto (repeatable)",
    )
    text.add_argument(
        "--since",
        metavar="REV",
        help="files changed since REV first and whole, then files related to them",
    )
    text.add_argument(
        "--diff", action="store_true", help="add the diff against REV (default HEAD), redacted"
    )
    text.add_argument(
        "--log", type=int, default=0, metavar="N", help="add the subjects of the last N commits"
    )
    text.add_argument(
        "-n", "--line-numbers", action="store_true", help="number the lines of each file"
    )
    text.add_argument(
        "--cut-over",
        metavar="SIZE",
        help="show only head and tail of files above SIZE (default 50k; 0: never)",
    )
    text.add_argument(
        "--on-decode-error",
        choices=("replace", "skip"),
        help="bytes that are not text in any known encoding: replace them, or skip the file",
    )
    text.add_argument(
        "--mode",
        choices=("strict", "flexible", "ignore"),
        help="on a problem, strict: stop; flexible: ask about named files; ignore: record it",
    )
    text.add_argument(
        "--no-redact", action="store_true", help="do not redact secrets; the receipt records it"
    )
    out = parser.add_argument_group("destination")
    out.add_argument(
        "-o", "--output", metavar="FILE", help="write to FILE, whole or not at all; '-' is stdout"
    )
    out.add_argument(
        "--copy", action="store_true", help="copy to the clipboard instead of printing"
    )
    out.add_argument("--receipt", metavar="FILE", help="write the receipt to FILE too")
    out.add_argument(
        "--report",
        metavar="FILE",
        help="write a report of the pack to FILE: one HTML page, no network",
    )
    out.add_argument(
        "--watch",
        action="store_true",
        help="pack again whenever a file changes, until Ctrl-C; needs -o",
    )
    out.add_argument(
        "--split",
        metavar="SIZE",
        help="write several packs of at most SIZE each: FILE.1.md, FILE.2.md …",
    )


def run_pack(args: argparse.Namespace, console: Console) -> int:
    _check_destination(args)
    wanted = args.format
    if wanted in _OTHER_FORMATS:
        args.format = None  # a rendered pack has no such form, so it is no setting either
    args.assign = wanted == "assign"
    if args.watch:
        return _watched(args, console, wanted)
    return _pack_once(args, console, wanted)


def _watched(args: argparse.Namespace, console: Console, wanted: str | None) -> int:
    from sutler.fronts.cli.watch import check_watch, watch

    check_watch(args)
    project, _ = open_project(args)
    project = project.writing_to(*outputs(args.output, args.split))
    return watch(project, lambda: _pack_once(args, console, wanted), console)


def _pack_once(args: argparse.Namespace, console: Console, wanted: str | None) -> int:
    project, goal = open_project(args)
    if args.assign:
        _check_assign(args)
    elif args.task or project.settings.values["type"] or args.format != wanted:
        from sutler.fronts.cli.documents import run_document

        return run_document(args, console, project, goal, wanted)
    return run_rendered(args, console, project, goal)


def run_rendered(
    args: argparse.Namespace,
    console: Console,
    project: Project,
    goal: str,
    reason: str = "asked for",
) -> int:
    """A rendered pack, in one of `FORMATS`, which `unpack` reads."""
    project = without_outputs(args, project)
    wants_tokens = args.counter is not None or not console.quiet or args.json or bool(args.report)
    packing = project.pack(
        goal=goal,
        ask=asker(),
        count_tokens=wants_tokens,
        since=args.since or "",
        diff=args.diff,
        log=args.log,
    )
    if args.report:
        from sutler.pack.page.build import watch_for

        packing.watch = watch = watch_for(project)
    with following(packing, console):
        destination = packing.quotable(_deliver(packing, args, console))
    report = msgspec.structs.replace(packing.report, selection_reason=reason)
    receipt = receipts.receipt_of(
        report,
        project=packing.quotable(project.name),
        destination=destination,
        redacted=project.settings.flag("redact"),
    )
    receipt = leave_receipt(project, receipt, args.receipt, console)
    if args.report:
        from sutler.fronts.cli.report import write_report

        watch.scores = packing.scores
        write_report(args.report, report, watch, project, goal, receipt)
    if args.json:
        console.answer_json({"report": spelled(report), "destination": destination})
    if not console.quiet:
        console.note_painted(summary(report, destination, console))
        if (report.listing.unnamed or report.listing.paths) and not goal:
            console.note_painted(f"{console.paint('    next', '36')}  {LEFT_OUT}")
    return 0


@contextmanager
def following(packing: Packing, console: Console) -> Iterator[None]:
    """Bars while the project is scanned, indexed, read and redacted, where a terminal is there to
    show them.
    """
    with console.progress(
        "reading and redacting" if packing.project.settings.flag("redact") else "reading"
    ) as bar:
        packing.progress = bar
        packing.project.tell = bar.tell if bar else None
        yield


def _deliver(packing: Packing, args: argparse.Namespace, console: Console) -> str:
    """Send the pack where it should go; returns a name for that place."""
    if args.split:
        from sutler.fronts.cli.split import write_parts

        return write_parts(packing, args.output, config.parse_size(args.split, "--split"))
    if args.copy:
        from sutler.fronts.cli.clipboard import copy

        return copy(packing.text())
    if (args.assign or args.cite) and not args.json:
        blocks = _cited(packing) if args.cite else _assigned(packing)
        if args.output and args.output != "-":
            write_atomic(args.output, blocks)
            return quote(args.output)
        console.stream(blocks)
        return "stdout"
    if args.output and args.output != "-":
        packing.write(args.output)
        return quote(args.output)
    if args.json:
        packing.text()
        return "nowhere"
    console.stream(packing.encoded())
    return "stdout"


def _cited(packing: Packing) -> Iterator[bytes]:
    """The lines that the pack would show, one range a line, with the reason of the file."""
    sections: list[Section] = []
    packing.watch = sections.append
    packing.text()
    for section in sections:
        text = section.body.text
        whole = Span(1, max(1, text.count("\n") + (not text.endswith("\n"))))
        for span in section.spans or (whole,):
            place = f"{quote(section.path)}:{span.start}-{span.end}"
            yield harmless(f"{place}  {section.reason}").encode("utf-8", "replace") + b"\n"


def _check_assign(args: argparse.Namespace) -> None:
    if args.task or args.type or args.split:
        raise UsageError(
            "-f assign writes files and nothing else",
            next_step="leave --task, --type and --split out",
        )


def _assigned(packing: Packing) -> Iterator[bytes]:
    """The files of the pack as seed 000's assignments: the same choice, the same budget, another
    spelling.
    """
    from sutler.formats import parse
    from sutler.formats.assign import assign_text

    pack = parse(packing.text())
    text = assign_text((section.path, section.body.text) for section in pack.sections)
    budget = packing.request.budget
    cost = counter_for(budget.unit, budget.counter)(text)
    if budget.limit is not None and cost > budget.limit:
        raise RefusedError(
            f"the assignments cost {cost:,} {budget.unit} and the budget is {budget.limit:,}",
            rule="a budget holds in every format",
            next_step="raise the budget a little",
        )
    yield text.encode("utf-8", "surrogateescape")
    if text:
        yield b"\n"


def _check_destination(args: argparse.Namespace) -> None:
    if args.output == "":
        raise UsageError("-o names no file", next_step="give a name, or '-' for stdout")
    if args.report in ("", "-"):
        raise UsageError("--report names no file", next_step="give a name, such as report.html")
    if args.cite and (args.copy or args.split or not args.goal):
        raise UsageError(
            "--cite prints ranges of a pack for a goal",
            next_step="give --goal, and leave --copy and --split out",
        )
    if args.copy and (args.output or args.split):
        raise UsageError("--copy and a file are given together", next_step="keep one destination")


def spelled(report: Report) -> object:
    """The report with every path as JSON carries it."""
    body = msgspec.to_builtins(report)
    for one in (*body["shown"], *body["excluded"], *body["problems"]):
        one["path"] = wire_path(one["path"])
    body["listing"]["paths"] = [wire_path(path) for path in body["listing"]["paths"]]
    body["linked"] = [wire_path(path) for path in body["linked"]]
    return body


def leave_receipt(
    project: Project, receipt: receipts.Receipt, file: str | None, console: Console
) -> receipts.Receipt:
    """Store the receipt of what has left, and write it to `file` too if one is named."""
    receipt, trouble = receipts.recorded(receipt, project.place.root, os.environ)
    if trouble:
        console.note(trouble)
    if file:
        write_atomic(file, [msgspec.json.format(msgspec.json.encode(receipt), indent=2), b"\n"])
    return receipt


def without_outputs(args: argparse.Namespace, project: Project) -> Project:
    """The project without what this run writes: its pack, its receipt and its page."""
    names = outputs(args.output, args.split) if args.output and args.output != "-" else []
    names += [name for name in (args.report, args.receipt) if name]
    return project.writing_to(*names) if names else project


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
    packing = project.pack(count_tokens=False)
    counter = packing.request.budget.counter
    if counter == "none":
        raise UsageError(
            "--counter none counts nothing", next_step="name a vocabulary, or leave the flag out"
        )
    with following(packing, console):
        text = packing.text()
    tokens = token_counter(counter)(text)  # counts of pieces need not add up to this
    if args.json:
        console.answer_json({"tokens": tokens, "counter": counter})
    else:
        console.answer(str(tokens))
    return 0


def open_project(args: argparse.Namespace) -> tuple[Project, str]:
    """The project that a command line names, with its settings, and the goal."""
    goal = getattr(args, "goal", None) or ""
    paths = list(args.paths)
    if args.stdin:
        if goal == "-":
            raise UsageError(
                "--stdin and --goal - both want stdin", next_step="give the goal as text"
            )
        paths += names_from(sys.stdin.buffer.read())
        if not paths:
            raise UsageError(
                "--stdin gave no file names", next_step="pipe a list of files, one a line"
            )
    if goal == "-":
        goal = sys.stdin.buffer.read().decode("utf-8", "replace")
    place = locate(paths, os.getcwd())
    return Project(*paths, settings=options.settings_for(args, place.root)), goal


def names_from(data: bytes) -> list[str]:
    """File names as tools print them: NUL-separated if there is a NUL, else one a line."""
    separator = b"\0" if b"\0" in data else b"\n"
    return [os.fsdecode(name.rstrip(b"\r")) for name in data.split(separator) if name.strip()]


def asker() -> Ask | None:
    """Ask a person, if one is there to answer."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None

    def ask(problems: Sequence[Problem]) -> bool:
        for problem in problems:
            sys.stderr.write(
                harmless(f"  {quote(problem.path)}: {problem.kind} {problem.detail}".rstrip())
                + "\n"
            )
        sys.stderr.write("Continue with the files that are left? (y/n): ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    return ask


LEFT_OUT = "--goal TEXT puts what a task needs first, -i GLOB chooses, --no-budget packs all"
"""What to do about files that a ceiling left out."""


def summary(report: Report, destination: str, console: Console) -> str:
    """A few lines: what is in, what is out and why, the budget, where a goal's pack stopped, what
    was changed, the largest, the destination.
    """
    reasons = report.out_by_reason()
    total, other = (sum(count for _, count in some) for some in (reasons, reasons[6:]))
    named = [f"{count:,} {reason.replace('_', ' ')}" for reason, count in reasons[:6]]
    out = ", ".join([*named, f"{other:,} other"] if other else named)
    rows = (
        (
            "packed",
            (
                f"{len(report.shown):,} of {report.scanned:,} files, {report.bytes:,} bytes of"
                f" {report.format}"
            ),
        ),
        ("out", f"{total:,} files: {out}" if total else "nothing"),
        ("budget", _budget(report)),
        *(
            (("stop", _stop(report)),)
            if report.listing.expected or report.listing.abstained
            else ()
        ),
        ("notes", _notes(report)),
        ("largest", ", ".join(_large(one) for one in report.largest()) or "no files"),
        (
            "pack",
            f"{report.pack_id[:16]} -> {destination}",
        ),
    )
    return "\n".join(
        f"{console.paint(f'{title:>8}', '36')}  {harmless(text)}" for title, text in rows
    )


def _budget(report: Report) -> str:
    tokens = (
        f"{report.tokens:,} tokens ({report.budget.counter})"
        if report.tokens is not None
        else "tokens not counted"
    )
    if report.budget.limit is None:
        return f"about {tokens}, no limit" if report.tokens is not None else f"{tokens}, no limit"
    share = 100 * report.used / report.budget.limit
    used = f"{report.used:,} of {report.budget.limit:,} {report.budget.unit} ({share:.1f} %)"
    return used if report.budget.unit == "tokens" else f"{used}, {tokens}"


def _stop(report: Report) -> str:
    """What the stop rule expects of a pack for a goal, and what it would have shown next."""
    listing = report.listing
    if listing.expected is None:
        return "nothing in this project fits the goal well enough; --fill shows the best anyway"
    precision, recall = (f"{100 * share:.0f} %" for share in listing.expected)
    following = f"; next {', '.join(listing.next[:3])}" if listing.next else ""
    return f"about {precision} of these lines are useful, {recall} of the useful lines are here{following}"


def _notes(report: Report) -> str:
    cut = sum(1 for one in report.shown if one.level not in WHOLE)
    listed = len(report.listing.paths)
    stopped = report.listing.expected is not None or report.listing.abstained
    findings = sum(one.findings for one in report.shown)
    notes = [
        f"{count:,} {text}"
        for count, text in (
            (cut, "shown in part"),
            (listed, "listed by name only"),
            (0 if stopped else report.listing.unnamed, "left out for the budget"),
            (findings, "secrets redacted"),
            (sum(report.hidden().values()), "hidden characters made visible"),
            (len(report.linked), "hard links"),
            (len(report.problems), "problems"),
        )
        if count
    ]
    return ", ".join(notes) or (
        "facts in place of text" if report.type == "summary" else "every file whole"
    )


def _large(one: Shown) -> str:
    return f"{quote(one.path)} {one.weight:,}"
