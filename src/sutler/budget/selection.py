"""Files that may enter a pack, in the order of claim: pins, then files that explain a project, then
the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from sutler.errors import UsageError
from sutler.formats.document import CleanText, Format
from sutler.paths import RelPath, quote
from sutler.scan.globs import GlobSet
from sutler.scan.snapshot import Excluded, FileEntry, FileFacts, Rule
from sutler.scan.text import Loaded
from sutler.setting_table import Unit

ENTRY_DOCUMENTS = (
    "agents.md",
    "claude.md",
    "readme.md",
    "readme.rst",
    "readme.txt",
    "readme",
    "llms.txt",
)
"""Documents that a newcomer reads first; at the root of the project they outrank every other
file."""

_BY_PATH = attrgetter("entry.path")
_DEPTH = 20  # bits for the depth of a path
_PINNED, _ENTRY, _CRITICAL, _HIGH, OWN_CODE, _OTHER, _TEST, _ASIDE, _DERIVED = range(9)

_BESIDE = frozenset({"doc", "example", "bench", "ci"})
"""Roles of code that surrounds the project: it comes after the project's own."""

_FORMAL = re.compile(
    r"(?i)(?:licen[sc]e|copying|notice|patents|authors|contributors|maintainers|thanks|credits"
    r"|change(?:log|s)|history|news|releases?|code_of_conduct|conduct|security|funding|support"
    r"|readme[-_.][a-z]{2}(?:[-_][a-z]{2,4})?)\b[^/]*"
)
"""Documents of the root about rights, people and versions, and translations of the README."""

_STABILITY = {
    "documentation": 0,
    "config": 1,
    "build": 1,
    "dependency": 1,
    "database": 2,
    "test": 4,
    "other": 5,
}
_SOURCE_STABILITY = 3


Detail = Literal["full", "outline", "list"]

_RULE = re.compile(r"(.+?)=(full|outline|list)(?:,|$)")


class DetailRule(Struct, frozen=True):
    """Level at which the files of a glob are shown: all, the outline, or the name."""

    glob: str
    level: Detail


def parse_detail(words: Sequence[str]) -> tuple[DetailRule, ...]:
    """Parse `src/**=full,docs/**=list`; the first rule that matches a file applies."""
    rules: list[DetailRule] = []
    for word in words:
        at = 0
        while match := _RULE.match(word, at):
            rules.append(DetailRule(match[1].strip(), cast("Detail", match[2])))
            at = match.end()
        if at != len(word) or not word:
            raise UsageError(
                f"{quote(word[at:])} is no level of detail",
                rule="GLOB=LEVEL, separated by commas; levels: full, outline, list",
                next_step="write for example --detail 'src/**=full,tests/**=outline,docs/**=list'",
            )
    return tuple(rules)


class DetailLevels:
    """The rules of one pack, compiled."""

    def __init__(self, rules: Sequence[DetailRule]) -> None:
        self._rules = [(GlobSet((rule.glob,)), rule) for rule in rules]

    def rule_for(self, path: str) -> DetailRule | None:
        """Return the first rule that matches; without one a file is shown in full."""
        return next((rule for globs, rule in self._rules if globs.match(path) is not None), None)


class Budget(Struct, frozen=True):
    """A hard limit on the very text that leaves; `limit` None means no limit."""

    limit: int | None = None
    unit: Unit = "tokens"
    counter: str = "o200k_base"

    @property
    def room(self) -> int | None:
        """Upper bound of the limit in bytes: a token of text has about four."""
        if self.limit is None or self.unit != "tokens":
            return self.limit
        return self.limit * 4


class Cut(Struct, frozen=True):
    """Seed 004's TruncationConfig: a file above `max_file_bytes` keeps its head and its tail; with
    `outlines` code keeps its outline instead."""

    max_file_bytes: int = 50_000
    head_lines: int = 100
    tail_lines: int = 50
    outlines: bool = True
    max_document_bytes: int = 0  # limit of a document, of which the head stays, and of an outline


class Request(Struct, frozen=True, kw_only=True):
    """Parameters of a pack by its caller; no step reads anything else."""

    goal: str = ""
    since: str = ""  # files changed since this revision come first
    diff: bool = False  # the diff against `since`, or against HEAD
    log: int = 0  # the subjects of the last commits
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_files: int | None = None
    budget: Budget = Budget()
    cut: Cut = Cut()
    format: Format = "markdown"
    line_numbers: bool = False
    fill: bool = False  # with a task: use the whole budget, whatever the regions' worth
    stop: float | None = None  # with a task: the least probability of a region that enters
    stable_order: bool = False  # with a task: files by category and path, not by rank
    header: str = ""  # the user's text before the files
    instructions: str = ""  # and after them
    transforms: tuple[str, ...] = ()
    detail: tuple[DetailRule, ...] = ()  # how much of a file to show, by glob
    rest: str = "auto"  # form of files that do not fit whole, or come after the stop

    @property
    def asks_history(self) -> bool:
        return bool(self.since or self.diff or self.log)

    @property
    def reviews(self) -> bool:
        """Whether changes are shown as a diff with the changed functions; with `fill` as whole
        files."""
        return bool(self.since) and not self.fill


