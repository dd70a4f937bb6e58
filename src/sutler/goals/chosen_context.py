"""Context files selected without a path: changed files, and the files that rank best for a goal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from sutler.errors import UsageError
from sutler.formats.document import Finding, Section
from sutler.goals.context_files import ContextFile
from sutler.pack.project import Project

GOAL_CHARS = 4_000
"""Characters of a rendered prompt used for ranking: a goal states its task at the start."""


Count = Callable[[str, Iterable[Finding]], None]
"""Callback (path, findings) for a text that was redacted here."""


def changed(
    project: Project, since: str, diff: bool, count: Count
) -> tuple[tuple[str, ...], list[ContextFile]]:
    """Return the paths that changed since a revision, and the diff as a file if `diff` is set. The
    diff is against `since`, else against HEAD."""
    request = replace(project.request(), since=since, diff=diff, fill=True)
    changes = project.numbered().changes(project.scan(), request)
    texts: list[ContextFile] = []
    for text in changes.texts:
        if text.clean.text:
            path = str(text.choice.entry.path)
            count(path, text.clean.findings)
            texts.append(ContextFile(path, text.clean.text))
    return tuple(str(path) for path in changes.paths), texts


def ranked(project: Project, prompt: str, max_tokens: int, count: Count) -> list[ContextFile]:
    """Return the sections of a pack for this prompt, in at most `max_tokens`. The title of a
    section states its level unless it is the full file."""
    goal = prompt[:GOAL_CHARS].strip()
    if not goal:
        raise UsageError("the goal renders no text, so nothing can be ranked for it")
    sections: list[Section] = []
    packing = project.pack(goal=goal, max_tokens=max_tokens, format="markdown")
    packing.watch = sections.append
    packing.text()
    files: list[ContextFile] = []
    for section in sections:
        if section.level != "listed":
            count(str(section.path), section.body.findings)
            files.append(ContextFile(_title(section), section.body.text))
    return files


def _title(section: Section) -> str:
    part = "" if section.level == "full" else f" ({section.level.replace('_', ' and ')})"
    return f"{section.path}{part}"
