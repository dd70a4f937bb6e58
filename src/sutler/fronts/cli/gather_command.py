"""`sutler gather`: a model requests files, round by round."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping

from msgspec.structs import replace

from sutler.config import Settings
from sutler.fronts.cli import outgoing_prompt
from sutler.fronts.cli.goal_options import add_ceiling, add_target
from sutler.fronts.cli.goals import add_sending, run_job
from sutler.fronts.cli.options import flag, one_of, settings_for, value
from sutler.fronts.console import Console
from sutler.goals import discovery, gather, runner, send
from sutler.goals.claw import load_claw
from sutler.goals.context_files import ContextFile
from sutler.goals.gather import Gathering, UnreadableAnswerError, Watch
from sutler.goals.loader import Marker
from sutler.goals.model_command import command_model
from sutler.goals.project_goals import Project
from sutler.goals.redactions import Redactions
from sutler.goals.runner import Chosen, Job
from sutler.paths import quote
from sutler.scan.judge import rules_for
from sutler.secrets.cleaner import redacted_text, redacted_values

FORMATS = {"md": "markdown", "xml": "xml", "json": "json"}


def configure_gather(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s PROMPT [options] [--then GOAL [--key value ...]]"
    value(parser, "prompt", "PROMPT", "the request and its options; '-' is stdin", nargs="+")
    add_target(parser)
    value(parser, "--root", "DIR", "folder of the project; nothing outside it is read", ".")
    add_ceiling(parser)
    flag(parser, "--rank", "propose the first files by ranking")
    one_of(
        parser,
        "--compat",
        ("context-loader",),
        "follow the original's rules for answers, rounds and names",
    )
    result = parser.add_argument_group("result")
    one_of(
        result,
        "--format",
        ("assign", *FORMATS),
        "assign: assign lines (default); md, xml, json: a pack of the gathered files",
        "assign",
        dest="shape",
    )
    value(result, "--then", "GOAL", "run GOAL with the gathered files as its context")
    add_sending(parser)


def run_gather(args: argparse.Namespace, console: Console) -> int:
    text = sys.stdin.read() if args.prompt == ["-"] else " ".join(args.prompt)
    root = os.path.abspath(args.root)
    settings = settings_for(args, root)
    job = Job(cwd=os.getcwd(), environ=dict(os.environ))
    target = outgoing_prompt.target_from(args, settings) or _answering(job)
    model = command_model(target, cwd=job.cwd, environ=job.environ, seconds=args.timeout or 300.0)
    _, redactions = outgoing_prompt.hooks_of(console, settings)
    project = Project(root, settings=settings)
    ground = gather.Ground(
        root,
        redactions,
        outgoing_prompt.ceiling_from(args, settings),
        rules_for(settings, "gather"),
        args.compat == "context-loader",
    )
    leaving = _Leaving(job, settings, redactions, ground, console)
    command = " ".join((target.command, target.template)).strip()
    watch = Watch(
        leaving=lambda asked: leaving.put(
            f"gather, round {asked.number}", f"`{command}`", asked.prompt, asked.files
        ),
        answered=lambda step: console.note(_described(step)),
    )
    try:
        result = gather.gather(
            text, ground, model, first=project.proposed if args.rank else None, watch=watch
        )
    except UnreadableAnswerError as error:
        if error.partial.files:
            _hand_over(error.partial, args, leaving, project, console)
        raise
    for note in result.notes:
        console.note(f"sutler: {note}")
    if args.then:
        return _continue(result, args, settings, job, console)
    return _hand_over(result, args, leaving, project, console)


class _Leaving:
    """Announces and records each text before it leaves."""

    def __init__(
        self,
        job: Job,
        settings: Settings,
        redactions: Redactions,
        ground: gather.Ground,
        console: Console,
    ) -> None:
        self.job, self.settings, self.redactions = job, settings, redactions
        self.ground, self.console = ground, console

    def put(self, name: str, where: str, text: str, files: Mapping[str, str]) -> None:
        files = {path: body for path, body in files.items() if not isinstance(body, Marker)}
        outgoing = outgoing_prompt.Outgoing(
            text, files, where, self.settings, self.redactions, self.ground.ceiling
        )
        outgoing.announce(self.console)
        sent = runner.sent(name, (where.strip("`"),), "stdin", text, files)
        outgoing.record(sent, self.job, self.console)


def _hand_over(
    result: Gathering,
    args: argparse.Namespace,
    leaving: _Leaving,
    project: Project,
    console: Console,
) -> int:
    """Print or write the result in the wanted format."""
    text = result.text if args.shape == "assign" else _packed(result, args.shape, project)
    leaving.put("gather", quote(args.output or "stdout"), text, result.files)
    if args.output and args.output != "-":
        outgoing_prompt.write_text(args.output, text)
    elif console.as_json:
        rounds = [
            {"number": step.number, "answer": step.answer, "files": step.known}
            for step in result.rounds
        ]
        body = {"text": text, "files": list(result.files), "rounds": redacted_values(rounds)}
        console.answer_json({**body, "notes": redacted_values(result.notes)})
    else:
        console.stream([outgoing_prompt.encoded(text)])
    return 0


def _packed(result: Gathering, shape: str, project: Project) -> str:
    """Return the gathered files as a pack, without a limit: the dialogue has chosen them."""
    if not result.paths:
        return ""
    chosen = project.only(result.paths)
    return chosen.pack(format=FORMATS[shape], max_bytes=0, cut_over=0, skip_over=0).text()


def _continue(
    result: Gathering, args: argparse.Namespace, settings: Settings, job: Job, console: Console
) -> int:
    """Run the goal of --then, with the gathered files as its context."""
    pairs = zip(result.paths, _contents(result), strict=True)
    files = tuple(ContextFile(path, content) for path, content in pairs)
    follow = replace(
        job,
        goal=args.then,
        words=tuple(args.goal_words),
        chosen=Chosen(files=files),
        ceiling=outgoing_prompt.ceiling_from(args, settings),
        settings=settings,
    )
    return run_job(follow, args, settings, console)


def _contents(result: Gathering) -> list[str]:
    return [content for content in result.files.values() if not isinstance(content, Marker)]


def _answering(job: Job) -> send.Target:
    """Return claw.yaml's command; one that would open a session gets arguments for a single
    answer."""
    claw = load_claw(discovery.claw_files(outgoing_prompt.bases_here(False)))
    target = runner.target_of(claw, job)
    if target.template == send.PLACEHOLDER and target.command in (
        "claude",
        "codex",
        "gemini",
        "llm",
    ):
        return send.profile(target.command)
    return target


def _described(step: gather.Round) -> str:
    asked = ", ".join(map(quote, step.answer.files)) or "nothing more"
    verdict = "done" if step.answer.done and not step.answer.files else f"asks for {asked}"
    reason = f" ({step.answer.reason})" if step.answer.reason else ""
    return redacted_text(f"round {step.number}: {step.known} files known, {verdict}{reason}")
