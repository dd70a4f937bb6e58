"""Select the files for a task, with reasons: from its context, its issues and its contract."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec import UNSET, Struct

from sutler.errors import UsageError
from sutler.paths import basename, normalize_path
from sutler.scan.classify import facts_of
from sutler.scan.snapshot import Problem
from sutler.tasks.contract import contract_globs, owned
from sutler.tasks.wire import FilePriority, Issue, RepairTicket, TaskSpec

MAX_MENTIONS = 200  # a pasted log names thousands of paths, and each is looked up

_GLOB = re.compile(r"[*?\[{]")
_MENTION = re.compile(r"(?:[A-Za-z]:)?[\w@.+~/\\-]{1,300}\.\w{1,10}(?:[:(]\d{1,7})?")


class Wanted(Struct):
    """A file selected for the task: its priority, the reason, and the lines that issues name. A
    file that the contract allows also has its users."""

    path: str
    priority: FilePriority
    reason: str
    doc: bool = False
    lines: list[int] = []
    used_by: tuple[str, ...] = ()


class Index(Struct, frozen=True):
    """The project's paths, and the same by base name, for references that hold only the end of a
    path."""

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
    matches."""
    paths = candidates(raw, index)
    # An ambiguous end resolves to nothing: the wrong file would mislead the model.
    return paths[0] if len(paths) == 1 else None


def candidates(raw: str, index: Index, bare: bool = False) -> list[str]:
    """Return the files that a reference can mean. With `bare` a name without a folder means every
    file of that name."""
    if raw in index.paths:
        return [raw]
    plain = normalize_path(raw).lstrip("/")
    if plain in index.paths:
        return [plain]
    same_name = index.by_name.get(basename(plain), ())
    if bare and "/" not in plain:
        return list(same_name)
    return [path for path in same_name if _tail(plain, path)]


def _matching(raw: str, index: Index) -> list[str]:
    """Return the file that the task's context names, or the files of its glob."""
    path = resolve(raw, index)
    if path is not None or not _GLOB.search(raw):
        return [path] if path is not None else []
    try:
        globs = contract_globs((raw,))
    except UsageError:  # no glob that can be read: a name that no file has
        return []
    return [path for path in sorted(index.paths) if globs.match(path)]


def _tail(reference: str, path: str) -> bool:
    """Return whether a path ends with a reference, or the reverse: `/home/me/proj/src/a.ts` ends
    with `src/a.ts`; `api/auth.ts` is the end of `src/api/auth.ts`."""
    return reference.endswith(f"/{path}") or ("/" in reference and path.endswith(f"/{reference}"))


def wanted_files(
    task: TaskSpec, issues: Sequence[Issue], index: Index
) -> tuple[list[Wanted], list[Problem]]:
    """Return high and medium files in display order, and unresolved references as problems: files
    of task.context first, as in the seed, then files of issues."""
    wanted: dict[str, Wanted] = {}
    problems: list[Problem] = []
    named = [(raw, False) for raw in task.context.files] + [
        (raw, True) for raw in task.context.docs
    ]
    for raw, doc in named:
        field = f"task.context.{'docs' if doc else 'files'}"
        paths = _matching(raw, index)
        if not paths:
            problems.append(Problem(normalize_path(raw), "missing", f"{field} names it"))
        for path in paths:
            wanted.setdefault(path, Wanted(path, "medium", field, doc))
    unclear: dict[str, Problem] = {}
    declared = {issue.file for issue in issues} | {one.file for one in task.repair_tickets}
    for reason, raw, line in [*_from_tickets(task.repair_tickets), *_from_issues(issues)]:
        paths = candidates(raw, index, bare=line > 0)
        if len(paths) > 1:
            unclear[raw] = Problem(raw, "missing", _ambiguous(reason, paths))
        elif not paths and (raw in declared or (line and _is_bare_file(raw))):
            unclear[raw] = Problem(raw, "missing", f"{reason} names it")
        if len(paths) != 1:
            continue
        path = paths[0]
        item = wanted.setdefault(path, Wanted(path, "high", reason))
        item.priority = "high"
        if line and line not in item.lines:
            item.lines.append(line)
    return list(wanted.values()), [*problems, *unclear.values()]


def _is_bare_file(raw: str) -> bool:
    """Return whether a name without a folder is that of a file: `x.test.ts`, but not `example.com`
    or an address."""
    suffix = raw.rpartition(".")[2]
    return "/" not in normalize_path(raw) and suffix.isalpha() and bool(facts_of(raw).language)


def _ambiguous(reason: str, paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{reason} names it, {len(paths)} files end so: {', '.join(paths[:3])}{more}"


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
    # The cut bounds the time for very long tool output.
    for match in _MENTION.finditer(text[:100_000]):
        raw, _, line = match.group().replace("(", ":").rpartition(":")
        out.append((raw, int(line)) if raw and line.isdigit() else (match.group(), 0))
        if len(out) >= MAX_MENTIONS:
            break
    return out


def owned_files(
    task: TaskSpec,
    index: Index,
    wanted: Iterable[Wanted],
    scores: Mapping[str, float],
    users: Mapping[str, Sequence[str]],
) -> list[Wanted]:
    """Return low files, which only the contract allows, by score (highest first), then by path.
    Locks, generated files and tool settings (`.gitignore`) need an entry without a wildcard. Every
    file that the contract allows, named or not, gets its users."""
    named = {item.path: item for item in wanted}
    contract = task.files_contract
    paths: list[str] = []
    for path in owned(sorted(index.paths), contract):
        if path in named:
            named[path].used_by = tuple(users.get(path, ()))
        elif path in contract.allowed or not _filler(path):
            paths.append(path)
    paths.sort(key=lambda path: (-scores.get(path, 0.0), path))
    return [
        Wanted(path, "low", "in the file contract", used_by=tuple(users.get(path, ())))
        for path in paths
    ]


def _filler(path: str) -> bool:
    facts = facts_of(path)
    setting = basename(path).startswith(".") and facts.category == "config"
    return facts.lock or facts.generated or setting
