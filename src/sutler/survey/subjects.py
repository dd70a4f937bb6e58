"""Files that are a project's substance without being code: playbooks and roles, charts, notebooks.
A project of such files has them described like sources."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isqrt

from sutler.languages.base import NOTEBOOK_ENDS, Shapes
from sutler.languages.outline import Line
from sutler.languages.shapes import shapes_of
from sutler.scan.classify import Classified
from sutler.scan.snapshot import FileFacts
from sutler.survey.evidence import is_aside
from sutler.survey.starts import is_own

MAX_SUBJECT_BYTES = 2_000_000
"""A larger limit than for sources: most of a notebook is outputs, which are dropped."""
TIES = 4
"""Ties to other files that one of these files counts as: none mentions another by name."""

_ROLE = re.compile(r"(?:^|/)(?:tasks|handlers|defaults)/.+\.ya?ml$|(?:^|/)playbooks/[^/]+\.ya?ml$")
_CHART_PART = re.compile(r"(?:^|/)templates/.+\.(?:ya?ml|tpl)$|(?:^|/)(?:values|Chart)\.ya?ml$")
_MADE = re.compile(r"(?:^|/)crds?[/-]|[-.]crds?\.")
"""Resource definitions that a program writes, however long they are."""
_YAML = Shapes(
    definition=(
        r"\s{0,6}(?P<kind>- name|(?:- )?(?:hosts|kind|import_playbook|include_tasks|import_tasks))"
        r":\s*(?P<name>[^\s{#].*)|(?P<constant>[A-Za-z_][\w.-]*):(?=\s|$)"
    ),
    depth="flat",
)
_CELL = re.compile(r"--- (?:cell \d+: (\w+)|output of cell \d+) ---$")


def subjects(pairs: Iterable[Classified]) -> frozenset[str]:
    """Return the paths of such files if they outnumber the project's own code; else none."""
    chosen: set[str] = set()
    code = 0
    for entry, facts in pairs:
        if 0 < entry.size <= MAX_SUBJECT_BYTES and _is_subject(entry.path, facts):
            chosen.add(entry.path)
        elif facts.tag == "code" and is_own(entry.path, facts):
            code += 1
    return frozenset(chosen) if len(chosen) > code else frozenset()


def _is_subject(path: str, facts: FileFacts) -> bool:
    if facts.role in ("test", "ci", "vendor", "generated", "example") or facts.tag == "test":
        return False
    if path.endswith(NOTEBOOK_ENDS):
        return not is_aside(path)
    if not path.endswith((".yml", ".yaml", ".tpl")) or path.startswith(".") or _MADE.search(path):
        return False
    return bool(_ROLE.search(path) or _CHART_PART.search(path)) and not is_aside(
        path.replace("templates/", "")
    )


def subject_weight(path: str, size: int) -> int:
    """Return the weight of such a file beside sources. Notebooks are read in their order, and a
    role by its tasks."""
    if path.endswith(NOTEBOOK_ENDS):
        return TIES
    return (
        TIES * isqrt(size) * (3 if re.search(r"(?:^|/)tasks/main\.ya?ml$|playbooks/", path) else 1)
    )


def subject_outline(path: str, text: str) -> tuple[Line, ...]:
    """Return the names of tasks, keys and kinds, or the headings of a notebook."""
    if path.endswith(NOTEBOOK_ENDS):
        return tuple(_headings(text))
    return tuple(Line(shape.line, shape.depth, shape.text) for shape in shapes_of(_YAML, text))


def _headings(text: str) -> Iterable[Line]:
    spoken = False
    for number, line in enumerate(text.split("\n"), 1):
        cell = _CELL.match(line)
        if cell:
            spoken = cell[1] == "markdown"
        elif spoken and (match := re.match(r"(#{1,4}) (\S.*)", line)):
            yield Line(number, len(match[1]) - 1, match[2][:160])
