"""Commands around goals: run, dry-run, goals, pass, gather and trust. Translation only."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256

from sutler.engine.clean import told, told_all
from sutler.fronts.cli.console import Console, harmless
from sutler.goals import discovery, gather, params, runner, send, trust
from sutler.goals.claw import load_claw
from sutler.goals.runner import Hooks, Job
from sutler.values.errors import SutlerError, UsageError
from sutler.values.paths import quote

STARTER = """\
name: {name}
description: Say in one sentence what this goal is for.

# Parameters come after --, for example: sutler run {name} -- --topic parsers
parameters:
  - name: topic
    description: What the prompt is about.
    required: false
    type: string            # string, number or boolean
    default: this project

# Commands whose output the prompt may use as Context.<name>. They get each parameter as $SUTLER_ARG_<NAME>.
# A project's own scripts run only after 'sutler trust {name}'.
# context_scripts:
#   branch: git rev-parse --abbrev-ref HEAD

prompt: |
  Explain {{{{ Args.topic }}}}.
"""


def _depth(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return value


def _add_goal(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s GOAL [options] [-c PATH ...] [-- --key value ...]"
    parser.add_argument("goal", nargs="?", metavar="GOAL", help="the goal's name; see 'sutler goals list'")
    files = parser.add_argument_group("files")
    files.add_argument(
        "-c", "--context", nargs="*", action="extend", default=[], metavar="PATH",
        help="files and folders to add behind the prompt",
    )  # fmt: skip
    files.add_argument(
        "-d", "--recurse_depth", "--recurse-depth", type=_depth, metavar="N", dest="recurse_depth",
        help="levels to descend in folders; 0 is the folder itself (default: all)",
    )  # fmt: skip
    files.add_argument("--mode", choices=("strict", "flexible", "ignore"), help="what problems with files do")
    how = parser.add_argument_group("how")
    how.add_argument("-e", "--explain", action="store_true", help="describe the goal and its parameters")
    how.add_argument("--compat", choices=("claw",), help="claw's own discovery, merging and section, byte for byte")
    how.add_argument("--script-timeout", type=_seconds, default=60.0, metavar="SECONDS", help="for each script")


def _add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model command")
    group.add_argument("--command", metavar="LINE", help="run this; {{prompt}} in it is the prompt, else stdin")
    group.add_argument("--to", metavar="PROFILE", help=f"one of {', '.join(send.PROFILES)} (ollama:MODEL)")
    group.add_argument("--timeout", type=_seconds, metavar="SECONDS", help="stop the command after this time")


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
    from sutler.engine import home
    from sutler.store.state import state_home

    try:
        folder = home.home(os.environ)
    except OSError:  # a home that cannot be written: nothing is trusted, and nothing can be
        folder = state_home(os.environ)
    return os.path.join(folder, "trust.json")


def _hooks(console: Console, compat: bool) -> Hooks:
    from sutler.engine.project import Project

    clean = Project(os.getcwd()).clean()
    interactive = compat or (sys.stdin is not None and sys.stdin.isatty())
    return Hooks(
        note=lambda text: console.note(f"sutler: {clean(text, '').text}"),
        ask=(lambda report: _ask(clean(report, "").text)) if interactive else None,
        clean=lambda text, path: clean(text, path).text,
    )


def _ask(report: str) -> bool:
    sys.stderr.write(f"{harmless(report)}\n\nDo you want to continue with the available files? (y/n): ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def configure_run(parser: argparse.ArgumentParser) -> None:
    _add_goal(parser)
    _add_target(parser)
    sending = parser.add_argument_group("sending")
    sending.add_argument("--print", action="store_true", dest="show", help="print the prompt instead of sending it")
    sending.add_argument("--receipt", metavar="FILE", help="write what went where, as JSON, without the text")


def run_run(args: argparse.Namespace, console: Console) -> int:
    if not args.goal:
        console.note("No goal given")
        _list(console, args.compat == "claw", None)
        return 2
    job = _job(args)
    if args.explain:
        return _explain(job, console)
    hooks = _hooks(console, job.compat)
    prompt = runner.run(job, hooks)
    if args.show:
        console.stream([_bytes(prompt.text)])
        return 0
    target = _target(args, job)
    delivery = send.plan(target or runner.target_of(prompt.claw, job), prompt.text, job.environ)
    if delivery.note:
        console.note(f"sutler: {delivery.note}")
    sent = runner.receipt(prompt, delivery, hooks.clean)
    if args.receipt:
        from sutler.fronts.cli.console import json_text

        _write(args.receipt, json_text({"sent": sent}))
    _record(sent, job, console)
    send.send(delivery, prompt.text, environ=job.environ, cwd=job.cwd, seconds=args.timeout)
    return 0


def _record(sent: runner.Sent, job: Job, console: Console) -> None:
    """What is about to leave goes on record first: a model command that fails has read it all the same."""
    from sutler.engine import locate, receipts

    receipt = receipts.receipt_of_prompt(sent.goal, told(" ".join(sent.command)), sent.bytes, sent.sha256, sent.files)
    _, trouble = receipts.recorded(receipt, locate([], job.cwd).root, job.environ)
    if trouble:
        console.note(trouble)


def _target(args: argparse.Namespace, job: Job) -> send.Target | None:
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
    parser.add_argument("-o", "--output", metavar="FILE", help="write the prompt there instead of to stdout")


def run_dry_run(args: argparse.Namespace, console: Console) -> int:
    if not args.goal:
        raise UsageError("No goal given", next_step="see 'sutler goals list'")
    job = _job(args)
    if args.explain:
        return _explain(job, console)
    prompt = runner.run(job, _hooks(console, job.compat))
    if args.output and args.output != "-":
        _write(args.output, prompt.text)
        console.note(f"Dry run output written to {told(quote(args.output))}")
    elif console.as_json:
        files = [file.path for file in prompt.files]
        console.answer_json({"goal": prompt.found.id, "prompt": prompt.text, "files": files})
    else:
        console.stream([_bytes(prompt.text)])
    return 0


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _write(path: str, text: str) -> None:
    try:
        with open(path, "w", encoding="utf-8", errors="replace", newline="") as stream:
            stream.write(text)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise SutlerError(f"cannot write {quote(path)}: {reason}", next_step="choose another file") from None


def configure_goals(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", nargs="?", choices=("list", "show", "add"), default="list", help="default: list")
    parser.add_argument("name", nargs="?", metavar="GOAL")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--local", action="store_true", help="goals of this project only")
    where.add_argument("--global", action="store_true", dest="everywhere", help="your own goals only")
    parser.add_argument("--compat", choices=("claw",), help="look where claw looks, and nowhere else")


def run_goals(args: argparse.Namespace, console: Console) -> int:
    compat = args.compat == "claw"
    origin = "local" if args.local else "global" if args.everywhere else None
    if args.verb == "list":
        return _list(console, compat, origin)
    if not args.name:
        raise UsageError(f"'sutler goals {args.verb}' needs a name", next_step="see 'sutler goals list'")
    if args.verb == "add":
        return _add(args.name, origin, compat, console)
    bases = [base for base in _bases(compat) if origin in (None, base.origin)]
    found = discovery.find_goal(args.name, bases, compat=compat)
    trusted = trust.goal_trusted(found, trust.TrustStore(trust_file()))
    if console.as_json:
        facts = {"folder": found.folder, "origin": found.base.origin, "trusted": trusted, "goal": found.goal}
        console.answer_json(told_all({"id": found.id, **facts}))
        return 0
    console.answer(told(params.explain(found.goal, found.id)))
    console.note(f"{found.base.origin}, {'trusted' if trusted else 'not trusted yet'}: {told(quote(found.folder))}")
    return 0


def _bases(compat: bool) -> tuple[discovery.Base, ...]:
    return discovery.find_bases(os.getcwd(), os.environ, compat=compat)


def _list(console: Console, compat: bool, origin: str | None) -> int:
    goals = [one for one in discovery.list_goals(_bases(compat), compat=compat) if origin in (None, one.origin)]
    if console.as_json:
        console.answer_json({"goals": told_all(goals)})
        return 0
    if not goals:
        console.note("No goals found. Add one with 'sutler goals add NAME'.")
    width = max((len(goal.id) for goal in goals), default=0)
    for goal in goals:
        about = f"cannot be read: {goal.problem}" if goal.problem else goal.description or goal.title
        console.answer(told(f"{goal.id:<{width}}  {goal.origin:<7}  {about}"))
    return 0


def _add(name: str, origin: str | None, compat: bool, console: Console) -> int:
    discovery.check_name(name)
    folder = os.path.join(_home_for(origin, compat), "goals", name)
    path = os.path.join(folder, "prompt.yaml")
    if os.path.lexists(folder):
        raise UsageError(f"{quote(folder)} exists already", next_step=f"edit {quote(path)}")
    os.makedirs(folder)
    _write(path, STARTER.format(name=name))
    console.answer(path)
    console.note(f"edit it, then try 'sutler dry-run {name}'")
    return 0


def _home_for(origin: str | None, compat: bool) -> str:
    """Where a new goal goes: as asked, else into the project's folder if it has one, else among the user's
    own."""
    local = [base.path for base in _bases(compat) if base.origin == "local"]
    if origin == "local" or (origin is None and local):
        return local[0] if local else os.path.join(os.getcwd(), ".claw" if compat else ".sutler")
    return discovery.global_folders(os.path.expanduser("~"), os.environ, compat=compat)[0]


def configure_pass(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--compat", choices=("claw",), help="claw's whole-file cascade of claw.yaml")


def run_pass(args: argparse.Namespace, console: Console) -> int:
    compat = args.compat == "claw"
    claw = load_claw(discovery.claw_files(_bases(compat)), compat=compat)
    job = Job(goal="", cwd=os.getcwd(), environ=dict(os.environ), trust_file=trust_file(), compat=compat)
    target = runner.target_of(claw, job)
    return send.pass_through(target.command, environ=job.environ, cwd=job.cwd)


def configure_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("goal", nargs="?", metavar="GOAL", help="default: the model command in this project's file")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", dest="show", help="print what is trusted")
    what.add_argument("--revoke", action="store_true", help="take the trust back")


def run_trust(args: argparse.Namespace, console: Console) -> int:
    store = trust.TrustStore(trust_file())
    if args.show:
        entries = store.entries()
        if console.as_json:
            console.answer_json({"trusted": entries})
        for place, digest in () if console.as_json else sorted(entries.items()):
            console.answer(f"{digest[:12]}  {quote(place)}")
        return 0
    places = _places(args.goal, console)
    for place, digest in places:
        if args.revoke:
            known = store.remove(place)
            console.note(f"{'no longer trusted' if known else 'was not trusted'}: {quote(place)}")
        else:
            store.add(place, digest)
            console.note(f"trusted: {quote(place)} ({digest[:12]})")
    if not places:
        console.note("nothing to trust: these files are your own, or they run nothing")
    return 0


def _places(goal: str | None, console: Console) -> list[tuple[str, str]]:
    """What of this project would run something, shown as it is found: the goal's scripts and the model
    command."""
    bases = _bases(False)
    places: list[tuple[str, str]] = []
    if goal:
        found = discovery.find_goal(goal, bases)
        if not found.base.own:
            for script in found.goal.scripts:
                console.note(told(f"script {script.name}: {script.command.rstrip()}"))
            places.append((found.folder, trust.digest_of(found.files)))
    for file in discovery.claw_files(bases):
        if not file.own and trust.sets_command(file):
            console.note(told(f"{quote(file.name)}:\n{file.data.decode('utf-8', 'replace').rstrip()}"))
            places.append((file.name, sha256(file.data).hexdigest()))
    return places


def _gathered(result: gather.Gathering, target: send.Target) -> runner.Sent:
    """What the model was shown over all rounds: the files, by digest."""
    digests = {path: sha256(text.encode(errors="surrogatepass")).hexdigest() for path, text in result.files.items()}
    body = result.text.encode(errors="surrogateescape")
    return runner.Sent("gather", (target.command,), "stdin", len(body), sha256(body).hexdigest(), digests, ())


PROPOSED = 8
"""Files that `gather --rank` proposes before the model is asked."""


def configure_gather(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("prompt", nargs="+", metavar="PROMPT", help="the request and its options; - reads stdin")
    _add_target(parser)
    parser.add_argument("--root", default=".", metavar="DIR", help="the project; nothing outside is read")
    parser.add_argument("--max-chars", type=_depth, metavar="N", help="at most N characters of files in all")
    parser.add_argument("--rank", action="store_true", help="let sutler's ranking propose the first files")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the assign lines there")


def run_gather(args: argparse.Namespace, console: Console) -> int:
    text = sys.stdin.read() if args.prompt == ["-"] else " ".join(args.prompt)
    job = Job(goal="", cwd=os.getcwd(), environ=dict(os.environ), trust_file=trust_file())
    target = _target(args, job) or _answering(job)
    model = gather.command_model(target, cwd=job.cwd, environ=job.environ, seconds=args.timeout or 300.0)
    hooks = _hooks(console, False)
    ground = gather.Ground(os.path.abspath(args.root), hooks.clean, args.max_chars)
    first = _proposed(args.root) if args.rank else None
    result = gather.gather(text, ground, model, first=first, progress=lambda step: console.note(_told(step)))
    _record(_gathered(result, target), job, console)
    if result.note:
        console.note(f"sutler: {result.note} The defaults were used.")
    if args.output and args.output != "-":
        _write(args.output, result.text)
    elif console.as_json:
        rounds = [{"number": one.number, "answer": one.answer, "files": one.known} for one in result.rounds]
        console.answer_json({"text": result.text, "files": list(result.files), "rounds": told_all(rounds)})
    else:
        console.stream([_bytes(result.text)])
    return 0


def _proposed(root: str) -> Callable[[str], Sequence[str]]:
    """Our ranking as the first batch: what the model would ask for, before it has to ask."""
    from sutler.engine import Project

    project = Project(root)

    def first(prompt: str) -> Sequence[str]:
        return [one.path for one in project.ranking(project.scan(), prompt).ranked[:PROPOSED]]

    return first


def _answering(job: Job) -> send.Target:
    """claw.yaml's command; one that would open a session is asked for a single answer instead."""
    claw = load_claw(discovery.claw_files(_bases(False)))
    target = runner.target_of(claw, job)
    if target.template == send.PLACEHOLDER and target.command in ("claude", "codex", "gemini", "llm"):
        return send.profile(target.command)
    return target


def _told(step: gather.Round) -> str:
    asked = ", ".join(map(quote, step.answer.files)) or "nothing more"
    verdict = "done" if step.answer.done else f"asks for {asked}"
    reason = f" ({step.answer.reason})" if step.answer.reason else ""
    return told(f"round {step.number}: {step.known} files known, {verdict}{reason}")
