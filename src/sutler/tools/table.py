"""The table of tools, and the call of one by name.

A new tool is one row here; `declaration.Tool` says what a row holds."""

from __future__ import annotations

from collections.abc import Mapping

from sutler.access.door import Door
from sutler.access.search import Found
from sutler.access.setup import SessionView
from sutler.access.structure import Symbol
from sutler.edits.versions import NO_CHANGE, get_diff
from sutler.edits.writer import Writer
from sutler.errors import UsageError
from sutler.pack.why import Verdict
from sutler.store.records import Listing, PatchResult, Reading, Version
from sutler.tools import context
from sutler.tools.context import PackText, RankedFile
from sutler.tools.declaration import Param, Tool, refused, run, table

_PATH = Param(
    "path",
    "string",
    "path relative to the project root",
    required=True,
    aliases=("filepath", "file_path"),
)
_GLOBS = Param(
    "globs",
    "strings",
    "only files that match one of these, as `*.py` or `src/**`",
    (),
)
_CURSOR = Param("cursor", "string", "`next` of the previous answer, to continue it", "")
_SINCE = Param(
    "since",
    "string",
    "a version you have; if it is current, the answer is `unchanged`",
    "",
    aliases=("known",),
)


def _line(name: str, help: str, alias: str) -> Param:
    aliases = (f"{name}_line", f"line_{name}", alias)
    return Param(name, "integer", help, required=True, least=1, aliases=aliases)


_BASE = Param(
    "base",
    "string",
    "the version you read; empty: the last one read in this session; `any`: do not check",
    "",
)
_REASON = Param("reason", "string", "why; recorded in the history", "")
_DRY = Param("dry_run", "boolean", "only report what would change", False)
_WRITTEN = "success, message, diff, version_id and the changed files"

