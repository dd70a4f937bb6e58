"""Output of `sutler pack` for people: its summary, within the width of the terminal, its options,
in the groups of its help, and the files and receipts of a run."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterable, Sequence

import msgspec

from sutler.formats import FORMATS
from sutler.fronts.cli import options
from sutler.fronts.cli.options import flag, integer, one_of, switch, value
from sutler.fronts.console import Console, harmless, terminal_width
from sutler.pack import receipts
from sutler.pack.project import Project
from sutler.pack.report import WHOLE, Report, capped
from sutler.paths import counted, quote
from sutler.store.atomic import write_atomic
from sutler.tokens.counter import ESTIMATES

TITLE = 10
"""Columns of a row's title, with the blanks around it."""
NAMED_PROBLEMS = 3


LEFT_OUT = ("--goal TEXT puts what a task needs first", "-i GLOB chooses", "--no-budget packs all")
"""Advice for files that a ceiling omitted."""


def summary(
    report: Report, destination: str, console: Console, advice: Sequence[str], form: str = ""
) -> str:
    """Summarise a pack: files in and out with reasons, the budget, changes, problems, the largest
    files, the destination; `advice` on omissions of the budget; and the `form` if it is no
    format."""
    over = any(item.reason == "budget" for item in report.excluded)
    more = "+" if capped(report.excluded) else ""
    by_name = (("by name", [line.removeprefix("left out by name: ")]) for line in report.by_name)
    room = max(terminal_width(sys.stderr, 10_000) - TITLE, 20)
    rows = (
        (
            "packed",
            [
                f"{len(report.shown):,} of {counted(report.scanned, 'file', more)}",
                f"{report.bytes:,} bytes of {report.format}",
                *([f"written {form}"] if form else []),
            ],
        ),
        ("out", _out(report)),
        *by_name,
        ("budget", _budget(report)),
        ("stop", _stop(report)),
        ("also", list(report.listing.companions)),
        ("notes", _notes(report)),
        ("problems", _problems(report, room)),
        ("largest", _largest(report, room)),
        ("next", [*advice] if over else _cut_advice(report)),
        ("pack", [f"{report.pack_id[:16]} -> {shortened(destination, room - 20)}"]),
    )
    return "\n".join(
        _row(console, title, harmless(line))
        for title, parts in rows
        if parts
        for title, line in _titled(title, wrapped(parts, room))
    )


def _cut_advice(report: Report) -> list[str]:
    """Name the option that shows large files whole, if there is no limit that could cut them."""
    cut = report.budget.limit is None and any(one.level == "head_tail" for one in report.shown)
    return ["--cut-over 0 shows large files whole"] if cut else []


def wrapped(parts: Iterable[str], room: int) -> list[str]:
    """Join the parts by commas, in lines of at most `room` columns. A line breaks between parts,
    and inside a part between words."""
    words = list(parts)
    pieces = [f"{word}," for word in words[:-1]] + words[-1:]
    lines: list[str] = []
    for piece in pieces:
        if lines and len(lines[-1]) + 1 + len(piece) <= room:
            lines[-1] += f" {piece}"
        elif len(piece) <= room:
            lines.append(piece)
        else:
            import textwrap

            lines += textwrap.wrap(piece, room, break_on_hyphens=False)
    return lines


def shortened(path: str, room: int) -> str:
    """Shorten a path to `room` columns: the middle is omitted, the file's name stays."""
    room = max(room, 8)
    if len(path) <= room:
        return path
    tail = min(len(path.rpartition("/")[2]) + 1, room - 4)
    return f"{path[: room - tail - 1]}…{path[len(path) - tail :]}"


def _titled(title: str, lines: list[str]) -> Iterable[tuple[str, str]]:
    return ((title if number == 0 else "", line) for number, line in enumerate(lines))


def _row(console: Console, title: str, line: str) -> str:
    return f"{console.paint(f'{title:>8}', '36')}  {line}" if title else f"{'':>8}  {line}"


def _out(report: Report) -> list[str]:
    reasons = report.out_by_reason()
    total, other = (sum(count for _, count in some) for some in (reasons, reasons[6:]))
    open_ended = capped(report.excluded)
    named = [
        f"{count:,}{'+' if reason in open_ended else ''} {reason.replace('_', ' ')}"
        for reason, count in reasons[:6]
    ]
    if not total:
        return ["nothing"]
    first, *rest = [*named, f"{other:,} other"] if other else named
    return [f"{counted(total, 'file', '+' if open_ended else '')}: {first}", *rest]