class Choice(Struct, frozen=True, gc=False):
    """A file that may enter, with its place in the order and the reason."""

    entry: FileEntry
    facts: FileFacts
    priority: int
    score: float
    reason: str
    outline: bool = False  # show the outline instead of the text

    @property
    def path(self) -> RelPath:
        return self.entry.path

    @property
    def pinned(self) -> bool:
        """Whether it precedes every other claim: named by the user, or changed since a named
        revision."""
        return self.priority == _PINNED

    @property
    def key(self) -> bool:
        """Whether it is a key file of the project."""
        return self.priority in (_CRITICAL, _HIGH)


class Material(Struct, frozen=True, gc=False):
    """One loaded and redacted file, from which a section is cut."""

    choice: Choice
    loaded: Loaded
    clean: CleanText


class Centrality(Struct, frozen=True):
    """Worth of files by the project's own texts: the key files, and the number of users of each
    file."""

    keys: frozenset[str] = frozenset()
    users: Mapping[str, int] = {}


class Selection(Struct, frozen=True):
    """Choices in their total order (priority, -score, path), and exclusions while choosing.
    `listed` are excluded files that the pack names."""

    choices: tuple[Choice, ...]
    excluded: tuple[Excluded, ...] = ()
    listed: tuple[RelPath, ...] = ()


def claim(
    entry: FileEntry, facts: FileFacts, keys: frozenset[str] | None = None
) -> tuple[int, str]:
    """Return the strength of a file's claim on the budget without a task, and its reason. If no
    text was read for the key files, the names of seed 004 decide."""
    if entry.named:
        return _PINNED, "named by you"
    if entry.path.lower().removeprefix(".github/") in ENTRY_DOCUMENTS:
        return _ENTRY, "entry document"
    formal = facts.category == "documentation" and _FORMAL.fullmatch(entry.path) is not None
    if facts.role == "ci" or formal or entry.path.startswith(".github/"):
        return _ASIDE, facts.category
    if facts.category in ("config", "documentation") and _hidden(entry.path):
        return _DERIVED, facts.category
    if facts.lock:
        return _DERIVED, "lock file"
    if facts.generated:
        return _DERIVED, "generated file"
    by_name = keys is None and facts.importance is not None and entry.size > 0
    if by_name or (keys is not None and entry.path in keys):
        rank = _CRITICAL if facts.importance == "critical" else _HIGH
        return rank, f"key file{' by its name' * by_name}: {facts.category}"
    if facts.tag == "test":
        return _TEST, "test"
    own = facts.tag == "code" and facts.role not in _BESIDE
    return (OWN_CODE if own else _OTHER), facts.category


def _hidden(path: str) -> bool:
    """Return whether the name or a folder begins with a dot, as settings of tools do."""
    return path[:1] == "." or "/." in path


def require_true_lines(request: Request) -> None:
    """Refuse to remove lines if line numbers are shown or regions are cited."""
    moved = "remove-empty-lines" in request.transforms
    if moved and (request.line_numbers or request.goal or request.since):
        raise UsageError(
            "empty lines cannot be removed here",
            rule="line numbers, and the regions that a goal cites, are the file's own",
            next_step="leave out remove-empty-lines, or the goal, --since and -n",
        )


def require_detail(request: Request) -> None:
    """Refuse levels of detail in a review, and numbers beside outlines."""
    if request.detail and request.reviews:
        raise UsageError(
            "--detail or --compress and a review are given together",
            rule="a review shows the diff and the changed functions",
            next_step="add --fill for whole files, or leave out --detail and --compress",
        )
    outlines = request.rest == "outline" or any(rule.level == "outline" for rule in request.detail)
    if request.line_numbers and outlines:
        raise UsageError(
            "-n and outlines are given together",
            rule="an outline states the file's own line numbers already",
            next_step="leave out -n",
        )


def display_key(choice: Choice) -> tuple[int, str]:
    """Return a sort key with the most stable content first, so that a prompt cache keeps the
    longest prefix: entry documents, other documents, configuration, data definitions, source,
    tests, CI and formal documents; then by path."""
    if choice.priority in (_ENTRY, _ASIDE):
        return -1 if choice.priority == _ENTRY else 6, choice.entry.path
    facts = choice.facts
    return 5 if facts.lock else _STABILITY.get(facts.category, _SOURCE_STABILITY), choice.entry.path


