"""`sutler goals` and `sutler trust`: the list of goals, and the right of a project's own goals to
run programs."""

from __future__ import annotations

import argparse
import os
import sys
from hashlib import sha256

from msgspec import Struct

from sutler.errors import DeniedError, SutlerError, UsageError
from sutler.fronts.cli import outgoing_prompt
from sutler.fronts.cli.goal_options import GOAL_NAMES, add_compat, add_target
from sutler.fronts.cli.options import flag, settings_for, value
from sutler.fronts.console import Console, can_ask, confirm, folded
from sutler.goals import discovery, draft, params, trust
from sutler.goals.model_command import command_model
from sutler.paths import quote
from sutler.secrets.cleaner import redacted_text, redacted_values

STARTER = """\
name: {name}
description: Say in one sentence what this goal is for.

# Parameters follow the name, for example: sutler run {name} --topic parsers
parameters:
  - name: topic
    description: What the prompt is about.
    required: false
    type: string            # string, number or boolean
    default: this project

# Commands whose output the prompt may use as Context.<name>. They get each parameter as
# $SUTLER_ARG_<NAME>.
# A project's own scripts run only after 'sutler trust {name}'.
# context_scripts:
#   branch: git rev-parse --abbrev-ref HEAD

prompt: |
  Explain {{{{ Args.topic }}}}.
"""


def configure_goals(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "verb",
        nargs="?",
        choices=("list", "show", "add"),
        default="list",
        help="list: names and descriptions (default); show: one goal with its prompt; add: a "
        "new goal",
    )
    parser.add_argument("name", nargs="?", metavar="GOAL").complete = GOAL_NAMES  # type: ignore[attr-defined]  # shtab's way to complete a word
    where = parser.add_mutually_exclusive_group()
    flag(where, "--local", "goals of this project only")
    where.add_argument(
        "--global", action="store_true", dest="everywhere", help="your own goals only"
    )
    flag(parser, "--names", "list names only, one a line")
    value(parser, "--draft", "TEXT", "add: let the model command write the goal for TEXT")
    add_compat(parser)
    add_target(parser)


def run_goals(args: argparse.Namespace, console: Console) -> int:
    compat = outgoing_prompt.compat_of(args, settings_for(args, os.getcwd()))
    origin = "local" if args.local else "global" if args.everywhere else None
    if args.verb == "list":
        return show_list(console, compat, origin, names_only=args.names)
    if not args.name:
        raise UsageError(
            f"'sutler goals {args.verb}' needs a name", next_step="see 'sutler goals list'"
        )
    if args.verb == "add":
        return _add(args, origin, compat, console)
    return _show(args.name, origin, compat, console)


def _show(name: str, origin: str | None, compat: bool, console: Console) -> int:
    """Show a goal's description and parameters, then its prompt as written."""
    bases = [base for base in outgoing_prompt.bases_here(compat) if origin in (None, base.origin)]
    place = discovery.find_goal(name, bases, compat=compat)
    trusted = trust.goal_trusted(place, trust.TrustStore(os.environ))
    facts = {
        "id": place.id,
        "folder": place.folder,
        "origin": place.base.origin,
        "trusted": trusted,
        "goal": place.goal,
    }
    text = f"{params.explain(place.goal, place.id)}\n\nPrompt:\n\n{place.goal.prompt}"
    console.reply(redacted_values(facts), redacted_text(text))
    if console.as_json:
        return 0
    for warning in place.goal.warnings:
        console.note(redacted_text(f"warning: {warning}"))
    console.note(
        f"{place.base.origin}, {'trusted' if trusted else 'not trusted yet'}:"
        f" {redacted_text(quote(place.folder))}"
    )
    return 0


def show_list(
    console: Console, compat: bool, origin: str | None, *, names_only: bool = False
) -> int:
    goals = [
        goal
        for goal in discovery.list_goals(outgoing_prompt.bases_here(compat), compat=compat)
        if origin in (None, goal.origin)
    ]
    if names_only:
        console.answer("\n".join(sorted({goal.id for goal in goals})))
        return 0
    if console.as_json:
        console.answer_json({"goals": redacted_values(goals)})
        return 0
    if not goals:
        console.note("No goals found. Add one with 'sutler goals add NAME'.")
    width = max((len(goal.id) for goal in goals), default=0)
    for goal in goals:
        about = (
            f"cannot be read: {goal.problem}" if goal.problem else goal.description or goal.title
        )
        row = redacted_text(f"{goal.id:<{width}}  {goal.origin:<7}  {about}")
        console.answer(folded(row, sys.stdout, width + 11))
    return 0


