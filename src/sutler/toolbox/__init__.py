"""Every verb the outside may say, declared once: name, effect, parameters, result and function.

The fronts, the agents' protocol and the documentation are all made from this table. Descriptions are constants: nothing
from a project ever becomes part of one.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from sutler.access.door import Door
from sutler.access.writing import Writer
from sutler.toolbox import context
from sutler.toolbox.opening import Opener, open_door, open_doors, open_store, rules_from
from sutler.values.access import Call, Effect
from sutler.values.errors import UsageError
from sutler.values.paths import ROOT

__all__ = [
    "BY_NAME", "TOOLS", "Opener", "Param", "Tool", "call", "checked", "open_door", "open_doors", "open_store",
    "rules_from", "schema",
]  # fmt: skip

ParamType = Literal["string", "integer", "boolean", "strings"]


class Param(Struct, frozen=True):
    name: str
    type: ParamType
    help: str
    default: str | int | bool | tuple[str, ...] | None = None
    required: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None


class Tool(Struct, frozen=True):
    """`run` gets the door and the checked arguments, every parameter present."""

    name: str
    effect: Effect
    help: str
    params: tuple[Param, ...]
    returns: str
    example: Mapping[str, object]
    run: Callable[[Door, dict[str, Any]], object]


_PATH = Param("path", "string", "a path relative to the project, as list_files shows it", required=True)
_GLOBS = Param("globs", "strings", "only files that match one: `*.py` at any depth, `src/**/x` from the top", ())
_KNOWN = Param("known", "string", "the version you already hold; the answer may then be: unchanged", "")

TOOLS: tuple[Tool, ...] = (
    Tool(
        "list_files",
        "list",
        "List the files that may be read, sorted by path. A long list comes in parts: pass `next` as `cursor`.",
        (_GLOBS, Param("cursor", "string", "where the last answer left off: its `next`", "")),
        "paths, how many problems the scan met, for a person how many policy withheld, and `next` when there are more",
        {"globs": ["src/**/*.py"]},
        lambda door, given: door.list_files(given["globs"], cursor=given["cursor"]),
    ),
    Tool(
        "read_file",
        "read",
        "Read a text file from its beginning. A long file comes in parts: pass the answer's `next` as `cursor`.",
        (_PATH, Param("cursor", "string", "where the last answer left off", ""), _KNOWN),
        "text with its version, first and last line, total lines, and `next` when there is more",
        {"path": "README.md"},
        lambda door, given: door.read_file(given["path"], cursor=given["cursor"], known=given["known"]),
    ),
    Tool(
        "read_lines",
        "read",
        "Read a range of lines, 1-based and inclusive.",
        (
            _PATH,
            Param("start", "integer", "first line, from 1", required=True, least=1),
            Param("end", "integer", "last line, included", required=True, least=1),
            _KNOWN,
        ),
        "text with its version, first and last line and total lines",
        {"path": "src/app.py", "start": 50, "end": 80},
        lambda door, given: door.read_lines(given["path"], given["start"], given["end"], known=given["known"]),
    ),
    Tool(
        "get_excerpt",
        "read",
        "Read a file's beginning and end in few lines.",
        (_PATH, Param("max_lines", "integer", "at most this many lines", 80, least=1)),
        "text with its version; a marked line says what was left out",
        {"path": "README.md", "max_lines": 40},
        lambda door, given: door.get_excerpt(given["path"], given["max_lines"]),
    ),
    Tool(
        "search",
        "read",
        "Search the text of all files that may be read. Secrets cannot be found, since only redacted text is searched.",
        (
            Param("query", "string", "what to look for", required=True),
            Param("kind", "string", "how to read the query", "literal", choices=("literal", "regex")),
            _GLOBS,
            Param("ignore_case", "boolean", "whether case matters not", False),
        ),
        "hits with path, line and text, how many files were searched or skipped, and which bound ended it",
        {"query": "def main", "globs": ["*.py"]},
        lambda door, given: door.search(
            given["query"], kind=given["kind"], globs=given["globs"], ignore_case=given["ignore_case"]
        ),
    ),
    Tool(
        "outline",
        "read",
        "List a file's definitions or headings with their lines.",
        (_PATH,),
        "symbols with line, level and text",
        {"path": "src/app.py"},
        lambda door, given: door.outline(given["path"]),
    ),
    Tool(
        "summarize_file",
        "read",
        "Say what a file is and holds in at most `max_tokens` tokens, from its structure.",
        (_PATH, Param("max_tokens", "integer", "size of the summary", 400, least=1)),
        "the summary as text",
        {"path": "src/app.py", "max_tokens": 300},
        lambda door, given: door.summarize_file(given["path"], given["max_tokens"]),
    ),
    Tool(
        "get_diff",
        "read",
        "Show what changed between two known versions of a file, or from one to the file as it is now.",
        (
            _PATH,
            Param("version1", "string", "the older version; missing: the newest that differs", ""),
            Param("version2", "string", "the newer version; missing: the file as it is", ""),
        ),
        "a unified diff, empty when nothing changed",
        {"path": "src/app.py"},
        lambda door, given: door.get_diff(given["path"], given["version1"] or None, given["version2"] or None),
    ),
    Tool(
        "get_file_history",
        "read",
        "List the known versions of a file, newest first.",
        (_PATH, Param("limit", "integer", "at most this many", 20, least=1)),
        "versions with id, digest, size, time, author and origin",
        {"path": "src/app.py"},
        lambda door, given: door.get_file_history(given["path"], given["limit"]),
    ),
    Tool(
        "get_session",
        "list",
        "Show what this session has read and written, what waits for approval, and what is out of date.",
        (),
        "buffers with their lines, edits, waiting approvals, paths whose file has moved on",
        {},
        lambda door, given: door.session(),
    ),
)
_BASE = Param("base", "string", "the version you read; missing: what this session last saw; `any`: what is there", "")
_REASON = Param("reason", "string", "why, for the history", "")
_DRY = Param("dry_run", "boolean", "only say what would change", False)
_DONE = "success, message, diff, version_id, merged, and digests and sizes of each file before and after"

TOOLS += (
    Tool(
        "write_file",
        "write",
        "Write a whole file, append to it, or create it. To overwrite, read it first.",
        (
            _PATH,
            Param("content", "string", "the text", required=True),
            Param("mode", "string", "what to do", "truncate", choices=("truncate", "append", "create")),
            *(_BASE, _REASON, _DRY),
        ),
        _DONE,
        {"path": "notes/todo.md", "content": "- read the tests\n", "mode": "create"},
        lambda door, given: Writer(door).write_file(given.pop("path"), given.pop("content"), **given),
    ),
    Tool(
        "apply_patch",
        "write",
        "Apply a unified diff, or a patch between *** Begin Patch and *** End Patch, to all its files or to none.",
        (
            Param("patch", "string", "the patch", required=True),
            Param("path", "string", "the only file it may be about", ""),
            *(_BASE, _REASON, _DRY),
        ),
        _DONE,
        {"patch": "--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-debug = True\n+debug = False\n"},
        lambda door, given: Writer(door).apply_patch(given.pop("patch"), **given),
    ),
    Tool(
        "edit",
        "write",
        "Replace a text that stands exactly once in a file.",
        (
            _PATH,
            Param("old", "string", "the text as it is", required=True),
            Param("new", "string", "the text as it shall be", required=True),
            *(_BASE, _REASON, _DRY),
        ),
        _DONE,
        {"path": "src/app.py", "old": "debug = True", "new": "debug = False"},
        lambda door, given: Writer(door).edit(given.pop("path"), given.pop("old"), given.pop("new"), **given),
    ),
    Tool(
        "rollback",
        "write",
        "Give a file the bytes and mode of an earlier version; this is a new version.",
        (_PATH, Param("version", "string", "a version from get_file_history", required=True), _REASON, _DRY),
        _DONE,
        {"path": "src/app.py", "version": "0a93b3f8836a72b011243a72c6fb43a2"},
        lambda door, given: Writer(door).rollback(given.pop("path"), given.pop("version"), **given),
    ),
)
TOOLS += (
    Tool(
        "pack",
        "read",
        "Get what a task needs in one text inside a budget: the files that matter most, whole or shortened, redacted.",
        (
            Param("goal", "string", "the task in plain words; it ranks the files", ""),
            _GLOBS,
            Param("max_tokens", "integer", "the budget; a pack larger than one answer comes in parts", 20_000, least=1),
            Param("since", "string", "put files changed since this git revision first", ""),
            Param("diff", "boolean", "add the diff against `since`, or against the last commit", False),
            Param("cursor", "string", "where the last answer left off: its `next`", ""),
        ),
        "the text, its id, tokens, how many files are in it or left out for the budget, and `next` when there is more",
        {"goal": "fix the login timeout", "max_tokens": 12_000},
        lambda door, given: context.pack(door, **given),
    ),
    Tool(
        "rank",
        "read",
        "Rank the files by what they have to do with a task, each with its reasons. Read the first few of them next.",
        (
            Param("goal", "string", "the task: an issue, an error message, a stack trace", required=True),
            Param("limit", "integer", "at most this many files", 20, least=1),
        ),
        "paths with score, reasons, and lines that the task itself names",
        {"goal": "TypeError in parse_date when the year is missing", "limit": 10},
        lambda door, given: context.rank(door, given["goal"], given["limit"]),
    ),
    Tool(
        "why",
        "list",
        "Say why a path would be in a pack or stay out of it, naming the rule.",
        (_PATH,),
        "state, reason, and the rule that decided",
        {"path": "src/app.py"},
        lambda door, given: context.why(door, given["path"]),
    ),
)
BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


def call(door: Door, name: str, arguments: Mapping[str, object]) -> object:
    """Run a tool by name. Unknown names and arguments are errors, so that a misspelt check is never skipped."""
    try:
        tool = BY_NAME.get(name)
        if tool is None:
            raise UsageError(f"no tool {name[:60]!r}", next_step=f"tools: {', '.join(BY_NAME)}")
        given = checked(tool, arguments)
    except UsageError as wrong:  # turned away before there was a call, and still in the ledger
        attempt = Call(id=secrets.token_hex(16), tool=name if name in BY_NAME else "unknown", effect="list", path=ROOT)
        door.gate.refused(attempt, "arguments", wrong.what)
        raise door.gate.cleaned(wrong) from None
    return tool.run(door, given)


def checked(tool: Tool, arguments: Mapping[str, object]) -> dict[str, Any]:
    """The arguments with defaults filled in, each of its type."""
    names = [param.name for param in tool.params]
    if unknown := sorted(str(name)[:60] for name in arguments if name not in names):
        raise UsageError(f"{tool.name} has no argument {unknown[0]!r}", next_step=f"arguments: {', '.join(names)}")
    given: dict[str, Any] = {}
    for param in tool.params:
        if param.name not in arguments:
            if param.required:
                raise UsageError(f"{tool.name} needs {param.name!r}", next_step=param.help)
            given[param.name] = param.default
        else:
            given[param.name] = _typed(tool, param, arguments[param.name])
    return given


_TYPES: dict[str, type] = {"string": str, "integer": int, "boolean": bool}


def _typed(tool: Tool, param: Param, value: object) -> object:
    what = f"{tool.name}: {param.name}"
    if param.type == "strings":
        if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
            return tuple(value)
        raise UsageError(f"{what} is not a list of strings")
    if type(value) is not _TYPES[param.type]:  # bool is an int to isinstance
        raise UsageError(f"{what} is not of type {param.type}")
    if param.choices and value not in param.choices:
        raise UsageError(f"{what} is not one of {', '.join(param.choices)}")
    if param.least is not None and isinstance(value, int) and value < param.least:
        raise UsageError(f"{what} is less than {param.least}")
    return value


def schema(tool: Tool) -> dict[str, object]:
    """A tool's parameters as a JSON Schema that admits nothing else."""
    properties: dict[str, object] = {}
    for param in tool.params:
        body: dict[str, object] = {"description": param.help}
        if param.type == "strings":
            body |= {"type": "array", "items": {"type": "string"}}
        else:
            body |= {"type": param.type}
        if param.choices:
            body["enum"] = list(param.choices)
        if param.least is not None:
            body["minimum"] = param.least
        if not param.required:
            body["default"] = msgspec.to_builtins(param.default)
        properties[param.name] = body
    required = [param.name for param in tool.params if param.required]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
