"""Transformations of a file's clean text, by name: comments, empty lines, base64.

Removed comments and base64 move no line, so that line numbers stay the file's. Comments are located
by the language's grammar; a file without one, or one that cannot be parsed, keeps them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from sutler.languages import language_of
from sutler.languages.extract import MAX_BYTES, tree_of

if TYPE_CHECKING:
    from tree_sitter import Tree

SHORTEST = 200
"""Minimum length of a run of base64 that is cut."""
HEAD = 32
"""Characters of it that stay."""
_RUN = re.compile(rf"[A-Za-z0-9+/]{{{SHORTEST},}}={{0,2}}")
_MIXED = tuple(re.compile(part) for part in ("[A-Z]", "[a-z]", "[0-9]"))


def transformed(text: str, path: str, names: Sequence[str]) -> str:
    """Return the text after the named transformations, in the order of the table."""
    for name, change in TRANSFORMS.items():
        if name in names:
            text = change(text, path)
    return text


def without_comments(text: str, path: str) -> str:
    language = language_of(path, text[:200])
    if language is None or language.grammar is None or len(text) > MAX_BYTES:
        return text
    source = text.encode("utf-8", "surrogateescape")
    tree = tree_of(language.grammar, source)
    if tree is None:
        return text
    output = bytearray()
    at = 0
    for start, end in _comments(tree):
        if start == 0 and source.startswith(b"#!"):
            continue
        output += source[at:start].rstrip(b" \t") if _ends_line(source, end) else source[at:start]
        output += b"\n" * source.count(b"\n", start, end)
        at = end
    output += source[at:]
    return output.decode("utf-8", "surrogateescape")


def _ends_line(source: bytes, end: int) -> bool:
    """Return whether the rest of the line is empty; a comment may hold the line's end itself."""
    return end >= len(source) or source[end : end + 1] in b"\r\n" or source[end - 1 : end] == b"\n"


def _comments(tree: Tree) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges of comments, in order; a nested one is part of its outer one."""
    cursor = tree.walk()
    while True:
        node = cursor.node
        if node is not None and node.is_named and "comment" in node.type:
            yield node.start_byte, node.end_byte
        elif cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def without_empty_lines(text: str, path: str) -> str:
    del path
    return "".join(line for line in text.splitlines(keepends=True) if line.strip())


def without_base64(text: str, path: str) -> str:
    del path
    return _RUN.sub(_cut, text)


def _cut(match: re.Match[str]) -> str:
    run = match[0]
    if not all(part.search(run) for part in _MIXED):
        return run
    return f"{run[:HEAD]}[... {len(run) - HEAD:,} more characters of base64]"


TRANSFORMS: dict[str, Callable[[str, str], str]] = {
    "remove-comments": without_comments,
    "truncate-base64": without_base64,
    "remove-empty-lines": without_empty_lines,
}