TOOLS: tuple[Tool, ...] = table(
    Tool(
        name="list_files",
        effect="list",
        help="List the files you may read, sorted by path.",
        params=(_GLOBS, _CURSOR),
        returns="paths, and `next` if there are more",
        answer=Listing,
        example={"globs": ["src/**/*.py"]},
        run=Door.list_files,
        standard=True,
        slow=True,
    ),
    Tool(
        name="read_file",
        effect="read",
        help="Read a text file from its beginning.",
        params=(_PATH, _CURSOR, _SINCE),
        returns="text with its version and line numbers, and `next` if there is more",
        answer=Reading,
        example={"path": "README.md"},
        run=Door.read_file,
        standard=True,
    ),
    Tool(
        name="read_lines",
        effect="read",
        help="Read a range of lines, 1-based and inclusive.",
        params=(
            _PATH,
            _line("start", "first line, from 1", "first"),
            _line("end", "last line, inclusive", "last"),
            _SINCE,
        ),
        returns="text with its version and line numbers",
        answer=Reading,
        example={"path": "src/app.py", "start": 50, "end": 80},
        run=Door.read_lines,
        standard=True,
    ),
    Tool(
        name="get_excerpt",
        effect="read",
        help="Read the beginning and the end of a file.",
        params=(_PATH, Param("max_lines", "integer", "maximum number of lines", 80, least=1)),
        returns="text with its version; a marked line names the lines that are left out",
        answer=Reading,
        example={"path": "README.md", "max_lines": 40},
        run=Door.get_excerpt,
    ),
    Tool(
        name="search",
        effect="read",
        help="Search the files you may read for one or several queries. Secrets never match.",
        params=(
            Param(
                "queries",
                "strings",
                "texts or regular expressions to find",
                required=True,
                aliases=("query", "pattern"),
            ),
            Param(
                "kind",
                "string",
                "how queries are interpreted",
                "literal",
                choices=("literal", "regex"),
            ),
            _GLOBS,
            Param("ignore_case", "boolean", "case-insensitive search", False),
        ),
        returns="matching lines with path and line number, and the limit that ended the search",
        answer=Found,
        example={"queries": ["def main", "import argparse"], "globs": ["*.py"]},
        run=lambda door, queries, kind, globs, ignore_case: door.search(
            *queries, kind=kind, globs=globs, ignore_case=ignore_case
        ),
        standard=True,
        slow=True,
    ),
    Tool(
        name="outline",
        effect="read",
        help="List a file's definitions or headings with their line numbers.",
        params=(_PATH,),
        returns="symbols with line, level and text",
        answer=tuple[Symbol, ...],
        example={"path": "src/app.py"},
        run=Door.outline,
        standard=True,
    ),
    Tool(
        name="summarize_file",
        effect="read",
        help="Summarize a file from its structure, in at most `max_tokens` tokens.",
        params=(
            _PATH,
            Param("max_tokens", "integer", "maximum size of the summary in tokens", 400, least=1),
        ),
        returns="the summary as text",
        answer=str,
        example={"path": "src/app.py", "max_tokens": 300},
        run=Door.summarize_file,
        standard=True,
    ),
    Tool(
        name="get_diff",
        effect="read",
        help="Show what changed between two versions of a file.",
        params=(
            _PATH,
            Param("version1", "string", "the older one; empty: the newest that differs", ""),
            Param("version2", "string", "the newer one; empty: the file as it is", ""),
        ),
        returns="a unified diff, or `no change`",
        answer=str,
        example={"path": "src/app.py"},
        run=lambda door, path, version1, version2: (
            get_diff(door, path, version1 or None, version2 or None) or NO_CHANGE
        ),
        standard=True,
    ),
    Tool(
        name="get_file_history",
        effect="read",
        help="List the recorded versions of a file, newest first.",
        params=(_PATH, Param("limit", "integer", "maximum number of versions", 20, least=1)),
        returns="versions with id, digest, size, time, author and origin",
        answer=tuple[Version, ...],
        example={"path": "src/app.py"},
        run=Door.get_file_history,
        aliases=("file_history",),
    ),
    Tool(
        name="get_session",
        effect="list",
        help=(
            "Show what this session has read and written, what waits for approval, and which files"
            " changed since."
        ),
        params=(),
        returns=(
            "files with the lines that were read, edits, pending approvals, and paths whose file"
            " has changed since"
        ),
        answer=SessionView,
        example={},
        run=Door.session,
    ),
    Tool(
        name="write_file",
        effect="write",
        help="Write a whole file, append to it, or create it. Read a file before you overwrite it.",
        params=(
            _PATH,
            Param("content", "string", "the text to write", required=True),
            Param(
                "mode",
                "string",
                "truncate: replace all; append: add to the end; create: a new file",
                "truncate",
                choices=("truncate", "append", "create"),
            ),
            *(_BASE, _REASON, _DRY),
        ),
        returns=_WRITTEN,
        answer=PatchResult,
        example={"path": "notes/todo.md", "content": "- read the tests\n", "mode": "create"},
        run=Writer.write_file,
        standard=True,
    ),
    Tool(
        name="apply_patch",
        effect="write",
        help="Apply a unified diff or a *** Begin Patch block to all its files or to none.",
        params=(
            Param("patch", "string", "the patch", required=True),
            Param(
                "path",
                "string",
                "the one file to change; the patch may then be bare hunks",
                "",
                aliases=("filepath", "file_path"),
            ),
            *(_BASE, _REASON, _DRY),
        ),
        returns=_WRITTEN,
        answer=PatchResult,
        example={
            "patch": (
                "--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-debug = True\n+debug = False\n"
            )
        },
        run=Writer.apply_patch,
        standard=True,
    ),
    Tool(
        name="edit",
        effect="write",
        help="Replace a text that occurs exactly once in a file.",
        params=(
            _PATH,
            Param(
                "old",
                "string",
                "the text to replace, exactly as in the file",
                required=True,
                aliases=("old_string", "old_str", "old_text"),
            ),
            Param(
                "new",
                "string",
                "the replacement",
                required=True,
                aliases=("new_string", "new_str", "new_text"),
            ),
            *(_BASE, _REASON, _DRY),
        ),
        returns=_WRITTEN,
        answer=PatchResult,
        example={"path": "src/app.py", "old": "debug = True", "new": "debug = False"},
        run=Writer.edit,
        standard=True,
    ),
    Tool(
        name="rollback",
        effect="write",
        help="Restore the content and mode of an earlier version; this makes a new version.",
        params=(
            _PATH,
            Param("version", "string", "a version id from get_file_history", required=True),
            *(_REASON, _DRY),
        ),
        returns=_WRITTEN,
        answer=PatchResult,
        example={"path": "src/app.py", "version": "0a93b3f8836a72b011243a72c6fb43a2"},
        run=Writer.rollback,
        repeatable=True,
    ),
    Tool(
        name="pack",
        effect="read",
        help="Get the context that a task needs as one text: the most relevant files, whole or "
        "shortened, redacted, within a token limit.",
        params=(
            Param("goal", "string", "the task in plain words; files are ranked by it", ""),
            _GLOBS,
            Param(
                "max_tokens",
                "integer",
                "maximum size in tokens",
                20_000,
                least=1,
            ),
            Param("since", "string", "a git revision: what changed since comes first", ""),
            Param("diff", "boolean", "add the diff against `since` or the last commit", False),
            _CURSOR,
        ),
        returns="the text, how many files it holds and leaves out, and `next` if there is more",
        answer=PackText,
        example={"goal": "fix the login timeout", "max_tokens": 12_000},
        run=context.pack,
        standard=True,
        essential=True,
        slow=True,
    ),
    Tool(
        name="rank",
        effect="read",
        help="Rank the files by relevance to a task, with reasons.",
        params=(
            Param(
                "goal",
                "string",
                "the task: an issue, an error message, a stack trace",
                required=True,
            ),
            Param("limit", "integer", "maximum number of files", 20, least=1),
        ),
        returns="paths with score, reasons, and lines that matter",
        answer=tuple[RankedFile, ...],
        example={"goal": "TypeError in parse_date when the year is missing", "limit": 10},
        run=context.rank,
        standard=True,
        essential=True,
        slow=True,
    ),
    Tool(
        name="why",
        effect="list",
        help="Explain why a path is in a pack or left out of it, with the rule that decides.",
        params=(_PATH,),
        returns="state, reason, and the rule that decides",
        answer=Verdict,
        example={"path": "src/app.py"},
        run=context.why,
    ),
)

BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
ALIASES: Mapping[str, str] = {alias: tool.name for tool in TOOLS for alias in tool.aliases}
"""Other names that are accepted: those of seed 003 that differ from ours."""
DEFAULT: tuple[str, ...] = tuple(tool.name for tool in TOOLS if tool.standard)
"""Tools that a server lists without --tools, in the table's order."""


def call(door: Door, name: str, arguments: Mapping[str, object]) -> object:
    """Run a tool by name. Refuse unknown names and arguments, so that no misspelt check is
    skipped."""
    tool = BY_NAME.get(ALIASES.get(name, name))
    if tool is None:
        unknown = UsageError(f"no tool {name[:60]!r}", next_step=f"tools: {', '.join(BY_NAME)}")
        raise refused(door, "unknown", unknown)
    return run(door, tool, arguments)
