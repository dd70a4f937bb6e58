"""Seed 002's ContextPacker: the required text, then files by priority, within the tier's limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from sutler.errors import RefusedError
from sutler.formats.document import CleanText
from sutler.paths import quote, wire_path
from sutler.scan.snapshot import Problem
from sutler.tasks.choice import Wanted, index_of, owned_files, wanted_files
from sutler.tasks.contract import idle_globs
from sutler.tasks.diffs import summarise_diff
from sutler.tasks.ladder import Rung, rungs_of, whole_rung
from sutler.tasks.prompt import (
    DOCS_TITLE,
    FILES_TITLE,
    doc_block,
    file_block,
    render_prompt,
    required_chars,
)
from sutler.tasks.shares import MAX_OWNED, Offer, Plan, add_owned, share
from sutler.tasks.wire import (
    Constraints,
    ContextDoc,
    ContextFile,
    ContextPack,
    Issue,
    PreviousState,
    TaskInfo,
    TaskSpec,
)

TOP_ISSUES = 20
ISSUES_SHARE = 2
"""Divisor: issues beyond the first `top_issues` take at most 1/ISSUES_SHARE of a pack before its
files."""
MAX_NOT_SHOWN = 40  # the notes themselves cost room that files need
MARKER_ROOM = 180  # the marker is written last, when all other room is spent
MAX_USERS = 5
"""Limit of names in the line about the users of a file."""

_NONE: Mapping[str, str] = {}
_TITLES = len(FILES_TITLE) + len(DOCS_TITLE)


class Source(Struct, frozen=True):
    """The project as input of the packer. `read` returns redacted text or a Problem. `clean`
    redacts the texts of the task. `scores` order the contract's files. `digests` of the raw files
    are for `verify`. `kept_out` has the reason why a named file may not be shown. `line_numbers`
    numbers every file, not only those whose lines the task cites. `users` are the users of each
    file. `brief` returns the short form of a file that only the contract allows, `empty` are files
    without a text, which enter only by name."""

    paths: Sequence[str]
    read: Callable[[str], CleanText | Problem]
    clean: Callable[[str], CleanText]
    scores: Mapping[str, float] = {}
    digests: Mapping[str, str] = {}
    kept_out: Mapping[str, Problem] = {}
    line_numbers: bool = False
    users: Mapping[str, Sequence[str]] = {}
    empty: frozenset[str] = frozenset()
    brief: Callable[[str, CleanText], CleanText] = lambda _, clean: clean


class Assembled(Struct, frozen=True):
    """The pack, the prompt whose characters it counts, the problems, and notes on omissions."""

    pack: ContextPack
    prompt: str
    problems: tuple[Problem, ...] = ()
    not_shown: tuple[str, ...] = ()


def assemble(task: TaskSpec, source: Source, limit: int, top_issues: int = TOP_ISSUES) -> Assembled:
    """Assemble required text, files by priority, the list of omissions, and the marker."""
    ranked = _ranked_issues(task)
    issues = ranked[: _affordable_issues(task, ranked, limit, top_issues, source.clean)]
    index = index_of(source.paths)
    wanted, missing = wanted_files(task, issues, index)
    problems = [source.kept_out.get(problem.path, problem) for problem in missing]
    problems += idle_globs(sorted(index.paths), task.files_contract)
    core, diff_cut = _core(task, issues, limit, source.clean)
    shelf = _Shelf(source, problems)
    low = owned_files(task, index, wanted, source.scores, source.users)
    low = [item for item in low if item.path not in source.empty]
    complete = len(issues) == len(ranked) and not diff_cut
    plan = _whole(core, wanted, low, shelf, limit) if complete else None
    if plan is None:
        plan = _squeeze(core, wanted, shelf, limit)
        core, issues = _more_issues(core, issues, ranked, plan, source.clean)
        add_owned(plan, low, shelf.offers)
    dropped = len(ranked) - len(issues)
    cuts = [f"{dropped:,} more issues"] if dropped else []
    cuts += ["the diff in full: it is summarised"] if diff_cut else []
    return _finish(core, plan, [*wanted, *low], shelf, limit, cuts)


class _Shelf:
    """Offers for files. Each file is read once; a file that cannot be read adds one problem."""

    def __init__(self, source: Source, problems: list[Problem]) -> None:
        self._source = source
        self._texts: dict[str, CleanText | None] = {}
        self._offers: dict[str, list[Offer]] = {}
        self.problems = problems
        self.digests = source.digests

    def _text(self, item: Wanted) -> CleanText | None:
        path = item.path
        if path not in self._texts:
            answer = self._source.read(path)
            if isinstance(answer, Problem):
                self.problems.append(answer)
            elif item.priority == "low":
                answer = self._source.brief(path, answer)
            self._texts[path] = None if isinstance(answer, Problem) else answer
        return self._texts[path]

    def whole(self, item: Wanted) -> Offer | None:
        clean = self._text(item)
        if clean is None:
            return None
        rung = _named(whole_rung(clean.text, *self._numbering(item, clean)), clean)
        return Offer(rung, len(_block(item, rung)))

    def offers(self, item: Wanted) -> list[Offer]:
        """Return the offers for a file, longest first."""
        clean = self._text(item)
        if item.path not in self._offers and clean is not None:
            rungs = rungs_of(clean.text, *self._numbering(item, clean))
            named = [_named(rung, clean) for rung in rungs]
            self._offers[item.path] = [Offer(rung, len(_block(item, rung))) for rung in named]
        return self._offers.get(item.path, [])

    def _numbering(self, item: Wanted, clean: CleanText) -> tuple[Sequence[int], bool]:
        """Return the lines that issues cite, and whether to number all. A condensed text has other
        lines than its file, so it has no numbers."""
        return ((), False) if clean.moved else (item.lines, self._source.line_numbers)


def _named(rung: Rung, clean: CleanText) -> Rung:
    """Mark the rung of a condensed text as condensed."""
    return replace(rung, level="condensed") if clean.condensed and rung.level == "full" else rung


def _block(item: Wanted, rung: Rung) -> str:
    return doc_block(_doc(item, rung)) if item.doc else file_block(_file(item, rung))


def _file(item: Wanted, rung: Rung, digests: Mapping[str, str] = _NONE) -> ContextFile:
    digest = digests.get(item.path, UNSET)
    path = wire_path(item.path)
    ranges = rung.ranges or UNSET
    return ContextFile(
        path,
        rung.text,
        item.priority,
        rung.level,
        item.reason,
        digest,
        ranges,
        tuple(map(wire_path, item.used_by[:MAX_USERS])) or UNSET,
        max(len(item.used_by) - MAX_USERS, 0) or UNSET,
    )


def _doc(item: Wanted, rung: Rung, digests: Mapping[str, str] = _NONE) -> ContextDoc:
    digest = digests.get(item.path, UNSET)
    return ContextDoc(wire_path(item.path), rung.text, rung.level, digest, rung.ranges or UNSET)


def _whole(
    core: ContextPack, wanted: list[Wanted], low: list[Wanted], shelf: _Shelf, limit: int
) -> Plan | None:
    """Plan every file in full; return None at the first file that does not fit."""
    plan = Plan(limit - required_chars(core) - _TITLES)
    if len(low) > MAX_OWNED:
        return None
    for item in [*wanted, *low]:
        offer = shelf.whole(item)
        if offer and not plan.take(item, offer):
            return None
    # An upper bound for the notes on problems, which must be shown as well.
    missing = sum(len(problem.path) * 2 + 100 for problem in shelf.problems)
    return plan if plan.room >= missing else None


def _squeeze(core: ContextPack, wanted: list[Wanted], shelf: _Shelf, limit: int) -> Plan:
    """Plan the files that the task names, if not everything fits."""
    plan = Plan(limit - required_chars(core) - _TITLES - MARKER_ROOM)
    if plan.room < 0:
        raise _refused(limit, limit - plan.room)
    share(plan, wanted, shelf.offers)
    return plan


def _core(
    task: TaskSpec, issues: list[Issue], limit: int, clean: Callable[[str], CleanText]
) -> tuple[ContextPack, bool]:
    """Return the pack without files, and whether the diff is cut. Only the diff is shortened to
    make the rest fit."""
    previous = task.previous_state
    diff = clean(previous.diff_summary).text if previous is not UNSET else ""
    # The smaller caps are for tasks whose required text nearly fills the limit.
    for cap in (limit // 10, 500, 120):
        short = summarise_diff(diff, cap)
        pack = _bare(task, issues, short, clean)
        if required_chars(pack) <= limit:
            return pack, short != diff
    raise _refused(limit, required_chars(pack))


def _refused(limit: int, needed: int) -> RefusedError:
    return RefusedError(
        f"goal, acceptance, constraints and error output need {needed:,} characters of {limit:,}"
        " allowed",
        rule="required text is never cut",
        next_step="use a stronger tier, or shorten the task, its issues or its error output",
    )


def _bare(
    task: TaskSpec, issues: list[Issue], diff: str, clean: Callable[[str], CleanText]
) -> ContextPack:
    def cleaned(text: str | UnsetType) -> str | UnsetType:
        return clean(text).text if isinstance(text, str) else text

    def plain(text: str) -> str:
        return clean(text).text if text else ""

    iteration = task.previous_state.iteration if task.previous_state is not UNSET else 0
    state = PreviousState(iteration, diff, tuple(_cleaned(issue, clean) for issue in issues))
    contract = task.files_contract
    tickets = tuple(
        replace(ticket, message=plain(ticket.message), hint=cleaned(ticket.hint))
        for ticket in task.repair_tickets
    )
    return ContextPack(
        task=TaskInfo(
            task.id,
            plain(task.title),
            plain(task.goal),
            tuple(replace(item, text=plain(item.text)) for item in task.acceptance),
        ),
        constraints=Constraints(contract.allowed, contract.forbidden, contract.allow_new_files),
        previous_state=state if task.previous_state is not UNSET or issues else UNSET,
        repair_tickets=tickets or UNSET,
        error_output=tuple(plain(text) for text in task.error_output) or UNSET,
    )


def _cleaned(issue: Issue, clean: Callable[[str], CleanText]) -> Issue:
    """Return the issue with its texts redacted."""

    def optional(text: str | UnsetType) -> str | UnsetType:
        return clean(text).text if isinstance(text, str) else text

    return replace(
        issue,
        message=clean(issue.message).text if issue.message else "",
        signature=clean(issue.signature).text if issue.signature else "",
        hint=optional(issue.hint),
        raw=optional(issue.raw),
    )


def signature(issue: Issue) -> str:
    """Return the issue's signature, or build one such as `typecheck:src/api.ts:42:Type error`."""
    file = issue.file if issue.file is not UNSET else ""
    line = issue.line if issue.line is not UNSET else 0
    return issue.signature or f"{issue.kind}:{file}:{line}:{' '.join(issue.message.split())}"


