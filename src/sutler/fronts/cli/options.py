"""The parser of a command, the flags that several commands share, and the settings from flags,
files and environment.

argparse is imported only once the command is known."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NoReturn

import sutler.config as config
from sutler.config import Layer, Settings
from sutler.errors import UsageError
from sutler.formats import FORMATS
from sutler.fronts.cli.command_table import COMMANDS, EXIT_CODES, Command
from sutler.fronts.console import Console, terminal_width
from sutler.scan.globs import separated
from sutler.setting_table import TIER_CHARS
from sutler.version import VERSION

Group = argparse._ArgumentGroup


# The usual kinds of options, declared in one line each; `names` are separated by spaces. An option
# that changes a setting has the setting's name as its `dest`.


def flag(group: argparse._ActionsContainer, names: str, help: str) -> None:
    """Add an option without a value."""
    group.add_argument(*names.split(), action="store_true", help=help)


def switch(
    group: argparse._ActionsContainer, names: str, dest: str, help: str, *, to: bool = True
) -> None:
    """Add an option that turns a setting on, or off."""
    group.add_argument(*names.split(), action="store_const", const=to, dest=dest, help=help)


def value(
    group: argparse._ActionsContainer,
    names: str,
    metavar: str,
    help: str,
    default: object = None,
    nargs: str | None = None,
) -> None:
    """Add an option or operand with a text."""
    group.add_argument(*names.split(), metavar=metavar, help=help, default=default, nargs=nargs)


def one_of(
    group: argparse._ActionsContainer,
    names: str,
    choices: Iterable[str],
    help: str,
    default: str | None = None,
    *,
    dest: str = "",
    metavar: str | None = None,
    nargs: str | None = None,
) -> None:
    """Add an option or operand with one of a few words."""
    action = group.add_argument(
        *names.split(),
        choices=tuple(choices),
        help=help,
        default=default,
        metavar=metavar,
        nargs=nargs,
    )
    action.dest = dest or action.dest


def add_actions(parser: argparse.ArgumentParser, actions: Mapping[str, str]) -> None:
    """Add actions, each with its explanation, and their operands."""
    help = "; ".join(f"{name}: {text}" for name, text in actions.items())
    one_of(parser, "action", actions, help, metavar="ACTION")
    value(parser, "words", "ARG", "arguments of the action", nargs="*")


def add_store(parser: argparse.ArgumentParser, what: str) -> None:
    default = os.environ.get("SUTLER_STORE", "")
    value(parser, "--store", "URL", f"{what} (default: SUTLER_STORE)", default)


def integer(
    group: argparse._ActionsContainer,
    names: str,
    help: str,
    default: int | None = None,
    metavar: str = "N",
) -> None:
    group.add_argument(*names.split(), type=int, metavar=metavar, help=help, default=default)


def repeated(group: argparse._ActionsContainer, names: str, metavar: str, help: str) -> None:
    """Add an option that may be given several times; its values make a list."""
    group.add_argument(*names.split(), action="append", default=[], metavar=metavar, help=help)


def explain(parser: argparse.ArgumentParser, text: str) -> None:
    """Add a paragraph after the options of a command's help."""
    parser.epilog = "\n\n".join(filter(None, (text, parser.epilog)))


def add_paths(parser: argparse.ArgumentParser) -> Group:
    group = parser.add_argument_group("input")
    value(
        group,
        "paths",
        "PATH",
        "folders and files; default: the current folder. Alone: OWNER/NAME[@REF][:PATH], "
        "OWNER/NAME#PULL, "
        "a git URL, or an archive (wheel, sdist, npm tarball, zip)",
        nargs="*",
    )
    flag(group, "--stdin", "read more file names from stdin, one per line or NUL-separated")
    return group


def add_selection(parser: argparse.ArgumentParser) -> Group:
    group = parser.add_argument_group("choice")
    _globs(group, "-i --include", "only files that match GLOB")
    _globs(group, "-e --exclude", "leave out files that match GLOB")
    value(group, "-d --depth", "N", "maximum levels to descend; 0: this folder only")
    switch(group, "--no-hidden", "hidden", "leave out names that begin with a dot", to=False)
    switch(
        group,
        "--no-default-excludes",
        "default_excludes",
        "do not apply the built-in exclusion patterns",
        to=False,
    )
    repeated(
        group, "--allow", "GLOB", "admit files that a built-in name rule leaves out (repeatable)"
    )
    switch(
        group,
        "--strict-patterns",
        "strict_patterns",
        "leave out names that resemble credentials, and tracked files in build folders",
    )
    value(group, "--skip-over", "SIZE", "leave out files above SIZE (default 1MiB; 0: no limit)")
    value(group, "--max-files", "N", "maximum number of files")
    value(group, "--profile", "NAME", "apply the [profiles.NAME] section of a config file", "")
    return group


