"""Verdict on a path by the pipeline itself: why it is in or out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from sutler.config import Settings
from sutler.errors import UsageError
from sutler.paths import RelPath, counted, quote
from sutler.scan.judge import DoorName, rules_for
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded, FileEntry, Problem
from sutler.scan.walk import explain
from sutler.secrets.cleaner import SECRET_NAME, redacted_text

if TYPE_CHECKING:
    from sutler.access.admission import Admission
    from sutler.pack.project import Project


class Verdict(Struct, frozen=True, omit_defaults=True):
    path: str
    state: str
    reason: str
    rule: str = ""
    bytes: int = 0
    rank: int = 0  # with a goal: place in the ranking, from 1; 0 if no signal speaks for it
    evidence: tuple[str, ...] = ()  # with a goal: reasons, then signals with their shares
    before: tuple[str, ...] = ()  # with a goal: the files that rank just before it


def decide(
    root: Root, settings: Settings, door: DoorName, path: RelPath, *, named: bool = False
) -> FileEntry | Excluded | Problem:
    """Return whether the file at `path` may leave by a door: an entry, or the rule that excludes
    it. A folder that is entered is an entry too."""
    return explain(root, rules_for(settings, door), path, named=named)


def with_goal(found: Verdict, project: Project, path: RelPath, goal: str) -> Verdict:
    """Add the file's place in the ranking for a goal, its evidence, and the files before it."""
    ranked = project.ranking(project.scan(), goal).ranked
    place = next((i for i, one in enumerate(ranked) if one.path == path), None)
    if place is None:
        return replace(found, evidence=("no signal of the ranking supports it",))
    shares = [f"{one.name} {one.share:.3f}" for one in ranked[place].signals if one.share]
    evidence = (*ranked[place].reasons, f"signals: {', '.join(shares)}")
    before = tuple(
        f"{quote(one.path)} {one.score:.3f}: {'; '.join(one.reasons[:1])}"
        for one in ranked[max(0, place - _BEFORE) : place]
    )
    return replace(found, rank=place + 1, evidence=evidence, before=before)


_BEFORE = 3  # files that are named as ranking before


def verdict(
    project: Project, root: Root, path: RelPath, door: DoorName = "pack", goal: str = ""
) -> Verdict:
    """Return the decision of a door about one path; for a pack also selection, reading and the
    budget. The agent's door also has a policy: see `for_agent`."""
    decision = decide(root, project.settings, door, path)
    if isinstance(decision, Problem) and decision.kind == "missing":
        raise UsageError(f"{quote(path)} does not exist", next_step="check the spelling")
    shown = redacted_text(quote(path or "."))
    if isinstance(decision, FileEntry) and shown != quote(path or "."):
        decision = Excluded(path, "credentials", SECRET_NAME)
    if not isinstance(decision, FileEntry):
        return _of(decision, shown)
    if door != "pack":
        return Verdict(shown, "in", f"no rule of this door ({door}) keeps it out")
    found = _packed(project, path, shown, goal)
    return with_goal(found, project, path, goal) if goal else found


def for_agent(admission: Admission, path: RelPath) -> Verdict:
    """Return the decision of the policy about reading a path, whether or not it exists."""
    decision = admission.decision(path)
    reason = next((name for start, name in _POLICY if decision.rule.startswith(start)), "policy")
    state = {"allow": "in", "ask": "ask", "deny": "out"}[decision.verdict]
    return Verdict(redacted_text(quote(path or ".")), state, reason, decision.rule)


_POLICY = (
    ("credentials", "credentials"),
    ("internal", "pattern match"),
    ("an AI-ignore", "ai denied"),
    ("hard link", "hard link"),
    ("ignored", "ignored"),
)
"""Prefixes of the policy's rules, with the reason's name at the other doors."""


def _of(found: Excluded | Problem, shown: str) -> Verdict:
    if isinstance(found, Problem):
        return Verdict(shown, "problem", f"{found.kind} {found.detail}".rstrip())
    return Verdict(shown, "out", found.reason.replace("_", " "), str(found.rule))


def _packed(project: Project, path: RelPath, shown: str, goal: str) -> Verdict:
    packing = project.pack(goal=goal, count_tokens=False)
    packing.empty_ok = True
    for _ in packing:
        pass
    report = packing.report
    for one in report.shown:
        if one.path == path:
            return Verdict(
                shown, f"in ({one.level.replace('_', ' and ')})", one.reason, bytes=one.bytes
            )
    for item in report.excluded:
        if item.path == path:
            return _of(item, shown)
    below = f"{path}/" if path else ""
    inside = sum(one.path.startswith(below) for one in report.shown)
    outside = sum(item.count for item in report.excluded if item.path.startswith(below))
    more = "+" if any(item.more for item in report.excluded if item.path.startswith(below)) else ""
    reason = f"a folder: {counted(inside, 'file')} in, {counted(outside, 'file', more)} out"
    return Verdict(shown, "in" if inside else "out", reason)
