"""`sutler scan`, `sutler tree` and `sutler why`: inspection before packing."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from sutler.errors import RefusedError
from sutler.formats.tree import DEEPEST
from sutler.fronts.cli import options
from sutler.fronts.cli.options import flag, one_of, value
from sutler.fronts.cli.pack import following, open_project
from sutler.fronts.console import Console, harmless
from sutler.pack.project import Project
from sutler.pack.report import Shown, by_reason, capped
from sutler.pack.why import for_agent, verdict
from sutler.paths import counted, quote, wire_path
from sutler.scan.judge import DOORS
from sutler.scan.place import locate, path_within
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded
from sutler.secrets.cleaner import redacted_text, redacted_values


def configure_scan(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_selection(parser)
    flag(parser, "--excluded", "list exclusions, with reason and rule")


def run_scan(args: argparse.Namespace, console: Console) -> int:
    project, _ = open_project(args)
    if args.json:
        return _answer_snapshot(project, console)
    with console.progress("scanning") as bar:
        project.tell = bar.tell if bar else None
        snapshot = project.scan()
    selection = project.select(snapshot, project.request())
    entries = sorted((choice.entry for choice in selection.choices), key=lambda entry: entry.path)
    excluded = sorted((*snapshot.excluded, *selection.excluded), key=lambda item: item.path)
    if args.excluded:
        rows = (
            f"{item.reason:<14}  {_described(item):<40}  {harmless(str(item.rule))}\n"
            for item in excluded
        )
        console.answer("".join(rows))
    else:
        console.answer("".join(f"{entry.size:>10,}  {quote(entry.path)}\n" for entry in entries))
    for problem in snapshot.problems:
        console.note(f"{quote(problem.path)}: {problem.kind} {problem.detail}".rstrip())
    more = capped(excluded)
    parts = [
        f"{count:,}{'+' if reason in more else ''} {reason.replace('_', ' ')}"
        for reason, count in by_reason(excluded)
    ]
    out = ", ".join(parts) or "nothing"
    console.note(
        f"{counted(len(entries), 'file')}, {sum(entry.size for entry in entries):,} bytes; "
        f"out: {out}"
    )
    return 0


def _answer_snapshot(project: Project, console: Console) -> int:
    """Print seed 004's ProjectSnapshot."""
    try:
        console.answer_json(msgspec.to_builtins(project.snapshot()))
    except RecursionError:
        raise RefusedError(
            "the folders are nested too deep for one JSON document",
            rule="a directory tree is nested as its folders are",
            next_step="use --depth N, or scan without --json",
        ) from None
    return 0


def _described(item: Excluded) -> str:
    files = counted(item.count, "file", "+" if item.more else "")
    count = f" ({files})" if item.path.endswith("/") else ""
    return f"{quote(item.path)}{count}"


