"""`sutler pick`: choose files on a terminal, then print the list, pack it or copy it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sutler.errors import UsageError
from sutler.formats import FORMATS
from sutler.fronts.cli import options
from sutler.fronts.cli.options import flag, one_of, value
from sutler.fronts.console import Console, at_terminal
from sutler.pack import picks
from sutler.pack.project import Project
from sutler.paths import counted, quote
from sutler.scan.place import locate
from sutler.store.records import PROFILES, Caller
from sutler.system import fs

if TYPE_CHECKING:
    from sutler.fronts.tui.picking import Plan
    from sutler.fronts.tui.verbs import Verbs


def configure_pick(parser: argparse.ArgumentParser) -> None:
    value(parser, "paths", "PATH", "folders and files; default: the current folder", nargs="*")
    options.add_selection(parser)
    options.add_budget(parser)
    start = parser.add_argument_group("start")
    flag(start, "--all", "start with every file picked")
    flag(start, "--fresh", "start with no file picked; ignore the saved picks")
    flag(start, "--kept", "use the saved picks without opening the screen")
    out = parser.add_argument_group("destination (default: the list of picked files, to stdout)")
    value(out, "-o --output", "FILE", "at the end, write a pack of the picked files to FILE")
    flag(out, "--copy", "at the end, copy a pack of the picked files to the clipboard")
    value(out, "--list", "FILE", "at the end, write the list to FILE instead of stdout")
    flag(out, "-0 --null", "end each name of the list with NUL")
    one_of(out, "-f --format", FORMATS, options.formats_help())


def run_pick(args: argparse.Namespace, console: Console) -> int:
    if sum(map(bool, (args.output, args.copy, args.list))) > 1:
        raise UsageError(
            "-o, --copy and --list are given together", next_step="keep one destination"
        )
    from sutler.fronts.tui.picking import Plan
    from sutler.fronts.tui.verbs import Verbs

    place = locate(args.paths, os.getcwd())
    project = Project(*args.paths, settings=options.settings_for(args, place.root))
    verbs = Verbs(project, null=args.null)
    before = () if args.fresh else picks.kept(place.root, os.environ)
    if args.kept:
        return _finish(verbs, _weighed(verbs, before, console), args, console)
    _need_screen()
    from sutler.fronts.tui.app import Picker

    caller = Caller(
        f"cli:uid{fs.getuid()}", os.environ.get("SUTLER_SESSION", "pick"), PROFILES["person"]
    )
    app = Picker(verbs, caller, Plan({}, before, weighed=False))
    app.pick_everything = args.all
    if args.fresh:
        app.keep_from_start()
    with _screen_at_stdout():
        done = app.run()
    app.raise_fault()
    if not done:
        console.note(
            f"picked and kept: {counted(len(app.plan.picked), 'file')}; 'sutler pick' goes on "
            "with them"
        )
        return 130
    plan = app.plan if app.plan.weighed else _weighed(verbs, app.plan.kept(), console)
    return _finish(verbs, plan, args, console)


def _weighed(verbs: Verbs, before: Iterable[str], console: Console) -> Plan:
    from sutler.fronts.tui.picking import Plan

    with console.progress("weighing") as progress:
        files = verbs.weigh(progress)
    return Plan(files, before, verbs.frame)


def _need_screen() -> None:
    if not at_terminal():
        raise UsageError(
            "there is no terminal to pick on",
            rule="the picker reads keys from stdin and draws on stderr",
            next_step="run it in a terminal, or use --kept for what was picked last time",
        )


@contextmanager
def _screen_at_stdout() -> Iterator[None]:
    """Point stdout at the terminal while the screen is open, if the list goes to a pipe or a file:
    Textual draws on stderr and asks stdout for the size of the terminal."""
    if sys.stdout is None or sys.stdout.isatty():
        yield
        return
    aside = fs.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    try:
        yield
    finally:
        os.dup2(aside, sys.stdout.fileno())
        fs.close(aside)


def _finish(verbs: Verbs, plan: Plan, args: argparse.Namespace, console: Console) -> int:
    """Send the picks to their destination."""
    paths, budget = plan.chosen(), verbs.budget()
    body: dict[str, object] = {"paths": [quote(path) for path in paths]}
    if args.output or args.copy:
        outcome = verbs.pack(paths, args.output) if args.output else verbs.copy(paths)
        if args.json:
            console.answer_json({**body, "said": outcome})
        console.note(outcome)
    elif args.json:
        figures = {"tokens": plan.tokens, "used": plan.used}
        console.answer_json({**body, **figures, "limit": budget.limit, "unit": budget.unit})
    elif args.list:
        console.note(verbs.export(paths, args.list))
    else:
        console.stream([verbs.names(paths)])
    return 0
