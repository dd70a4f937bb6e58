"""Dispatch: a table of commands, each imported when called, and the one place that turns errors
into exit codes.
"""

from __future__ import annotations

import os
import sys

from sutler.errors import SutlerError, UsageError
from sutler.fronts.cli.console import Console, forget_stdout
from sutler.version import VERSION

TYPE_CHECKING = (
    False  # `--help` needs neither typing nor argparse, and each costs more than the interpreter
)
if TYPE_CHECKING:
    from collections.abc import Sequence


class Command:
    """`module` holds `configure_<name>(parser)` and `run_<name>(args, console) -> exit code`."""

    __slots__ = ("help", "module", "name")

    def __init__(self, name: str, module: str, help: str) -> None:
        self.name = name
        self.module = module
        self.help = help


COMMANDS: tuple[tuple[str, tuple[Command, ...]], ...] = (
    (
        "Pack",
        (
            Command("pack", "pack", "make one pack of a project, to stdout or -o FILE"),
            Command("unpack", "unpack", "write the files of a pack back into a directory"),
            Command("secrets", "secrets", "list the secrets that a pack redacts, masked"),
            Command("receipt", "secrets", "list, show and verify receipts of packs"),
            Command("diff-packs", "packs", "list what entered, left or changed between two packs"),
            Command("contract", "contract", "check a change against a task's file contract"),
            Command("pick", "pick", "choose files on the terminal, then list, pack or copy them"),
            Command("tokens", "pack", "print the number of tokens of a pack, without the pack"),
        ),
    ),
    (
        "Inspect",
        (
            Command(
                "scan",
                "look",
                "list the files that a scan admits, or the exclusions with their rules",
            ),
            Command("tree", "look", "show tokens for each directory and file"),
            Command("why", "look", "explain why a path is in a pack or out of it"),
            Command("rank", "ranking", "rank the files for a task, with reasons"),
            Command(
                "outline",
                "ranking",
                "show imports, signatures and first documentation lines of a file",
            ),
        ),
    ),
    (
        "Report",
        (
            Command("report", "report", "write an HTML page that shows how a pack uses its budget"),
            Command(
                "ui",
                "ui",
                "serve that page live on this machine: select files, approve calls, read the"
                " ledger",
            ),
        ),
    ),
    (
        "Read and write files as an agent does",
        (
            Command("ls", "door", "list the files that may be read"),
            Command("read", "door", "read a file or lines of it: PATH or PATH:A-B"),
            Command("search", "door", "search the text of all files, redacted"),
            Command("summarize", "door", "summarize a file from its structure"),
            Command("write", "writing", "write a file from stdin: whole, appended or new"),
            Command(
                "patch", "writing", "apply a patch from a file or stdin, to all its files or none"
            ),
            Command("edit", "writing", "replace a text that occurs exactly once in a file"),
            Command(
                "apply",
                "writing",
                "apply a model's chat reply: files, diffs and edit blocks, all or none",
            ),
            Command("diff", "writing", "show changes between two versions, or since one"),
            Command("history", "writing", "list the stored versions of a file"),
            Command(
                "rollback",
                "writing",
                "restore an earlier version of a file, or undo a call or a session",
            ),
            Command("replay", "writing", "repeat a session's writes on a copy"),
            Command(
                "session", "door", "show the files that this session has read, and which are stale"
            ),
        ),
    ),
    (
        "Agents",
        (
            Command(
                "mcp",
                "agents",
                "serve tools to agents over stdio or HTTP; 'mcp install' configures a client",
            ),
            Command("call", "agents", "call one tool with JSON arguments"),
        ),
    ),
    (
        "Many repositories",
        (
            Command("fleet", "fleet", "index, check, survey, pack and search many repositories"),
            Command("worker", "fleet", "do units of a fleet's queue on this machine"),
        ),
    ),
    (
        "A team",
        (
            Command(
                "store", "shared_store", "make, move and back up a store, and name its members"
            ),
            Command("token", "shared_store", "make, list and revoke tokens for HTTP"),
        ),
    ),
    (
        "Ledger",
        (
            Command("log", "door", "show, export or rotate the ledger"),
            Command("verify", "door", "check the ledger for changes, or a pack against its files"),
            Command("approve", "door", "approve one pending call, exactly as it was made"),
            Command("deny", "door", "deny one pending call"),
            Command("stats", "door", "count calls by tool and outcome, and usage by caller"),
        ),
    ),
    (
        "Goals",
        (
            Command("run", "goals", "render a goal with files and send it to a model command"),
            Command("dry-run", "goals", "print the prompt that 'run' would send"),
            Command("goals", "known_goals", "list, show and add goals"),
            Command("gather", "gathering", "let a model request the files it needs, in rounds"),
            Command("pass", "goals", "run the model command without a prompt"),
            Command(
                "trust", "known_goals", "allow this project's own scripts and model command to run"
            ),
        ),
    ),
    (
        "Set up",
        (
            Command("config", "setup", "print every setting with its value and origin"),
            Command("init", "setup", "write a commented sutler.toml"),
            Command("schema", "setup", "print a JSON Schema of a document or of the tools"),
            Command("doctor", "setup", "check this installation and this machine"),
            Command("cache", "cache", "show the size of the cache, or clear it"),
            Command("completion", "setup", "print a completion script for a shell"),
        ),
    ),
)
BY_NAME = {command.name: command for _, group in COMMANDS for command in group}