def configure_tree(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_selection(parser)
    options.add_budget(parser)
    parser.add_argument("-L", "--levels", type=_levels, metavar="N", help="maximum levels to show")
    flag(parser, "--directories", "show directories only")
    flag(parser, "--bars", "draw each share of the total as a bar")


def _levels(text: str) -> int:
    # Converting a long run of digits takes quadratic time.
    if not text.isdecimal() or not 1 <= int(text[:9]) <= DEEPEST:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from 1 to {DEEPEST}")
    return int(text)


def run_tree(args: argparse.Namespace, console: Console) -> int:
    options.lift_budget(args)
    project, _ = open_project(args)
    packing = project.pack()
    packing.empty_ok = True
    with following(packing, console):
        for _ in packing:
            pass
    report = packing.report
    totals = directory_totals(report.shown)
    if args.json:
        files = [
            {"path": wire_path(file.path), "tokens": file.tokens, "bytes": file.bytes}
            for file in report.shown
        ]
        directories = [
            {"path": wire_path(path), "weight": weight}
            for path, weight in sorted(totals.items())
            if path
        ]
        console.answer_json(
            {
                "root": redacted_text(project.name),
                "total": totals[""],
                "directories": directories,
                "files": files,
            }
        )
        return 0
    unit = "bytes" if report.tokens is None else "tokens"
    bar = _bar(1, 1) if args.bars else ""
    title = f"{totals['']:>11,}  {bar}{redacted_text(quote(project.name))}/  ({unit})"
    console.answer("\n".join([title, *_rows(report.shown, totals, args)]))
    return 0


def directory_totals(files: tuple[Shown, ...]) -> dict[str, int]:
    """Sum the weight of each directory, everything below it included; the root is the empty path.
    Levels that no tree shows count for the last one that it does."""
    totals = {"": 0}
    for file in files:
        totals[""] += file.weight
        cut = -1
        for _ in range(DEEPEST):
            cut = file.path.find("/", cut + 1)
            if cut < 0:
                break
            directory = file.path[:cut]
            totals[directory] = totals.get(directory, 0) + file.weight
    return totals


BAR = 20
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def _bar(part: int, whole: int) -> str:
    """Draw a share of the whole as a bar of `BAR` letters, exact to an eighth of one; any share
    above zero has a mark."""
    eighths = min(BAR * 8, max(1, part * BAR * 8 // max(whole, 1))) if part else 0
    full, rest = divmod(eighths, 8)
    drawn = "█" * full + (_EIGHTHS[rest] if rest else "")
    return f"{drawn:<{BAR}}  "


def _rows(files: tuple[Shown, ...], totals: dict[str, int], args: argparse.Namespace) -> list[str]:
    """Return rows, the heaviest first inside each directory, so that the branch to cut is on
    top."""
    children: dict[str, list[tuple[int, str, bool]]] = {}
    for path, weight in totals.items():
        if path:
            children.setdefault(path[: max(path.rfind("/"), 0)], []).append((weight, path, True))
    if not args.directories:
        for file in files:
            children.setdefault(file.path[: max(file.path.rfind("/"), 0)], []).append(
                (file.weight, file.path, False)
            )
    rows: list[str] = []
    stack = [(row, 1) for row in sorted(children.get("", ()), key=lambda row: (row[0], row[1]))]
    while stack:
        (weight, path, is_directory), level = stack.pop()
        name = quote(path[path.rfind("/") + 1 :])
        bar = _bar(weight, totals[""]) if args.bars else ""
        rows.append(f"{weight:>11,}  {bar}{'  ' * level}{name}{'/' if is_directory else ''}")
        if is_directory and level < (args.levels or DEEPEST):
            below = sorted(children.get(path, ()), key=lambda row: (row[0], row[1]))
            stack.extend((row, level + 1) for row in below)
    return rows


def configure_why(parser: argparse.ArgumentParser) -> None:
    value(parser, "path", "PATH", "a file or folder of the project")
    one_of(
        parser,
        "--for",
        DOORS,
        "the door to ask: a pack, a goal's files, gather, or an agent's tools (default: pack)",
        "pack",
        dest="door",
    )
    value(
        parser,
        "--goal",
        "TEXT",
        "for a pack with this goal: also its rank, the evidence, and the files before it",
        "",
    )
    options.add_selection(parser)
    options.add_budget(parser)


def _standing(body: Mapping[str, Any]) -> str:
    """Describe the place in the ranking for a goal, with the evidence, and the files before it."""
    rows = [f"rank: {body['rank']}"] if body.get("rank") else []
    rows += [f"  {line}" for line in body.get("evidence", ())]
    if body.get("before"):
        rows += ["before it:", *(f"  {line}" for line in body["before"])]
    return "".join(f"\n  {row}" for row in rows)


def run_why(args: argparse.Namespace, console: Console) -> int:
    """Print the decision of the code that acts: for a pack the scan, then selection, reading and
    the budget; for the other doors their own rules."""
    place = locate([], os.getcwd())
    path = path_within(place.root, args.path)
    settings = options.settings_for(args, place.root)
    project = Project(settings=settings)
    with Root(place.root) as root:
        if args.door == "agent":
            from sutler.tools.opening import admission_for

            body = redacted_values(for_agent(admission_for(root, settings, os.environ), path))
        else:
            body = redacted_values(verdict(project, root, path, args.door, args.goal))
    rule = f"\n  rule: {body['rule']}" if body.get("rule") else ""
    goal = _standing(body) if args.goal else ""
    text = f"{body['path']}: {body['state']}\n  reason: {body['reason']}{rule}{goal}"
    return console.reply({**body, "path": redacted_text(wire_path(path or "."))}, text)
