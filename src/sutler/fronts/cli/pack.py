"""`sutler pack` and `sutler tokens`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

import sutler.config as config
from sutler.errors import UsageError
from sutler.formats.document import Section
from sutler.fronts.cli import options, pack_words
from sutler.fronts.console import Console, asker, harmless
from sutler.pack import receipts
from sutler.pack.project import Packing, Project
from sutler.pack.report import Report
from sutler.paths import Span, quote, wire_path
from sutler.scan.place import locate
from sutler.store.atomic import write_atomic
from sutler.tokens.counter import token_counter


def configure_pack(parser: argparse.ArgumentParser) -> None:
    pack_words.add_pack_options(parser)


def run_pack(args: argparse.Namespace, console: Console) -> int:
    _check_destination(args)
    args.header, args.instructions = own_texts(args)
    wanted = args.format
    if wanted in pack_words.OTHER_FORMATS:
        args.format = None  # a rendered pack has no such form, so it is no setting either
    args.assign = wanted == "assign"
    if args.watch:
        return _watched(args, console, wanted)
    return _pack_once(args, console, wanted)


def _watched(args: argparse.Namespace, console: Console, wanted: str | None) -> int:
    from sutler.fronts.cli.watch import check_watch, watch

    check_watch(args)
    project, _ = open_project(args)
    project = project.writing_to(*pack_words.outputs(args.output, args.split))
    return watch(project, lambda: _pack_once(args, console, wanted), console)


def _pack_once(args: argparse.Namespace, console: Console, wanted: str | None) -> int:
    project, goal = open_project(args)
    _check_effect(args, bool(args.task or project.settings.values["type"]))
    if args.assign:
        _check_assign(args)
    elif args.task or project.settings.values["type"] or args.format != wanted:
        from sutler.fronts.cli.documents import run_document

        return run_document(args, console, project, goal, wanted, run_rendered)
    return run_rendered(args, console, project, goal)


def run_rendered(
    args: argparse.Namespace,
    console: Console,
    project: Project,
    goal: str,
    reason: str = "asked for",
) -> int:
    """Make a rendered pack, in one of `FORMATS`, which `unpack` reads."""
    project = pack_words.without_outputs(args, project)
    wants_tokens = args.counter is not None or not console.quiet or args.json or bool(args.report)
    packing = project.pack(
        goal=goal,
        ask=asker(),
        count_tokens=wants_tokens,
        since=args.since or "",
        diff=args.diff,
        log=args.log,
        header=args.header,
        instructions=args.instructions,
    )
    if args.report:
        from sutler.pack.page.build import watch_for

        packing.watch = watch = watch_for(project)
    with following(packing, console):
        destination = packing.quotable(_deliver(packing, args, console))
    report = msgspec.structs.replace(packing.report, selection_reason=reason)
    receipt = receipts.receipt_of(
        report,
        project=packing.quotable(project.name),
        destination=destination,
        redacted=project.settings.flag("redact"),
    )
    # After the pack: a receipt is for text that has left.
    receipt = pack_words.leave_receipt(project, receipt, args.receipt, console)
    if args.report:
        from sutler.fronts.cli.report import write_report

        watch.learn(packing)
        write_report(args.report, report, watch, project, goal, receipt)
    if args.json:
        console.answer_json({"report": spelled(report), "destination": destination})
    if not console.quiet:
        form = _form(args)
        console.note_painted(
            pack_words.summary(
                report, destination, console, () if goal else pack_words.LEFT_OUT, form
            )
        )
    return 0


@contextmanager
def following(packing: Packing, console: Console) -> Iterator[None]:
    """Show bars while the project is scanned, indexed, read and redacted, on a terminal only."""
    with console.progress(
        "reading and redacting" if packing.project.settings.flag("redact") else "reading"
    ) as bar:
        packing.progress = bar
        packing.project.tell = bar.tell if bar else None
        yield


def _deliver(packing: Packing, args: argparse.Namespace, console: Console) -> str:
    """Send the pack to its destination; return a name for that."""
    if args.split:
        from sutler.fronts.cli.split import write_parts

        return write_parts(packing, args.output, config.parse_size(args.split, "--split"))
    if args.copy:
        from sutler.fronts.clipboard import copy

        return copy(packing.text())
    if (args.assign or args.cite or args.template) and not args.json:
        blocks = _own_form(packing, args)
        if args.output and args.output != "-":
            write_atomic(args.output, blocks)
            return quote(args.output)
        console.stream(blocks)
        return "stdout"
    if args.output and args.output != "-":
        packing.write(args.output)
        return quote(args.output)
    if args.json:
        packing.text()
        return "nowhere"
    console.stream(packing.encoded())
    return "stdout"


def _cited(packing: Packing) -> Iterator[bytes]:
    """Yield the lines that the pack would show, one range a line, with the reason of the file."""
    sections: list[Section] = []
    packing.watch = sections.append
    packing.text()
    for section in sections:
        text = section.body.text
        whole = Span(1, max(1, text.count("\n") + (not text.endswith("\n"))))
        for span in section.spans or (whole,):
            place = f"{quote(section.path)}:{span.start}-{span.end}"
            yield harmless(f"{place}  {section.reason}").encode("utf-8", "replace") + b"\n"


def _check_assign(args: argparse.Namespace) -> None:
    if args.task or args.type or args.split:
        raise UsageError(
            "-f assign writes files and nothing else",
            next_step="leave --task, --type and --split out",
        )


def own_texts(args: argparse.Namespace) -> tuple[str, str]:
    """Return the user's header and instructions, read and checked."""
    if not (args.header or args.instructions or args.template):
        return "", ""
    from sutler.fronts.cli import user_texts as texts

    texts.check(args)
    return texts.header(args.header), texts.instructions(args.instructions)


