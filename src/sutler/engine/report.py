"""What a pack did, as data: read by the summary, the tree and the receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct

from sutler.values.pack import Budget, CleanText, Listing, PackType, Section
from sutler.values.paths import RelPath
from sutler.values.snapshot import Excluded, Problem

WHOLE = ("full", "summary")
"""Levels at which nothing of a file was cut away; a summary shows facts and no text to cut."""


class Shown(Struct, frozen=True, gc=False):
    """One file that entered: how much of it, at what cost in the budget's unit, and why."""

    path: RelPath
    level: str  # of the pack's own ladder: full, head_tail, excerpt, head, summary …
    bytes: int
    tokens: int | None
    cost: int
    reason: str
    sha256: str = ""
    rules: tuple[str, ...] = ()  # of the secrets that were replaced, one each
    hidden: tuple[tuple[str, int], ...] = ()  # invisible characters spelled out, by kind

    @property
    def findings(self) -> int:
        return len(self.rules)

    @property
    def weight(self) -> int:
        """What people compare files by: tokens where they were counted, else bytes."""
        return self.bytes if self.tokens is None else self.tokens


class Report(Struct, frozen=True):
    """A finished pack's account of itself. `used` is counted on the very text, in the budget's unit."""

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
    linked: tuple[RelPath, ...] = ()  # shown files that have another name somewhere: hard links

    @property
    def scanned(self) -> int:
        return len(self.shown) + sum(count for _, count in by_reason(self.excluded))

    def out_by_reason(self) -> list[tuple[str, int]]:
        """How many files stayed out, by reason, most first."""
        return by_reason(self.excluded)

    def hidden(self) -> dict[str, int]:
        """How many invisible characters were made visible, by kind."""
        tally: Counter[str] = Counter()
        for one in self.shown:
            for kind, count in one.hidden:
                tally[kind] += count
        return dict(sorted(tally.items()))

    def largest(self, count: int = 5) -> list[Shown]:
        return sorted(self.shown, key=lambda one: (-one.weight, one.path))[:count] if self.shown else []


def by_reason(excluded: Iterable[Excluded]) -> list[tuple[str, int]]:
    """Counts for people. The inside of `.git` is on record, but nobody thinks of it as files of the project."""
    tally: Counter[str] = Counter()
    for item in excluded:
        if item.rule.source != "git":
            tally[item.reason] += item.count
    return sorted(tally.items(), key=lambda pair: (-pair[1], pair[0]))


def shown_text(path: RelPath, level: str, text: str, reason: str, whole: CleanText | None) -> Shown:
    """A file in a document: `text` is what it shows, `whole` the clean file that this was taken from."""
    data = text.encode("utf-8", "surrogatepass")
    rules = tuple(one.rule for one in whole.findings if one.confidence > 0) if whole else ()
    hidden = whole.hidden if whole else ()
    return Shown(path, level, len(data), None, 0, reason, sha256(data).hexdigest(), rules, hidden=hidden)


def shown_of(section: Section, tokens: int | None) -> Shown:
    rules = tuple(finding.rule for finding in section.body.findings if finding.confidence > 0)
    return Shown(
        section.path,
        section.level,
        section.length,
        tokens,
        section.cost,
        section.reason,
        section.sha256,
        rules,
        hidden=section.body.hidden,
    )
