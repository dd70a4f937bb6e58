"""`sutler pack` when it makes a document: --type, --task, --format msgpack."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import cast

from msgspec.structs import replace

from sutler.config import Settings
from sutler.errors import UsageError
from sutler.fronts.cli.pack_words import LEFT_OUT, leave_receipt, summary, without_outputs
from sutler.fronts.console import Console, asker, read_text
from sutler.pack import documents, receipts
from sutler.pack.delivery import Sending, send
from sutler.pack.project import Project
from sutler.pack.report import judge
from sutler.pack.task_packs import ContextPacker
from sutler.paths import quote
from sutler.secrets.cleaner import redacted_text
from sutler.setting_table import Tier
from sutler.store.atomic import write_atomic
from sutler.tasks.spec import MAX_TASK_CHARS, parse_task

_WIRE = ("json", "msgpack")
_SUMMARY = ("markdown", *_WIRE)


def run_document(
    args: argparse.Namespace,
    console: Console,
    project: Project,
    goal: str,
    wanted: str | None,
    rendered: Callable[[argparse.Namespace, Console, Project, str, str], int],
) -> int:
    """Make a document. With --type or --task, json and msgpack are the wire documents; any other
    full pack is `rendered`."""
    project = without_outputs(args, project)
    if args.task:
        _refuse_flags(args, console, wanted or "")
        return _leave(args, console, project, _task(args, project, wanted, goal, console))
    kind = project.settings.values["type"] or "full"
    shown_as = wanted or project.settings.text("format")
    if shown_as == "prompt":
        raise UsageError(
            "--format prompt needs a task", next_step="add --task FILE, or choose another format"
        )
    if shown_as not in _SUMMARY and kind != "full":
        raise UsageError(
            f"a summary has no {shown_as} form",
            next_step="use markdown, json or msgpack, or --type full",
        )
    reason = "asked for"
    if kind == "auto":
        kind, reason = project.select_pack()
    if kind == "full" and shown_as not in _WIRE:
        return rendered(args, console, project, goal, reason)
    _refuse_flags(args, console, shown_as)
    sending = _document(project, str(kind), shown_as, goal, console)
    return _leave(
        args,
        console,
        project,
        replace(sending, report=replace(sending.report, selection_reason=reason)),
    )


def _document(project: Project, kind: str, shown_as: str, goal: str, console: Console) -> Sending:
    if shown_as in _WIRE:
        if goal:
            raise UsageError(
                f"a {kind} pack in {shown_as} has no place for a goal", next_step="use --task FILE"
            )
        if kind == "full" and project.settings.limit()[1] == "tokens":
            raise UsageError(
                "a full pack on the wire cannot be limited in tokens",
                rule="its limit is on bytes of content",
                next_step="use --max-bytes, or a rendered format",
            )
    constraints = documents.constraints_of(project.settings)
    project = project.numbered()
    make = documents.make_summary if kind == "summary" else documents.make_full
    made = make(project, constraints)
    judge(made.problems, project.settings, project.place.named, asker())
    return send(project, made, shown_as, goal, count_tokens=not console.quiet)


def _task(
    args: argparse.Namespace, project: Project, wanted: str | None, goal: str, console: Console
) -> Sending:
    if goal:
        raise UsageError(
            "--task and --goal are given together", next_step="write the goal into the task"
        )
    if args.stdin and args.task == "-":
        raise UsageError(
            "--stdin and --task - both read stdin", next_step="give the task as a file"
        )
    if args.max_tokens or args.max_bytes or args.no_budget:
        raise UsageError(
            "a task pack is limited in characters",
            next_step="use --tier, --max-chars, or modelTier in the task",
        )
    if wanted not in (None, "prompt", *_SUMMARY):
        raise UsageError(
            f"a task pack has no {wanted} form", next_step="use prompt, markdown, json or msgpack"
        )
    made = _packer(project).make(parse_task(task_text(args.task), "task"))
    judge(made.problems, project.settings, project.place.named, asker())
    return send(project, made, wanted or "prompt", count_tokens=not console.quiet)


def _packer(project: Project) -> ContextPacker:
    settings: Settings = project.settings
    tier = settings.values["tier"]
    return ContextPacker(project, cast("Tier | None", tier), settings.number("max_chars"))


def task_text(name: str) -> str:
    """Read a task from a file that the user names, with a limit, so that no file can fill the
    memory."""
    # Some editors save a byte order mark, which no JSON may begin with.
    return read_text(name, MAX_TASK_CHARS * 4).removeprefix("\ufeff")


def _refuse_flags(args: argparse.Namespace, console: Console, wanted: str) -> None:
    if args.since or args.diff or args.log:
        raise UsageError(
            "--since, --diff and --log are for rendered packs",
            next_step="write the diff into the task",
        )
    if args.detail and args.type == "summary":
        raise UsageError(
            "--type summary and --detail or --compress are given",
            rule="a summary has one level, facts and outlines",
            next_step="leave out --detail and --compress, and files with -e",
        )
    if args.split:
        raise UsageError(
            "--split is for rendered packs", next_step="leave out --type and --task, or --split"
        )
    on_screen = sys.stdout.isatty() and not args.output and not console.as_json
    if wanted == "msgpack" and (args.copy or on_screen):
        raise UsageError("msgpack is no text", next_step="write it to a file with -o, or pipe it")


def _leave(args: argparse.Namespace, console: Console, project: Project, sending: Sending) -> int:
    destination = "stdout"
    if args.copy:
        from sutler.fronts.clipboard import copy

        destination = copy(sending.data.decode())
    elif args.output and args.output != "-":
        write_atomic(args.output, [sending.data])
        destination = redacted_text(args.output)
    elif not args.json:
        console.stream([sending.data])
    report = sending.report
    receipt = receipts.receipt_of(
        report,
        project=redacted_text(project.name),
        destination=destination,
        redacted=project.settings.flag("redact"),
    )
    receipt = leave_receipt(project, receipt, args.receipt, console)
    if args.report:
        from sutler.fronts.cli.report import write_report
        from sutler.pack.page.build import Watch

        write_report(args.report, report, Watch(), project, "", receipt)
    if args.json:
        console.answer_json({"report": report, "destination": destination})
    for problem in report.problems:
        console.note(
            redacted_text(f"{quote(problem.path)}: {problem.kind} {problem.detail}".rstrip())
        )
    if not console.quiet:
        advice = ("--tier or --max-chars makes room",) if args.task else LEFT_OUT[1:]
        console.note_painted(summary(report, destination, console, advice))
    return 0
