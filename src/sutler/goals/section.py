"""Render the markdown section with the context files that follows the prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sutler.goals.claw import Claw
from sutler.goals.context_files import ContextFile
from sutler.paths import quote

HEADER = """\
# Context Files

This document contains user-provided files that are relevant to the current task.

## Purpose
This section includes files and directories specified by the user via the `--context` parameter.
The contents are formatted for easy consumption by AI systems for analysis, code review, or other \
tasks.

## Format
The content is organized as follows:
1. This summary section
2. Directory structure of included files
3. Individual file entries, each consisting of:
   - File path as a header
   - Full contents of the file in a code block

## Usage Guidelines
- These files provide additional context for the current goal
- File paths are relative to the working directory where claw was invoked
- Some files may have been excluded based on size limits, type restrictions, or configured \
exclusions
"""

_TICKS = re.compile("`+")

Tree = dict[str, "Tree | None"]
"""Names to subtrees; None is a file."""


def section(
    files: Sequence[ContextFile], claw: Claw, depth: int | None, *, compat: bool = False
) -> str:
    """Render summary, tree and files. `compat` gives the original's bytes: two blank lines before
    the notes, fences of three backticks whatever the content, and unquoted paths."""
    notes = (
        "## Notes\n"
        f"- Maximum file size: {claw.max_file_size_kb} KB\n"
        f"- Maximum files per directory: {claw.max_files_per_directory}\n"
        f"- Excluded directories: {', '.join(claw.excluded_directories)}\n"
        f"- Excluded extensions: {', '.join(claw.excluded_extensions)}\n"
        f"- Recursion depth: {'unlimited' if depth is None else depth}\n\n"
    )
    tree = draw_tree([file.path for file in files], compat=compat)
    fence = "```" if compat else _fence(tree)
    out = [HEADER, "\n\n" if compat else "\n", notes, "---\n\n## Directory Structure\n\n"]
    out += [f"{fence}\n{tree}{fence}\n\n---\n\n## Files\n\n"]
    for file in files:
        fence = "```" if compat else _fence(file.content)
        end = "" if file.content.endswith("\n") else "\n"
        title = file.path if compat else quote(file.path)
        out.append(f"### {title}\n\n{fence}\n{file.content}{end}{fence}\n\n")
    return "".join(out)


def _fence(text: str) -> str:
    """Return a fence longer than any run of backticks in `text`, so that `text` cannot close it."""
    return "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))


def draw_tree(paths: Sequence[str], *, compat: bool = False) -> str:
    """Draw the included files as a tree; directories end in `/`, names are in byte order."""
    if not paths:
        return "(no files)" if compat else "(no files)\n"
    root: Tree = {}
    for path in paths:
        *folders, name = components(path)
        here = root
        for folder in folders:
            below = here.setdefault(folder, {})
            if below is None:
                break
            here = below
        else:
            here[name] = None
    return "".join(f"{line}\n" for name, line in _roots(root, compat))


def components(path: str) -> list[str]:
    """Split a path into names: `./a//b` is `.`, `a`, `b`; an absolute path starts with `/`."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    head = ["/"] if path.startswith("/") else ["."] if path.split("/")[0] == "." else []
    return head + names


def _roots(root: Tree, compat: bool) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for label, below in _labelled(root):
        lines.append((label, label if compat else _plain(label)))
        if below is not None:
            lines += [("", line) for line in _branches(below, "", compat)]
    return lines


def _labelled(tree: Tree) -> list[tuple[str, Tree | None]]:
    labels = [(name if below is None else f"{name}/", below) for name, below in tree.items()]
    return sorted(labels, key=lambda item: item[0].encode("utf-8", "surrogateescape"))


def _branches(tree: Tree, indent: str, compat: bool) -> list[str]:
    lines: list[str] = []
    entries = _labelled(tree)
    for number, (label, below) in enumerate(entries):
        last = number == len(entries) - 1
        lines.append(f"{indent}{'└── ' if last else '├── '}{label if compat else _plain(label)}")
        if below is not None:
            lines += _branches(below, indent + ("    " if last else "│   "), compat)
    return lines


def _plain(label: str) -> str:
    """Quote a label, so that a name with a line break stays on one line."""
    return quote(label[:-1]) + "/" if label.endswith("/") else quote(label)
