"""`sutler run`, `dry-run` and `pass`: a goal becomes a prompt for a model command."""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import FileIO

from sutler.config import Settings
from sutler.errors import SutlerError, UsageError
from sutler.fronts.cli import outgoing_prompt
from sutler.fronts.cli.goal_options import add_ceiling, add_compat, add_goal, add_target
from sutler.fronts.cli.options import flag, settings_for, value
from sutler.fronts.console import Console
from sutler.goals import discovery, params, runner, send
from sutler.goals.claw import load_claw
from sutler.goals.redactions import Redactions
from sutler.goals.runner import Chosen, Job, Prompt
from sutler.paths import quote
from sutler.secrets.cleaner import redacted_text

ANSWER_BYTES = 64 * 1024 * 1024
"""Limit of an answer in bytes for --apply; a longer one can be stored with -o."""


def job_of(args: argparse.Namespace, settings: Settings, console: Console) -> Job:
    """Build the job of a command line. A goal after `-c`, which takes every word up to the next
    option, is recognised there."""
    paths = [path for group in args.context for path in group]
    if not all(args.context):
        console.note("sutler: -c has no path after it; no file is added")
    compat = outgoing_prompt.compat_of(args, settings)
    goal = args.goal
    if goal is None and paths and not os.path.lexists(paths[-1]):
        ids = {listed.id for listed in discovery.list_goals(outgoing_prompt.bases_here(compat))}
        if paths[-1] in ids:
            goal = paths.pop()
    return Job(
        goal=goal or "",
        words=tuple(args.goal_words),
        paths=tuple(paths),
        depth=args.recurse_depth,
        cwd=os.getcwd(),
        environ=dict(os.environ),
        mode=args.mode,
        compat=compat,
        script_seconds=args.script_timeout,
        stdin=_stdin() if "-" in paths else None,
        chosen=Chosen(since=args.since, diff=args.diff, auto_tokens=args.auto_context),
        ceiling=outgoing_prompt.ceiling_from(args, settings),
        settings=settings,
    )


def _stdin() -> str:
    return sys.stdin.buffer.read().decode("utf-8", "replace") if sys.stdin else ""


def _no_goal(args: argparse.Namespace) -> UsageError:
    if args.context:
        return UsageError(
            "No goal given: -c takes every word up to the next option",
            next_step="write the goal first: sutler run GOAL -c PATH",
        )
    return UsageError("No goal given", next_step="see 'sutler goals list'")


def configure_run(parser: argparse.ArgumentParser) -> None:
    add_goal(parser)
    add_ceiling(parser)
    add_target(parser)
    add_sending(parser)


def add_sending(parser: argparse.ArgumentParser) -> None:
    sending = parser.add_argument_group("sending")
    sending.add_argument(
        "--print", action="store_true", dest="show", help="print the prompt instead of sending it"
    )
    value(sending, "-o --output", "FILE", "keep the answer in FILE while it streams")
    flag(
        sending,
        "--apply",
        "apply the answer's files, diffs and edit blocks through the gate, as 'sutler apply'",
    )
    value(
        sending,
        "--receipt",
        "FILE",
        "write a receipt to FILE: what was sent and where, as JSON, without the text",
    )


def run_run(args: argparse.Namespace, console: Console) -> int:
    settings = settings_for(args, os.getcwd())
    job = job_of(args, settings, console)
    if not job.goal:
        if args.context:
            raise _no_goal(args)
        console.note("No goal given")
        from sutler.fronts.cli.goal_list import show_list

        show_list(console, job.compat, None)
        return 2
    if args.explain:
        return _explain(job, console)
    return run_job(job, args, settings, console)


def run_job(job: Job, args: argparse.Namespace, settings: Settings, console: Console) -> int:
    """Render and send. `args` has the options of a target and of sending."""
    target = outgoing_prompt.target_from(args, settings)
    hooks, redactions = outgoing_prompt.hooks_of(console, settings, job.compat)
    prompt = _rendered(job, hooks, args, console)
    if args.show:
        console.stream([outgoing_prompt.encoded(prompt.text)])
        return 0
    delivery = send.plan(target or runner.target_of(prompt.claw, job), prompt.text, job.environ)
    if delivery.note:
        console.note(f"sutler: {delivery.note}")
    sent = runner.receipt(prompt, delivery, lambda text, path: redactions(text, ""))
    outgoing = _outgoing(prompt, job, redactions, f"`{_spelled(sent.command)}`")
    outgoing.announce(console)
    if args.receipt:
        from sutler.fronts.console import json_text

        outgoing_prompt.write_text(args.receipt, json_text({"sent": sent}))
    with ExitStack() as stack:
        answer = _Answer(args, console, stack)
        outgoing.record(sent, job, console)
        watching = send.Watching(args.timeout, answer if args.output or args.apply else None)
        send.send(delivery, prompt.text, environ=job.environ, cwd=job.cwd, watching=watching)
    return _apply(answer.text(), prompt, console) if args.apply else 0


def _spelled(command: tuple[str, ...]) -> str:
    program, *rest = command
    return shlex.join([os.path.basename(program), *rest]).replace("'{{prompt}}'", "{{prompt}}")


