"""What the ignore files say of one path, whether or not it exists: a refusal must not tell which.

The walk down reads only ignore files, through descriptors; where the path stops existing, the rules
gathered so far go on deciding.
"""

from __future__ import annotations

import os
import stat
import time
from typing import NamedTuple

import msgspec

from sutler.paths import RelPath
from sutler.scan.ignore import IGNORE_FILES, Node
from sutler.scan.judge import Ground as Repository
from sutler.scan.judge import Judge
from sutler.scan.root import DIRECTORY, Root
from sutler.scan.snapshot import ScanRules
from sutler.store.records import Standing


class Ground(NamedTuple):
    """Where a root stands: the rules that hold before its own ignore files, and the repository
    around it.
    """

    judge: Judge
    node: Node
    repository: Repository


def ground(root: Root, rules: ScanRules) -> Ground:
    # The built-in exclusions are about what a pack holds, not about what may be read.
    judge = Judge(msgspec.structs.replace(rules, default_excludes=False, hidden=True))
    return Ground(judge, *judge.start(root))


def standing(root: Root, rules: ScanRules, path: RelPath, known: Ground | None = None) -> Standing:
    """AI denials bind whatever the rest says; other ignore rules make a path `ignored` unless git
    tracks it.
    """
    if not path:
        return "open"
    judge, node, ground_here = known or ground(root, rules)
    fd, prefix, ignored, by_git = os.dup(root.fd), "", False, True
    parts = path.split("/")
    try:
        for depth, name in enumerate(parts, 1):
            if fd >= 0 and (present := _present(fd)):
                node = judge.files_in(node, fd, present, prefix, ground_here.fold)
            last = depth == len(parts)
            directory = not last or _is_directory(fd, name)
            bound = judge.binding(node, name, directory, prefix + name)
            if bound is not None and bound.reason == "ai_denied":
                return "ai_denied"
            verdict = judge.verdict(node, name, directory, prefix + name) if bound is None else None
            if verdict is not None and verdict.reason == "ignored":
                ignored, by_git = True, by_git and verdict.by_git
            if not last:
                node, prefix, fd = node.child(name), f"{prefix}{name}/", _step(fd, name)
    finally:
        if fd >= 0:
            os.close(fd)
    if ignored and by_git and ground_here.tracked().file(ground_here.path(path)):
        return "open"
    return "ignored" if ignored else "open"


def _present(fd: int) -> frozenset[str]:
    """Which ignore files a directory holds. Asked by name: a listing could be a hundred thousand
    names long; and not again while nothing in it has changed, which its own time tells unless it is
    too young to tell.
    """
    state = os.fstat(fd)
    place, changed = (state.st_dev, state.st_ino), state.st_ctime_ns
    known = _seen.get(place)
    if known is not None and known[0] == changed:
        return known[1]
    found = frozenset(
        name for name in _NAMES if os.access(name, os.F_OK, dir_fd=fd, follow_symlinks=False)
    )
    if time.time_ns() - changed > _OLD:
        if len(_seen) > _MANY:
            _seen.clear()
        _seen[place] = changed, found
    else:
        _seen.pop(place, None)
    return found


_NAMES = tuple(sorted(IGNORE_FILES))
_OLD = 2_000_000_000  # nanoseconds; the coarsest time of a file system
_MANY = 4_096
_seen: dict[tuple[int, int], tuple[int, frozenset[str]]] = {}


def _is_directory(fd: int, name: str) -> bool:
    if fd < 0:
        return False
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except (OSError, ValueError):
        return False


def _step(fd: int, name: str) -> int:
    if fd < 0:
        return fd
    try:
        return os.open(name, DIRECTORY, dir_fd=fd)
    except (OSError, ValueError):
        return -1
    finally:
        os.close(fd)