def _budget(report: Report) -> list[str]:
    tokens = (
        f"{report.tokens:,} tokens ({report.budget.counter})"
        if report.tokens is not None
        else "tokens not counted"
    )
    if report.budget.limit is None:
        return [f"about {tokens}" if report.tokens is not None else tokens, "no limit"]
    share = 100 * report.used / report.budget.limit
    estimate = f" of {report.budget.counter}" if report.budget.counter in ESTIMATES else ""
    unit = report.budget.unit + (estimate if report.budget.unit == "tokens" else "")
    used = f"{report.used:,} of {report.budget.limit:,} {unit} ({share:.1f} %)"
    return [used] if report.budget.unit == "tokens" else [used, tokens]


def _stop(report: Report) -> list[str]:
    """Describe the expectation of the stop rule for a goal, and the next regions."""
    listing = report.listing
    if listing.abstained:
        return ["nothing in this project fits the goal well enough", "--fill shows the best anyway"]
    if not listing.expected:
        return []
    precision, recall = (f"{100 * share:.0f} %" for share in listing.expected)
    parts = [
        f"about {precision} of these lines are useful",
        f"{recall} of the useful lines are here",
    ]
    return [*parts, f"next {', '.join(listing.next[:3])}"] if listing.next else parts


def _notes(report: Report) -> list[str]:
    cut = sum(1 for one in report.shown if one.level not in WHOLE)
    short = any(item.reason == "budget" for item in report.excluded)
    findings = sum(one.findings for one in report.shown)
    notes = [
        f"{count:,} {text}"
        for count, text in (
            (cut, "shown in part"),
            (len(report.listing.paths), "listed by name only"),
            (report.listing.unnamed if short else 0, "left out for the budget"),
            (findings, "secrets redacted"),
            (sum(report.hidden().values()), "hidden characters made visible"),
            (len(report.linked), "hard links"),
            (len(report.problems), "problems"),
        )
        if count
    ]
    whole = "facts in place of text" if report.type == "summary" else "every file whole"
    return notes or ([whole] if report.shown or report.type == "summary" else [])


def _problems(report: Report, room: int) -> list[str]:
    """Return the first problems by name; `--json` has all of them."""
    named = [
        f"{shortened(quote(problem.path), room - len(problem.kind) - 2)} {problem.kind}"
        for problem in report.problems[:NAMED_PROBLEMS]
    ]
    more = len(report.problems) - len(named)
    return [*named, f"{more:,} more (see --json)"] if more else named


def _largest(report: Report, room: int) -> list[str]:
    rows = [(quote(file.path), f"{file.weight:,}") for file in report.largest()]
    return [f"{shortened(path, room - len(weight) - 2)} {weight}" for path, weight in rows]


OTHER_FORMATS = ("msgpack", "prompt", "assign")
"""Formats that can be written, but not read by `unpack`."""

_TRANSFORMS = {
    "remove-comments": "remove comments, in languages with a grammar; lines stay",
    "remove-empty-lines": "remove empty lines; not with a goal or line numbers",
    "truncate-base64": "keep only the beginning of long base64 literals",
}


