"""The table of tools. A new tool is one row here; `declaration.Tool` says what a row holds."""

from __future__ import annotations

from sutler.access.outline import Symbol
from sutler.access.search import Found
from sutler.access.setup import SessionView
from sutler.edits.writer import Writer
from sutler.pack.why import Verdict
from sutler.store.records import Listing, PatchResult, Reading, Version
from sutler.tools import context
from sutler.tools.context import PackText, RankedFile
from sutler.tools.declaration import Param, Tool, table

_PATH = Param(
    "path", "string", "path relative to the project root, as list_files returns it", required=True
)
_GLOBS = Param(
    "globs",
    "strings",
    "only files that match one of these: `*.py` at any depth, `src/**/x` from the root",
    (),
)
_CURSOR = Param("cursor", "string", "continue a long answer: `next` of the previous answer", "")
_KNOWN = Param(
    "known",
    "string",
    "the version you already have; if it is current, the answer is `unchanged`",
    "",
)
_BASE = Param(
    "base",
    "string",
    "the version you read; empty: the last one this session read; `any`: overwrite whatever is there",
    "",
)
_REASON = Param("reason", "string", "why you make this change; recorded in the history", "")
_DRY = Param("dry_run", "boolean", "only report what would change", False)
_WRITTEN = "success, message, diff, version_id, merged, and digests and sizes of each file before and after"

