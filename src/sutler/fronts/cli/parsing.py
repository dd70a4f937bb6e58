"""From a command to its parser: argparse, imported only once a command is known to run."""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Callable
from typing import NoReturn

from sutler.errors import UsageError
from sutler.fronts.cli.console import Console
from sutler.fronts.cli.main import COMMANDS, EXIT_CODES, Command
from sutler.version import VERSION

Act = Callable[[argparse.Namespace, Console], int]

# Its few words stay English, as all of ours are: to translate them it would look for catalogues all
# over the disk.
argparse._ = str  # type: ignore[attr-defined]  # a name that it imports for itself
argparse.ngettext = lambda one, many, count: one if count == 1 else many  # type: ignore[attr-defined]  # the same


class Parser(argparse.ArgumentParser):
    """argparse, but a wrong word is a UsageError like every other and long help keeps its lines."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, next_step=f"see '{self.prog} --help'")


def _formatter(prog: str) -> argparse.HelpFormatter:
    """argparse asks for a formatter with every argument it is given, and by itself imports shutil
    to learn the width of the terminal: half the cost of building a parser.
    """
    return argparse.RawDescriptionHelpFormatter(prog, width=_columns() - 2)


def _columns() -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isdecimal() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(sys.__stdout__.fileno()).columns or 80 if sys.__stdout__ else 80
    except (OSError, ValueError):
        return 80


def load(command: Command) -> tuple[Parser, Act]:
    """Import a command's module and build its parser."""
    parser = Parser(
        prog=f"sutler {command.name}",
        description=f"{command.help[0].upper()}{command.help[1:]}.",
        epilog=EXIT_CODES,
        formatter_class=_formatter,
        allow_abbrev=False,
    )
    return parser, _configure(command, parser)


def _configure(command: Command, parser: argparse.ArgumentParser) -> Act:
    module = importlib.import_module(f"sutler.fronts.cli.{command.module}")
    slug = command.name.replace("-", "_")
    getattr(module, f"configure_{slug}")(parser)
    common = parser.add_argument_group("output")
    common.add_argument(
        "--json", action="store_true", help="print a JSON answer with a schema version"
    )
    common.add_argument(
        "-q", "--quiet", action="store_true", help="no notes and no progress on stderr"
    )
    common.add_argument(
        "--color", choices=("auto", "always", "never"), default="auto", help="colours on stderr"
    )
    act: Act = getattr(module, f"run_{slug}")
    return act


def whole_parser() -> argparse.ArgumentParser:
    """Every command in one parser: what completion scripts and the manual are made from."""
    parser = argparse.ArgumentParser(
        prog="sutler", description="Make the context that a task needs, within a hard budget."
    )
    parser.add_argument("-V", "--version", action="version", version=f"sutler {VERSION}")
    commands = parser.add_subparsers(metavar="COMMAND")
    for _, group in COMMANDS:
        for command in group:
            _configure(command, commands.add_parser(command.name, help=command.help))
    return parser
