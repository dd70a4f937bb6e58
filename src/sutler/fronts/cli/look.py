"""`sutler scan`, `sutler tree` and `sutler why`: look before packing."""

from __future__ import annotations

import argparse
import os

from sutler.disk.root import Root
from sutler.disk.walk import explain
from sutler.engine import Project, Shown, locate
from sutler.engine.clean import SECRET_NAME, told, told_all
from sutler.engine.report import by_reason
from sutler.fronts.cli import options
from sutler.fronts.cli.console import Console
from sutler.fronts.cli.pack import open_project
from sutler.stages.classify import facts_of
from sutler.values.errors import UsageError
from sutler.values.paths import RelPath, quote
from sutler.values.snapshot import Excluded, FileEntry, Problem


def configure_scan(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_selection(parser)
    parser.add_argument("--excluded", action="store_true", help="list what stays out, with reason and rule")


def run_scan(args: argparse.Namespace, console: Console) -> int:
    project, _ = open_project(args)
    snapshot = project.scan()
    selection = project.select(snapshot, project.request())
    entries = sorted((choice.entry for choice in selection.choices), key=lambda entry: entry.path)
    excluded = sorted((*snapshot.excluded, *selection.excluded), key=lambda item: item.path)
    if args.json:
        console.answer_json(
            {
                "root": told(project.name),
                "files": [_entry_row(entry) for entry in entries],
                "excluded": [_excluded_row(item) for item in excluded],
                "problems": [_problem_row(problem) for problem in snapshot.problems],
            }
        )
        return 0
    if args.excluded:
        console.answer("".join(f"{item.reason:<14}  {_shown(item):<40}  {item.rule}\n" for item in excluded))
    else:
        console.answer("".join(f"{entry.size:>10,}  {quote(entry.path)}\n" for entry in entries))
    for problem in snapshot.problems:
        console.note(f"{quote(problem.path)}: {problem.kind} {problem.detail}".rstrip())
    out = ", ".join(f"{count:,} {reason}" for reason, count in by_reason(excluded)) or "nothing"
    console.note(f"{len(entries):,} files, {sum(entry.size for entry in entries):,} bytes; out: {out}")
    return 0


def _entry_row(entry: FileEntry) -> dict[str, object]:
    facts = facts_of(entry.path)
    return {
        "path": quote(entry.path),
        "size": entry.size,
        "links": entry.links,
        "type": facts.type,
        "category": facts.category,
        "language": facts.language,
        "tag": facts.tag,
        "key": facts.key,
    }


def _excluded_row(item: Excluded) -> dict[str, object]:
    return {
        "path": quote(item.path),
        "reason": item.reason,
        "rule": str(item.rule),
        "count": item.count,
        "more": item.more,
    }


def _problem_row(problem: Problem) -> dict[str, object]:
    return {"path": quote(problem.path), "kind": problem.kind, "detail": problem.detail}


def _shown(item: Excluded) -> str:
    count = f" ({item.count:,}{'+' if item.more else ''} files)" if item.path.endswith("/") else ""
    return f"{quote(item.path)}{count}"


def configure_tree(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_selection(parser)
    options.add_budget(parser)
    parser.add_argument("-L", "--levels", type=int, metavar="N", help="show this many levels")
    parser.add_argument("--directories", action="store_true", help="directories only")


def run_tree(args: argparse.Namespace, console: Console) -> int:
    if not any((args.max_tokens, args.max_chars, args.max_bytes, args.tier)):
        args.no_budget = True
    project, _ = open_project(args)
    packing = project.pack()
    for _ in packing:
        pass
    report = packing.report
    totals = directory_totals(report.shown)
    if args.json:
        files = [{"path": quote(one.path), "tokens": one.tokens, "bytes": one.bytes} for one in report.shown]
        directories = [
            {"path": quote(path), "weight": weight} for path, weight in sorted(totals.items()) if path
        ]
        console.answer_json(
            {"root": told(project.name), "total": totals[""], "directories": directories, "files": files}
        )
        return 0
    unit = "bytes" if report.tokens is None else "tokens"
    console.answer(
        "\n".join(
            [f"{totals['']:>11,}  {told(quote(project.name))}/  ({unit})", *_rows(report.shown, totals, args)]
        )
    )
    return 0


def directory_totals(shown: tuple[Shown, ...]) -> dict[str, int]:
    """The weight of each directory, everything below it included; the root is the empty path."""
    totals = {"": 0}
    for one in shown:
        path: str = one.path
        totals[""] += one.weight
        while (cut := path.rfind("/")) > 0:
            path = path[:cut]
            totals[path] = totals.get(path, 0) + one.weight
    return totals


def _rows(shown: tuple[Shown, ...], totals: dict[str, int], args: argparse.Namespace) -> list[str]:
    """Heaviest first inside each directory, so that the branch to cut is on top."""
    children: dict[str, list[tuple[int, str, bool]]] = {}
    for path, weight in totals.items():
        if path:
            children.setdefault(path[: max(path.rfind("/"), 0)], []).append((weight, path, True))
    if not args.directories:
        for one in shown:
            children.setdefault(one.path[: max(one.path.rfind("/"), 0)], []).append(
                (one.weight, one.path, False)
            )
    rows: list[str] = []
    stack = [(row, 1) for row in sorted(children.get("", ()), key=lambda row: (row[0], row[1]))]
    while stack:
        (weight, path, is_directory), level = stack.pop()
        name = quote(path[path.rfind("/") + 1 :])
        rows.append(f"{weight:>11,}  {'  ' * level}{name}{'/' if is_directory else ''}")
        if is_directory and (args.levels is None or level < args.levels):
            below = sorted(children.get(path, ()), key=lambda row: (row[0], row[1]))
            stack.extend((row, level + 1) for row in below)
    return rows


def configure_why(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file or folder of the project")
    options.add_selection(parser)
    options.add_budget(parser)


def run_why(args: argparse.Namespace, console: Console) -> int:
    """The verdict of the very pipeline that packs: the scan first, then selection, reading and the budget."""
    place = locate([], os.getcwd())
    target = os.path.relpath(os.path.abspath(args.path), place.root)
    if target.startswith(".."):
        raise UsageError(
            f"{quote(args.path)} lies outside this folder",
            rule="why explains one project",
            next_step="run it from there",
        )
    project = Project(settings=options.settings_for(args, place.root))
    path = RelPath(target.replace(os.sep, "/"))
    with Root(place.root) as root:
        verdict = explain(root, project.rules(), path)
    shown = told(quote(path))
    if isinstance(verdict, FileEntry) and shown != quote(path):
        verdict = Excluded(path, "credentials", SECRET_NAME)
    body = _verdict_of(verdict) if not isinstance(verdict, FileEntry) else _packed_verdict(project, path)
    body = told_all(body)
    if args.json:
        console.answer_json({"path": shown, **body})
    else:
        state, why = body["state"], body["reason"]
        rule = f"\n  rule: {body['rule']}" if body.get("rule") else ""
        console.answer(f"{shown}: {state}\n  reason: {why}{rule}")
    return 0


def _verdict_of(verdict: Excluded | Problem) -> dict[str, object]:
    if isinstance(verdict, Problem):
        return {"state": "problem", "reason": f"{verdict.kind} {verdict.detail}".rstrip()}
    return {"state": "out", "reason": verdict.reason.replace("_", " "), "rule": str(verdict.rule)}


def _packed_verdict(project: Project, path: RelPath) -> dict[str, object]:
    packing = project.pack(count_tokens=False)
    for _ in packing:
        pass
    report = packing.report
    for one in report.shown:
        if one.path == path:
            return {
                "state": f"in ({one.level.replace('_', ' and ')})",
                "reason": one.reason,
                "bytes": one.bytes,
            }
    for item in report.excluded:
        if item.path == path:
            return _verdict_of(item)
    return {"state": "out", "reason": "not reached"}
