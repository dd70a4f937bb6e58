"""Write docs/reference.md, docs/sutler.1 and llms.txt from the table of commands.

argparse-manpage was tried: its page is dated today, twice as long because the common options are
repeated under each command, and has neither environment nor exit codes.

python -m docs.make_reference [FOLDER]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

import sutler.config as config
from sutler.errors import UsageError
from sutler.fronts.cli.main import COMMANDS, EXIT_CODES, Command
from sutler.fronts.cli.options import load
from sutler.version import VERSION

SENTENCE = (
    "sutler turns a project into exactly the context that a language model needs for a task: deterministic, within a "
    "hard budget, with nothing secret in it, and with a reason for every file in or out."
)
DOCUMENTS = (
    ("README.md", "what it is, how to install it, recipes"),
    ("docs/tutorial.md", "the first five minutes, on a real repository"),
    ("docs/guide.md", "packs, selection, secrets, budgets, documents, tasks, the picker"),
    ("docs/coming-from-claw.md", "what is the same for users of claw, and what is not"),
    ("docs/reference.md", "commands with their options, settings"),
    ("docs/LLM_FILE_ACCESS.md", "the tools for agents, with schemas"),
    ("docs/performance.md", "figures against other tools, with their commands"),
    ("docs/GLOSSARY.md", "the terms"),
    ("ARCHITECTURE.md", "the tree, the layers, the pipeline, a write"),
    ("docs/decisions/README.md", "why it is built like this, one short page a decision"),
    ("SHORTCOMINGS.md", "what is not done or not tried"),
    ("SECURITY.md", "what is defended, and how to report"),
    ("CONTRIBUTING.md", "how to work on it"),
    ("CHANGELOG.md", "what is new"),
)
VARIABLES = (
    ("SUTLER_<KEY>", "a setting, such as SUTLER_MAX_TOKENS=20k"),
    ("SUTLER_SESSION", "the session to which calls of tools belong"),
    ("SUTLER_STORE", "postgresql://… keeps the ledger there instead of in SQLite"),
    ("XDG_CONFIG_HOME", "folder of sutler/config.toml (default ~/.config)"),
    ("XDG_STATE_HOME", "folder of the ledger and the saved picks (default ~/.local/state)"),
    ("XDG_CACHE_HOME", "folder of the cache (default ~/.cache)"),
    ("NO_COLOR", "no colours on stderr"),
)
FILES = (
    ("sutler.toml", "a project's settings; [tool.sutler] in pyproject.toml works too"),
    ("~/.config/sutler/config.toml", "your own settings"),
)


COMMON = "output"
"""The group of options that every command has."""


class Option(Struct, frozen=True):
    """One argument of a command: how it is written, and what it means."""

    spelling: str
    help: str


class Page(Struct, frozen=True):
    """One command: its usage line and its arguments by group."""

    command: Command
    usage: str
    groups: tuple[tuple[str, tuple[Option, ...]], ...]


def page_of(command: Command) -> Page:
    parser = load(command)[0]
    groups = tuple(
        (title, options) for title, options in _groups(parser) if options and title != COMMON
    )
    positional = [one for one in parser._actions if not one.option_strings]
    words = [f"sutler {command.name}", "[OPTION …]", *map(_placed, positional)]
    return Page(command, " ".join(words), groups)


def _groups(parser: argparse.ArgumentParser) -> Iterator[tuple[str, tuple[Option, ...]]]:
    """argparse has no public access to its arguments; completion scripts use the same
    attributes.
    """
    for group in parser._action_groups:
        title = {"positional arguments": "arguments"}.get(
            group.title or "", group.title or "options"
        )
        actions = [one for one in group._group_actions if one.dest != "help"]
        yield title, tuple(map(_option, actions))


def _common() -> tuple[Option, ...]:
    """The options that every command has."""
    [options] = [
        options for title, options in _groups(load(COMMANDS[0][1][0])[0]) if title == COMMON
    ]
    return (Option("-h, --help", "explain the command and exit"), *options)


def _placed(action: argparse.Action) -> str:
    name = _value(action)
    return {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}.get(str(action.nargs), name)


def _option(action: argparse.Action) -> Option:
    if action.option_strings:
        takes = "" if action.nargs == 0 else f" {_value(action)}"
        spelling = ", ".join(action.option_strings) + takes
    else:
        spelling = _value(action)
    text = action.help or ""
    return Option(
        spelling, text % {"default": action.default, "prog": "sutler"} if "%(" in text else text
    )


def _value(action: argparse.Action) -> str:
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "|".join(str(choice) for choice in action.choices)
    return action.dest.upper() if action.option_strings else action.dest


# Markdown


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return f"`{text.replace('|', chr(92) + '|')}`"  # a bar in a cell is escaped even inside code


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in lines)


def markdown() -> str:
    parts = [
        "# Reference\n\nGenerated by `python -m docs.make_reference` from the table of commands.\n"
    ]
    parts.append(
        "## Every command\n\n" + _table(("option", "meaning"), [_row(one) for one in _common()])
    )
    for title, group in COMMANDS:
        parts.append(f"## {title}\n")
        parts += map(_markdown_page, map(page_of, group))
    keys = [
        (
            f"`{key.name}`",
            key.kind,
            _code(_default(key)),
            _cell(key.help) + (" (never from a project)" * key.own),
        )
        for key in config.KEYS
    ]
    parts.append("## Settings\n\n" + _table(("key", "kind", "default", "meaning"), keys))
    parts.append(
        "## Environment\n\n"
        + _table(("variable", "meaning"), [(_code(a), _cell(b)) for a, b in VARIABLES])
    )
    parts.append(f"## Exit codes\n\n```text\n{EXIT_CODES}\n```\n")
    return "\n".join(parts)


def _markdown_page(page: Page) -> str:
    text = f"### {page.command.name}\n\n{_sentence(page.command)}\n\n```text\n{page.usage}\n```\n"
    rows = [_row(one) for _, options in page.groups for one in options]
    return f"{text}\n{_table(('argument', 'meaning'), rows)}" if rows else text


def _row(one: Option) -> tuple[str, str]:
    return _code(one.spelling), _cell(one.help)


def _sentence(command: Command) -> str:
    return f"{command.help[0].upper()}{command.help[1:]}."


def _default(key: config.Key) -> str:
    if key.default is None:
        return "unset"
    if isinstance(key.default, tuple):
        return "[" + ", ".join(key.default) + "]"
    return str(key.default).lower() if isinstance(key.default, bool) else str(key.default)


# man


def _roff(text: str) -> str:
    """Escape text for troff: no escape sequence and no request by accident."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("…", "...")
    return f"\\&{plain}" if plain.startswith(".") else plain


