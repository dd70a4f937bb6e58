"""The table of commands, by group: name, module, and a sentence about the command.

The module holds `configure_<name>(parser)` and `run_<name>(args, console) -> exit code`. Rows are
plain tuples, because `--help` prints them without importing typing."""

from __future__ import annotations

Command = tuple[str, str, str]

COMMANDS: tuple[tuple[str, tuple[Command, ...]], ...] = (
    (
        "Pack",
        (
            ("pack", "pack", "make one pack of a project, to stdout or -o FILE"),
            ("unpack", "unpack", "write the files of a pack back into a directory"),
            ("secrets", "secrets", "list the secrets that a pack redacts, masked"),
            ("receipt", "secrets", "list, show and verify receipts of packs"),
            (
                "diff-packs",
                "packs",
                "list the files that entered, left or changed between two packs",
            ),
            ("contract", "contract", "check a change against a task's file contract"),
            ("pick", "pick", "choose files on the terminal, then list, pack or copy them"),
            ("tokens", "pack", "print the number of tokens of a pack, without the pack"),
        ),
    ),
    (
        "Inspect",
        (
            (
                "scan",
                "inspection",
                "list the files that a scan admits, or the exclusions with their rules",
            ),
            ("tree", "inspection", "show tokens for each directory and file"),
            ("why", "inspection", "explain why a path is in a pack or out of it"),
            ("rank", "ranking", "rank the files for a task, with reasons"),
            (
                "outline",
                "ranking",
                "show imports, signatures and first documentation lines of a file",
            ),
        ),
    ),
    (
        "Report",
        (
            ("report", "report", "write an HTML page that shows how a pack uses its budget"),
            (
                "ui",
                "ui",
                "serve that page live on this machine: select files, approve calls, read the"
                " ledger",
            ),
        ),
    ),
    (
        "Read and write files as an agent does",
        (
            ("ls", "door", "list the files that may be read"),
            ("read", "door", "read a file or lines of it: PATH or PATH:A-B"),
            ("search", "door", "search the text of all files, redacted"),
            ("summarize", "door", "summarize a file from its structure"),
            ("write", "writing", "write a file from stdin: whole, appended or new"),
            ("patch", "writing", "apply a patch from a file or stdin, to all its files or none"),
            ("edit", "writing", "replace a text that occurs exactly once in a file"),
            (
                "apply",
                "writing",
                "apply a model's chat reply: files, diffs and edit blocks, all or none",
            ),
            ("diff", "writing", "show changes between two versions, or since one"),
            ("history", "writing", "list the stored versions of a file"),
            (
                "rollback",
                "writing",
                "restore an earlier version of a file, or undo a call or a session",
            ),
            ("replay", "writing", "repeat a session's writes on a copy"),
            ("session", "door", "show the files that this session has read, and which are stale"),
        ),
    ),
    (
        "Agents",
        (
            (
                "mcp",
                "agents",
                "serve tools to agents over stdio or HTTP; 'mcp install' configures a client",
            ),
            ("call", "agents", "call one tool with JSON arguments"),
        ),
    ),
    (
        "Many repositories",
        (
            ("fleet", "fleet", "index, check, survey, pack and search many repositories"),
            ("worker", "fleet", "do units of a fleet's queue on this machine"),
        ),
    ),
    (
        "A team",
        (
            ("store", "shared_store", "make, move and back up a store, and name its members"),
            ("serve", "serve", "serve the projects of a store to its members over HTTP"),
            ("token", "shared_store", "make, list and revoke tokens for HTTP"),
        ),
    ),
    (
        "Ledger",
        (
            ("log", "ledger", "show, export or rotate the ledger"),
            ("verify", "ledger", "check the ledger for changes, or a pack against its files"),
            ("approve", "ledger", "approve one pending call, exactly as it was made"),
            ("deny", "ledger", "deny one pending call"),
            ("stats", "ledger", "count calls by tool and outcome, and usage by caller"),
        ),
    ),
    (
        "Goals",
        (
            ("run", "goals", "render a goal with files and send it to a model command"),
            ("dry-run", "goals", "print the prompt that 'run' would send"),
            ("goals", "goal_list", "list, show and add goals"),
            ("gather", "gather_command", "let a model request the files it needs, in rounds"),
            ("pass", "goals", "run the model command without a prompt"),
            ("trust", "goal_list", "allow this project's own scripts and model command to run"),
        ),
    ),
    (
        "Set up",
        (
            ("config", "setup", "print every setting with its value and origin"),
            ("init", "setup", "write a commented sutler.toml"),
            ("schema", "setup", "print a JSON Schema of a document or of the tools"),
            ("doctor", "setup", "check this installation and this machine"),
            ("cache", "cache", "show the size of the cache, or clear it"),
            ("completion", "setup", "print a completion script for a shell"),
        ),
    ),
)

BY_NAME = {command[0]: command for _, group in COMMANDS for command in group}

EXIT_CODES = (
    "exit codes: 0 done, 1 failure, 2 usage or config, 3 refused (limit, strict\n"
    "            mode, budget, secret, nothing to pack), 4 conflict, 5 denied or\n"
    "            approval needed, 6 the model command failed, 130 interrupted"
)
