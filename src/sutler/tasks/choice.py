"""Select the files for a task, with reasons: from its context, its issues and its contract."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, Struct

from sutler.paths import basename, normalize_path
from sutler.scan.snapshot import Problem
from sutler.tasks.contract import owned
from sutler.tasks.wire import FilePriority, Issue, RepairTicket, TaskSpec

MAX_MENTIONS = 200

_MENTION = re.compile(r"(?:[A-Za-z]:)?[\w@.+~/\\-]{1,300}\.\w{1,10}(?:[:(]\d{1,7})?")


class Wanted(Struct):
    """A file selected for the task: its priority, the reason, and the lines that issues name."""

    path: str
    priority: FilePriority
    reason: str
    doc: bool = False
    lines: list[int] = []


class Index(Struct, frozen=True):
    """The project's paths, and the same by base name, for references that hold only the end of a
    path.
    """

    paths: frozenset[str]
    by_name: Mapping[str, tuple[str, ...]]


def index_of(paths: Iterable[str]) -> Index:
    names: dict[str, list[str]] = {}
    ordered = sorted(paths)
    for path in ordered:
        names.setdefault(basename(path), []).append(path)
    return Index(frozenset(ordered), {name: tuple(group) for name, group in names.items()})


def resolve(raw: str, index: Index) -> str | None:
    """Resolve a reference to a project file: exact, normalized, or by its end if only one path
    matches.
    """
    if raw in index.paths:
        return raw
    plain = normalize_path(raw).lstrip("/")
    if plain in index.paths:
        return plain
    ends = [path for path in index.by_name.get(basename(plain), ()) if _tail(plain, path)]
    # An ambiguous end resolves to nothing: the wrong file would mislead the model.
    return ends[0] if len(ends) == 1 else None


def _tail(reference: str, path: str) -> bool:
    """`/home/me/proj/src/a.ts` ends with `src/a.ts`; `api/auth.ts` is the end of
    `src/api/auth.ts`.
    """
    return reference.endswith(f"/{path}") or ("/" in reference and path.endswith(f"/{reference}"))


def wanted_files(
    task: TaskSpec, issues: Sequence[Issue], index: Index
) -> tuple[list[Wanted], list[Problem]]:
    """Return high and medium files in display order, and unresolved references as problems: files
    of task.context first, as in the seed, then files of issues.
    """
    wanted: dict[str, Wanted] = {}
    problems: list[Problem] = []
    named = [(raw, False) for raw in task.context.files] + [
        (raw, True) for raw in task.context.docs
    ]
    for raw, doc in named:
        path = resolve(raw, index)
        if path is None:
            kind = "docs" if doc else "files"
            problems.append(
                Problem(normalize_path(raw), "missing", f"task.context.{kind} names it")
            )
        elif path not in wanted:
            wanted[path] = Wanted(path, "medium", f"task.context.{'docs' if doc else 'files'}", doc)
    for reason, raw, line in [*_from_tickets(task.repair_tickets), *_from_issues(issues)]:
        path = resolve(raw, index)
        if path is None:
            continue
        item = wanted.setdefault(path, Wanted(path, "high", reason))
        item.priority = "high"
        if line and line not in item.lines:
            item.lines.append(line)
    return list(wanted.values()), problems


def _from_tickets(tickets: Sequence[RepairTicket]) -> list[tuple[str, str, int]]:
    out: list[tuple[str, str, int]] = []
    for ticket in tickets:
        reason = f"repair ticket {ticket.issue_id}"
        if ticket.file is not UNSET:
            out.append((reason, ticket.file, 0 if ticket.line is UNSET else ticket.line))
        out += [(reason, raw, line) for raw, line in _mentions(ticket.message)]
    return out


def _from_issues(issues: Sequence[Issue]) -> list[tuple[str, str, int]]:
    out: list[tuple[str, str, int]] = []
    for issue in issues:
        reason = f"{issue.kind} issue"
        if issue.file is not UNSET:
            out.append((reason, issue.file, 0 if issue.line is UNSET else issue.line))
        texts = (issue.message, issue.raw, issue.hint)
        out += [
            (reason, raw, line)
            for text in texts
            if isinstance(text, str)
            for raw, line in _mentions(text)
        ]
    return out


def _mentions(text: str) -> list[tuple[str, int]]:
    """Return words of a message that look like files, with the line if `:42` or `(42,` follows."""
    out: list[tuple[str, int]] = []
    for match in _MENTION.finditer(text[:100_000]):
        raw, _, line = match.group().replace("(", ":").rpartition(":")
        out.append((raw, int(line)) if raw and line.isdigit() else (match.group(), 0))
        if len(out) >= MAX_MENTIONS:
            break
    return out


def owned_files(
    task: TaskSpec, index: Index, taken: Iterable[str], scores: Mapping[str, float]
) -> list[Wanted]:
    """Return low files: those that the contract allows, by score (highest first), then by path."""
    seen = set(taken)
    paths = [path for path in owned(sorted(index.paths), task.files_contract) if path not in seen]
    paths.sort(key=lambda path: (-scores.get(path, 0.0), path))
    return [Wanted(path, "low", "in the file contract") for path in paths]
