"""Options of `run`, `dry-run` and `gather`, and their separation from a goal's own words."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import sutler.config as config
from sutler.fronts.cli.options import add_tier, flag, one_of, repeated, switch, value
from sutler.goals import send

GOAL_NAMES = {"bash": "_sutler_goals", "zsh": "_sutler_goals", "tcsh": "`sutler goals --names`"}
"""Completion of a goal's name: functions of the preamble below."""
COMPLETION_PREAMBLE = {
    "bash": '_sutler_goals() { compgen -W "$(sutler goals --names 2>/dev/null)" -- "$1"; }',
    "zsh": '_sutler_goals() { local -a names; names=(${(f)"$(sutler goals --names 2>/dev/null)"});'
    " compadd -a names; }",
    "tcsh": "",
}


def whole_number(text: str) -> int:
    # Int() of a long text takes quadratic time.
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0")
    return int(text)


def seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return value


def size(text: str) -> int:
    return config.parse_size(text, "--auto-context")


def add_goal(parser: argparse.ArgumentParser) -> None:
    parser.usage = "%(prog)s GOAL [options] [-c PATH ...] [--key value ...]"
    parser.add_argument(
        "goal", nargs="?", metavar="GOAL", help="name of a goal; see 'sutler goals list'"
    ).complete = GOAL_NAMES  # type: ignore[attr-defined]  # shtab's way to complete a word
    files = parser.add_argument_group("files")
    files.add_argument(
        "-c", "--context", nargs="*", action="append", default=[], metavar="PATH",
        help="files, folders, globs, PATH:10-40 for lines, or - for stdin, added after the prompt",
    )  # fmt: skip
    files.add_argument(
        "-d",
        "--recurse_depth",
        "--recurse-depth",
        type=whole_number,
        metavar="N",
        dest="recurse_depth",
        help="levels to descend in folders; 0 is the folder itself (default: all)",
    )
    value(files, "--since", "REV", "add the files that changed since a revision", "")
    flag(files, "--diff", "add the diff of the working tree against HEAD, or against --since")
    files.add_argument(
        "--auto-context",
        type=size,
        metavar="TOKENS",
        help="add the context that ranks best for the goal, in at most TOKENS, such as 30k",
    )
    repeated(
        files,
        "--allow",
        "GLOB",
        "admit files whose name only looks like a credential (repeatable)",
    )
    one_of(
        files,
        "--mode",
        ("strict", "flexible", "ignore"),
        "on a problem with a file, strict: stop; flexible: ask; ignore: record it",
    )
    how = parser.add_argument_group("rendering")
    flag(how, "-e --explain", "describe the goal and its parameters")
    add_compat(how)
    how.add_argument(
        "--script-timeout",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="time limit for each context script (default 60)",
    )


def add_compat(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    one_of(
        parser,
        "--compat",
        ("claw", "none"),
        "claw: its discovery, merging and context section, byte for byte "
        "(default: the setting goals_compat)",
    )


def add_ceiling(parser: argparse.ArgumentParser) -> None:
    """Add limits of the prompt. Without them there is no limit: the settings' budget is for
    packs."""
    group = parser.add_argument_group("ceiling of each prompt (one of them; default: none)")
    value(group, "--max-tokens", "N", "maximum tokens, exact")
    value(group, "--max-chars", "N", "maximum characters")
    add_tier(group)
    value(group, "--counter", "NAME", "token vocabulary (default o200k_base)")
    switch(
        group, "--no-redact", "redact", "send secrets as they are; the receipt records it", to=False
    )


def add_target(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model command")
    value(
        group,
        "--command",
        "LINE",
        "command line to run; {{prompt}} stands for the prompt, else it goes to stdin",
    )
    value(
        group,
        "--to",
        "PROFILE",
        f"known model command: {', '.join(send.PROFILES)} (ollama:MODEL), "
        "or a name of [commands] in your config",
    )
    group.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="time limit for the command and all that it started",
    )


def split_words(
    parser: argparse.ArgumentParser, words: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Split the words into those of the command, and those of the goal: everything after `--`, and
    before it every option that the command lacks, with its value."""
    options = set(parser._option_string_actions)
    own: list[str] = []
    goals: list[str] = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            return own, [*goals, *words[at:]]
        if not word.startswith("--") or word.partition("=")[0] in options:
            own.append(word)
            continue
        goals.append(word)
        if "=" not in word and at < len(words) and _is_value(words[at], options):
            goals.append(words[at])
            at += 1
    return own, goals


def _is_value(word: str, options: set[str]) -> bool:
    return not word.startswith("--") and word not in options
