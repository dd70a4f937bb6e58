"""A tree of paths as text, in as much detail as a limit allows; and sums per directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from sutler.values.paths import quote


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
    lines: list[str] = []
    stack: list[tuple[Node | None, str, str]] = [(root, "", "")]
    while stack:
        node, prefix, line = stack.pop()
        if line:
            lines.append(line)
        if node is None or len(prefix) // 4 >= depth:
            continue
        rows: list[tuple[str, Node | None]] = [
            (name, node.directories[name]) for name in sorted(node.directories)
        ]
        if files:
            rows += [(name, None) for name in sorted(node.names)]
        drawn = []
        for index, (name, child) in enumerate(rows):
            last = index == len(rows) - 1
            label = quote(name) if child is None else f"{quote(name)}/"
            if child is not None and (not files or len(prefix) // 4 + 1 >= depth):
                label += f" ({child.files:,} files)" if child.files != 1 else " (1 file)"
            drawn.append(
                (child, prefix + ("    " if last else "│   "), f"{prefix}{'└── ' if last else '├── '}{label}")
            )
        stack.extend(reversed(drawn))
    return "".join(f"{line}\n" for line in lines)


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
