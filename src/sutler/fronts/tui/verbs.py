"""Verbs of the picker besides picking: weigh the files of a project, pack, copy or list the picks,
and read profiles."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

import sutler.config as config
from sutler.budget.fit import frame_cost
from sutler.config import Settings
from sutler.errors import UsageError
from sutler.formats.document import CleanText, Preamble
from sutler.fronts.clipboard import copy
from sutler.fronts.tui.picking import Budget, Plan, Weight, folded
from sutler.pack import picks, receipts
from sutler.pack.project import Packing, Project
from sutler.pack.report import WHOLE
from sutler.pack.why import verdict
from sutler.paths import RelPath, counted, quote, unquote
from sutler.scan.place import project_config
from sutler.scan.root import Root
from sutler.secrets.cleaner import redacted_values
from sutler.setting_table import Unit
from sutler.store.atomic import write_atomic
from sutler.tokens.counter import counter_for

BYTES_PER_TOKEN = 4
"""For estimates until a file is read."""


class Verbs:
    """Actions on the picks of one project. Those that return a string return a sentence for the
    status line. `listed` answers from names and sizes alone, before `weigh` has read the files; all
    but `weigh` run in the door's thread. `null` ends the names of a list with NUL."""

    def __init__(self, project: Project, *, null: bool = False) -> None:
        self.project = project
        self.null = null
        self.root = project.place.root
        self.frame = 0

    def budget(self) -> Budget:
        return Budget(*self.project.settings.limit())

    def weigh(self, progress: Callable[[int, int], None] | None = None) -> Mapping[str, Weight]:
        """Return every file of a pack without limit, with its cost there."""
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
        # names in the drawing of the tree, lines of the manifest: the cost of a file besides its
        # section
        beside = -(-max(total - self.frame - sum(bare.values()), 0) // max(len(bare), 1))
        return {file.path: Weight(file.weight, bare[file.path] + beside) for file in report.shown}

    def _frame(self, packing: Packing, unit: Unit) -> int:
        """Return the cost of a pack without any file."""
        count = counter_for(unit, packing.request.budget.counter)
        return frame_cost(
            count, packing.request, Preamble(self.project.name, CleanText(""), CleanText(""))
        )

    def listed(self) -> Mapping[str, Weight]:
        """Return the files of a pack without limit, by names and sizes alone."""
        project = self.project
        selection = project.select(project.scan(), project.pack(max_bytes=0).request)
        in_tokens = project.settings.limit()[1] == "tokens"
        weights: dict[str, Weight] = {}
        for choice in selection.choices:
            tokens = choice.entry.size // BYTES_PER_TOKEN
            weights[choice.path] = Weight(tokens, tokens if in_tokens else choice.entry.size)
        return weights

    def set_budget(self, words: Sequence[str]) -> Budget:
        """Parse and set the budget: `20k`, `60000 chars`, `0`; in tokens unless another unit is
        named."""
        size, unit = [*words, "tokens"][:2]
        keys = {"tokens": "max_tokens", "chars": "max_chars", "bytes": "max_bytes"}
        if unit not in keys:
            raise UsageError(f"no unit {quote(unit)}", next_step="use tokens, chars or bytes")
        layer = config.layer_from_table({keys[unit]: size}, "/budget")
        self.project = self._with(self.project.settings.overlaid(layer))
        return self.budget()

    def _with(self, settings: Settings) -> Project:
        fresh = Project(settings=settings)
        fresh.place = self.project.place
        return fresh

    def keep(self, paths: Iterable[str]) -> str:
        return picks.keep(self.root, os.environ, paths)

    def profiles(self) -> Sequence[str]:
        return picks.profiles(self.root, os.environ)

    def selected_by(self, name: str) -> list[str]:
        """Return the present files that a profile's globs select."""
        layers = project_config(self.root, os.environ, name)
        project = self._with(config.resolve([*layers, config.layer_from_environment(os.environ)]))
        selection = project.select(project.scan(), project.request())
        return [choice.path for choice in selection.choices]

    def add_profile(self, name: str, plan: Plan) -> str:
        path = picks.add_profile(self.root, os.environ, name, folded(plan))
        return f"profile {name} is in {path}: sutler pack --profile {name}"

    def why(self, path: str) -> str:
        """Return whether a pack with the present budget holds a file, and by which rule."""
        with Root(self.root) as root:
            answer = redacted_values(
                verdict(self.project, root, RelPath(unquote(path)), "pack", "")
            )
        rule = f"\nrule: {answer['rule']}" if answer.get("rule") else ""
        return f"{answer['path']}: {answer['state']}\nreason: {answer['reason']}{rule}"

    def export(self, paths: Sequence[str], target: str) -> str:
        write_atomic(target, [self.names(paths)])
        return f"{len(paths):,} names -> {quote(target)}"

    def names(self, paths: Sequence[str]) -> bytes:
        """Return names as `sutler pack --stdin` reads them, relative to the user's directory; NUL
        ends them all if one contains a line break."""
        names = [os.path.relpath(os.path.join(self.root, path)) for path in paths]
        end = (
            "\0"
            if self.null or any("\n" in name or name.endswith("\r") for name in names)
            else "\n"
        )
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
        receipts.recorded(receipt, project.place.root, os.environ)  # no notes over the screen

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
