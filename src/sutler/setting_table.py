"""The table of settings: kind, default, help and choices of each.

`own` keys are accepted from the user's file, the environment and flags alone."""

from __future__ import annotations

from typing import Literal, get_args

from msgspec import Struct

from sutler.formats import FORMATS

Unit = Literal["tokens", "chars", "bytes"]
Mode = Literal["strict", "flexible", "ignore"]

Value = str | int | float | bool | tuple[str, ...] | None
Kind = Literal["bool", "int", "size", "share", "text", "list", "choice"]

TRANSFORMS = ("remove-comments", "remove-empty-lines", "truncate-base64")
"""Names of the transformations of clean text; `languages.transforms` gives their order."""

Tier = Literal["strong", "default", "cheap"]
TIER_CHARS: dict[Tier, int] = {"strong": 120_000, "default": 60_000, "cheap": 25_000}
"""Seed 002's tiers, in characters."""


class Key(Struct, frozen=True):
    """One setting: its kind, default and help; `own` keys are never taken from a project's file."""

    name: str
    kind: Kind
    default: Value
    help: str
    choices: tuple[str, ...] = ()
    own: bool = False


KEYS: tuple[Key, ...] = (
    Key("include", "list", (), "only files that match one of these globs; empty: every file"),
    Key("exclude", "list", (), "leave out files that match one of these globs"),
    Key("depth", "int", None, "maximum levels to descend; 0: this folder only"),
    Key("hidden", "bool", True, "scan names that begin with a dot, as git does"),
    Key("max_files", "int", None, "maximum number of files in the pack"),
    Key("max_tokens", "size", None, "budget in tokens of `counter`"),
    Key("max_chars", "size", None, "budget in characters"),
    Key(
        "max_bytes", "size", 500_000, "budget in bytes of UTF-8; applies if no other budget is set"
    ),
    Key("tier", "choice", None, "a named budget in characters", get_args(Tier)),
    Key("counter", "text", "o200k_base", "token vocabulary; `none`: no tokens are counted"),
    Key(
        "type",
        "choice",
        None,
        "full: file contents; summary: facts only; auto: full if it fits. With json: a document",
        ("auto", "full", "summary"),
    ),
    Key(
        "provider_limits",
        "list",
        (),
        "limits in bytes by provider for `type = auto`, such as anthropic=400k",
    ),
    Key("format", "choice", "markdown", "output format of the pack", tuple(FORMATS)),
    Key("line_numbers", "bool", False, "number the lines of each file"),
    Key(
        "fill", "bool", False, "with a goal: fill the budget instead of stopping at the useful part"
    ),
    Key(
        "stop",
        "share",
        None,
        "with a goal: least probability of a region that enters, from 0 to 1; default: computed",
    ),
    Key(
        "stable_order",
        "bool",
        False,
        "with a goal: files by category and path, for prompt caches; default: best first",
    ),
    Key(
        "transforms",
        "list",
        (),
        "changes to every file: remove-comments, remove-empty-lines, truncate-base64",
        TRANSFORMS,
    ),
    Key(
        "detail",
        "list",
        (),
        "how much of a file to show, as GLOB=full, GLOB=outline or GLOB=list; the first match "
        "holds",
    ),
    Key(
        "rest",
        "choice",
        "auto",
        "files that do not fit whole, or come after the stop: their outline, name, or nothing; "
        "auto: outlines without a goal if the budget is below 200,000 bytes or an eighth of the "
        "files, else names",
        ("auto", "outline", "list", "none"),
    ),
    Key(
        "cut_over",
        "size",
        50_000,
        "show only the outline of larger code, head and tail of other files, in bytes; 0: never",
    ),
    Key(
        "condense",
        "bool",
        True,
        "show notebooks as cells, tables and JSON lines as head and tail, long literals shortened",
    ),
    Key("skip_over", "size", 1_048_576, "leave out larger files, in bytes; 0: no limit"),
    Key(
        "on_decode_error",
        "choice",
        "replace",
        "bytes that are not text in any known encoding: replace them, or skip the file",
        ("replace", "skip"),
    ),
    Key(
        "mode",
        "choice",
        "flexible",
        "on a problem, strict: stop; flexible: ask about named files; ignore: record it",
        get_args(Mode),
    ),
    Key("redact", "bool", True, "replace secrets by markers before any text leaves", own=True),
    Key(
        "allow_secrets",
        "list",
        (),
        "tags of findings that are not secrets, as `sutler secrets` prints them",
        own=True,
    ),
    Key(
        "allow_lines",
        "list",
        (),
        "texts that exempt findings on their line, such as a comment",
        own=True,
    ),
    Key("default_excludes", "bool", True, "apply the built-in exclusion patterns", own=True),
    Key("allow", "list", (), "admit files that a built-in name rule leaves out", own=True),
    Key(
        "strict_patterns",
        "bool",
        False,
        "leave out every name that resembles a credential, and tracked files in build folders",
        own=True,
    ),
    Key(
        "deny",
        "list",
        (),
        "globs that agents may neither read nor write; the project's are added to the user's",
    ),
    Key(
        "ask",
        "list",
        (),
        "globs that agents may use only with approval; the project's are added to the user's",
    ),
    Key("writable", "list", (), "globs that agents may write without approval", own=True),
    Key(
        "review",
        "list",
        (),
        "program and arguments that propose a resolution of edit conflicts",
        own=True,
    ),
    Key(
        "portable_names",
        "bool",
        True,
        "allow agents to create only names that are valid on every platform",
        own=True,
    ),
    Key(
        "summary_command",
        "text",
        "",
        "program that summarizes text from stdin; empty: summaries from structure",
        own=True,
    ),
    Key(
        "processors",
        "list",
        (),
        "programs that turn files into text, as GLOB=COMMAND; a [processors] table in your own "
        "file",
        own=True,
    ),
    Key("limits", "list", (), "an agent's budget in one session, such as reads=500, tokens=200k"),
    Key(
        "project",
        "text",
        "",
        "name of the project in a store that a team shares; empty: from git's remote",
    ),
    Key(
        "goals_compat",
        "choice",
        "none",
        "rules for goals: `claw` is byte for byte; in a file: compat under [goals]",
        ("none", "claw"),
    ),
    Key(
        "commands",
        "list",
        (),
        "model commands for --to, as NAME=LINE; in a file: NAME = LINE under [commands]",
        own=True,
    ),
)