def add_pack_options(parser: argparse.ArgumentParser) -> None:
    source = options.add_paths(parser)
    value(source, "--task", "FILE", "pack for this task (YAML or JSON; '-' is stdin)")
    chosen = options.add_selection(parser)
    value(
        chosen,
        "--goal",
        "TEXT",
        "task by which files are ranked; it is printed at the end of the pack; '-' is stdin",
    )
    switch(
        chosen,
        "--fill",
        "fill",
        "with --goal: fill the budget; default: stop where more lines would be mostly noise",
    )
    value(
        chosen,
        "--stop",
        "P",
        "with --goal: show regions whose probability of being useful is at least P (0 to 1)",
    )
    flag(chosen, "--cite", "with --goal: print only path:start-end and the reasons, no text")
    switch(
        chosen,
        "--stable-order",
        "stable_order",
        "with --goal: files by category and path, which prompt caches keep; default: best first",
    )
    value(
        chosen,
        "--since",
        "REV",
        "a review: the diff against REV, the functions that changed, their users and tests; "
        "with --goal also what the goal needs; with --fill the changed files whole",
    )
    chosen.add_argument(
        "--review",
        action="store_const",
        const="HEAD",
        dest="since",
        help="the same as --since HEAD: what is not committed yet",
    )
    options.add_budget(parser)
    _add_output(parser)
    _add_safety(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    out = parser.add_argument_group("output")
    value(out, "-o --output", "FILE", "write to FILE, whole or not at all; '-' is stdout")
    flag(out, "--copy", "copy to the clipboard instead of printing")
    one_of(
        out,
        "-f --format",
        (*FORMATS, *OTHER_FORMATS),
        f"{options.formats_help()}; assign: variable assignments; prompt (with --task): "
        "the text for a model; "
        "with --type or --task, json and msgpack are the documents of 'sutler schema'",
        metavar="NAME",
    )
    value(out, "--template", "FILE", "write the pack through your own template (Tera)")
    one_of(
        out,
        "--type",
        ("auto", "full", "summary"),
        "full: file contents; summary: facts only; auto: full if it fits",
    )
    out.add_argument(
        "--provider-limit",
        action="append",
        metavar="NAME=SIZE",
        dest="provider_limits",
        help="a provider's limit for --type auto (repeatable)",
    )
    flag(out, "--diff", "add the diff against REV (default HEAD), redacted")
    integer(out, "--log", "add the subjects of the last N commits", 0)
    switch(out, "-n --line-numbers", "line_numbers", "number the lines of each file")
    _add_content(out)
    value(
        out,
        "--split",
        "SIZE",
        "write several packs of at most SIZE each: FILE.1.md, FILE.2.md …; "
        "lifts the default budget",
    )
    value(out, "--report", "FILE", "write a report of the pack to FILE: one HTML page, no network")
    flag(out, "--watch", "pack again whenever a file changes, until Ctrl-C; needs -o")


def _add_content(out: argparse._ArgumentGroup) -> None:
    """Add the options for the contents of a pack."""
    value(out, "--header", "TEXT|FILE", "a text of yours before the files, redacted")
    value(out, "--instructions", "FILE", "a text of yours behind the files, redacted")
    one_of(
        out,
        "--rest",
        ("auto", "outline", "list", "none"),
        "files that do not fit whole, or after the stop: outline, list (names) or none; "
        "default auto: outline without a goal below 200,000 bytes or an eighth of the files, "
        "else list",
    )
    switch(
        out,
        "--no-condense",
        "condense",
        "show notebooks, tables, JSON lines and long literals as they are",
        to=False,
    )
    for name, help in _TRANSFORMS.items():
        out.add_argument(
            f"--{name}", action="append_const", const=name, dest="transforms", help=help
        )
    out.add_argument(
        "--detail",
        action="append",
        metavar="RULES",
        help="how much of a file to show, by glob: 'src/**=full,tests/**=outline,docs/**=list' "
        "(the first match holds; repeatable)",
    )
    out.add_argument(
        "--compress",
        action="append_const",
        const="**=outline",
        dest="detail",
        help="show every file as its outline; the same as --detail '**=outline'",
    )
    value(
        out,
        "--cut-over",
        "SIZE",
        "of files above SIZE, and above a fifth of a budget too small for all,"
        " show only the outline, or head and tail of other text (default 50k; 0: never)",
    )


def _add_safety(parser: argparse.ArgumentParser) -> None:
    safe = parser.add_argument_group("safety")
    switch(safe, "--no-redact", "redact", "do not redact secrets; the receipt records it", to=False)
    one_of(
        safe,
        "--mode",
        ("strict", "flexible", "ignore"),
        "on a problem, strict: stop; flexible: ask about named files; ignore: record it",
    )
    one_of(
        safe,
        "--on-decode-error",
        ("replace", "skip"),
        "bytes that are not text in any known encoding: replace them, or skip the file",
    )
    value(safe, "--receipt", "FILE", "write the receipt to FILE too")


def leave_receipt(
    project: Project, receipt: receipts.Receipt, file: str | None, console: Console
) -> receipts.Receipt:
    """Store the receipt of a pack, and write it to `file` too if that is named."""
    receipt, trouble = receipts.recorded(receipt, project.place.root, os.environ)
    if trouble:
        console.note(trouble)
    if file:
        write_atomic(file, [msgspec.json.format(msgspec.json.encode(receipt), indent=2), b"\n"])
    return receipt


def without_outputs(args: argparse.Namespace, project: Project) -> Project:
    """Return the project without the outputs of this run: its pack, its receipt and its page."""
    wrote = args.output and args.output != "-"
    names = outputs(args.output, args.split) if wrote else _behind_stdout()
    names += [name for name in (args.report, args.receipt) if name]
    return project.writing_to(*names) if names else project


def _behind_stdout() -> list[str]:
    """Return the file to which the shell redirects stdout, as in `sutler pack > pack.md`, if the
    system shows it: it exists, empty, before the scan begins."""
    try:
        name = os.readlink("/proc/self/fd/1")
        return [name] if os.path.isfile(name) else []
    except OSError:  # a pipe or a closed stream has no name
        return []


def outputs(output: str, split: str | None) -> list[str]:
    """Return the files that this run writes, and the remaining parts of an earlier run with
    more."""
    if not split:
        return [output]
    folder = os.path.dirname(output) or "."
    stem, ending = os.path.splitext(os.path.basename(output))
    parts = re.compile(rf"{re.escape(stem)}\.\d+{re.escape(ending)}(\.\w+)?")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in names if parts.fullmatch(name)]
