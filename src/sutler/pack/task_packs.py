"""Task packs of a project (seed 002): the task's texts are redacted, its files read by the common
rules, then packed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from sutler.budget.selection import Choice
from sutler.errors import RefusedError, UsageError
from sutler.formats.document import CleanText
from sutler.pack.documents import Made, chosen, linked_of, outlined_text
from sutler.pack.load import Loader
from sutler.pack.report import shown_text
from sutler.pack.scope import Scope
from sutler.pack.sources import own_sources, read_sources, workspace_packages
from sutler.paths import RelPath, normalize_path, parse_relpath, rel_of
from sutler.scan.classify import classified, facts_of
from sutler.scan.root import Root
from sutler.scan.snapshot import Excluded, FileEntry, Problem, Rule, Snapshot
from sutler.scan.walk import explain
from sutler.secrets.cleaner import Clean
from sutler.setting_table import TIER_CHARS, Tier
from sutler.tasks.contract import owned
from sutler.tasks.packer import TOP_ISSUES, Assembled, Source, assemble
from sutler.tasks.spec import read_task
from sutler.tasks.wire import ContextPack, TaskSpec


class ContextPacker:
    """`ContextPacker(project).build(task)`: same task and same files, same pack. A tier given here
    outranks the task's own; `max_chars` outranks both."""

    def __init__(
        self,
        project: Scope,
        tier: Tier | None = None,
        max_chars: int | None = None,
        top_issues: int = TOP_ISSUES,
    ) -> None:
        if tier is not None and tier not in TIER_CHARS:
            raise UsageError(f"'{tier}' is no tier", rule=f"tiers: {', '.join(TIER_CHARS)}")
        self._project, self._tier, self._max, self._top = project, tier, max_chars, top_issues

    def build(self, task: TaskSpec | Mapping[str, Any]) -> ContextPack:
        document = self.make(task).document
        assert isinstance(document, ContextPack)  # noqa: S101  # for the type checker
        return document

    def make(self, task: TaskSpec | Mapping[str, Any]) -> Made:
        """Return the pack with its account."""
        project = self._project.numbered()
        given = task if isinstance(task, TaskSpec) else read_task(dict(task))
        clean = project.clean()
        spec = cleaned(given, clean)
        snapshot, order, outlines = chosen(project)
        limit = self._max or TIER_CHARS[self._tier or spec.model_tier]
        root = project.opened()
        with root.reader() as reader:
            named, kept_out = _named(root, project, spec, snapshot)
            loader = Loader(reader, clean, project.settings)
            shelf = _Shelf(loader, {entry.path: entry for entry in (*snapshot.entries, *named)})
            source = Source(
                paths=sorted(shelf.entries),
                read=shelf.read,
                clean=lambda text: clean(text, ""),
                scores=_scores(project, spec, snapshot, order, limit),
                digests=shelf.digests,
                kept_out=kept_out,
                line_numbers=project.settings.flag("line_numbers"),
                users=_users(root, spec, snapshot),
                empty=frozenset(entry.path for entry in snapshot.entries if not entry.size),
                brief=lambda path, text: outlined_text(text, path) if path in outlines else text,
            )
            done = assemble(spec, source, limit, self._top)
        return _account(done, snapshot, shelf)


def _scores(
    project: Scope, task: TaskSpec, snapshot: Snapshot, order: Sequence[str], limit: int
) -> dict[str, float]:
    """Return the order of the contract's files: by claim; by rank for the task's words if not all
    of them can fit."""
    scores = {path: float(-place) for place, path in enumerate(order)}
    sizes: dict[str, int] = {entry.path: entry.size for entry in snapshot.entries}
    if sum(sizes[path] for path in owned(list(sizes), task.files_contract)) > limit:
        words = [task.title, task.goal, *(item.text for item in task.acceptance)]
        words += [issue.message for issue in task.issues]
        ranked = project.ranking(snapshot, "\n".join(words)).ranked
        scores |= {one.path: 1.0 + one.score for one in ranked}
    return scores