def _globs(group: Group, names: str, help: str) -> None:
    group.add_argument(
        *names.split(),
        action="extend",
        type=separated,
        metavar="GLOB",
        help=f"{help} (repeatable, or separated by commas)",
    )


def formats_help() -> str:
    """Return the help of --format, from the table of formats; its first row is the default."""
    rows = [f"{name}: {module.DESCRIPTION}" for name, module in FORMATS.items()]
    return "; ".join((f"{rows[0]} (default, unless -o ends in .xml or .json)", *rows[1:]))


def add_budget(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("budget (one of them; default 500,000 bytes)")
    value(group, "--max-tokens", "N", "maximum tokens, exact, in the vocabulary of --counter")
    value(group, "--max-chars", "N", "maximum characters")
    value(group, "--max-bytes", "N", "maximum bytes of UTF-8")
    add_tier(group)
    flag(group, "--no-budget", "no limit on the size of the pack")
    value(
        group,
        "--counter",
        "NAME",
        "token vocabulary (default o200k_base); claude-estimate and gemini-estimate are "
        "estimates; or 'none'",
    )


def add_tier(group: Group) -> None:
    one_of(group, "--tier", TIER_CHARS, "maximum of 120,000, 60,000 or 25,000 characters")


BUDGETS = ("max_tokens", "max_chars", "max_bytes", "tier")


def lift_budget(args: argparse.Namespace) -> None:
    """Remove the default limit, for commands that measure and do not pack."""
    args.no_budget = args.no_budget or not any(getattr(args, name) for name in BUDGETS)


def flags_layer(args: argparse.Namespace) -> Layer:
    """Return the flags of the command line as the last layer."""
    given = vars(args).items()
    table = {name: got for name, got in given if name in config.BY_NAME and got not in (None, [])}
    if getattr(args, "no_budget", False):
        if any(name in table for name in BUDGETS):
            raise UsageError(
                "--no-budget and a budget are given together", next_step="keep one of them"
            )
        table["max_bytes"] = 0
    return config.layer_from_table(table, "flag")


def settings_for(args: argparse.Namespace, root: str) -> Settings:
    """Resolve defaults < user < project < environment < flags, for the project at `root`."""
    from sutler.scan.place import project_config

    layers = [*project_config(root, os.environ, getattr(args, "profile", ""))]
    layers += [config.layer_from_environment(os.environ), flags_layer(args)]
    settings = config.resolve(layers)
    named = _format_of(getattr(args, "output", None) or "")
    if named and settings.origins["format"] == "default" and getattr(args, "format", "") is None:
        settings = settings.overlaid(config.layer_from_table({"format": named}, "flag"))
    goal = getattr(args, "goal", None) or getattr(args, "since", None)
    if getattr(args, "split", None) and not (settings.has_budget or goal):
        # The default limit is for one file; parts have limits of their own.
        return settings.overlaid(config.layer_from_table({"max_bytes": 0}, "flag"))
    return settings


def _format_of(file: str) -> str:
    """Return the format that a file's ending means; "" for `.md`, `.txt` and others, which hold
    any."""
    return next(
        (name for name in ("claude", "xml", "json") if file.endswith(FORMATS[name].ENDING)), ""
    )


Act = Callable[[argparse.Namespace, Console], int]
COMMON = "every command"
"""The group of options that every command has."""

# Its few words stay English like ours: to translate them it would search for catalogues all
# over the disk.
argparse._ = str  # type: ignore[attr-defined]  # a name that it imports for itself
argparse.ngettext = lambda one, many, count: one if count == 1 else many  # type: ignore[attr-defined]  # the same


class Parser(argparse.ArgumentParser):
    """argparse with UsageError for wrong words, and help that begins with the purpose of the
    command. The description is built when help is requested."""

    command: Command

    def error(self, message: str) -> NoReturn:
        message = re.sub(r"invalid int value: ('.*')", r"\1 is not a whole number", message)
        raise UsageError(message, next_step=_nearest(message) or f"see '{self.prog} --help'")

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Parse the words of a command line. For another packer's option, or a misspelt one, the
        error names ours."""
        args, rest = self.parse_known_args(words)
        if not rest:
            return args
        from sutler.fronts.cli.peers import answer

        word = next((word for word in rest if word.startswith("-") and word != "-"), rest[0])
        option = word.startswith("-")
        raise UsageError(
            f"unknown option {word.partition('=')[0]}" if option else f"unexpected word '{word}'",
            rule=f"options and arguments of '{self.prog}'",
            next_step=answer(word, self._option_string_actions) or f"see '{self.prog} --help'",
        )

    def format_help(self) -> str:
        """Return the sentence and the examples first, then usage and options."""
        formatter = self._get_formatter()
        formatter.add_text(described(self.command))
        formatter.add_usage(
            usage_of(self, self.command), self._actions, self._mutually_exclusive_groups
        )
        for group in self._action_groups:
            formatter.start_section((group.title or "").removeprefix("positional "))
            formatter.add_text(group.description)
            formatter.add_arguments(group._group_actions)
            formatter.end_section()
        formatter.add_text(self.epilog)
        return formatter.format_help()


def _nearest(message: str) -> str:
    """Return the nearest of an option's values to a wrong one."""
    import difflib

    match = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
    values = re.findall(r"[\w.-]+", match[2]) if match else []
    close = difflib.get_close_matches(match[1], values, n=1) if match else []
    return f"did you mean '{close[0]}'?" if close else ""


def _formatter(prog: str) -> argparse.HelpFormatter:
    """Return a formatter of a given width. argparse asks for one with every argument, and by itself
    imports shutil to learn the width of the terminal: half the cost of building a parser."""
    return argparse.RawDescriptionHelpFormatter(prog, width=terminal_width(sys.__stdout__, 80) - 2)


def load(command: Command) -> tuple[Parser, Act]:
    """Import a command's module and build its parser."""
    parser = Parser(
        prog=f"sutler {command[0]}",
        epilog=EXIT_CODES,
        formatter_class=_formatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser.command = command
    return parser, _configure(command, parser)


def described(command: Command) -> str:
    """Return a sentence about the command, then two examples."""
    import textwrap

    from sutler.fronts.cli.examples import EXAMPLES

    name, _, what = command
    sentence = textwrap.fill(
        f"{what[0].upper()}{what[1:]}.", terminal_width(sys.__stdout__, 80) - 2
    )
    lines = [f"  {line}" for line in EXAMPLES.get(name, ())]
    return "\n".join((sentence, "", "examples:", *lines) if lines else (sentence,))


def usage_of(parser: argparse.ArgumentParser, command: Command) -> str:
    """Return the usage line: options are explained below it, arguments are named."""
    placed = [action for action in parser._actions if not action.option_strings]
    return " ".join((f"sutler {command[0]}", "[OPTION ...]", *map(_placed, placed)))


def _placed(action: argparse.Action) -> str:
    name = value_of(action)
    return {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} ..."}.get(str(action.nargs), name)


def value_of(action: argparse.Action) -> str:
    """Return the name of an argument's value in the usage."""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "|".join(str(choice) for choice in action.choices)
    return action.dest.upper() if action.option_strings else action.dest


def _configure(command: Command, parser: argparse.ArgumentParser) -> Act:
    name, home, _ = command
    module = importlib.import_module(f"sutler.fronts.cli.{home}")
    slug = name.replace("-", "_")
    getattr(module, f"configure_{slug}")(parser)
    for action in parser._actions:
        if not action.option_strings:  # errors name an argument as usage does
            action.metavar = value_of(action)
            action.required = action.required and action.nargs != "*"
    common = parser.add_argument_group(COMMON)
    common.add_argument("-h", "--help", action="help", help="explain the command and exit")
    flag(common, "--json", "print a JSON answer with a schema version")
    flag(common, "-q --quiet", "no notes and no progress on stderr")
    one_of(common, "--color", ("auto", "always", "never"), "colours on stderr", "auto")
    act: Act = getattr(module, f"run_{slug}")
    return act


def whole_parser() -> argparse.ArgumentParser:
    """Return one parser with every command, the source of completion scripts and the manual."""
    parser = argparse.ArgumentParser(
        prog="sutler", description="Make the context that a task needs, within a hard budget."
    )
    parser.add_argument("-V", "--version", action="version", version=f"sutler {VERSION}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for _, group in COMMANDS:
        for command in group:
            name, _, what = command
            own = commands.add_parser(name, help=what, add_help=False)
            _configure(command, own)
    return parser
