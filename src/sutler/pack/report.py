"""Report of a pack, and the decision whether its problems refuse it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from hashlib import sha256

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from sutler.budget.selection import Budget, Choice, Request
from sutler.config import Settings
from sutler.errors import RefusedError
from sutler.formats.assembly import Framed, ranges
from sutler.formats.document import CleanText, Listing, Section
from sutler.formats.transparency import PackType
from sutler.pack.cache import CachedFile, PackCache
from sutler.paths import RelPath, quote
from sutler.scan.snapshot import Excluded, Problem, ProblemKind, Reason, Rule

WHOLE = ("full", "summary")
"""Levels that cut nothing of a file; a summary shows facts and no text to cut."""


class Shown(Struct, frozen=True, gc=False):
    """One file that entered: its level, its cost in the budget's unit, and the reason."""

    path: RelPath
    level: str  # of the pack's own ladder: full, head_tail, excerpt, head, summary …
    bytes: int
    tokens: int | None
    cost: int
    reason: str
    sha256: str = ""
    rules: tuple[str, ...] = ()  # of the secrets that were replaced, one each
    hidden: tuple[tuple[str, int], ...] = ()  # invisible characters spelled out, by kind
    lines: str = ""  # of the file, such as `40-62, 80-95`; empty if it is shown whole

    @property
    def findings(self) -> int:
        return len(self.rules)

    @property
    def weight(self) -> int:
        """Size for comparisons: tokens if they were counted, else bytes."""
        return self.bytes if self.tokens is None else self.tokens


class Report(Struct, frozen=True):
    """Report of a finished pack. `used` is counted on the very text, in the budget's unit."""

    pack_id: str
    format: str
    budget: Budget
    used: int
    bytes: int
    tokens: int | None
    shown: tuple[Shown, ...]
    listing: Listing
    excluded: tuple[Excluded, ...]
    problems: tuple[Problem, ...]
    parts: int = 1
    type: PackType = "full"
    selection_reason: str = "asked for"
    by_name: tuple[str, ...] = ()  # lines about text files that only a name rule leaves out
    linked: tuple[RelPath, ...] = ()  # shown files that have another name somewhere: hard links
    document_bytes: int | UnsetType = UNSET  # content of a document, as its own metadata states it

    @property
    def content_bytes(self) -> int:
        """Bytes of the files' text that the pack shows."""
        if self.document_bytes is not UNSET:
            return self.document_bytes
        return sum(file.bytes for file in self.shown)

    @property
    def scanned(self) -> int:
        return len(self.shown) + sum(count for _, count in by_reason(self.excluded))

    def out_by_reason(self) -> list[tuple[str, int]]:
        """Return how many files were omitted, by reason, most first."""
        return by_reason(self.excluded)

    def hidden(self) -> dict[str, int]:
        """Return how many invisible characters were made visible, by kind."""
        tally: Counter[str] = Counter()
        for one in self.shown:
            for kind, count in one.hidden:
                tally[kind] += count
        return dict(sorted(tally.items()))

    def largest(self, count: int = 5) -> list[Shown]:
        if self.shown:
            return sorted(self.shown, key=lambda one: (-one.weight, one.path))[:count]
        return []


def by_reason(excluded: Iterable[Excluded]) -> list[tuple[str, int]]:
    """Count exclusions for people. The inside of `.git` is on record, but not counted as files of
    the project."""
    tally: Counter[str] = Counter()
    for item in excluded:
        if item.rule.source != "git":
            tally[item.reason] += item.count
    return sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))


def capped(excluded: Iterable[Excluded]) -> frozenset[str]:
    """Return reasons whose count stopped at a limit and reads `1,000+`."""
    return frozenset(item.reason for item in excluded if item.more and item.rule.source != "git")


def shown_text(path: RelPath, level: str, text: str, reason: str, whole: CleanText | None) -> Shown:
    """Describe a file in a document: `text` is the shown part, `whole` the clean file."""
    data = text.encode("utf-8", "surrogatepass")
    rules = tuple(one.rule for one in whole.findings if one.confidence > 0) if whole else ()
    hidden = whole.hidden if whole else ()
    return Shown(
        path, level, len(data), None, 0, reason, sha256(data).hexdigest(), rules, hidden=hidden
    )


def shown_section(section: Section, tokens: int | None) -> Shown:
    """Describe a section without its path and reason: the files of a batch travel by their
    numbers."""
    rules = [finding.rule for finding in section.body.findings if finding.confidence > 0]
    return Shown(
        RelPath(""),
        section.level,
        section.length,
        tokens,
        section.cost,
        "",
        section.sha256,
        tuple(rules),
        section.body.hidden,
        ranges(section.spans),
    )


class Batch(Struct, frozen=True, array_like=True):
    """Built sections: their files, their text, the part of it that the ending's digest covers,
    their manifest lines."""

    files: list[tuple[int, Shown, CachedFile | None]]
    excluded: list[tuple[int, Reason, Rule, CachedFile | None]]
    problems: list[tuple[int, ProblemKind, str]]
    text: bytes
    frames: bytes
    lines: bytes


Progress = Callable[[int, int], None]
"""Progress callback: files done, files in total."""


