"""The usual kinds of options, declared in one line each; `names` are separated by spaces."""

from __future__ import annotations

import argparse


def flag(group: argparse._ActionsContainer, names: str, help: str) -> None:
    """An option that is given or not."""
    group.add_argument(*names.split(), action="store_true", help=help)


def value(
    group: argparse._ActionsContainer, names: str, metavar: str, help: str, default: object = None
) -> None:
    """An option or operand with a text."""
    group.add_argument(*names.split(), metavar=metavar, help=help, default=default)


def integer(
    group: argparse._ActionsContainer, names: str, help: str, default: int | None = None
) -> None:
    group.add_argument(*names.split(), type=int, metavar="N", help=help, default=default)


def repeated(group: argparse._ActionsContainer, names: str, metavar: str, help: str) -> None:
    """An option that may be given several times; its values make a list."""
    group.add_argument(*names.split(), action="append", default=[], metavar=metavar, help=help)
