"""A tree of paths as text, in as much detail as a limit allows; and sums per directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from sutler.values.paths import quote

_SHARE, _TASK_SHARE = 10, 80


class Node(Struct):
    """A directory on its way to text. `files` is how many lie below it at any depth."""

    directories: dict[str, Node]
    names: list[str]
    files: int = 0


def build(paths: Iterable[str]) -> Node:
    """The tree of sorted paths."""
    root = Node({}, [])
    by_directory: dict[str, Node] = {"": root}
    for path in paths:
        cut = path.rfind("/")
        parent = path[:cut] if cut > 0 else ""
        node = by_directory.get(parent) or _reach(parent, by_directory)
        node.names.append(path[cut + 1 :])
    _count(root)
    return root


def _reach(directory: str, known: dict[str, Node]) -> Node:
    missing = []
    while directory not in known:
        missing.append(directory)
        directory = directory[: max(directory.rfind("/"), 0)]
    node = known[directory]
    for path in reversed(missing):
        node = node.directories.setdefault(path[path.rfind("/") + 1 :], Node({}, []))
        known[path] = node
    return node


def _count(root: Node) -> None:
    """Sum files bottom-up without recursion: a tree may be deeper than any stack."""
    order = [root]
    for node in order:
        order.extend(node.directories.values())
    for node in reversed(order):
        node.files = len(node.names) + sum(child.files for child in node.directories.values())


DEEPEST = 64
"""Levels that a drawing shows; below, a directory is a count. Deeper trees exist only to hurt whoever draws them."""


def draw(root: Node, *, files: bool = True, depth: int = DEEPEST) -> str:
    """Directories first, each level sorted; `files=False` shows directories with their counts only."""
    drawn: list[str] = []
    shown = _Names()
    stack: list[tuple[Node | None, str, str]] = [(root, "", "")]
    while stack:
        node, prefix, text = stack.pop()
        drawn.append(text)
        if node is None or len(prefix) // 4 >= depth:
            continue
        names = sorted(node.names) if files else []
        folders = sorted(node.directories)
        counted = not files or len(prefix) // 4 + 1 >= depth
        rows: list[tuple[Node | None, str, str]] = []
        for index, name in enumerate(folders, 1):
            last = index == len(folders) and not names
            child = node.directories[name]
            label = f"{shown[name]}/{_count_label(child.files) if counted else ''}"
            below = prefix + ("    " if last else "│   ")
            rows.append((child, below, f"{prefix}{'└── ' if last else '├── '}{label}\n"))
        if names:  # a folder's files follow its folders in one piece: most rows of a drawing are files
            branch = f"{prefix}├── "
            upper = "".join([f"{branch}{shown[name]}\n" for name in names[:-1]])
            rows.append((None, "", f"{upper}{prefix}└── {shown[names[-1]]}\n"))
        stack.extend(reversed(rows))
    return "".join(drawn)


class _Names(dict[str, str]):
    """Names as they are shown. Most trees repeat theirs."""

    def __missing__(self, name: str) -> str:
        self[name] = shown = quote(name)
        return shown


def _count_label(files: int) -> str:
    return f" ({files:,} files)" if files != 1 else " (1 file)"


def drawing_limit(limit: int | None, *, task: bool) -> int | None:
    """What a drawing may take of a budget: one part in ten, and in eighty where a task says what else is wanted."""
    return None if limit is None else limit // (_TASK_SHARE if task else _SHARE)


def drawn_within(paths: Sequence[str], cost: Callable[[str], int], limit: int | None) -> str:
    """The most detailed drawing whose cost stays within `limit`: every file, directories only, fewer levels, or
    nothing. The dearest attempts are skipped by a look at their sheer length."""
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