def man() -> str:
    lines = [f'.TH SUTLER 1 "" "sutler {VERSION}" "User Commands"', ".SH NAME"]
    lines += ["sutler \\- the context that a task needs, deterministic, within a hard budget"]
    lines += [".SH SYNOPSIS", ".B sutler", ".I COMMAND", "[OPTION ...] [ARGUMENT ...]"]
    lines += [".SH DESCRIPTION", _roff(SENTENCE), ".SH OPTIONS", "Every command takes these."]
    lines += _described((one.spelling, one.help) for one in _common())
    for title, group in COMMANDS:
        lines.append(f'.SH "{title.upper()}"')
        for page in map(page_of, group):
            lines += [f'.SS "{_roff(page.usage)}"', _roff(_sentence(page.command))]
            lines += _described(
                (one.spelling, one.help) for _, options in page.groups for one in options
            )
    lines += [".SH ENVIRONMENT", *_described(VARIABLES), ".SH FILES", *_described(FILES)]
    lines += [".SH EXIT STATUS", ".nf", *map(_roff, EXIT_CODES.split("\n")), ".fi"]
    lines += [".SH SEE ALSO", _roff("'sutler COMMAND --help' explains one command.")]
    return "\n".join(lines) + "\n"


def _described(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [line for name, text in rows for line in (".TP", f".B {_roff(name)}", _roff(text))]


# llms.txt


def llms() -> str:
    """The project in one page for a model: what it is, where to read on, what it can do."""
    parts = [f"# sutler\n\n> {SENTENCE}\n", "## Documents\n"]
    parts += ["\n".join(f"- [{path}]({path}): {what}" for path, what in DOCUMENTS) + "\n"]
    parts += [
        "## Commands\n\nstdout is data, stderr is notes; `--json` and `--help` work everywhere.\n"
    ]
    parts += [
        "\n".join(f"- `{page_of(one).usage}`: {one.help}" for _, group in COMMANDS for one in group)
        + "\n"
    ]
    parts += [f"## Exit codes\n\n{' '.join(EXIT_CODES.split()).removeprefix('exit codes: ')}\n"]
    return "\n".join(parts)


PAGES = {"docs/reference.md": markdown, "docs/sutler.1": man, "llms.txt": llms}


def main(words: Sequence[str]) -> int:
    folder = words[0] if words else "."
    if not os.path.isdir(os.path.join(folder, "docs")):
        raise UsageError(
            f"{folder} has no docs folder", next_step="run it at the top of the repository"
        )
    for path, make in PAGES.items():
        with open(os.path.join(folder, path), "w", encoding="utf-8") as stream:
            stream.write(make())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
