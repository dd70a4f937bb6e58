"""`sutler pick`: choose files on a terminal, then print the list, pack it or copy it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import sutler.config as config
from sutler.budget.fit import frame_cost
from sutler.config import Settings
from sutler.errors import UsageError
from sutler.formats import FORMATS
from sutler.formats.document import CleanText, Preamble
from sutler.fronts.cli import options
from sutler.fronts.cli.options import flag, one_of, value
from sutler.fronts.console import Console, at_terminal
from sutler.pack import picks, receipts
from sutler.pack.project import Packing, Project
from sutler.pack.report import WHOLE
from sutler.pack.why import verdict
from sutler.paths import RelPath, counted, quote, unquote
from sutler.scan.place import locate, project_config
from sutler.scan.root import Root
from sutler.secrets.cleaner import told, told_all
from sutler.setting_table import Unit
from sutler.store.atomic import write_atomic
from sutler.store.records import PROFILES, Caller
from sutler.system import fs
from sutler.tokens.counter import counter_for

if TYPE_CHECKING:
    from sutler.fronts.tui.actions import Actions
    from sutler.fronts.tui.picking import Budget, Plan, Weight

BYTES_PER_TOKEN = 4
"""For estimates that stand until a file is read."""


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
    place = locate(args.paths, os.getcwd())
    project = Project(*args.paths, settings=options.settings_for(args, place.root))
    task = Task(project, console)
    before = () if args.fresh else picks.kept(place.root, os.environ)
    if args.kept:
        return task.finish(args, task.plan(before), task.budget_now())
    _need_screen()
    from sutler.fronts.tui.app import Picker
    from sutler.fronts.tui.picking import Plan

    caller = Caller(
        f"cli:uid{fs.getuid()}", os.environ.get("SUTLER_SESSION", "pick"), PROFILES["person"]
    )
    unweighed = Plan({}, before, weighed=False)
    app = Picker(place.root, caller, unweighed, task.budget_now(), task.actions(args))
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
    plan = app.plan if app.plan.weighed else task.plan(app.plan.kept())
    return task.finish(args, plan, app.budget)


def _need_screen() -> None:
    if not at_terminal():
        raise UsageError(
            "there is no terminal to pick on",
            rule="the picker reads keys from stdin and draws on stderr",
            next_step="run it in a terminal, or use --kept for what was picked last time",
        )


@contextmanager
def _screen_at_stdout() -> Iterator[None]:
    """Textual draws on stderr and asks stdout how large the terminal is. Where the list goes to a
    pipe or a file, stdout is the terminal until the screen is gone."""
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


class Task:
    """One run of the picker on one project: what is weighed, and what becomes of the picks."""

    def __init__(self, project: Project, console: Console) -> None:
        self.project = project
        self.console = console
        self.root = project.place.root
        self.frame = 0

    def budget_now(self) -> Budget:
        from sutler.fronts.tui.picking import Budget

        return Budget(*self.project.settings.limit())

    def plan(self, before: Iterable[str]) -> Plan:
        from sutler.fronts.tui.picking import Plan

        with self.console.progress("weighing") as progress:
            files = self.weigh(progress)
        return Plan(files, before, self.frame)

    def weigh(self, progress: Callable[[int, int], None] | None = None) -> Mapping[str, Weight]:
        """Every file that a pack without limit would hold, at what it costs there."""
        from sutler.fronts.tui.picking import Weight

        packing = self.project.pack(max_bytes=0)
        packing.empty_ok = True
        packing.progress = progress
        for _ in packing.encoded():
            pass
        report, unit = packing.report, self.project.settings.limit()[1]
        in_tokens = unit == "tokens" and report.tokens is not None
        bare = {file.path: file.weight if in_tokens else file.bytes for file in report.shown}
        total = (report.tokens if in_tokens else report.bytes) or 0
        self.frame = self._frame(packing, "tokens" if in_tokens else "bytes")
        # names in the drawing of the tree, lines of the manifest: what a file costs besides its
        # section
        beside = -(-max(total - self.frame - sum(bare.values()), 0) // max(len(bare), 1))
        return {file.path: Weight(file.weight, bare[file.path] + beside) for file in report.shown}

    def _frame(self, packing: Packing, unit: Unit) -> int:
        """What a pack costs before any file is in it."""
        count = counter_for(unit, packing.request.budget.counter)
        return frame_cost(
            count, packing.request, Preamble(self.project.name, CleanText(""), CleanText(""))
        )

    def listed(self) -> Mapping[str, Weight]:
        """The files a pack without limit would hold, by names and sizes alone."""
        from sutler.fronts.tui.picking import Weight

        project = self.project
        selection = project.select(project.scan(), project.pack(max_bytes=0).request)
        in_tokens = project.settings.limit()[1] == "tokens"
        weights: dict[str, Weight] = {}
        for choice in selection.choices:
            tokens = choice.entry.size // BYTES_PER_TOKEN
            weights[choice.path] = Weight(tokens, tokens if in_tokens else choice.entry.size)
        return weights

    def actions(self, args: argparse.Namespace) -> Actions:
        from sutler.fronts.tui.actions import Actions

        return Actions(
            listed=self.listed,
            weigh=self.weigh,
            frame=lambda: self.frame,
            keep=lambda paths: picks.keep(self.root, os.environ, paths),
            pack=self.pack,
            copy=self.copy,
            export=lambda paths, target: self.export(paths, target, null=args.null),
            profiles=lambda: picks.profiles(self.root, os.environ),
            profile=self.selected_by,
            add_profile=self.add_profile,
            budget=self.set_budget,
            why=self.why,
            redacted=told,
        )

    def set_budget(self, words: Sequence[str]) -> Budget:
        """`20k`, `60000 chars`, `0`: the budget from now on; tokens unless another unit is
        named."""
        size, unit = [*words, "tokens"][:2]
        keys = {"tokens": "max_tokens", "chars": "max_chars", "bytes": "max_bytes"}
        if unit not in keys:
            raise UsageError(f"no unit {quote(unit)}", next_step="use tokens, chars or bytes")
        layer = config.layer_from_table({keys[unit]: size}, "/budget")
        self.project = self._with(self.project.settings.overlaid(layer))
        return self.budget_now()

    def _with(self, settings: Settings) -> Project:
        fresh = Project(settings=settings)
        fresh.place = self.project.place
        return fresh

    def selected_by(self, name: str) -> list[str]:
        """The files that a profile's globs select, among those that are there."""
        layers = project_config(self.root, os.environ, name)
        project = self._with(config.resolve([*layers, config.layer_from_environment(os.environ)]))
        selection = project.select(project.scan(), project.request())
        return [choice.path for choice in selection.choices]

    def add_profile(self, name: str, plan: Plan) -> str:
        from sutler.fronts.tui.picking import folded

        path = picks.add_profile(self.root, os.environ, name, folded(plan))
        return f"profile {name} is in {path}: sutler pack --profile {name}"

    def why(self, path: str) -> str:
        """Whether a pack with the present budget holds a file, and by which rule."""
        with Root(self.root) as root:
            answer = told_all(verdict(self.project, root, RelPath(unquote(path)), "pack", ""))
        rule = f"\nrule: {answer['rule']}" if answer.get("rule") else ""
        return f"{answer['path']}: {answer['state']}\nreason: {answer['reason']}{rule}"

    def export(self, paths: Sequence[str], target: str, *, null: bool) -> str:
        write_atomic(target, [self.names(paths, null=null)])
        return f"{len(paths):,} names -> {quote(target)}"

    def names(self, paths: Sequence[str], *, null: bool) -> bytes:
        """Names as `sutler pack --stdin` reads them, from where the user stands; a name that would
        be two lines makes NUL the end of all."""
        names = [os.path.relpath(os.path.join(self.root, path)) for path in paths]
        end = "\0" if null or any("\n" in name or name.endswith("\r") for name in names) else "\n"
        return os.fsencode("".join(name + end for name in names))

    def packing(self, paths: Sequence[str], *outputs: str) -> Packing:
        if not paths:
            raise UsageError("nothing is picked", next_step="pick files with space, or all with a")
        return self.project.only(paths).writing_to(*outputs).pack()

    def pack(self, paths: Sequence[str], target: str) -> str:
        packing = self.packing(paths, target)
        packing.write(target)
        self.receipt(packing, quote(target))
        return self.outcome(packing, paths, quote(target))

    def copy(self, paths: Sequence[str], by_terminal: Callable[[str], None] | None = None) -> str:
        from sutler.fronts.cli.clipboard import copy

        packing = self.packing(paths)
        destination = copy(packing.text(), by_terminal)
        self.receipt(packing, destination)
        return self.outcome(packing, paths, destination)

    def receipt(self, packing: Packing, destination: str) -> None:
        project = self.project
        receipt = receipts.receipt_of(
            packing.report,
            project=packing.quotable(project.name),
            destination=destination,
            redacted=project.settings.flag("redact"),
        )
        receipts.recorded(
            receipt, project.place.root, os.environ
        )  # the screen is not ours to write a note on

    def outcome(self, packing: Packing, paths: Sequence[str], destination: str) -> str:
        report = packing.report
        cut = sum(file.level not in WHOLE for file in report.shown)
        tokens = (
            f"{report.tokens:,} tokens"
            if report.tokens is not None and report.budget.unit != "tokens"
            else ""
        )
        facts = [
            f"packed {counted(len(report.shown), 'file')}",
            f"{report.used:,} {report.budget.unit}",
            tokens,
            f"{cut:,} shown in part" if cut else "",
            f"{len(paths) - len(report.shown):,} left out for the budget"
            if len(paths) > len(report.shown)
            else "",
        ]
        return f"{', '.join(fact for fact in facts if fact)} -> {destination}"

    def finish(self, args: argparse.Namespace, plan: Plan, budget: Budget) -> int:
        """The picks go where the user wanted them."""
        paths = plan.chosen()
        if args.output or args.copy:
            outcome = self.pack(paths, args.output) if args.output else self.copy(paths)
            self.console.answer_json(
                {"paths": [quote(path) for path in paths], "said": outcome}
            ) if args.json else None
            self.console.note(outcome)
        elif args.json:
            figures = {
                "tokens": plan.tokens,
                "used": plan.used,
                "limit": budget.limit,
                "unit": budget.unit,
            }
            self.console.answer_json({"paths": [quote(path) for path in paths], **figures})
        elif args.list:
            self.console.note(self.export(paths, args.list, null=args.null))
        else:
            self.console.stream([self.names(paths, null=args.null)])
        return 0