def _own_form(packing: Packing, args: argparse.Namespace) -> Iterator[bytes]:
    """Return the pack in a form that is no format: citations, assignments, or the user's
    template."""
    if args.cite:
        return _cited(packing)
    return _assigned(packing) if args.assign else _through(packing, args.template)


def _form(args: argparse.Namespace) -> str:
    """Return the name of the form that is no format, for the summary."""
    if args.cite:
        return "as path:start-end"
    if args.assign:
        return "as assignments"
    return f"through {quote(args.template)}" if args.template else ""


def _through(packing: Packing, file: str) -> Iterator[bytes]:
    from sutler.fronts.cli.user_texts import through

    return through(packing, file)


def _assigned(packing: Packing) -> Iterator[bytes]:
    """Yield the files of the pack as seed 000's assignments: the same choice and the same
    budget."""
    from sutler.formats import parse
    from sutler.formats.assign import assign_text
    from sutler.fronts.cli.user_texts import require_within

    pack = parse(packing.text())
    text = assign_text((section.path, section.body.text) for section in pack.sections)
    require_within(packing, text, "the assignments")
    yield text.encode("utf-8", "surrogateescape")
    if text:
        yield b"\n"


def _check_destination(args: argparse.Namespace) -> None:
    if args.output == "":
        raise UsageError("-o names no file", next_step="give a name, or '-' for stdout")
    if args.report in ("", "-"):
        raise UsageError("--report names no file", next_step="give a name, such as report.html")
    if args.cite and (args.copy or args.split or not args.goal):
        raise UsageError(
            "--cite prints ranges of a pack for a goal",
            next_step="give --goal, and leave --copy and --split out",
        )
    if args.copy and (args.output or args.split):
        raise UsageError("--copy and a file are given together", next_step="keep one destination")


