"""Dispatch to a command, imported when called; the one place that turns errors into exit codes."""

from __future__ import annotations

import os
import sys

from sutler.errors import SutlerError, UsageError
from sutler.fronts.cli.command_table import BY_NAME, COMMANDS, EXIT_CODES
from sutler.fronts.console import Console, forget_stdout
from sutler.version import VERSION

# `--help` needs neither typing nor argparse, and each costs more than the interpreter.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def run(words: Sequence[str]) -> int:
    """Run one whole command: parse, act, and translate any result into an exit code."""
    plain = "--color=never" in words or "--color never" in " ".join(words)
    console = Console(
        quiet="--quiet" in words or "-q" in words,
        as_json="--json" in words,
        color="never" if plain else "auto",
    )
    try:
        code = _dispatch(words)
        if sys.stdout:
            sys.stdout.flush()
        return code
    except SutlerError as error:
        name = words[0] if words and words[0] in BY_NAME else "pack"
        error.next_step = _callable(error.next_step or f"see 'sutler {name} --help'")
        console.error(_without_secrets(error))
        return error.exit_code
    except KeyboardInterrupt:
        console.note("sutler: interrupted")
        return 130
    except BrokenPipeError:
        forget_stdout()  # the reader had enough (`| head`): not an error
        return 0
    except (OSError, MemoryError) as error:
        console.error(_unforeseen(error))
        return 1
    except Exception as error:  # a fault in the program: a report instead of a raw traceback
        from sutler.fronts.bug_report import explain

        console.error(explain(words, error))
        return 1


def _callable(hint: str) -> str:
    """Return a hint whose commands begin with the words of this call, if `sutler` is not on the
    PATH."""
    import re
    import shlex
    from shutil import which

    if which("sutler"):
        return hint
    script = os.path.basename(sys.argv[0]) == "sutler"
    words = [sys.argv[0]] if script else [sys.orig_argv[0], "-m", "sutler"]
    return re.sub(r"(?<![\w/.-])sutler (?=[a-z]+\b)", lambda _: f"{shlex.join(words)} ", hint)


def _unforeseen(error: OSError | MemoryError) -> SutlerError:
    """Describe an unexpected system error in one sentence."""
    if isinstance(error, MemoryError):
        return SutlerError(
            "there is not enough memory", next_step="leave out large files with --skip-over SIZE"
        )
    try:
        os.getcwd()
    except OSError:  # the current folder was removed
        return SutlerError("the current folder is gone", next_step="change to a folder that exists")
    from sutler.paths import quote

    where = (
        f"{quote(os.fsdecode(error.filename))}: " if isinstance(error.filename, str | bytes) else ""
    )
    return SutlerError(f"{where}{error.strerror or error}", next_step="see 'sutler doctor'")


def _without_secrets(error: SutlerError) -> SutlerError:
    """Redact an error, which may quote a name, a rule or a setting that holds a secret."""
    from sutler.secrets.cleaner import redacted_text

    for field in ("what", "rule", "next_step"):
        setattr(error, field, redacted_text(getattr(error, field)))
    return error


def _dispatch(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        if len(words) > 1 and not words[1].startswith("-"):
            return _dispatch([words[1], "--help"])
        Console().answer(usage())
        return 0
    name = words[0]
    if name in ("--version", "-V"):
        Console().answer(f"sutler {VERSION}")
        return 0
    command = BY_NAME.get(name)
    if command is None:
        if goal := _as_goal(words):
            return _dispatch(goal)
        return _dispatch(["pack", *_packed(words)])
    from sutler.fronts.cli.options import load

    parser, act = load(command)
    own: list[str] = list(words[1:])
    rest: list[str] = []
    if name in _PASSING:
        from sutler.fronts.cli.goal_options import split_words

        own, rest = split_words(parser, own)
    try:
        args = parser.read(own)
    except SystemExit as stop:  # --help
        return int(stop.code or 0)
    args.goal_words, args.known_options = rest, list(parser._option_string_actions)
    console = Console(quiet=args.quiet, as_json=args.json, color=args.color)
    _warn_of_variables(console)
    return act(args, console)


def _packed(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a pack if no command is named: `sutler .`, `sutler -o pack.md`, `sutler
    URL`. Anything else is a misspelt command."""
    name = words[0]
    if name.startswith("-") or os.path.lexists(name) or "/" in name:
        return words
    from sutler.fronts.cli.peers import command
    from sutler.scan.place import instead_of

    raise UsageError(
        f"unknown command '{name}'",
        rule="the first word is a command, or a path to pack",
        next_step=instead_of(name) or command(name, BY_NAME),
    )


VARIABLES = ("SUTLER_SESSION", "SUTLER_STORE", "SUTLER_PROJECT")
"""Variables besides those of settings."""
OTHERS = ("ARG_", "TEST_", "BENCH_", "FUZZ", "CORPORA", "NODE_MODULES", "REAL_REPOS", "KEEP")
"""Prefixes, after SUTLER_, of variables for scripts of goals, and for tests and benchmarks."""


def _warn_of_variables(console: Console) -> None:
    """Warn of a SUTLER_ variable that no part of sutler reads: it is a misspelt setting."""
    names = [name for name in os.environ if name.startswith("SUTLER_")]
    if not names:
        return
    from sutler.config import BY_NAME as KEYS

    variables = {*VARIABLES, *(f"SUTLER_{key.upper()}" for key in KEYS)}
    for name in sorted(set(names) - variables):
        if name[7:].startswith(OTHERS):
            continue
        import difflib

        close = difflib.get_close_matches(name, sorted(variables), n=1)
        hint = f"did you mean {close[0]}?" if close else "see 'sutler config'"
        console.note(f"sutler: the variable {name} is not read; {hint}")


_PASSING = ("run", "dry-run", "gather")
"""Commands that pass words on to a goal."""
_CLAW_WORDS = {"list": ("goals", "list"), "add": ("goals", "add")}


def _as_goal(words: Sequence[str]) -> list[str]:
    """Return the words by claw's rules: a command of claw, or the bare name of a goal; empty if
    they are neither."""
    name, *rest = words
    if name in _CLAW_WORDS:
        return [*_CLAW_WORDS[name], *rest]
    if name in ("-c", "--context"):
        return ["run", *words]
    from sutler.goals.discovery import find_bases, has_goal

    return ["run", *words] if has_goal(name, find_bases(os.getcwd(), os.environ)) else []


def _row(name: str, what: str) -> str:
    """Format a command and its sentence within 80 columns; textwrap would double the time of
    `--help`."""
    line = f"  {name:<11} {what}"
    if len(line) <= 80:  # the default width of a terminal
        return line
    end = line.rindex(" ", 0, 81)
    return f"{line[:end]}\n{'':<14}{line[end + 1 :]}"


def usage() -> str:
    lines = [
        "sutler: the context that a task needs, deterministic, within a hard budget",
        "",
        "examples:",
        "  sutler pack -o pack.md",
        "  sutler pack --goal 'fix the login' -o task.md",
        "",
        "usage: sutler COMMAND [...]",
    ]
    for title, group in COMMANDS:
        lines += ["", f"{title}:"]
        lines += [_row(name, what) for name, _, what in group]
    lines += ["", "'sutler COMMAND --help' explains one command.", "", EXIT_CODES]
    return "\n".join(lines)
