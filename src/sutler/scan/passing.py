"""Which files pass a verdict on their folder or their own name.

A verdict closes a folder. Files below it still pass if the user's `allow` names them, or if git
tracks them and git's rules or a built-in name rule closed it. A denial of an AI-ignore file and a
credential that `allow` does not name never pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from sutler.scan.judge import Ground, Judge, Verdict
from sutler.scan.name_rules import VENDORED, handwritten


def opens_below(judge: Judge, ground: Ground, closed: Verdict, directory: str) -> bool:
    """Whether some file below a closed folder may pass, so that the folder is entered."""
    if closed.rule.source == "default" and judge.allows_below(directory):
        return True
    if closed.by_name and judge.rules.strict_patterns:
        return False
    tracked = closed.by_git or closed.by_name
    return tracked and ground.tracked().below(ground.path(directory))


def is_vendored(judge: Judge, closed: Verdict, prefix: str, names: Iterable[str]) -> bool:
    """Whether a name in a closed dependency folder marks it as a copy of another project."""
    if closed.reason != "dependency_dir" or judge.allows_below(prefix.rstrip("/")):
        return False
    return not VENDORED.isdisjoint(name.lower() for name in names)


def passes(judge: Judge, ground: Ground, verdict: Verdict, path: str) -> bool:
    """Whether a file enters in spite of a verdict: `allow` names it, or git tracks it and its name
    does not say that a tool wrote it.
    """
    if verdict.rule.source == "default" and judge.allowed(path):
        return True
    if verdict.by_name and (judge.rules.strict_patterns or not handwritten(path)):
        return False
    tracked = verdict.by_git or verdict.by_name
    return tracked and ground.tracked().file(ground.path(path))