def _affordable_issues(
    task: TaskSpec, ranked: list[Issue], limit: int, top: int, clean: Callable[[str], CleanText]
) -> int:
    """Return how many issues to include: the first `top` always, more while they leave room for
    files."""
    few, many = min(top, len(ranked)), len(ranked)
    while few < many:
        middle = (few + many + 1) // 2
        needed = required_chars(_bare(task, ranked[:middle], "", clean))
        few, many = (middle, many) if needed <= limit // ISSUES_SHARE else (few, middle - 1)
    return few


def _more_issues(
    core: ContextPack,
    entered: list[Issue],
    ranked: list[Issue],
    plan: Plan,
    clean: Callable[[str], CleanText],
) -> tuple[ContextPack, list[Issue]]:
    """Fill the room that named files leave with further issues, before files of the contract: no
    error output is lost while it fits."""
    entered = list(entered)
    size = required_chars(core)
    for candidate in ranked[len(entered) :]:
        state = core.previous_state
        if isinstance(state, UnsetType):
            break
        issue = _cleaned(candidate, clean)
        larger = replace(core, previous_state=replace(state, issues=(*state.issues, issue)))
        cost = required_chars(larger) - size
        if cost <= plan.room:
            plan.room -= cost
            core, size = larger, size + cost
            entered.append(candidate)
    return core, entered


