"""Draw a tree of paths as text, in as much detail as a limit allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from sutler.paths import quote

_SHARE, _TASK_SHARE = 10, 80  # a map of names helps little beside the lines of a task
_SAMPLE = 200  # rows that estimate the cost of a drawing


class Node(Struct):
    """A directory of the drawing; `files` lie below it at any depth."""

    directories: dict[str, Node]
    names: list[str]
    files: int = 0


def build(paths: Iterable[str]) -> Node:
    """Build the tree of sorted paths."""
    root = Node({}, [])
    by_directory: dict[str, Node] = {"": root}
    for path in paths:
        parent, _, name = path.rpartition("/")
        node = by_directory.get(parent) or _reach(parent, by_directory)
        node.names.append(name)
    for directory, node in reversed(by_directory.items()):  # children come after parents
        node.files += len(node.names)
        if directory:
            by_directory[directory.rpartition("/")[0]].files += node.files
    return root


def _reach(directory: str, cached: dict[str, Node]) -> Node:
    missing = []
    while directory not in cached:
        above, _, name = directory.rpartition("/")
        missing.append((directory, name))
        directory = above
    node = cached[directory]
    for path, name in reversed(missing):
        cached[path] = node.directories[name] = node = Node({}, [])
    return node


DEEPEST = 64
"""Levels that a drawing shows; below, a directory is a count. Deeper trees exist only to
attack programs that draw them."""


def draw(root: Node, *, files: bool = True, depth: int = DEEPEST) -> str:
    """Draw directories before files, each level sorted. `files=False` draws only directories, with
    their counts."""
    drawn: list[str] = []
    quoted = _Names()
    stack: list[tuple[Node | None, str, str]] = [(root, "", "")]
    while stack:
        node, prefix, text = stack.pop()
        drawn.append(text)
        if node is None or len(prefix) // 4 >= depth:
            continue
        rest = _leaves(node.names, prefix, quoted) if files and node.names else ""
        folders = node.directories
        if not folders:  # the usual case
            drawn.append(rest)
            continue
        if rest:
            stack.append((None, "", rest))
        counted = not files or len(prefix) // 4 + 1 >= depth
        # For the last folder, which is pushed first; the loop sets those of the others.
        branch, below = ("├── ", "│   ") if rest else ("└── ", "    ")
        for name in sorted(folders, reverse=True):
            child = folders[name]
            label = _count_label(child.files) if counted else ""
            stack.append((child, prefix + below, f"{prefix}{branch}{quoted[name]}/{label}\n"))
            branch, below = "├── ", "│   "
    return "".join(drawn)


def _leaves(names: Sequence[str], prefix: str, quoted: Mapping[str, str]) -> str:
    """Draw the files of a folder in one piece, for speed: most rows of a drawing are files."""
    if len(names) == 1:
        return f"{prefix}└── {quoted[names[0]]}\n"
    *others, last = sorted(names)
    upper = "".join([f"{prefix}├── {quoted[name]}\n" for name in others])
    return f"{upper}{prefix}└── {quoted[last]}\n"


class _Names(dict[str, str]):
    """Cache of quoted names; most trees repeat names."""

    def __missing__(self, name: str) -> str:
        self[name] = quoted = quote(name)
        return quoted


def _count_label(files: int) -> str:
    return f" ({files:,} files)" if files != 1 else " (1 file)"


def drawing_limit(limit: int | None, *, task: bool) -> int | None:
    """Return the share of a budget for a drawing: 1/10, and 1/80 in a pack for a task."""
    return None if limit is None else limit // (_TASK_SHARE if task else _SHARE)


def drawn_within(paths: Sequence[str], cost: Callable[[str], int], limit: int | None) -> str:
    """Return the most detailed drawing within `limit`: every file, directories only, fewer levels,
    or nothing. A drawing that is far too long by an estimate is skipped, as in most large trees."""
    root = build(paths)
    if limit is None:
        return draw(root)
    if _may_fit(paths, cost, limit):
        full = draw(root)
        if cost(full) <= limit:
            return full
    for depth in (8, 4, 3, 2, 1):
        if not _may_fit(_folders(root, depth), cost, limit):
            continue
        text = draw(root, files=False, depth=depth)
        if text and cost(text) <= limit:
            return text
    return ""


def _may_fit(paths: Sequence[str], cost: Callable[[str], int], limit: int) -> bool:
    """Return whether a drawing of these paths can cost about `limit`, by the lowest cost of a
    sample. The estimate may exceed it by half, since the other rows may be shorter."""
    if len(paths) > 1.5 * limit:  # a row costs at least one unit
        return False
    some = paths[:: len(paths) // _SAMPLE + 1]
    least = cost("".join(map(_row, some)))
    return least * len(paths) <= 1.5 * limit * max(len(some), 1)


def _row(path: str) -> str:
    """Return the row of a path, or one that costs less."""
    return f"{'    ' * min(path.count('/'), DEEPEST)}├── {quote(path.rpartition('/')[2])}\n"


def _folders(root: Node, depth: int) -> list[str]:
    """Return the paths of the directories of a drawing with so many levels."""
    paths: list[str] = []
    level = [("", root)]
    for _ in range(depth):
        level = [
            (f"{above}/{name}" if above else name, child)
            for above, node in level
            for name, child in node.directories.items()
        ]
        paths += [path for path, _ in level]
    return paths