def _check_effect(args: argparse.Namespace, document: bool) -> None:
    """Refuse an option that would have no effect beside the others."""
    ranked = bool(args.goal or args.since)
    needs = (
        ("--fill", args.fill and not ranked, "--goal or --since"),
        ("--stop", args.stop is not None and not ranked, "--goal"),
        ("--stable-order", args.stable_order and not ranked, "--goal"),
        ("--provider-limit", args.provider_limits and not document, "--type auto"),
    )
    for name, idle, needed in needs:
        if idle:
            raise UsageError(
                f"{name} does nothing without {needed}", next_step=f"give {needed}, or leave it out"
            )


def spelled(report: Report) -> object:
    """Return the report with every path encoded for JSON."""
    body = msgspec.to_builtins(report)
    for row in (*body["shown"], *body["excluded"], *body["problems"]):
        row["path"] = wire_path(row["path"])
    body["listing"]["paths"] = [wire_path(path) for path in body["listing"]["paths"]]
    body["linked"] = [wire_path(path) for path in body["linked"]]
    return body


def configure_tokens(parser: argparse.ArgumentParser) -> None:
    options.add_paths(parser)
    options.add_selection(parser)
    options.add_budget(parser)


def run_tokens(args: argparse.Namespace, console: Console) -> int:
    options.lift_budget(args)
    project, _ = open_project(args)
    packing = project.pack(count_tokens=False)
    packing.empty_ok = True
    counter = packing.request.budget.counter
    if counter == "none":
        raise UsageError(
            "--counter none counts nothing", next_step="name a vocabulary, or leave the flag out"
        )
    with following(packing, console):
        text = packing.text()
    tokens = token_counter(counter)(text)  # counts of pieces need not add up to this
    return console.reply({"tokens": tokens, "counter": counter}, str(tokens))


def open_project(args: argparse.Namespace) -> tuple[Project, str]:
    """Return the project of a command line with its settings, and the goal."""
    goal = getattr(args, "goal", None) or ""
    paths = list(args.paths)
    if args.stdin:
        if goal == "-":
            raise UsageError(
                "--stdin and --goal - both read stdin", next_step="give the goal as text"
            )
        paths += names_from(sys.stdin.buffer.read())
        if not paths:
            raise UsageError(
                "--stdin gave no file names", next_step="pipe a list of files, one a line"
            )
    if goal == "-":
        goal = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not goal.strip() and getattr(args, "goal", None) is not None:
        raise UsageError(
            "--goal is empty", next_step="give the text of the task, or leave --goal out"
        )
    paths = here(args, paths)
    place = locate(paths, os.getcwd())
    return Project(*paths, settings=options.settings_for(args, place.root)), goal


def here(args: argparse.Namespace, paths: list[str]) -> list[str]:
    """Replace remote repositories and archives among the paths by their folders in the cache."""
    if not any("/" in path or path.endswith(ARCHIVES) for path in paths):
        return paths
    from sutler.remote.archive import is_archive, unpacked
    from sutler.remote.source import remote_of

    remotes = [remote_of(path) for path in paths]
    if not any(remotes) and not any(map(is_archive, paths)):
        return paths
    if len(paths) > 1:
        raise UsageError(
            "a repository or an archive is packed alone",
            rule="a pack has one project",
            next_step="make one pack of each",
        )
    if (remote := remotes[0]) is None:
        return [unpacked(paths[0], os.environ)]
    from sutler.remote.git_fetch import checkout

    sys.stderr.write(harmless(f"fetching {remote.url}\n") if not args.quiet else "")
    folder, since = checkout(remote, os.environ)
    if since and hasattr(args, "since"):
        args.since = args.since or since
    return [os.path.join(folder, remote.path) if remote.path else folder]


ARCHIVES = (".whl", ".zip", ".gz", ".tgz", ".tar", ".xz", ".bz2")
"""File endings that may mean an archive; `sutler.remote.archive` decides."""


def names_from(data: bytes) -> list[str]:
    """Parse file names as tools print them: NUL-separated if there is a NUL, else one a line."""
    separator = b"\0" if b"\0" in data else b"\n"
    return [os.fsdecode(name.rstrip(b"\r")) for name in data.split(separator) if name.strip()]
