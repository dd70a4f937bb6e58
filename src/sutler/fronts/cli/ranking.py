"""`sutler rank` and `sutler outline`: the files for a task, and the outline of a file."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from sutler.errors import UsageError
from sutler.fronts.cli import options
from sutler.fronts.cli.options import flag, integer, value
from sutler.fronts.cli.pack import open_project
from sutler.fronts.console import Console
from sutler.pack.project import Project
from sutler.paths import quote, wire_path
from sutler.scan.place import path_within

if TYPE_CHECKING:
    from sutler.budget.task_fit import RankedRegion


def configure_rank(parser: argparse.ArgumentParser) -> None:
    source = options.add_paths(parser)
    value(
        source,
        "--goal",
        "TEXT",
        "the task: an issue, a goal, a stack trace; '-' is stdin; default: the first PATH "
        "is the text",
    )
    options.add_selection(parser)
    integer(parser, "-k --top", "number of files to show (default 20)", 20)
    flag(parser, "--signals", "show each ranking signal with its share")
    flag(parser, "--lines", "show the most probable regions of each file, with their probability")


def run_rank(args: argparse.Namespace, console: Console) -> int:
    goal = _task(args)
    if goal == "-":
        goal = sys.stdin.buffer.read().decode("utf-8", "replace")
    if args.top < 1:
        raise UsageError(f"-k {args.top} shows no file", next_step="give a number from 1 up")
    if not goal.strip():
        raise _no_text("the text to rank for is empty")
    args.goal = None
    project, _ = open_project(args)
    with console.progress("indexing") as bar:
        project.tell = bar.tell if bar else None
        ranking = project.ranking(project.scan(), goal)
    ranked = ranking.ranked[: args.top]
    regions: Sequence[Sequence[RankedRegion]] = [()] * len(ranked)
    if args.lines:
        from sutler.budget.task_fit import ranked_regions

        regions = ranked_regions(ranking, len(ranked))
    if args.json:
        body = [
            msgspec.to_builtins(file) | ({"regions": mine} if args.lines else {})
            for file, mine in zip(ranked, regions, strict=True)
        ]
        companions = [msgspec.to_builtins(one) for one in ranking.companions]
        console.answer_json({"ranked": body, "companions": companions})
        return 0
    if not ranked:
        console.note("no file has to do with this text; 'sutler scan' lists the files")
    rows = []
    for number, (file, mine) in enumerate(zip(ranked, regions, strict=True), 1):
        rows.append(f"{number:>3}  {file.score:6.3f}  {quote(file.path)}\n")
        rows += [f"               {reason}\n" for reason in file.reasons[:3]]
        if args.signals:
            rows += [
                f"               {signal.name} {signal.value:.2f} -> {signal.share:.3f}\n"
                for signal in file.signals
            ]
        rows += [
            f"               {quote(file.path)}:{part.start}-{part.end}  {part.chance:.2f}  "
            f"{quote(part.name) if part.name else ''}".rstrip()
            + "\n"
            for part in mine
        ]
    rows += [f"also           {companion}\n" for companion in ranking.companions if ranked]
    console.answer("".join(rows))
    return 0


def _task(args: argparse.Namespace) -> str:
    """Return the text to rank for: --goal, or the first word if no file is named so."""
    if args.goal is not None:
        return str(args.goal)
    if not args.paths or os.path.lexists(args.paths[0]):
        raise _no_text("there is no text to rank for")
    return str(args.paths.pop(0))


def _no_text(what: str) -> UsageError:
    return UsageError(
        what,
        rule="files are ranked for the text of a task",
        next_step="write it in quotes: sutler rank 'the login fails'",
    )


def configure_outline(parser: argparse.ArgumentParser) -> None:
    value(parser, "path", "PATH", "a source file of the project")


def run_outline(args: argparse.Namespace, console: Console) -> int:
    """Print outlines, by the same rules, limits and redaction as a pack."""
    from sutler.languages.outline import render_outline
    from sutler.pack.outlines import outline_file

    project = Project()
    path = path_within(project.place.root, args.path)
    outline = outline_file(project, path)
    body = {
        "path": wire_path(path),
        "language": outline.language,
        "status": outline.status,
        "lines": outline.lines,
    }
    return console.reply(body, render_outline(outline.lines))