def choose(
    entries: Iterable[tuple[FileEntry, FileFacts]],
    request: Request,
    scores: Mapping[str, tuple[float, str]] | None = None,
    pins: Mapping[str, str] | None = None,
    centrality: Centrality | None = None,
) -> Selection:
    """Apply the include and exclude globs and the cap. Without scores the order is (claim, users,
    depth, path); scores mean a task, and its files come first. `pins` maps paths to the reason why
    they precede every other."""
    kept, excluded = _matching(entries, request)
    keys = centrality.keys if centrality is not None else None
    choices = _claimed(kept, keys) if scores is None else _scored(kept, scores)
    if pins:
        choices = [
            replace(one, priority=_PINNED, reason=pins[one.path]) if one.path in pins else one
            for one in choices
        ]
    choices.sort(key=_BY_PATH)  # the input is sorted; the sorts below keep the order of equals
    if scores is None:
        choices.sort(key=lambda choice: choice.priority << _DEPTH | choice.entry.path.count("/"))
        if centrality is not None:
            users = centrality.users
            choices.sort(key=lambda choice: (choice.priority, -users.get(choice.entry.path, 0)))
    else:
        choices.sort(
            key=lambda choice: (choice.priority != _PINNED, -choice.score, choice.priority)
        )
    return _detailed(_capped(choices, excluded, request.max_files), request)


def _matching(
    entries: Iterable[tuple[FileEntry, FileFacts]], request: Request
) -> tuple[list[tuple[FileEntry, FileFacts]], list[Excluded]]:
    """Split files by the globs of a request into admitted and excluded; named files always stay."""
    if not request.include and not request.exclude:
        return list(entries), []
    include, exclude = GlobSet(request.include), GlobSet(request.exclude)
    matching: list[tuple[FileEntry, FileFacts]] = []
    excluded: list[Excluded] = []
    for entry, facts in entries:
        dropped = None if entry.named else _dropped(entry, include, exclude)
        if dropped:
            excluded.append(dropped)
        else:
            matching.append((entry, facts))
    return matching, excluded


def _detailed(selection: Selection, request: Request) -> Selection:
    """Mark the files to outline, and take out those that are only named."""
    if not request.detail:
        return selection
    levels = DetailLevels(request.detail)
    choices: list[Choice] = []
    listed: list[Excluded] = []
    names: list[RelPath] = []
    for choice in selection.choices:
        rule = levels.rule_for(choice.path)
        if rule is not None and rule.level == "list":
            names.append(choice.path)
            listed.append(
                Excluded(choice.path, "not_selected", Rule("--detail", f"{rule.glob}=list"))
            )
        elif rule is not None and rule.level == "outline":
            choices.append(replace(choice, outline=True))
        else:
            choices.append(choice)
    excluded = sorted((*selection.excluded, *listed), key=lambda item: item.path)
    return Selection(tuple(choices), tuple(excluded), tuple(sorted(names)))


def _claimed(
    kept: Sequence[tuple[FileEntry, FileFacts]], keys: frozenset[str] | None = None
) -> list[Choice]:
    """Return choices by their claim alone. Facts are few and shared, so each claim is computed
    once."""
    shared: dict[int, tuple[int, str]] = {}
    choices: list[Choice] = []
    for entry, facts in kept:
        shallow = "/" not in entry.path.removeprefix(".github/")
        own = entry.named or shallow or not entry.size or _hidden(entry.path)
        if own or (keys is not None and entry.path in keys):
            place, reason = claim(entry, facts, keys)
        else:
            if id(facts) not in shared:
                shared[id(facts)] = claim(entry, facts, keys)
            place, reason = shared[id(facts)]
        choices.append(Choice(entry, facts, place, 0.0, reason))
    return choices


def _scored(
    kept: Sequence[tuple[FileEntry, FileFacts]], scores: Mapping[str, tuple[float, str]]
) -> list[Choice]:
    choices = _claimed(kept)
    for place, choice in enumerate(choices):
        if choice.entry.path in scores:
            score, why = scores[choice.entry.path]
            choices[place] = replace(
                choice, score=score, reason=f"{choice.reason}; {why}" if why else choice.reason
            )
    return choices


def _dropped(entry: FileEntry, include: GlobSet, exclude: GlobSet) -> Excluded | None:
    if exclude and (pattern := exclude.match(entry.path)) is not None:
        return Excluded(entry.path, "not_selected", Rule("--exclude", pattern))
    if include and include.match(entry.path) is None:
        return Excluded(entry.path, "not_selected", Rule("--include", ", ".join(include.patterns)))
    return None


def _capped(choices: Sequence[Choice], excluded: list[Excluded], cap: int | None) -> Selection:
    if cap is not None and len(choices) > cap:
        rule = Rule("limit", f"max_files = {cap}")
        excluded.extend(Excluded(choice.path, "cap", rule) for choice in choices[cap:])
        choices = choices[:cap]
    return Selection(tuple(choices), tuple(sorted(excluded, key=lambda item: item.path)))
