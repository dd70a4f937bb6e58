"""Option spellings of other packers, each with ours.

The error for an unknown option names the spelling in this table, or the nearest option of the
command. A test compares the named options and commands with the parsers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

PEERS: dict[str, str] = {
    # repomix
    "--style": "-f, --format NAME",
    "--parsable-style": "-f xml; every format has a parser: 'sutler unpack'",
    "--remote": "sutler pack OWNER/NAME, or any git URL as PATH",
    "--remote-branch": "sutler pack OWNER/NAME@BRANCH",
    "--ignore": "-e, --exclude GLOB",
    "--ignore-patterns": "-e, --exclude GLOB",
    "--include-patterns": "-i, --include GLOB",
    "--no-gitignore": "-i does not lift ignore rules; name the files: sutler pack FILE",
    "--no-dot-ignore": "-i does not lift ignore rules; name the files: sutler pack FILE",
    "--no-default-patterns": "--no-default-excludes",
    "--stdout": "-o -, or no -o: stdout is the default",
    "--output-show-line-numbers": "-n, --line-numbers",
    "--header-text": "--header TEXT",
    "--instruction-file-path": "--instructions FILE",
    "--instruction-file": "--instructions FILE",
    "--include-diffs": "--diff",
    "--include-logs": "--log N",
    "--include-logs-count": "--log N",
    "--split-output": "--split SIZE",
    "--token-count-encoding": "--counter NAME",
    "--token-count-tree": "sutler tree",
    "--top-files-len": "sutler tree; the summary names the largest files",
    "--no-security-check": "--no-redact",
    "--security-check": "sutler secrets; every pack is redacted unless --no-redact is given",
    "--no-file-summary": "-f plain",
    "--no-directory-structure": "-f plain",
    "--no-files": "sutler tree",
    "--config": "sutler config; settings are in sutler.toml",
    "--init": "sutler init",
    "--global": "sutler init --user",
    "--mcp": "sutler mcp",
    "--verbose": "not needed: notes go to stderr, --json prints every figure",
    "--skill-generate": "sutler mcp skill",
    "-c": "-f claude, --counter NAME or --copy",
    "-v": "-V, --version",
    # gitingest
    "--max-size": "--skip-over SIZE leaves out larger files; --max-bytes N limits the pack",
    "--exclude-pattern": "-e, --exclude GLOB",
    "--include-pattern": "-i, --include GLOB",
    "--branch": "sutler pack OWNER/NAME@BRANCH",
    "--include-gitignored": "sutler pack FILE; naming a file lifts ignore rules",
    "--include-submodules": "sutler pack FOLDER; a submodule is packed when it is named",
    "-s": "--skip-over SIZE",
    "-b": "sutler pack OWNER/NAME@BRANCH",
    "--token": "sutler pack URL with ssh, or a clone of your own: no credentials are read",
    # code2prompt
    "--tokens": "--max-tokens N; 'sutler tokens' prints the number",
    "--encoding": "--counter NAME",
    "--output-file": "-o, --output FILE",
    "-O": "-o, --output FILE",
    "-F": "-f, --format NAME",
    "-l": "-n, --line-numbers",
    "-t": "--template FILE or --max-tokens N",
    "--output-format": "-f, --format NAME",
    "--full-directory-tree": "sutler tree",
    "--git-diff-branch": "--since REV --diff",
    "--git-log-branch": "--log N",
    "--line-number": "-n, --line-numbers",
    "--no-clipboard": "nothing is copied unless --copy is given",
    "--clipboard": "--copy",
    "--token-map": "sutler tree --bars",
    "--include-files": "sutler pack FILE",
    "--exclude-files": "-e, --exclude GLOB",
    "--include-priority": "sutler pack FILE; a file that is named bypasses ignore rules",
    "--hidden": "not needed: dotfiles are scanned, --no-hidden leaves them out",
    "--no-ignore": "sutler pack FILE; naming a file lifts ignore rules",
    "--no-codeblock": "-f plain",
    "--sort": "not needed: the order is fixed, and by rank in 'sutler rank'",
    "--follow-symlinks": "not needed: links are never followed; name the target",
    "--absolute-paths": "not needed: no path of this machine leaves",
    "--relative-paths": "not needed: paths are always relative to the project",
    # files-to-prompt
    "--extension": "-i '*.EXT'",
    "--ext": "-i '*.EXT'",
    "--lang": "-i '*.EXT'",
    "--language": "-i '*.EXT'",
    "-m": "-f markdown",
    "--include-hidden": "not needed: dotfiles are scanned, --no-hidden leaves them out",
    "--ignore-gitignore": "sutler pack FILE; naming a file lifts ignore rules",
    "--ignore-files-only": "-e, --exclude GLOB; a trailing slash means a folder",
    "--cxml": "-f claude",
    "--xml": "-f xml",
    "--markdown": "-f markdown",
    "--null": "--stdin; it reads NUL-separated names by itself",
    # yek
    "--output-dir": "-o, --output FILE",
    "--output-template": "--template FILE",
    "--unignore-patterns": "sutler pack FILE; naming a file lifts ignore rules",
    "--tree-only": "sutler tree",
    "--files-from": "--stdin < LIST",
    "--budget": "--max-tokens N",
    "--limit": "--max-tokens N",
    "--max": "--max-tokens N",
    "-x": "-e, --exclude GLOB",
    "--tree-header": "not needed: the tree is drawn unless -f plain is given",
    "--config-file": "sutler config; settings are in sutler.toml",
    "--debug": "--json",
    # llm, aider
    "--fragment": "sutler pack FILE",
    "--map-tokens": "--type summary --max-tokens N",
    "--read": "sutler pack FILE",
    "--model": "--counter NAME",
    "--system": "--header TEXT",
    "--prompt": "--goal TEXT",
    "-g": "--goal TEXT",
    "--task-text": "--goal TEXT",
}
"""Spelling elsewhere -> spelling here."""
VERBS = {
    "ask": "run",
    "cat": "read",
    "chat": "run",
    "clean": "cache clear",
    "copy": "pack --copy",
    "find": "search",
    "grep": "search",
    "gui": "ui",
    "ingest": "pack",
    "remote": "pack OWNER/NAME",
    "revert": "rollback",
    "show": "read",
    "status": "session",
    "undo": "rollback",
    "version": "--version",
    "view": "read",
    "web": "ui",
}
"""Commands of other programs -> ours."""


def answer(option: str, options: Iterable[str]) -> str:
    """Return the replacement for an option that the command lacks; "" if unknown."""
    spelling = option.partition("=")[0]
    if ours := PEERS.get(spelling):
        return ours if ours.startswith("not needed") else f"here it is {ours}"
    # Compared without the hyphens, which all of them share.
    names = {option.lstrip("-"): option for option in options}
    close = difflib.get_close_matches(spelling.lstrip("-"), list(names), n=1, cutoff=0.65)
    return f"did you mean {names[close[0]]}?" if close else ""


def command(word: str, commands: Iterable[str]) -> str:
    """Return the replacement for a first word that is no command."""
    if ours := VERBS.get(word):
        return f"here it is 'sutler {ours}'"
    close = difflib.get_close_matches(word, list(commands), n=1)
    return f"did you mean 'sutler {close[0]}'?" if close else "see 'sutler --help'"
