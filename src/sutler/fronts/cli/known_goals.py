"""`sutler goals` and `sutler trust`: which goals there are, and which of a project's own may run
something.
"""

from __future__ import annotations

import argparse
import os
from hashlib import sha256

from sutler.errors import UsageError
from sutler.fronts.cli.console import Console
from sutler.fronts.cli.outgoing import bases_here, trust_file, write_text
from sutler.goals import discovery, params, trust
from sutler.paths import quote
from sutler.secrets.cleaner import told, told_all

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


def configure_goals(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "verb",
        nargs="?",
        choices=("list", "show", "add"),
        default="list",
        help="list: names and descriptions (default); show: one goal; add: a new goal",
    )
    parser.add_argument("name", nargs="?", metavar="GOAL")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--local", action="store_true", help="goals of this project only")
    where.add_argument(
        "--global", action="store_true", dest="everywhere", help="your own goals only"
    )
    parser.add_argument("--compat", choices=("claw",), help="search only claw's folders")


def run_goals(args: argparse.Namespace, console: Console) -> int:
    compat = args.compat == "claw"
    origin = "local" if args.local else "global" if args.everywhere else None
    if args.verb == "list":
        return show_list(console, compat, origin)
    if not args.name:
        raise UsageError(
            f"'sutler goals {args.verb}' needs a name", next_step="see 'sutler goals list'"
        )
    if args.verb == "add":
        return _add(args.name, origin, compat, console)
    bases = [base for base in bases_here(compat) if origin in (None, base.origin)]
    found = discovery.find_goal(args.name, bases, compat=compat)
    trusted = trust.goal_trusted(found, trust.TrustStore(trust_file()))
    if console.as_json:
        facts = {
            "folder": found.folder,
            "origin": found.base.origin,
            "trusted": trusted,
            "goal": found.goal,
        }
        console.answer_json(told_all({"id": found.id, **facts}))
        return 0
    console.answer(told(params.explain(found.goal, found.id)))
    console.note(
        f"{found.base.origin}, {'trusted' if trusted else 'not trusted yet'}: {told(quote(found.folder))}"
    )
    return 0


def show_list(console: Console, compat: bool, origin: str | None) -> int:
    goals = [
        one
        for one in discovery.list_goals(bases_here(compat), compat=compat)
        if origin in (None, one.origin)
    ]
    if console.as_json:
        console.answer_json({"goals": told_all(goals)})
        return 0
    if not goals:
        console.note("No goals found. Add one with 'sutler goals add NAME'.")
    width = max((len(goal.id) for goal in goals), default=0)
    for goal in goals:
        about = (
            f"cannot be read: {goal.problem}" if goal.problem else goal.description or goal.title
        )
        console.answer(told(f"{goal.id:<{width}}  {goal.origin:<7}  {about}"))
    return 0


def _add(name: str, origin: str | None, compat: bool, console: Console) -> int:
    discovery.check_name(name)
    folder = os.path.join(_home_for(origin, compat), "goals", name)
    path = os.path.join(folder, "prompt.yaml")
    if os.path.lexists(folder):
        raise UsageError(f"{quote(folder)} exists already", next_step=f"edit {quote(path)}")
    os.makedirs(folder)
    write_text(path, STARTER.format(name=name))
    console.answer(path)
    console.note(f"edit it, then try 'sutler dry-run {name}'")
    return 0


def _home_for(origin: str | None, compat: bool) -> str:
    """Where a new goal goes: as asked, else into the project's folder if it has one, else among the
    user's own.
    """
    local = [base.path for base in bases_here(compat) if base.origin == "local"]
    if origin == "local" or (origin is None and local):
        return local[0] if local else os.path.join(os.getcwd(), ".claw" if compat else ".sutler")
    return discovery.global_folders(os.path.expanduser("~"), os.environ, compat=compat)[0]


def configure_trust(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "goal",
        nargs="?",
        metavar="GOAL",
        help="name of a goal (default: the model command in the project's config file)",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--list", action="store_true", dest="show", help="list what is trusted")
    what.add_argument("--revoke", action="store_true", help="withdraw the trust")


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
    """What of this project would run something, shown as it is found: the goal's scripts and the
    model command.
    """
    bases = bases_here(False)
    places: list[tuple[str, str]] = []
    if goal:
        found = discovery.find_goal(goal, bases)
        if not found.base.own:
            for script in found.goal.scripts:
                console.note(told(f"script {script.name}: {script.command.rstrip()}"))
            places.append((found.folder, trust.digest_of(found.files)))
    for file in discovery.claw_files(bases):
        if not file.own and trust.sets_command(file):
            console.note(
                told(f"{quote(file.name)}:\n{file.data.decode('utf-8', 'replace').rstrip()}")
            )
            places.append((file.name, sha256(file.data).hexdigest()))
    return places
