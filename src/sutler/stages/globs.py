"""Globs as file contracts and workspaces write them: `*`, `**`, `?`, `[…]`, `{a,b}`, dot files included.

`*` and `?` stay inside one path component, `**` crosses them, matching is case-sensitive and whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

MAX_GLOB = 1_000
MAX_BRACES = 64


@lru_cache(maxsize=1_024)
def matcher(pattern: str) -> Callable[[str], bool]:
    """A function that says whether a path matches. A pattern that is too long or too wide matches nothing."""
    if len(pattern) > MAX_GLOB:
        return _never
    spellings = _braces(pattern.replace("\\", "/").removeprefix("./"))
    expressions = "|".join(_translate(spelling) for spelling in spellings)
    compiled = re.compile(f"(?:{expressions})\\Z", re.DOTALL) if spellings else None
    return (lambda path: compiled.match(path) is not None) if compiled else _never


def _never(path: str) -> bool:
    return False


def _braces(pattern: str) -> list[str]:
    """`a{b,c}` as `ab` and `ac`; nothing when there would be too many."""
    done: list[str] = []
    queue = [pattern]
    while queue:
        if len(queue) + len(done) > MAX_BRACES:
            return []
        current = queue.pop()
        match = re.search(r"\{([^{}]*,[^{}]*)\}", current)
        if match is None:
            done.append(current)
            continue
        queue += [current[: match.start()] + part + current[match.end() :] for part in match.group(1).split(",")]
    return sorted(set(done))


def _translate(pattern: str) -> str:
    """Atomic groups: after a star the leftmost match is as good as any, so nothing is tried twice."""
    runs: list[list[str]] = [[]]
    for part in pattern.split("/"):
        if part == "**":
            runs.append([])
        elif part not in ("", "."):
            runs[-1].append(_component(part))
    if len(runs) == 1:
        return "/".join(runs[0])
    first, *middle, last = ["".join(f"{part}/" for part in run) for run in runs]
    jumps = "".join(f"(?>(?:[^/]+/)*?{run})" for run in middle if run)
    return f"{first}{jumps}(?:[^/]+/)*{last.removesuffix('/') or '[^/]+'}"


def _component(part: str) -> str:
    """One path component."""
    if re.fullmatch(r"\*+", part):
        return "[^/]+"
    first, *rest = re.split(r"\*+", part)
    pieces = [_piece(piece) for piece in rest]
    middle = "".join(f"(?>[^/]*?{piece})" for piece in pieces[:-1])
    return _piece(first) + middle + (f"[^/]*{pieces[-1]}(?=/|\\Z)" if pieces else "")


def _piece(text: str) -> str:
    """A run without stars: `?`, classes and plain characters."""
    out: list[str] = []
    index = 0
    while index < len(text):
        char = text[index]
        close = text.find("]", index + 2) if char == "[" else -1
        if char == "?":
            out.append("[^/]")
        elif close > 0:
            out.append(_char_class(text[index + 1 : close]))
            index = close
        else:
            out.append(re.escape(char))
        index += 1
    return "".join(out)


def _char_class(inside: str) -> str:
    negate = inside[:1] in ("!", "^")
    body = inside[1:] if negate else inside
    ranges = re.sub(r"[\\\[\]&~|^]", lambda match: "\\" + match.group(), body)
    expression = f"[{'^/' if negate else ''}{ranges}]"
    try:
        re.compile(expression)
    except re.error:
        return re.escape(f"[{inside}]")
    return expression