def _add(args: argparse.Namespace, origin: str | None, compat: bool, console: Console) -> int:
    name = discovery.check_name(args.name)
    folder = os.path.join(_home_for(origin, compat), "goals", name)
    path = os.path.join(folder, "prompt.yaml")
    if os.path.lexists(folder):
        raise UsageError(f"{quote(folder)} exists already", next_step=f"edit {quote(path)}")
    text = _drafted(name, args) if args.draft else STARTER.format(name=name)
    os.makedirs(folder)
    outgoing_prompt.write_text(path, text)
    console.answer(path)
    console.note(f"edit it, then try 'sutler dry-run {name}'")
    return 0


def _drafted(name: str, args: argparse.Namespace) -> str:
    """Return a goal written by the user's model command; an invalid one is not stored."""
    target = outgoing_prompt.target_from(args, settings_for(args, os.getcwd()))
    if target is None:
        raise UsageError(
            "--draft needs a model command", next_step="add --to PROFILE or --command LINE"
        )
    environ = dict(os.environ)
    model = command_model(target, cwd=os.getcwd(), environ=environ, seconds=args.timeout or 300.0)
    answer = model(draft.question(name, redacted_text(args.draft)))
    try:
        return draft.goal_text(answer)
    except SutlerError as error:
        error.what = f"the model's goal cannot be used: {error.what}\n{answer.rstrip()}"
        raise


def _home_for(origin: str | None, compat: bool) -> str:
    """Return the folder of a new goal: the requested one, else the project's if it has one, else
    the user's."""
    local = [base.path for base in outgoing_prompt.bases_here(compat) if base.origin == "local"]
    if origin == "local" or (origin is None and local):
        return local[0] if local else os.path.join(os.getcwd(), ".claw" if compat else ".sutler")
    return discovery.global_folders(os.path.expanduser("~"), os.environ, compat=compat)[0]


def configure_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "goal",
        nargs="?",
        metavar="GOAL",
        help="name of a goal (default: the model command in the project's claw.yaml)",
    ).complete = GOAL_NAMES  # type: ignore[attr-defined]  # shtab's way to complete a word
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", dest="show", help="list the grants")
    flag(what, "--revoke", "withdraw the trust")
    flag(what, "-y --yes", "grant without a question, as a script needs it")


def run_trust(args: argparse.Namespace, console: Console) -> int:
    store = trust.TrustStore(os.environ)
    if args.show:
        entries = store.entries()
        if console.as_json:
            console.answer_json({"trusted": entries})
        for place, digest in () if console.as_json else sorted(entries.items()):
            console.answer(f"{digest[:12]}  {quote(place)}")
        return 0
    grants = [_goal_grant(args.goal)] if args.goal else _command_grants()
    for grant in filter(None, grants):
        if args.revoke:
            was = store.remove(grant.place)
            console.note(
                f"{'no longer trusted' if was else 'was not trusted'}: {quote(grant.place)}"
            )
            continue
        for line in grant.lines:
            console.note(redacted_text(line))
        if not args.yes:
            _require_consent(grant)
        store.add(grant.place, grant.digest)
        console.note(f"trusted: {quote(grant.place)} ({grant.digest[:12]})")
    if not any(grants):
        console.note("nothing to trust: these files are your own, or they run nothing")
    return 0


class _Grant(Struct, frozen=True):
    """A grant: a place, the digest it is bound to, and the lines that a person must see first."""

    place: str
    digest: str
    lines: tuple[str, ...]


def _require_consent(grant: _Grant) -> None:
    if not can_ask():
        raise DeniedError(
            f"{quote(grant.place)} was not trusted: there is no terminal to ask on",
            rule="a person sees what will run before it is granted",
            next_step="run it on a terminal, or add --yes",
        )
    if not confirm("allow this to run? [y/N] "):
        raise DeniedError(f"{quote(grant.place)} was not trusted", rule="you declined")


def _goal_grant(goal: str) -> _Grant | None:
    place = discovery.find_goal(goal, outgoing_prompt.bases_here(False))
    if place.base.own:
        return None
    lines = [f"script {script.name}: {script.command.rstrip()}" for script in place.goal.scripts]
    lines += [f"with the file {quote(path)}" for path in sorted(trust.helpers_of(place))]
    return _Grant(place.folder, trust.goal_digest(place), tuple(lines))


def _command_grants() -> list[_Grant | None]:
    return [
        _Grant(
            file.name,
            sha256(file.data).hexdigest(),
            (f"{quote(file.name)}:\n{file.data.decode('utf-8', 'replace').rstrip()}",),
        )
        for file in discovery.claw_files(outgoing_prompt.bases_here(False))
        if not file.own and trust.sets_command(file)
    ]
