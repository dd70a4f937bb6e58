"""`sutler contract check`: whether a change keeps to a task's file contract."""

from __future__ import annotations

import argparse
import os
import sys

from sutler.config import layer_from_table
from sutler.errors import RefusedError, UsageError
from sutler.fronts.cli.documents import task_text
from sutler.fronts.cli.options import flag, one_of, value
from sutler.fronts.console import Console
from sutler.pack.changes import newness, working_changes
from sutler.pack.project import Project
from sutler.paths import counted, normalize_path, quote
from sutler.tasks.contract import contract_check, idle_globs
from sutler.tasks.spec import parse_contract
from sutler.tasks.touched import changes_from_diff, changes_from_names
from sutler.tasks.wire import Change, ContractReport


def configure_contract(parser: argparse.ArgumentParser) -> None:
    one_of(parser, "action", ("check",), "check: compare the change with the contract")
    value(parser, "task", "TASK", "a task or contract file, YAML or JSON; '-' is stdin")
    change = parser.add_argument_group(
        "change (default: the working tree against git's last commit)"
    )
    value(change, "--changed", "FILE", "files that change", [], "+")
    value(change, "--new", "FILE", "files that are created", [], "+")
    flag(change, "--stdin", "read names from stdin, as git diff --name-status prints them")
    value(change, "--diff", "FILE", "a unified diff; '-' is stdin")


def run_contract(args: argparse.Namespace, console: Console) -> int:
    if [args.task == "-", args.stdin, args.diff == "-"].count(True) > 1:
        raise UsageError("two inputs read stdin", next_step="give one of them as a file")
    contract = parse_contract(task_text(args.task))
    project = Project()
    # A contract also binds files that a pack excludes by name: a new file below dist/ counts.
    everything = layer_from_table({"default_excludes": False}, "contract check")
    project = Project(settings=project.settings.overlaid(everything))
    snapshot = project.scan()
    if args.changed or args.new or args.stdin or args.diff:
        changes = _changes(args)
    else:
        own = os.path.relpath(os.path.realpath(args.task), os.path.realpath(project.place.root))
        changes = working_changes(project.opened(), snapshot)
        changes = [change for change in changes if change.file != own]  # no part of the work
    paths = [str(entry.path) for entry in snapshot.entries]
    report = ContractReport(
        checked=len(changes),
        violations=tuple(contract_check(changes, contract)),
        idle_globs=tuple(problem.path for problem in idle_globs(paths, contract)),
    )
    for glob in report.idle_globs:
        console.note(f"the contract's glob {quote(glob)} matches no file of this folder")
    rows = [
        f"{item.reason.replace('_', ' '):<19}  {quote(item.file)}  ({item.rule})\n"
        for item in report.violations
    ]
    none = f"{counted(report.checked, 'file')} checked, none breaks the contract"
    console.reply(report, "".join(rows) or none)
    if report.violations:
        raise RefusedError(
            f"{len(report.violations):,} of {report.checked:,} files break the contract",
            rule=f"{quote(args.task)}: filesContract",
            next_step="take these changes back, or widen the contract",
        )
    return 0


def _changes(args: argparse.Namespace) -> list[Change]:
    is_new = newness(os.getcwd())
    changes = changes_from_names(args.changed, is_new)
    changes += [Change(path, True) for path in args.new]
    if args.stdin:
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
        changes += changes_from_names(text.replace("\0", "\n").splitlines(), is_new)
    if args.diff:
        changes += changes_from_diff(task_text(args.diff))
    merged: dict[str, bool] = {}
    for change in changes:
        path = normalize_path(change.file)
        merged[path] = merged.get(path, False) or change.new
    return [Change(path, merged[path]) for path in sorted(merged)]