def _ranked_issues(task: TaskSpec) -> list[Issue]:
    """Return the issues, one per signature, errors before warnings."""
    earlier = task.previous_state.issues if task.previous_state is not UNSET else ()
    unique: dict[str, Issue] = {}
    for issue in (*task.issues, *earlier):
        unique.setdefault(signature(issue), replace(issue, signature=signature(issue)))
    return sorted(unique.values(), key=lambda issue: issue.level != "error")


def _finish(
    core: ContextPack, plan: Plan, wanted: list[Wanted], shelf: _Shelf, limit: int, cuts: list[str]
) -> Assembled:
    chosen = [(item, plan.chosen[item.path].rung) for item in wanted if item.path in plan.chosen]
    broken = {problem.path for problem in shelf.problems}
    left = [item for item in wanted if item.path not in plan.chosen and item.path not in broken]
    shortened = any(rung.level not in ("full", "condensed") for _, rung in chosen)
    notes = [
        f"{quote(problem.path)}: {problem.kind}, {problem.detail}" for problem in shelf.problems
    ]
    notes += [f"{quote(item.path)}: over the limit ({item.reason})" for item in left]
    pack = replace(
        core,
        files=tuple(_file(item, rung, shelf.digests) for item, rung in chosen if not item.doc),
        docs=tuple(_doc(item, rung, shelf.digests) for item, rung in chosen if item.doc),
        truncated=bool(left or shortened or cuts),
        max_chars=limit,
        # The largest possible count, so that the marker cannot grow after the measurement.
        not_shown_more=len(notes) + len(cuts),
    )
    notes = [*cuts, *notes]
    listed = _that_fit(notes, limit - len(render_prompt(pack)))
    pack = replace(pack, not_shown=tuple(listed), not_shown_more=len(notes) - len(listed))
    prompt = render_prompt(pack)
    if len(prompt) > limit:
        raise _refused(limit, len(prompt))
    pack = _measured(replace(pack, total_chars=len(prompt)))
    return Assembled(pack, prompt, tuple(shelf.problems), tuple(notes))


def _measured(pack: ContextPack) -> ContextPack:
    """Return the pack with the length of its JSON, which escapes the same texts and names fields,
    and so has more characters than the prompt that the tier limits."""
    size = len(msgspec.json.encode(pack).decode())
    for _ in range(3):  # the figure is part of what it measures: its own digits count
        pack = replace(pack, json_chars=size)
        size = len(msgspec.json.encode(pack).decode())
    return pack


def _that_fit(notes: list[str], room: int) -> list[str]:
    """Return the notes that fit, with room for the title and the count of the rest."""
    room -= len("## Not shown\n\n\n") + len("- and 999,999,999 more\n")
    listed: list[str] = []
    # In order, and none after the first that is too long: the earlier ones matter more.
    for note in notes[:MAX_NOT_SHOWN]:
        room -= len(note) + 3
        if room < 0:
            break
        listed.append(note)
    return listed