def _rendered(job: Job, hooks: runner.Hooks, args: argparse.Namespace, console: Console) -> Prompt:
    for note in _misspelled(job, args.known_options):
        console.note(note)
    return runner.run(job, hooks)


def _misspelled(job: Job, options: list[str]) -> list[str]:
    """Return a hint for a word that became a parameter of the goal and resembles an option of
    ours."""
    notes = []
    for word in job.words:
        close = difflib.get_close_matches(word.partition("=")[0], options, n=1, cutoff=0.8)
        if word.startswith("--") and close:
            notes.append(f"sutler: {word} goes to the goal as a parameter; is {close[0]} meant?")
    return notes


def _outgoing(
    prompt: Prompt, job: Job, redactions: Redactions, where: str
) -> outgoing_prompt.Outgoing:
    files = {file.path: file.content for file in prompt.files}
    return outgoing_prompt.Outgoing(
        prompt.text, files, where, job.settings, redactions, job.ceiling
    )


@contextmanager
def _opened(path: str) -> Iterator[FileIO]:
    """Open a file for the answer, unbuffered, so that it holds everything streamed so far."""
    try:
        file = FileIO(path, "w")
    except OSError as error:
        reason = f"cannot write {quote(path)}: {error.strerror}"
        raise SutlerError(reason, next_step="choose another file") from None
    with file:
        yield file


class _Answer:
    """Receives the streamed answer: to stdout, to the file of -o, and into memory for --apply. A
    reader of stdout that has closed it does not end the run."""

    def __init__(self, args: argparse.Namespace, console: Console, stack: ExitStack) -> None:
        self._console, self._blocks, self._size = console, list[bytes](), 0
        self._keep, self._show = args.apply, not args.apply
        self._file: FileIO | None = None
        if args.output and args.output != "-":
            self._file = stack.enter_context(_opened(args.output))

    def __call__(self, block: bytes) -> None:
        if self._file:
            self._file.write(block)
        if self._keep and self._size <= ANSWER_BYTES:
            self._blocks.append(block)
            self._size += len(block)
        if self._show:
            try:
                self._console.stream([block])
            except BrokenPipeError:
                self._show = False

    def text(self) -> str:
        if self._size > ANSWER_BYTES:
            raise SutlerError(
                f"the answer is larger than {ANSWER_BYTES >> 20} MiB, so it was not applied",
                rule="answer limit",
                next_step="keep it with -o FILE and look at it",
            )
        return b"".join(self._blocks).decode("utf-8", "replace")


def _apply(answer: str, prompt: Prompt, console: Console) -> int:
    """Apply the answer like `sutler apply`; base versions are those of the files in the prompt."""
    from sutler.edits.versions import Shown
    from sutler.fronts.cli.writing import apply_text

    seen = {file.path: Shown(file.source, file.content) for file in prompt.files if file.source}
    words = argparse.Namespace(base="", reason=f"goal {prompt.found.id}", dry_run=False)
    try:
        return apply_text(answer, seen, words, console)
    except SutlerError:
        console.answer(redacted_text(answer))  # an answer that cannot be applied is not lost
        raise


def _explain(job: Job, console: Console) -> int:
    bases = discovery.find_bases(job.cwd, job.environ, compat=job.compat)
    place = discovery.find_goal(job.goal, bases, compat=job.compat)
    console.answer(redacted_text(params.explain(place.goal, place.id)))
    return 0


def configure_dry_run(parser: argparse.ArgumentParser) -> None:
    add_goal(parser)
    add_ceiling(parser)
    value(parser, "-o --output", "FILE", "write the prompt to FILE instead of stdout")


def run_dry_run(args: argparse.Namespace, console: Console) -> int:
    settings = settings_for(args, os.getcwd())
    job = job_of(args, settings, console)
    if not job.goal:
        raise _no_goal(args)
    if args.explain:
        return _explain(job, console)
    hooks, redactions = outgoing_prompt.hooks_of(console, settings, job.compat)
    prompt = _rendered(job, hooks, args, console)
    to_file = args.output and args.output != "-"
    where = quote(args.output) if to_file else "stdout"
    _outgoing(prompt, job, redactions, where).announce(console)
    if to_file:
        outgoing_prompt.write_text(args.output, prompt.text)
        console.note(f"Dry run output written to {redacted_text(quote(args.output))}")
    elif console.as_json:
        files = [file.path for file in prompt.files]
        console.answer_json({"goal": prompt.found.id, "prompt": prompt.text, "files": files})
    else:
        console.stream([outgoing_prompt.encoded(prompt.text)])
    return 0


def configure_pass(parser: argparse.ArgumentParser) -> None:
    add_compat(parser)


def run_pass(args: argparse.Namespace, console: Console) -> int:
    compat = outgoing_prompt.compat_of(args, settings_for(args, os.getcwd()))
    claw = load_claw(discovery.claw_files(outgoing_prompt.bases_here(compat)), compat=compat)
    job = Job(cwd=os.getcwd(), environ=dict(os.environ), compat=compat)
    target = runner.target_of(claw, job)
    return send.pass_through(target.command, environ=job.environ, cwd=job.cwd)