EXIT_CODES = (
    "exit codes: 0 done, 1 failure, 2 usage or config, 3 refused (limit, strict\n"
    "            mode, budget, secret, nothing to pack), 4 conflict, 5 denied or\n"
    "            approval needed, 6 the model command failed, 130 interrupted"
)


def run(words: Sequence[str]) -> int:
    """One whole command: parse, act, and translate whatever happens into an exit code."""
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
        error.next_step = error.next_step or f"see 'sutler {name} --help'"
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


def _unforeseen(error: OSError | MemoryError) -> SutlerError:
    """What no other place foresaw: said in one sentence all the same."""
    if isinstance(error, MemoryError):
        return SutlerError(
            "there is not enough memory", next_step="leave out large files with --skip-over SIZE"
        )
    try:
        os.getcwd()
    except OSError:
        return SutlerError("the current folder is gone", next_step="change to a folder that exists")
    from sutler.paths import quote

    where = (
        f"{quote(os.fsdecode(error.filename))}: " if isinstance(error.filename, str | bytes) else ""
    )
    return SutlerError(f"{where}{error.strerror or error}", next_step="see 'sutler doctor'")


def _without_secrets(error: SutlerError) -> SutlerError:
    """An error may quote a name, a rule or a setting, and any of them may hold a secret."""
    from sutler.secrets.cleaner import told

    for field in ("what", "rule", "next_step"):
        setattr(error, field, told(getattr(error, field)))
    return error


def _dispatch(words: Sequence[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        if len(words) > 1 and words[0] == "help":
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
    args.rest, args.known_options = rest, list(parser._option_string_actions)
    console = Console(quiet=args.quiet, as_json=args.json, color=args.color)
    _warn_of_variables(console)
    return act(args, console)


def _packed(words: Sequence[str]) -> Sequence[str]:
    """The words of a pack, where no command is named: `sutler .`, `sutler -o pack.md`, `sutler
    URL`. Anything else is a misspelt command.
    """
    name = words[0]
    if name.startswith("-") or os.path.lexists(name) or "/" in name:
        return words
    import difflib

    close = difflib.get_close_matches(name, list(BY_NAME), n=1)
    hint = f"did you mean 'sutler {close[0]}'?" if close else "see 'sutler --help'"
    raise UsageError(
        f"unknown command '{name}'",
        rule="the first word is a command, or a path to pack",
        next_step=hint,
    )


VARIABLES = ("SUTLER_SESSION", "SUTLER_STORE", "SUTLER_PROJECT")
"""Variables besides those of settings."""
OTHERS = ("ARG_", "TEST_", "BENCH_", "FUZZ", "CORPORA", "NODE_MODULES", "REAL_REPOS", "KEEP")
"""How names begin, after SUTLER_, that are for scripts of goals, and for tests and benchmarks."""


def _warn_of_variables(console: Console) -> None:
    """Name a SUTLER_ variable that no part of sutler reads: it is a misspelt setting."""
    names = [name for name in os.environ if name.startswith("SUTLER_")]
    if not names:
        return
    from sutler.config import BY_NAME as KEYS

    known = {*VARIABLES, *(f"SUTLER_{key.upper()}" for key in KEYS)}
    for name in sorted(set(names) - known):
        if name[7:].startswith(OTHERS):
            continue
        import difflib

        close = difflib.get_close_matches(name, sorted(known), n=1)
        hint = f"did you mean {close[0]}?" if close else "see 'sutler config'"
        console.note(f"sutler: the variable {name} is not read; {hint}")


_PASSING = ("run", "dry-run", "gather")
"""Commands that hand words on to a goal."""
_CLAW_WORDS = {"list": ("goals", "list"), "add": ("goals", "add")}


def _as_goal(words: Sequence[str]) -> list[str]:
    """The words as claw understands them: a command of claw, or the bare name of a goal. Empty if
    they are neither.
    """
    name, *rest = words
    if name in _CLAW_WORDS:
        return [*_CLAW_WORDS[name], *rest]
    if name in ("-c", "--context"):
        return ["run", *words]
    from sutler.goals.discovery import find_bases, has_goal

    return ["run", *words] if has_goal(name, find_bases(os.getcwd(), os.environ)) else []


def usage() -> str:
    lines = [
        "sutler: the context that a task needs, deterministic, within a hard budget",
        "",
        "usage: sutler COMMAND [...]",
    ]
    for title, group in COMMANDS:
        lines += ["", f"{title}:"]
        lines += [f"  {command.name:<11} {command.help}" for command in group]
    lines += [
        "",
        "'sutler COMMAND --help' explains one command; 'sutler --version' prints the version.",
        "",
        EXIT_CODES,
    ]
    return "\n".join(lines)