class Account:
    """Collector of a run's files, exclusions and figures, filled while the text is sealed."""

    def __init__(
        self,
        order: Sequence[Choice],
        cache: PackCache,
        problems: Iterable[Problem],
        progress: Progress | None,
    ) -> None:
        self._order = order
        self._cache = cache
        self._progress = progress
        self.numbers = {str(choice.path): at for at, choice in enumerate(order)}
        self.listing = Listing()
        self.by_name: tuple[str, ...] = ()
        self.used: int | None = None  # in the budget's unit; None without a limit
        self.tokens: int | None = None  # None if they are not counted
        self.shown: list[Shown] = []
        self.excluded: list[Excluded] = []
        self.problems = [*problems]
        self.withheld: frozenset[str] = frozenset()  # on record by their masked names
        self._done = 0
        self.bytes = 0
        self.pack_id = ""

    def advance(self, files: int) -> None:
        """Call the progress callback with more finished files."""
        self._done = min(self._done + files, len(self._order))
        if self._progress is not None:
            self._progress(self._done, len(self._order))

    def framed(self, batch: Batch) -> Framed:
        """Return a batch as the format joins it, with each file recorded for the report and the
        cache."""
        self.advance(len(batch.files) + len(batch.excluded))
        for number, reason, rule, record in batch.excluded:
            path = self._order[number].entry.path
            self._cache.learn(path, record)
            if path not in self.withheld:
                self.excluded.append(Excluded(path, reason, rule))
        for number, kind, detail in batch.problems:
            self.problems.append(Problem(self._order[number].entry.path, kind, detail))
        for number, shown, record in batch.files:
            choice = self._order[number]
            self._cache.learn(choice.entry.path, record)
            self.shown.append(replace(shown, path=choice.entry.path, reason=choice.reason))
        return Framed(batch.text, batch.frames, batch.lines)

    def counted(self, pieces: Generator[bytes, None, str]) -> Iterator[bytes]:
        """Yield the text; count its bytes and record its id."""
        while True:
            try:
                piece = next(pieces)
            except StopIteration as stop:
                self.pack_id = stop.value
                return
            self.bytes += len(piece)
            yield piece

    def report(self, request: Request, excluded: Iterable[Excluded]) -> Report:
        """Build the report of the finished pack; `excluded` are exclusions before files were
        loaded."""
        linked = {choice.path for choice in self._order if choice.entry.links > 1}
        out = (*excluded, *self.excluded)
        return Report(
            pack_id=self.pack_id,
            format=request.format,
            budget=request.budget,
            used=self.bytes if self.used is None else self.used,
            bytes=self.bytes,
            tokens=self.tokens,
            shown=tuple(self.shown),
            listing=self.listing,
            excluded=tuple(sorted(out, key=lambda item: item.path)),
            problems=tuple(sorted(self.problems, key=lambda item: (item.path, item.kind))),
            by_name=self.by_name,
            linked=tuple(file.path for file in self.shown if file.path in linked),
        )


def empty_pack(excluded: Iterable[Excluded], problems: Sequence[Problem]) -> RefusedError:
    """Build the refusal of a pack that would show and list no file, with the reasons of the
    exclusions."""
    reasons = by_reason(item for item in excluded if item.rule.source != "--output")
    out = ", ".join(f"{count:,} {reason.replace('_', ' ')}" for reason, count in reasons[:4])
    first = [f"{quote(one.path)} {one.kind}" for one in problems[:3]]
    detail = "; ".join(filter(None, (out, ", ".join(first))))
    return RefusedError(
        f"the pack would hold no file{f' (out: {detail})' if detail else ': there is none here'}",
        rule="a pack of nothing is not written",
        next_step="see 'sutler scan --excluded' for each rule"
        + ("; globs are '*.py' or 'src/**'" if any(r == "not_selected" for r, _ in reasons) else "")
        if detail
        else "change to a project, or name one: sutler pack FOLDER",
    )


Ask = Callable[[Sequence[Problem]], bool]
"""Callback that shows the problems and returns whether to continue. Without it the answer is no."""


_KINDS: dict[Reason, ProblemKind] = {
    "credentials": "denied",
    "ai_denied": "denied",
    "size_limit": "too_large",
    "symlink": "special",
    "hard_link": "special",
    "special": "special",
    "mount_point": "special",
}


def named_but_out(excluded: Iterable[Excluded], named: Sequence[RelPath]) -> list[Problem]:
    """Return a problem for each named file that a rule excludes all the same: an omission is never
    silent."""
    if not named:
        return []
    wanted = {*named, *(f"{path}/" for path in named)}
    return [
        Problem(item.path.rstrip("/"), _KINDS[item.reason], str(item.rule))
        for item in excluded
        if item.reason in _KINDS and item.path in wanted
    ]


def judge(
    problems: Sequence[Problem], settings: Settings, named: Sequence[RelPath], ask: Ask | None
) -> None:
    """Refuse by the mode. strict: any problem refuses. flexible: a problem with something that the
    user named asks, and without an answer refuses; others are recorded. ignore: all are recorded
    and none refuses."""
    mode = settings.text("mode")
    if mode == "ignore":
        return
    grave = problems if mode == "strict" else [one for one in problems if one.path in named]
    if not grave or (mode == "flexible" and ask is not None and ask(grave)):
        return
    lines = [
        f"{quote(one.path)}: {one.kind}{f' ({one.detail})' if one.detail else ''}" for one in grave
    ]
    # More lines would scroll the rule and the next step away.
    shown = "\n".join(f"  {line}" for line in lines[:20])
    more = f"\n  and {len(lines) - 20:,} more" if len(lines) > 20 else ""
    by_name = any(one.kind == "denied" and one.detail.startswith("default:") for one in grave)
    allow = "use --allow for a file that is no credential, " if by_name else ""
    raise RefusedError(
        f"{len(lines):,} problem{'s' if len(lines) != 1 else ''} on the way:\n{shown}{more}",
        rule=f"mode = {mode}",
        next_step=f"correct them, leave the paths out, {allow}"
        "or use --mode ignore to go on without them",
    )
