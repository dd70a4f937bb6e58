"""A tree of paths as text, in as much detail as a limit allows; and sums per directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from sutler.paths import quote

_SHARE, _TASK_SHARE = 10, 80


class Node(Struct):
    """A directory of the drawing; `files` lie below it at any depth."""

    directories: dict[str, Node]
    names: list[str]
    files: int = 0


def build(paths: Iterable[str]) -> Node:
    """The tree of sorted paths."""
    root = Node({}, [])
    by_directory: dict[str, Node] = {"": root}
    for path in paths:
        parent, _, name = path.rpartition("/")
        node = by_directory.get(parent) or _reach(parent, by_directory)
        node.names.append(name)
    for directory, node in reversed(by_directory.items()):  # what is below stands behind
        node.files += len(node.names)
        if directory:
            by_directory[directory.rpartition("/")[0]].files += node.files
    return root


def _reach(directory: str, known: dict[str, Node]) -> Node:
    missing = []
    while directory not in known:
        above, _, name = directory.rpartition("/")
        missing.append((directory, name))
        directory = above
    node = known[directory]
    for path, name in reversed(missing):
        known[path] = node.directories[name] = node = Node({}, [])
    return node


DEEPEST = 64
"""Levels that a drawing shows; below, a directory is a count. Deeper trees exist only to
attack programs that draw them.
"""


def draw(root: Node, *, files: bool = True, depth: int = DEEPEST) -> str:
    """Directories first, each level sorted; `files=False` shows directories with their counts
    only.
    """
    drawn: list[str] = []
    shown = _Names()
    stack: list[tuple[Node | None, str, str]] = [(root, "", "")]
    while stack:
        node, prefix, text = stack.pop()
        drawn.append(text)
        if node is None or len(prefix) // 4 >= depth:
            continue
        rest = _leaves(node.names, prefix, shown) if files and node.names else ""
        folders = node.directories
        if not folders:  # most have none
            drawn.append(rest)
            continue
        if rest:
            stack.append((None, "", rest))
        counted = not files or len(prefix) // 4 + 1 >= depth
        branch, below = (
            ("├── ", "│   ") if rest else ("└── ", "    ")
        )  # of the last; the others follow
        for name in sorted(folders, reverse=True):
            child = folders[name]
            label = _count_label(child.files) if counted else ""
            stack.append((child, prefix + below, f"{prefix}{branch}{shown[name]}/{label}\n"))
            branch, below = "├── ", "│   "
    return "".join(drawn)


def _leaves(names: Sequence[str], prefix: str, shown: Mapping[str, str]) -> str:
    """A folder's files, which follow its folders, in one piece: most rows of a drawing are
    files.
    """
    if len(names) == 1:
        return f"{prefix}└── {shown[names[0]]}\n"
    *others, last = sorted(names)
    upper = "".join([f"{prefix}├── {shown[name]}\n" for name in others])
    return f"{upper}{prefix}└── {shown[last]}\n"


class _Names(dict[str, str]):
    """Names as they are shown. Most trees repeat theirs."""

    def __missing__(self, name: str) -> str:
        self[name] = shown = quote(name)
        return shown


def _count_label(files: int) -> str:
    return f" ({files:,} files)" if files != 1 else " (1 file)"


def drawing_limit(limit: int | None, *, task: bool) -> int | None:
    """What a drawing may take of a budget: one part in ten, and in eighty where a task says what
    else is wanted.
    """
    return None if limit is None else limit // (_TASK_SHARE if task else _SHARE)


def drawn_within(paths: Sequence[str], cost: Callable[[str], int], limit: int | None) -> str:
    """The most detailed drawing whose cost stays within `limit`: every file, directories only,
    fewer levels, or nothing. The dearest attempts are skipped by a look at their sheer length.
    """
    root = build(paths)
    if limit is None:
        return draw(root)
    if sum(map(len, paths)) <= limit * 8:
        full = draw(root)
        if cost(full) <= limit:
            return full
    for depth in (8, 4, 3, 2, 1):
        text = draw(root, files=False, depth=depth)
        if text and cost(text) <= limit:
            return text
    return ""
