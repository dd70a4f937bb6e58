"""Dispatch: a table of commands, each imported when called, and the one place that turns errors into exit codes."""

from __future__ import annotations

import os
import sys

from sutler.fronts.cli.console import Console, forget_stdout
from sutler.values.errors import SutlerError, UsageError
from sutler.version import VERSION

TYPE_CHECKING = False  # `--help` needs neither typing nor argparse, and each costs more than the interpreter
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
            Command("pack", "pack", "turn a project into one pack, to stdout or -o FILE"),
            Command("unpack", "unpack", "write the files of a pack back into a directory"),
            Command("secrets", "secrets", "list the secrets that a pack would redact, masked"),
            Command("receipt", "secrets", "list, show and verify the receipts of what left"),
            Command("diff-packs", "packs", "say what entered, left or changed between two packs"),
            Command("contract", "contract", "check a change against a task's file contract"),
            Command("pick", "pick", "choose files on the terminal, then list, pack or copy them"),
            Command("tokens", "pack", "print how many tokens a pack would have, and nothing else"),
        ),
    ),
    (
        "Look before packing",
        (
            Command("scan", "look", "list what would be scanned and what stays out, with the rule"),
            Command("tree", "look", "tokens per directory and file"),
            Command("why", "look", "explain why a path is in or out"),
            Command("rank", "ranking", "rank the files for a task, with reasons"),
            Command("outline", "ranking", "imports, signatures and first doc lines of a file"),
        ),
    ),
    (
        "Look at it",
        (
            Command("report", "report", "write a page that shows where a pack's budget went, and why"),
            Command("ui", "ui", "serve that page live on this machine: select, approve, read the ledger"),
        ),
    ),
    (
        "The door",
        (
            Command("ls", "door", "list the files that may be read"),
            Command("read", "door", "read a file or lines of it: PATH or PATH:A-B"),
            Command("search", "door", "search the text of all files, redacted"),
            Command("summarize", "door", "say what a file holds, from its structure"),
            Command("write", "writing", "write a file from stdin: whole, appended or new"),
            Command("patch", "writing", "apply a patch from a file or stdin, to all its files or none"),
            Command("edit", "writing", "replace a text that stands once in a file"),
            Command("apply", "writing", "apply a model's chat answer: files, diffs and edit blocks, all or nothing"),
            Command("diff", "writing", "what changed between two versions, or since one"),
            Command("history", "writing", "the known versions of a file"),
            Command("rollback", "writing", "give a file an earlier version, or take back a call or a session"),
            Command("replay", "writing", "repeat a session's writes on a copy"),
            Command("session", "door", "what this session has seen, and what is out of date"),
        ),
    ),
    (
        "Agents",
        (
            Command("mcp", "agents", "serve agents over stdio or --http; 'mcp install' tells a client"),
            Command("call", "agents", "call one tool with JSON, for any agent loop"),
        ),
    ),
    (
        "The ledger",
        (
            Command("log", "door", "show, export or rotate the ledger"),
            Command("verify", "door", "prove that the ledger is whole, or that a pack still holds"),
            Command("approve", "door", "approve one waiting call, exactly as it was made"),
            Command("deny", "door", "deny one waiting call"),
            Command("stats", "door", "count calls by tool and outcome, and what callers used"),
        ),
    ),
    (
        "Goals",
        (
            Command("run", "goals", "render a goal, with files, and send it to a model command"),
            Command("dry-run", "goals", "print the prompt that 'run' would send"),
            Command("goals", "known_goals", "list, show and add goals"),
            Command("gather", "gathering", "let a model ask for the files it needs, round by round"),
            Command("pass", "goals", "run the model command alone"),
            Command("trust", "known_goals", "let this project's own scripts and model command run"),
        ),
    ),
    (
        "Set up",
        (
            Command("config", "setup", "print every setting with its value and origin"),
            Command("init", "setup", "write a commented sutler.toml"),
            Command("schema", "setup", "print a JSON Schema of what sutler writes"),
            Command("doctor", "setup", "check this installation and this machine"),
            Command("cache", "cache", "say what the cache holds, or clear it"),
            Command("completion", "setup", "print a completion script for a shell"),
        ),
    ),
)
BY_NAME = {command.name: command for _, group in COMMANDS for command in group}

EXIT_CODES = (
    "exit codes: 0 done, 1 failure, 2 usage or config, 3 refused (limit, strict mode, budget, secret),\n"
    "            4 conflict, 5 denied or approval needed, 6 the model command failed, 130 interrupted"
)


def run(words: Sequence[str]) -> int:
    """One whole command: parse, act, and translate whatever happens into an exit code."""
    plain = "--color=never" in words or "--color never" in " ".join(words)
    console = Console(
        quiet="--quiet" in words or "-q" in words, as_json="--json" in words, color="never" if plain else "auto"
    )
    try:
        code = _dispatch(words)
        if sys.stdout:
            sys.stdout.flush()
        return code
    except SutlerError as error:
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


def _unforeseen(error: OSError | MemoryError) -> SutlerError:
    """What no other place foresaw: said in one sentence all the same."""
    if isinstance(error, MemoryError):
        return SutlerError("there is not enough memory", next_step="leave out large files with --skip-over SIZE")
    try:
        os.getcwd()
    except OSError:
        return SutlerError("the current folder is gone", next_step="change to a folder that exists")
    from sutler.values.paths import quote

    where = f"{quote(os.fsdecode(error.filename))}: " if isinstance(error.filename, str | bytes) else ""
    return SutlerError(f"{where}{error.strerror or error}", next_step="see 'sutler doctor'")


def _without_secrets(error: SutlerError) -> SutlerError:
    """An error may quote a name, a rule or a setting, and any of them may hold a secret."""
    from sutler.engine.clean import told

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
        import difflib

        close = difflib.get_close_matches(name, list(BY_NAME), n=1)
        hint = f"did you mean 'sutler {close[0]}'?" if close else "see 'sutler --help'"
        raise UsageError(f"unknown command '{name}'", next_step=hint)
    from sutler.fronts.cli.parsing import load

    own, rest = _split(words[1:]) if name in _PASSING else (list(words[1:]), [])
    parser, act = load(command)
    try:
        args = parser.parse_args(own)
    except SystemExit as stop:  # --help
        return int(stop.code or 0)
    args.rest = rest
    return act(args, Console(quiet=args.quiet, as_json=args.json, color=args.color))


_PASSING = ("run", "dry-run")


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Words before the first `--` are ours; those behind it belong to the goal."""
    if "--" in words:
        cut = list(words).index("--")
        return list(words[:cut]), list(words[cut + 1 :])
    return list(words), []


def usage() -> str:
    lines = [
        "sutler: the context a task needs, deterministic, inside a hard budget",
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
