"""Parse the words after `--` and check them against the parameters that the goal declares."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence

from msgspec import Struct

from sutler.errors import UsageError
from sutler.goals.goal import Goal, Parameter

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class Arguments(Struct, frozen=True):
    """Values by name, all texts, and notes about them for the user."""

    values: dict[str, str]
    notes: tuple[str, ...] = ()


def parse_words(words: Sequence[str]) -> dict[str, str]:
    """Parse `--key=value`, `--key value`, or `--key` alone for "true". The last key wins."""
    values: dict[str, str] = {}
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if not word.startswith("--"):
            raise UsageError(
                f"Invalid goal argument: '{word}'. All goal arguments must be flags starting with"
                " '--'.",
                next_step="write -- --key value",
            )
        key, equals, value = word[2:].partition("=")
        if not equals:
            value = "true"
            if at < len(words) and not words[at].startswith("--"):
                value = words[at]
                at += 1
        values[key] = value
    return values


def validate(goal: Goal, name: str, words: dict[str, str], *, compat: bool = False) -> Arguments:
    """Fill in defaults and check types (not in compat). Raise UsageError if a required parameter is
    missing."""
    if not goal.parameters:
        return Arguments(words)
    missing = [
        parameter
        for parameter in goal.parameters
        if parameter.required and parameter.name not in words
    ]
    if missing:
        raise UsageError(_missing(name, missing, compat))
    values = dict(words)
    for parameter in goal.parameters:
        if parameter.name not in values:
            if parameter.default is not None:
                values[parameter.name] = parameter.default
        elif not compat:
            _check_type(parameter, values[parameter.name], name)
    return Arguments(values, () if compat else _unknown(goal, words))


def _missing(name: str, missing: Sequence[Parameter], compat: bool) -> str:
    lines = [f"Goal '{name}' is missing required parameters:", ""]
    for parameter in missing:
        kind = f" <{parameter.type.capitalize()}>" if parameter.type else ""
        lines += [f"  --{parameter.name}{kind}", f"      {parameter.description}"]
    command = "claw" if compat else "sutler run"
    return "\n".join([*lines, "", f"Run '{command} {name} --explain' for more information."])


def _check_type(parameter: Parameter, value: str, goal: str) -> None:
    fits = {
        "number": _NUMBER.fullmatch(value) is not None,
        "boolean": value.lower() in ("true", "false"),
    }.get(parameter.type or "", True)
    if not fits:
        raise UsageError(
            f"--{parameter.name} must be a {parameter.type}, got '{value}'",
            rule=f"goal '{goal}' declares the type",
            next_step=f"run 'sutler run {goal} --explain'",
        )


def _unknown(goal: Goal, words: dict[str, str]) -> tuple[str, ...]:
    declared = [parameter.name for parameter in goal.parameters]
    notes: list[str] = []
    for key in words:
        if key not in declared:
            close = difflib.get_close_matches(key, declared, n=1)
            hint = f"; did you mean --{close[0]}?" if close else ""
            notes.append(f"--{key} is not a declared parameter of this goal{hint}")
    return tuple(notes)


def explain(goal: Goal, name: str) -> str:
    """Describe a goal and its parameters for the terminal."""
    lines = [f"{goal.name} ({name})"]
    if goal.description:
        lines += ["", *_wrapped(goal.description, "")]
    for title, required in (("Required parameters", True), ("Optional parameters", False)):
        chosen = [parameter for parameter in goal.parameters if parameter.required is required]
        if chosen:
            lines += ["", f"{title}:"]
            for parameter in chosen:
                lines += _described(parameter)
    if not goal.parameters:
        lines += ["", "This goal declares no parameters; whatever follows -- is passed on to it."]
    if goal.scripts:
        lines += ["", "Context scripts, run in this order:"]
        lines += [f"  {script.name}: {' '.join(script.command.split())}" for script in goal.scripts]
    needed = "".join(
        f" --{parameter.name} <value>" for parameter in goal.parameters if parameter.required
    )
    tail = f" --{needed}" if needed else " [-- --key value]"
    lines += [
        "",
        "Usage:",
        f"  sutler run {name} [-c PATH...] [-d N]{tail}",
        f"  sutler dry-run {name}{tail}",
    ]
    return "\n".join(lines)


def _described(parameter: Parameter) -> list[str]:
    kind = f" <{parameter.type}>" if parameter.type else ""
    default = f'  (default: "{parameter.default}")' if parameter.default is not None else ""
    return [f"  --{parameter.name}{kind}{default}", *_wrapped(parameter.description, "      ")]


def _wrapped(text: str, indent: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 76, initial_indent=indent, subsequent_indent=indent)
