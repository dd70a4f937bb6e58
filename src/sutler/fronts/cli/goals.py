"""`sutler run`, `dry-run` and `pass`: a goal on its way to a model command. Translation only."""

from __future__ import annotations

import argparse
import os
import sys

from sutler.errors import SutlerError, UsageError
from sutler.fronts.cli.console import Console, harmless
from sutler.goals import discovery, params, runner, send
from sutler.goals.claw import load_claw
from sutler.goals.runner import Hooks, Job
from sutler.paths import quote
from sutler.secrets.cleaner import told


def whole_number(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0")
    return int(text)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return value


def _add_goal(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s GOAL [options] [-c PATH ...] [-- --key value ...]"
    parser.add_argument(
        "goal", nargs="?", metavar="GOAL", help="name of a goal; see 'sutler goals list'"
    )
    files = parser.add_argument_group("files")
    files.add_argument(
        "-c", "--context", nargs="*", action="extend", default=[], metavar="PATH",
        help="files and folders to add after the prompt",
    )  # fmt: skip
    files.add_argument(
        "-d", "--recurse_depth", "--recurse-depth", type=whole_number, metavar="N", dest="recurse_depth",
        help="levels to descend in folders; 0 is the folder itself (default: all)",
    )  # fmt: skip
    files.add_argument(
        "--mode",
        choices=("strict", "flexible", "ignore"),
        help="on a problem with a file, strict: stop; flexible: ask; ignore: record it",
    )
    how = parser.add_argument_group("rendering")
    how.add_argument(
        "-e", "--explain", action="store_true", help="describe the goal and its parameters"
    )
    how.add_argument(
        "--compat",
        choices=("claw",),
        help="use claw's discovery, merging and context section, byte for byte",
    )
    how.add_argument(
        "--script-timeout",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="time limit for each script (default 60)",
    )


def add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model command")
    group.add_argument(
        "--command",
        metavar="LINE",
        help="command line to run; {{prompt}} stands for the prompt, else it goes to stdin",
    )
    group.add_argument(
        "--to",
        metavar="PROFILE",
        help=f"known model command: {', '.join(send.PROFILES)} (ollama:MODEL)",
    )
    group.add_argument(
        "--timeout", type=seconds, metavar="SECONDS", help="time limit for the command"
    )


def _job(args: argparse.Namespace) -> Job:
    return Job(
        goal=args.goal,
        words=tuple(args.rest),
        paths=tuple(args.context),
        depth=args.recurse_depth,
        cwd=os.getcwd(),
        environ=dict(os.environ),
        trust_file=trust_file(),
        mode=args.mode,
        compat=args.compat == "claw",
        script_seconds=args.script_timeout,
    )


def trust_file() -> str:
    """The user's own record of what is trusted, in the private state directory."""
    from sutler.store import home
    from sutler.store.state import state_home

    try:
        folder = home.home(os.environ)
    except OSError:  # a home that cannot be written: nothing is trusted, and nothing can be
        folder = state_home(os.environ)
    return os.path.join(folder, "trust.json")


def hooks_of(console: Console, compat: bool) -> Hooks:
    from sutler.pack.project import Project

    clean = Project(os.getcwd()).clean()
    interactive = compat or (sys.stdin is not None and sys.stdin.isatty())
    return Hooks(
        note=lambda text: console.note(f"sutler: {clean(text, '').text}"),
        ask=(lambda report: _ask(clean(report, "").text)) if interactive else None,
        clean=lambda text, path: clean(text, path).text,
    )


def _ask(report: str) -> bool:
    sys.stderr.write(
        f"{harmless(report)}\n\nDo you want to continue with the available files? (y/n): "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def configure_run(parser: argparse.ArgumentParser) -> None:
    _add_goal(parser)
    add_target(parser)
    sending = parser.add_argument_group("sending")
    sending.add_argument(
        "--print", action="store_true", dest="show", help="print the prompt instead of sending it"
    )
    sending.add_argument(
        "--receipt",
        metavar="FILE",
        help="write a receipt to FILE: what was sent and where, as JSON, without the text",
    )


def run_run(args: argparse.Namespace, console: Console) -> int:
    if not args.goal:
        console.note("No goal given")
        from sutler.fronts.cli.known_goals import show_list

        show_list(console, args.compat == "claw", None)
        return 2
    job = _job(args)
    if args.explain:
        return _explain(job, console)
    hooks = hooks_of(console, job.compat)
    prompt = runner.run(job, hooks)
    if args.show:
        console.stream([encoded(prompt.text)])
        return 0
    target = target_of(args, job)
    delivery = send.plan(target or runner.target_of(prompt.claw, job), prompt.text, job.environ)
    if delivery.note:
        console.note(f"sutler: {delivery.note}")
    sent = runner.receipt(prompt, delivery, hooks.clean)
    if args.receipt:
        from sutler.fronts.cli.console import json_text

        write_text(args.receipt, json_text({"sent": sent}))
    record(sent, job, console)
    send.send(delivery, prompt.text, environ=job.environ, cwd=job.cwd, seconds=args.timeout)
    return 0


def record(sent: runner.Sent, job: Job, console: Console) -> None:
    """What is about to leave goes on record first: a model command that fails has read it all the
    same.
    """
    from sutler.pack import receipts
    from sutler.scan.place import locate

    receipt = receipts.receipt_of_prompt(
        sent.goal, told(" ".join(sent.command)), sent.bytes, sent.sha256, sent.files
    )
    _, trouble = receipts.recorded(receipt, locate([], job.cwd).root, job.environ)
    if trouble:
        console.note(trouble)


def target_of(args: argparse.Namespace, job: Job) -> send.Target | None:
    """The program named by a flag; None leaves it to claw.yaml."""
    if args.command and args.to:
        raise UsageError("--command and --to are given together", next_step="keep one of them")
    if args.command:
        return send.target_of_line(args.command)
    return send.profile(args.to) if args.to else None


def _explain(job: Job, console: Console) -> int:
    bases = discovery.find_bases(job.cwd, job.environ, compat=job.compat)
    found = discovery.find_goal(job.goal, bases, compat=job.compat)
    console.answer(told(params.explain(found.goal, found.id)))
    return 0


def configure_dry_run(parser: argparse.ArgumentParser) -> None:
    _add_goal(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the prompt to FILE instead of stdout"
    )


def run_dry_run(args: argparse.Namespace, console: Console) -> int:
    if not args.goal:
        raise UsageError("No goal given", next_step="see 'sutler goals list'")
    job = _job(args)
    if args.explain:
        return _explain(job, console)
    prompt = runner.run(job, hooks_of(console, job.compat))
    if args.output and args.output != "-":
        write_text(args.output, prompt.text)
        console.note(f"Dry run output written to {told(quote(args.output))}")
    elif console.as_json:
        files = [file.path for file in prompt.files]
        console.answer_json({"goal": prompt.found.id, "prompt": prompt.text, "files": files})
    else:
        console.stream([encoded(prompt.text)])
    return 0


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def write_text(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.write(text)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise SutlerError(
            f"cannot write {quote(path)}: {reason}", next_step="choose another file"
        ) from None


def bases_here(compat: bool) -> tuple[discovery.Base, ...]:
    return discovery.find_bases(os.getcwd(), os.environ, compat=compat)


def configure_pass(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--compat", choices=("claw",), help="use claw's whole-file cascade of claw.yaml"
    )


def run_pass(args: argparse.Namespace, console: Console) -> int:
    compat = args.compat == "claw"
    claw = load_claw(discovery.claw_files(bases_here(compat)), compat=compat)
    job = Job(
        goal="", cwd=os.getcwd(), environ=dict(os.environ), trust_file=trust_file(), compat=compat
    )
    target = runner.target_of(claw, job)
    return send.pass_through(target.command, environ=job.environ, cwd=job.cwd)
