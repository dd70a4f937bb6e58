"""The outline of one file, by the same rules, limits and redaction as in a pack."""

from __future__ import annotations

from msgspec import Struct

from sutler.errors import RefusedError, UsageError
from sutler.languages.extract import structure_of
from sutler.languages.outline import Line, outline_of
from sutler.pack.project import Project
from sutler.paths import RelPath, quote
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded, Problem
from sutler.scan.text import decode
from sutler.scan.walk import explain


class Outline(Struct, frozen=True):
    """The lines of an outline, the language, and whether its parser succeeded."""

    lines: tuple[Line, ...]
    language: str
    status: str


def outline_file(project: Project, path: RelPath) -> Outline:
    """Outline a file of the project. Raise RefusedError if a rule excludes it."""
    with Root(project.place.root) as root:
        verdict = explain(root, project.rules(), path, named=True)
        if isinstance(verdict, Excluded):
            raise RefusedError(f"{quote(path)} stays out: {verdict.reason}", rule=str(verdict.rule))
        limit = project.settings.number("skip_over") or None
        blob = verdict if isinstance(verdict, Problem) else root.read(path, limit)
    if isinstance(blob, Problem):
        raise UsageError(
            f"{quote(path or '.')}: {blob.kind} {blob.detail}".rstrip(),
            next_step="name a readable text file",
        )
    decoded = decode(blob.data)
    if decoded is None:
        raise UsageError(f"{quote(path)} is not text", next_step="name a source file")
    text = project.clean(len(blob.data))(decoded.text, path).text
    parsed = structure_of(path, text)
    language = parsed.language.name if parsed.language is not None else ""
    return Outline(outline_of(path, text), language, parsed.status)
