"""Steps of the pipeline, and their common state during one run.

A batch names files by their number, so that paths, which may hold bytes that are no Unicode, stay
in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sutler.budget import fit as budget
from sutler.budget.selection import Choice, Material, Request, Selection, display_key
from sutler.formats import assembled, shape
from sutler.formats.assembly import SectionFrame, joined, section_frame
from sutler.formats.document import CleanText, Listing, Preamble, Section
from sutler.formats.tree import drawing_limit, drawn_within
from sutler.pack import report
from sutler.pack.cache import NO_CACHE, cache_for
from sutler.pack.left_out import below_drawing, left_out, lines_of
from sutler.pack.load import LoadedFile, Loader, Seen, batches_of
from sutler.pack.scope import Scope
from sutler.pack.tree_secrets import shared_values, without_secret_names
from sutler.parallel import ordered, workers_for
from sutler.scan.classify import Classified
from sutler.scan.snapshot import Excluded, Snapshot
from sutler.secrets.cleaner import (
    PER_FILE,
    Clean,
    Numbering,
    Redactor,
    as_it_is,
    numbered,
    redacted_text,
)
from sutler.tokens import counter as vocabulary
from sutler.tokens.counter import LITTLE, Counter, counter_for, token_counter

if TYPE_CHECKING:
    from sutler.budget.task_fit import Ranking
    from sutler.pack.changes import Changes
    from sutler.secrets.shared_values import SharedValues

ENOUGH, ENOUGH_RAW = 1_500_000, 8_000_000
"""Bytes above which worker processes pay: to redact or count, and to read only."""
REVIEW_DRAWING = 800, 200
"""Limit of the drawing of the tree in a review, in characters and tokens."""
OFFERED = 4
"""Amount of counting for a limited pack, in sizes of the pack: rejected files count too, and the
whole text at the end."""


class PackRun:
    """One run of the pipeline. The methods from `scan` to `record` are its steps, in order."""

    def __init__(
        self, project: Scope, request: Request, ask: report.Ask | None, *, count_tokens: bool
    ) -> None:
        self.project = project
        self.request = request
        self.tokens: Counter | None = self._counted if count_tokens else None
        self.progress: report.Progress | None = None
        self.watch: Callable[[Section], None] | None = None  # called with each section that enters
        self.empty_ok = False  # whether an empty pack is allowed, as for a drawing of the tree
        self.cache = NO_CACHE
        self.report: report.Report | None = None
        self._ask = ask
        self._clean: Clean = as_it_is
        self._numbering = Numbering()
        self._shared: SharedValues | None = None  # hidden in every text of the pack
        self._changes: Changes | None = None
        self._limited = request.budget.limit is not None

    def scan(self) -> Snapshot:
        """Return the tree, with no secret in any name."""
        settings = self.project.settings
        if self.tokens is not None or settings.flag("redact"):  # otherwise it has no use
            self.cache = cache_for(self.project.place.root, settings, self.request, os.environ)
        found = self.project.found()
        whole, room = sum(entry.size for entry in found.entries), self.request.budget.room
        size = whole if room is None else min(whole, room)
        if self._limited and OFFERED * size > LITTLE:
            vocabulary.expect_much()  # loaded at the first text that is not in the cache
        if settings.flag("redact"):
            weight = max(size, len(found.entries) * PER_FILE)
            self._clean = Redactor(lambda: self.project.plain_clean(weight))
            found = self.project.masked(found, numbered(self._clean, self._numbering), self.cache)
        self._snapshot = found
        return found

    def rank(self, snapshot: Snapshot) -> Ranking | None:
        """Rank the files by their worth for the goal, or for the changes in git."""
        request = self.request
        if request.asks_history:
            self._changes = self.project.changes(snapshot, request, self._numbering)
        changes = self._changes
        reviews = changes is not None and request.reviews
        task = request.goal or (changes.task() if changes and not reviews else "")
        if not task and not reviews:
            return None
        if self._clean is not as_it_is:
            _ = self._tree_values  # a query must hold none
        if changes is None or not reviews:
            return self.project.ranking(snapshot, task)
        from sutler.pack.changed_functions import with_users

        ranking = self.project.ranking(snapshot, task, changes.lines)
        self._changes = with_users(changes, ranking.reader, snapshot)
        return ranking

    def choose(self, pairs: Sequence[Classified], ranking: Ranking | None) -> Selection:
        centrality = None
        whole = sum(entry.size for entry in self._snapshot.entries)
        # Only if not all of it enters: reading the uses of every file takes time.
        if self._limited and ranking is None and whole > (self.request.budget.room or 0):
            centrality = self.project.centrality(pairs)
        return self.project.choose(pairs, self.request, ranking, self._changes, centrality)

    @contextmanager
    def reading(self, selection: Selection, ranking: Ranking | None) -> Iterator[list[range]]:
        """Open the tree for the steps that read it, and yield the batches to build."""
        project = self.project
        self.selection, self.ranking = selection, ranking
        with project.opened().reader() as reader:
            self._loader = Loader(
                reader, self._clean, project.settings, self.cache, self._numbering
            )
            if self._loader.condense == "all" and (ranking or self.request.line_numbers):
                self._loader.condense = "literals"  # cited lines must be the file's own
            texts = self._changes.texts if self._changes else ()
            self._loader.texts = {material.choice.path: material for material in texts}
            if self._limited:
                self._order = list(selection.choices)
                batches = [range(len(self._order))]
            else:
                self._order = sorted(selection.choices, key=display_key)
                batches = batches_of(self._order)
            self._account = report.Account(
                self._order, self.cache, self._snapshot.problems, self.progress
            )
            yield batches

    def workers(self) -> int:
        """Return how many processes build the batches."""
        if self._limited:
            return 0
        known, choices = self.cache.files, self._order
        size = sum(choice.entry.size for choice in choices if choice.entry.path not in known)
        if self.tokens is not None and size > LITTLE:
            vocabulary.expect_much()
        raw = self.tokens is None and self._clean is as_it_is
        enough = ENOUGH_RAW if raw else ENOUGH
        return 0 if self.watch is not None else workers_for(size, enough)

    def learn(self, batches: Sequence[range], workers: int) -> None:
        """Collect the secrets of the project, before anything is built. Without a limit all files
        are searched, and each secret gets its number now, in order; a limited pack relies on a
        search of a part of the tree."""
        if self._clean is as_it_is:
            return
        values = self._tree_values if self._limited else self._values_of_all(batches, workers)
        if values is not None:
            self._loader.values = self._shared = values
            self._snapshot, self.selection, out = without_secret_names(
                values, self._snapshot, self.selection, self._numbering
            )
            self._loader.withheld = self._account.withheld = out
            self.cache.forget(out)

    def _values_of_all(self, batches: Sequence[range], workers: int) -> SharedValues | None:
        def look(index: int) -> list[Seen]:
            seen = [self._loader.look(self._order[number]) for number in batches[index]]
            self._loader.problems.clear()  # reported when the file is loaded
            return seen

        looked = ordered(look, len(batches), workers, list[Seen])
        secrets: list[tuple[str, str]] = []
        for choice, file in zip(self._order, chain.from_iterable(looked), strict=True):
            self.cache.learn(choice.entry.path, file.record)
            secrets += file.secrets
            self._numbering.learn(file.markers)
        paths = {choice.entry.path for choice in self._order}
        secrets += self.project.secrets.outside(paths, self._whole_tree(), self.cache)
        return shared_values(secrets)

    @cached_property
    def _tree_values(self) -> SharedValues | None:
        """Values of a part of the tree, for a limited pack and a query."""
        return self.project.secrets.read(self._whole_tree(), self.cache)

    def _whole_tree(self) -> Snapshot | None:
        """Return the scan, before names with secrets leave it, if it is of the whole tree."""
        return self._snapshot if self.project.sees_all else None

    def begin(self) -> None:
        """Write the text before the files, once the secrets of the project are known."""
        request = self.request
        unit = counter_for(request.budget.unit, request.budget.counter)
        self._preamble = self._preamble_within(unit if self._limited else len)
        if self._limited:
            listed = self.selection.listed
            files = len(self._order) + len(listed)
            self._ledger = budget.Ledger(request, unit, self._preamble, files)
            self._ledger.listed = listed
            if self._clean is not as_it_is:  # the cache holds clean text alone
                self._ledger.outliner = self.cache.outline
            return
        account = self._account
        account.listing = Listing(self.selection.listed)
        if self.tokens is not None:
            account.tokens = budget.frame_cost(
                self.tokens, request, self._preamble, account.listing
            )

    def load(self, batch: range) -> Iterable[LoadedFile]:
        """Read and decode the files of a batch. It is lazy under a limit, which must not read the
        whole tree; else all at once, since reading, redacting and counting in turns evict each
        other's tables from the processor's caches."""
        choices: Iterable[Choice] = [self._order[number] for number in batch]
        if not self._limited:
            return [(choice, self._loader.load(choice)) for choice in choices]
        if self.ranking is None:
            choices = budget.worth_loading(choices, self._ledger)
        else:
            from sutler.budget.task_fit import task_order

            choices = task_order(self._order, self.ranking)
        return ((choice, self._loader.load(choice)) for choice in choices)

    def redact(self, loaded: Iterable[LoadedFile]) -> Iterator[Material | Excluded]:
        """Yield clean texts, in the order of `loaded`."""
        for choice, file in loaded:
            yield self._loader.redact(choice, file)
            if self._limited:  # otherwise all files of a batch are done at once
                self._account.advance(1)

    def fit(self, batch: range, materials: Iterator[Material | Excluded]) -> budget.Fitted:
        """Return sections in display order: those that fit the limit, or each file at its best."""
        if not self._limited:
            ready, cut = list(materials), self.request.cut
            sections = [budget.best_rung(one, cut) for one in ready if isinstance(one, Material)]
            excluded = tuple([one for one in ready if isinstance(one, Excluded)])
            return budget.Fitted(tuple(sections), Listing(), excluded, 0)
        choices = [self._order[number] for number in batch]
        spend: budget.Spend = budget.fit_within
        if self.ranking is not None:
            from sutler.budget.task_fit import fit_task

            spend = partial(fit_task, self.ranking)
        whole = budget.fit_whole_text(choices, materials, self._ledger, self._preamble, spend)
        account = self._account
        account.listing, account.used = whole.fitted.listing, whole.used
        if self.tokens is not None:
            in_tokens = self.request.budget.unit == "tokens"
            account.tokens = whole.used if in_tokens else self.tokens(whole.text)
        return whole.fitted

    def render(self, fitted: budget.Fitted) -> report.Batch:
        """Frame and count the sections."""
        request, numbers = self.request, self._account.numbers
        pieces, frames = shape(request.format), list[SectionFrame]()
        for section in fitted.sections:
            if self.watch is not None:
                self.watch(section)
            frames.append(section_frame(pieces, section, request.line_numbers))
        files = []
        for section, frame in zip(fitted.sections, frames, strict=True):
            tokens = None if self.tokens is None else self._section_tokens(section, frame)
            # The tokens are part of the record.
            shown, record = report.shown_section(section, tokens), self.cache.learned(section.path)
            files.append((numbers[section.path], shown, record))
        excluded = [
            (numbers[item.path], item.reason, item.rule, self.cache.learned(item.path))
            for item in fitted.excluded
        ]
        problems = [(numbers[one.path], one.kind, one.detail) for one in self._loader.problems]
        self._loader.problems.clear()
        if not frames:
            return report.Batch(files, excluded, problems, b"", b"", b"")
        return report.Batch(files, excluded, problems, *joined(pieces, frames))

    def seal(self, built: Generator[report.Batch, None, None]) -> Iterator[bytes]:
        """Yield the text that leaves. A refusal precedes its first byte: by a budget, by strict
        mode, or for a named file."""
        settings, named, account = self.project.settings, self.project.place.named, self._account
        with closing(built):
            framed, numbers = map(account.framed, built), self.request.line_numbers
            text = assembled(
                self._preamble,
                framed,
                lambda: account.listing,  # known after the last section
                format=self.request.format,
                line_numbers=numbers,
            )
            pieces = account.counted(text)
            if self._limited or named or settings.text("mode") == "strict":
                pieces = iter(list(pieces))
            left_out = report.named_but_out(self._snapshot.excluded, named)
            report.judge([*account.problems, *left_out], settings, named, self._ask)
            held = []  # until a file is shown or listed: a pack of nothing is not written
            for piece in pieces:
                held.append(piece)
                if account.shown or account.listing != Listing():
                    yield from held
                    held.clear()
        if held and not self.empty_ok:
            raise report.empty_pack((*self._out(), *account.excluded), account.problems)
        yield from held

    def _out(self) -> tuple[Excluded, ...]:
        """Return the exclusions before files were loaded."""
        return (*self._snapshot.excluded, *self.selection.excluded)

    def record(self) -> None:
        """Report the run and save its cache."""
        request, account = self.request, self._account
        if account.tokens is not None and self.tokens is not None and not self._limited:
            glue = self.tokens(shape(request.format).GLUE)
            account.tokens += sum((file.tokens or 0) + glue for file in account.shown)
        self.report = account.report(request, self._out())
        self.save()

    def save(self) -> None:
        self.cache.save(whole=not self._limited and not self.project.place.named)

    def quotable(self, text: str) -> str:
        """Redact a short text for a summary or a record, unless redaction is off."""
        if not self.project.settings.flag("redact"):
            return text
        harmless = self.cache.figure("told", text, lambda: int(redacted_text(text) == text))
        if self.report is not None:
            self.save()
        shown = CleanText(text if harmless else redacted_text(text))
        return self._hidden(shown).text

    def _section_tokens(self, section: Section, frame: SectionFrame) -> int:
        """Return the tokens of a section: paid already, cached, or counted now."""
        request = self.request
        if section.cost and request.budget.unit == "tokens":
            return section.cost

        def counted() -> int:
            return sum(map(token_counter(request.budget.counter), frame.texts))

        return self.cache.tokens(section, counted)

    def _counted(self, text: str) -> int:
        counter = self.request.budget.counter
        return self.cache.figure("tokens", text, lambda: token_counter(counter)(text))

    def _preamble_within(self, count: Counter) -> Preamble:
        limit, goal = self.request.budget.limit, self.request.goal
        paths = sorted([choice.entry.path for choice in self.selection.choices])
        drawing_room = drawing_limit(limit, task=bool(goal))
        if self.request.reviews and drawing_room is not None:
            drawing_room = min(drawing_room, REVIEW_DRAWING[self.request.budget.unit == "tokens"])
        drawing = drawn_within(paths, count, drawing_room)
        drawing += self._left_out_by_name(count, limit)
        clean_goal, header, instructions = (
            self._hidden(self._clean(text, "")) if text else CleanText("")
            for text in (goal, self.request.header, self.request.instructions)
        )
        return Preamble(
            self.quotable(self.project.name),
            clean_goal,
            CleanText(drawing),
            header=header,
            instructions=instructions,
            transforms=self.request.transforms,
        )

    def _left_out_by_name(self, count: Counter, limit: int | None) -> str:
        """Return the lines about exclusions by name rules alone, below the drawing of the tree. A
        caller with a policy gets none: they reveal which files exist."""
        if not self.project.unrestricted or not any(one.by_name for one in self._snapshot.excluded):
            return ""
        lines = lines_of(left_out(self.project.opened(), self._snapshot.excluded))
        self._account.by_name = tuple(lines)
        if not lines:
            return ""
        clean = self._loader.words("\n".join(lines)).text
        return below_drawing(clean.split("\n"), count, limit)

    def _hidden(self, clean: CleanText) -> CleanText:
        shared = clean if self._shared is None else self._shared.hide(clean)
        return replace(shared, text=self._numbering.text(shared.text))
