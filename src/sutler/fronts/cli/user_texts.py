"""Texts of the user in a pack: header, instructions, template."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from sutler.errors import RefusedError, UsageError
from sutler.fronts.console import read_text
from sutler.pack.project import Packing
from sutler.tokens.counter import counter_for

LARGEST = 1_000_000
"""Limit in bytes of a header, of instructions and of a template."""


def check(args: argparse.Namespace) -> None:
    """Refuse a template beside another form of output."""
    if args.template and (args.format or args.type or args.task or args.split):
        raise UsageError(
            "--template writes a form of its own",
            rule="a pack has one form",
            next_step="leave --format, --type, --task and --split out",
        )
    if (args.header or args.instructions) and args.task:
        raise UsageError(
            "a task pack has no header and no instructions",
            next_step="write them into the task, or use --goal",
        )


def header(value: str | None) -> str:
    """Return the text of --header, or of the file that it names."""
    return read_text(value, LARGEST) if value and os.path.isfile(value) else value or ""


def instructions(file: str | None) -> str:
    return read_text(file, LARGEST) if file else ""


def through(packing: Packing, file: str) -> Iterator[bytes]:
    """Render the pack through the user's template, which is redacted like any text."""
    from sutler.formats import parse
    from sutler.goals.template import template_text

    template = read_text(file, LARGEST)
    if packing.project.settings.flag("redact"):
        template = packing.project.clean()(template, "").text
    text = template_text(template, os.path.basename(file), parse(packing.text()))
    require_within(packing, text, "the rendered template")
    yield text.encode("utf-8", "surrogateescape")


def require_within(packing: Packing, text: str, what: str) -> None:
    """Refuse a text above the budget of its pack."""
    budget = packing.request.budget
    cost = counter_for(budget.unit, budget.counter)(text)
    if budget.limit is not None and cost > budget.limit:
        raise RefusedError(
            f"{what} cost {cost:,} {budget.unit} and the budget is {budget.limit:,}",
            rule="a budget holds in every format",
            next_step="raise the budget a little",
        )
