"""`sutler gather`: the model asks for files, round by round. Translation only."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256

from sutler.fronts.cli.console import Console
from sutler.fronts.cli.goals import (
    add_target,
    bases_here,
    encoded,
    hooks_of,
    record,
    target_of,
    trust_file,
    whole_number,
    write_text,
)
from sutler.goals import discovery, gather, runner, send
from sutler.goals.claw import load_claw
from sutler.goals.runner import Job
from sutler.paths import quote
from sutler.secrets.cleaner import told, told_all

PROPOSED = 8
"""Files that `gather --rank` proposes before the model is asked."""


def configure_gather(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "prompt", nargs="+", metavar="PROMPT", help="the request and its options; '-' is stdin"
    )
    add_target(parser)
    parser.add_argument(
        "--root",
        default=".",
        metavar="DIR",
        help="folder of the project; nothing outside it is read",
    )
    parser.add_argument(
        "--max-chars",
        type=whole_number,
        metavar="N",
        help="maximum characters of all files together",
    )
    parser.add_argument("--rank", action="store_true", help="propose the first files by ranking")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the assign lines to FILE")


def run_gather(args: argparse.Namespace, console: Console) -> int:
    text = sys.stdin.read() if args.prompt == ["-"] else " ".join(args.prompt)
    job = Job(goal="", cwd=os.getcwd(), environ=dict(os.environ), trust_file=trust_file())
    target = target_of(args, job) or _answering(job)
    model = gather.command_model(
        target, cwd=job.cwd, environ=job.environ, seconds=args.timeout or 300.0
    )
    hooks = hooks_of(console, False)
    ground = gather.Ground(os.path.abspath(args.root), hooks.clean, args.max_chars)
    first = _proposed(args.root) if args.rank else None
    result = gather.gather(
        text,
        ground,
        model,
        first=first,
        leaving=lambda one: record(
            _sent(f"gather, round {one.number}", target.command, one.prompt, one.files),
            job,
            console,
        ),
        progress=lambda step: console.note(_told(step)),
    )
    record(_sent("gather", quote(args.output or "stdout"), result.text, result.files), job, console)
    if result.note:
        console.note(f"sutler: {result.note} The defaults were used.")
    if args.output and args.output != "-":
        write_text(args.output, result.text)
    elif console.as_json:
        rounds = [
            {"number": one.number, "answer": one.answer, "files": one.known}
            for one in result.rounds
        ]
        console.answer_json(
            {"text": result.text, "files": list(result.files), "rounds": told_all(rounds)}
        )
    else:
        console.stream([encoded(result.text)])
    return 0


def _sent(name: str, where: str, text: str, files: Mapping[str, str]) -> runner.Sent:
    """What is about to leave: the whole text and the files in it, by digest."""
    digests = {
        path: sha256(one.encode(errors="surrogatepass")).hexdigest() for path, one in files.items()
    }
    body = text.encode(errors="surrogateescape")
    return runner.Sent(name, (where,), "stdin", len(body), sha256(body).hexdigest(), digests, ())


def _proposed(root: str) -> Callable[[str], Sequence[str]]:
    """Our ranking as the first batch: what the model would ask for, before it has to ask."""
    from sutler.pack.project import Project

    project = Project(root)

    def first(prompt: str) -> Sequence[str]:
        return [one.path for one in project.ranking(project.scan(), prompt).ranked[:PROPOSED]]

    return first


def _answering(job: Job) -> send.Target:
    """claw.yaml's command; one that would open a session is asked for a single answer instead."""
    claw = load_claw(discovery.claw_files(bases_here(False)))
    target = runner.target_of(claw, job)
    if target.template == send.PLACEHOLDER and target.command in (
        "claude",
        "codex",
        "gemini",
        "llm",
    ):
        return send.profile(target.command)
    return target


def _told(step: gather.Round) -> str:
    asked = ", ".join(map(quote, step.answer.files)) or "nothing more"
    verdict = "done" if step.answer.done else f"asks for {asked}"
    reason = f" ({step.answer.reason})" if step.answer.reason else ""
    return told(f"round {step.number}: {step.known} files known, {verdict}{reason}")