def _users(root: Root, task: TaskSpec, snapshot: Snapshot) -> dict[str, list[str]]:
    """Return the users of each file, if the contract allows any: a change of a file must consider
    them."""
    if not owned([entry.path for entry in snapshot.entries], task.files_contract):
        return {}
    from sutler.survey.graph import users

    pairs = classified(snapshot)
    return users(read_sources(root, own_sources(pairs)), workspace_packages(root, pairs))


def cleaned(task: TaskSpec, clean: Clean) -> TaskSpec:
    """Redact every text of the task, ids, names and globs included."""

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return clean(value, "").text if value else value
        if isinstance(value, dict):
            return {key: walk(item) for key, item in value.items()}
        return [walk(item) for item in value] if isinstance(value, list | tuple) else value

    return msgspec.convert(walk(msgspec.to_builtins(task)), TaskSpec)


class _Shelf:
    """Files by path, read when the packer requests them; digests and findings are collected."""

    def __init__(self, loader: Loader, entries: dict[RelPath, FileEntry]) -> None:
        self._loader, self.entries = loader, entries
        self.digests: dict[str, str] = {}
        self.texts: dict[str, CleanText] = {}

    def read(self, path: str) -> CleanText | Problem:
        entry = self.entries[RelPath(path)]
        found = self._loader.material(Choice(entry, facts_of(path), 0, 0.0, ""))
        if isinstance(found, Excluded):
            return Problem(
                path,
                "binary" if found.reason == "binary" else "denied",
                f"{found.reason}: {found.rule}",
            )
        self.digests[path] = found.loaded.digest
        self.texts[path] = found.clean
        return found.clean


def _named(
    root: Root, project: Scope, task: TaskSpec, snapshot: Snapshot
) -> tuple[list[FileEntry], dict[str, Problem]]:
    """Return the excluded files that the task's context names: named files bypass ignore rules,
    never a denial."""
    known = {entry.path for entry in snapshot.entries}
    found: list[FileEntry] = []
    out: dict[str, Problem] = {}
    for raw in dict.fromkeys((*task.context.files, *task.context.docs)):
        plain = normalize_path(raw)
        try:
            path = parse_relpath(plain.lstrip("/") if not raw.startswith("/") else plain)
        except RefusedError as error:
            out[plain] = Problem(plain, "denied", error.rule)
            continue
        if not path or path in known:
            continue
        verdict = explain(root, project.rules(), path, named=True)
        if isinstance(verdict, FileEntry) and verdict.named:
            found.append(verdict)
        elif isinstance(verdict, Excluded):
            out[plain] = Problem(plain, "denied", f"{verdict.reason}: {verdict.rule}")
        elif isinstance(verdict, Problem) and verdict.kind != "missing":
            out[plain] = Problem(plain, verdict.kind, verdict.detail)
    return found, out


def _account(done: Assembled, snapshot: Snapshot, shelf: _Shelf) -> Made:
    rows = [(one.path, one.level, one.content, one.reason) for one in done.pack.files]
    rows += [(one.path, one.level, one.content, "task.context.docs") for one in done.pack.docs]
    shown = [
        shown_text(rel_of(path), level, text, reason, shelf.texts.get(rel_of(path)))
        for path, level, text, reason in sorted(rows)
    ]
    inside = {one.path for one in shown}
    over = Rule("limit", f"{done.pack.max_chars:,} characters")
    idle = Rule("task", "nothing in the task calls for it, or it does not fit")
    read: Callable[[str], bool] = shelf.digests.__contains__
    left = [
        Excluded(entry.path, "budget", over)
        if read(entry.path)
        else Excluded(entry.path, "not_selected", idle)
        for entry in snapshot.entries
        if entry.path not in inside
    ]
    excluded = sorted((*snapshot.excluded, *left), key=lambda item: item.path)
    problems = sorted(
        {*snapshot.problems, *done.problems}, key=lambda one: (one.path, one.kind, one.detail)
    )
    linked = linked_of(shelf.entries.values(), inside)
    return Made(done.pack, tuple(shown), tuple(excluded), tuple(problems), linked)