TOOLS: tuple[Tool, ...] = table(
    Tool(
        name="list_files",
        effect="list",
        help="List the files you may read, sorted by path. For a long list, pass `next` as `cursor`.",
        params=(_GLOBS, _CURSOR),
        returns="paths, the number of problems during the scan, for a person the number of files "
        "that policy "
        "withheld, and `next` if there are more",
        answer=Listing,
        example={"globs": ["src/**/*.py"]},
        run=lambda door, args: door.list_files(args["globs"], cursor=args["cursor"]),
        standard=True,
    ),
    Tool(
        name="read_file",
        effect="read",
        help="Read a text file from its beginning. For a long file, pass the answer's `next` as `cursor`.",
        params=(_PATH, _CURSOR, _KNOWN),
        returns="text with its version, first and last line, total lines, and `next` if there is more",
        answer=Reading,
        example={"path": "README.md"},
        run=lambda door, args: door.read_file(
            args["path"], cursor=args["cursor"], known=args["known"]
        ),
        standard=True,
    ),
    Tool(
        name="read_lines",
        effect="read",
        help="Read a range of lines, 1-based and inclusive.",
        params=(
            _PATH,
            Param("start", "integer", "first line, from 1", required=True, least=1),
            Param("end", "integer", "last line, inclusive", required=True, least=1),
            _KNOWN,
        ),
        returns="text with its version, first and last line and total lines",
        answer=Reading,
        example={"path": "src/app.py", "start": 50, "end": 80},
        run=lambda door, args: door.read_lines(
            args["path"], args["start"], args["end"], known=args["known"]
        ),
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
        run=lambda door, args: door.get_excerpt(args["path"], args["max_lines"]),
    ),
    Tool(
        name="search",
        effect="read",
        help="Search the text of all files you may read. Only redacted text is searched, so secrets never match.",
        params=(
            Param("query", "string", "the text or regular expression to find", required=True),
            Param(
                "kind",
                "string",
                "how the query is interpreted",
                "literal",
                choices=("literal", "regex"),
            ),
            _GLOBS,
            Param("ignore_case", "boolean", "case-insensitive search", False),
        ),
        returns="matches with path, line and text, how many files were searched or skipped, and "
        "the limit that "
        "ended the search, if one did",
        answer=Found,
        example={"query": "def main", "globs": ["*.py"]},
        run=lambda door, args: door.search(
            args["query"], kind=args["kind"], globs=args["globs"], ignore_case=args["ignore_case"]
        ),
    ),
    Tool(
        name="outline",
        effect="read",
        help="List a file's definitions or headings with their line numbers.",
        params=(_PATH,),
        returns="symbols with line, level and text",
        answer=tuple[Symbol, ...],
        example={"path": "src/app.py"},
        run=lambda door, args: door.outline(args["path"]),
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
        run=lambda door, args: door.summarize_file(args["path"], args["max_tokens"]),
        standard=True,
    ),
    Tool(
        name="get_diff",
        effect="read",
        help="Show the changes between two recorded versions of a file, or from one to its current content.",
        params=(
            _PATH,
            Param(
                "version1", "string", "the older version; empty: the newest one that differs", ""
            ),
            Param("version2", "string", "the newer version; empty: the file's current content", ""),
        ),
        returns="a unified diff, empty if nothing changed",
        answer=str,
        example={"path": "src/app.py"},
        run=lambda door, args: door.get_diff(
            args["path"], args["version1"] or None, args["version2"] or None
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
        run=lambda door, args: door.get_file_history(args["path"], args["limit"]),
        standard=True,
    ),
    Tool(
        name="get_session",
        effect="list",
        help="Show what this session has read and written, what waits for approval, and which files changed since.",
        params=(),
        returns="files with the lines that were read, edits, pending approvals, and paths whose file has changed since",
        answer=SessionView,
        example={},
        run=lambda door, args: door.session(),
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
                "truncate: replace the whole content; append: add to the end; create: only if the file is new",
                "truncate",
                choices=("truncate", "append", "create"),
            ),
            *(_BASE, _REASON, _DRY),
        ),
        returns=_WRITTEN,
        answer=PatchResult,
        example={"path": "notes/todo.md", "content": "- read the tests\n", "mode": "create"},
        run=lambda door, args: Writer(door).write_file(
            args.pop("path"), args.pop("content"), **args
        ),
        standard=True,
    ),
    Tool(
        name="apply_patch",
        effect="write",
        help="Apply a unified diff, or a patch between *** Begin Patch and *** End Patch, to all its files or to none.",
        params=(
            Param("patch", "string", "the patch", required=True),
            Param("path", "string", "the only file that the patch may change; empty: any", ""),
            *(_BASE, _REASON, _DRY),
        ),
        returns=_WRITTEN,
        answer=PatchResult,
        example={
            "patch": "--- a/src/app.py\n+++ b/src/app.py\n@@ -1 +1 @@\n-debug = True\n+debug = False\n"
        },
        run=lambda door, args: Writer(door).apply_patch(args.pop("patch"), **args),
        standard=True,
    ),
    Tool(
        name="edit",
        effect="write",
        help="Replace a text that occurs exactly once in a file.",
        params=(
            _PATH,
            Param("old", "string", "the text to replace, exactly as in the file", required=True),
            Param("new", "string", "the replacement", required=True),
            *(_BASE, _REASON, _DRY),
        ),
        returns=_WRITTEN,
        answer=PatchResult,
        example={"path": "src/app.py", "old": "debug = True", "new": "debug = False"},
        run=lambda door, args: Writer(door).edit(
            args.pop("path"), args.pop("old"), args.pop("new"), **args
        ),
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
        run=lambda door, args: Writer(door).rollback(args.pop("path"), args.pop("version"), **args),
        standard=True,
        repeatable=True,
    ),
    Tool(
        name="pack",
        effect="read",
        help="Get the context that a task needs as one text within a token limit: the most "
        "relevant files, whole or "
        "shortened, redacted.",
        params=(
            Param("goal", "string", "the task in plain words; files are ranked by it", ""),
            _GLOBS,
            Param(
                "max_tokens",
                "integer",
                "maximum size in tokens; a pack larger than one answer is returned in parts",
                20_000,
                least=1,
            ),
            Param("since", "string", "put files changed since this git revision first", ""),
            Param(
                "diff", "boolean", "add the diff against `since`, or against the last commit", False
            ),
            _CURSOR,
        ),
        returns="the text, its id and tokens, how many files it holds, how many the limit left "
        "out, and `next` if "
        "there is more",
        answer=PackText,
        example={"goal": "fix the login timeout", "max_tokens": 12_000},
        run=lambda door, args: context.pack(door, **args),
        standard=True,
    ),
    Tool(
        name="rank",
        effect="read",
        help="Rank the files by relevance to a task, with reasons. Read the first few of them next.",
        params=(
            Param(
                "goal",
                "string",
                "the task: an issue, an error message, a stack trace",
                required=True,
            ),
            Param("limit", "integer", "maximum number of files", 20, least=1),
        ),
        returns="paths with score, reasons, and the lines that the task names",
        answer=tuple[RankedFile, ...],
        example={"goal": "TypeError in parse_date when the year is missing", "limit": 10},
        run=lambda door, args: context.rank(door, args["goal"], args["limit"]),
        standard=True,
    ),
    Tool(
        name="why",
        effect="list",
        help="Explain why a path is in a pack or left out of it, with the rule that decides.",
        params=(_PATH,),
        returns="state, reason, and the rule that decides",
        answer=Verdict,
        example={"path": "src/app.py"},
        run=lambda door, args: context.why(door, args["path"]),
        standard=True,
    ),
)
