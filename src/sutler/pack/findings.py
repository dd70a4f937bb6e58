"""Findings of secrets in the files of a project, for `sutler secrets`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from sutler.budget.selection import Material
from sutler.pack.load import Loader
from sutler.pack.project import Project
from sutler.scan.snapshot import Excluded, Problem
from sutler.secrets.cleaner import PER_FILE, SECRET_NAME, engine_for
from sutler.secrets.explain import SHARED, Listed, explanations, listing
from sutler.store import home


def findings_in(
    project: Project, progress: Callable[[int, int], None] | None, *, explain: bool
) -> tuple[list[Listed], int, list[Problem]]:
    """Return every finding in the selected files, the number of these files, and what could not be
    read."""
    snapshot = project.scan()
    selection = project.select(snapshot, project.request())
    rows = [
        Listed(item.path, 0, "file-name", 1.0, "", item.path)
        for item in snapshot.excluded
        if item.rule == SECRET_NAME
    ]
    choices = sorted(selection.choices, key=lambda choice: choice.path)
    size = sum(entry.size + PER_FILE for entry in snapshot.entries)
    with project.opened().reader() as reader:
        loader = Loader(reader, project.clean(size), project.settings)
        for number, choice in enumerate(choices, 1):
            if progress is not None:
                progress(number, len(choices))
            material = loader.material(choice)
            if isinstance(material, Excluded):
                continue
            listed = listing(choice.path, material.clean.text, material.clean.findings)
            rows += _explained(material, listed, size) if explain else listed
    return rows, len(choices), loader.problems


def _explained(material: Material, rows: Sequence[Listed], size: int) -> Iterator[Listed]:
    """Yield the rows of a file with their reasons."""
    if not rows:
        return
    engine, key = engine_for(size, os.environ), home.key(os.environ)
    reasons = explanations(material.loaded.text, material.choice.path, engine, key)
    for row in rows:
        yield replace(row, explanation=reasons.get(row.tag, SHARED))
