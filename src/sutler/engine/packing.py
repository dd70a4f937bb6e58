"""The whole pipeline on one screen: scan, classify, choose, load, clean, fit, render. Then the account of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sutler.disk.root import Root, write_atomic
from sutler.engine.clean import Clean, as_it_is
from sutler.engine.load import Loader
from sutler.engine.problems import Ask, judge, named_but_out
from sutler.engine.report import Report, Shown, shown_of
from sutler.stages.choose import display_key
from sutler.stages.compose import compose_within
from sutler.stages.count import Counter, batch_counter, counter_for, token_counter
from sutler.stages.fit import fit_everything, frame_cost
from sutler.stages.render import encoded, section_text, shape
from sutler.stages.tree import drawn_within
from sutler.values.errors import SutlerError
from sutler.values.pack import CleanText, Listing, Preamble, Request, Section, Selection
from sutler.values.snapshot import Excluded, Snapshot

if TYPE_CHECKING:
    from sutler.engine.project import Project
    from sutler.stages.task_fit import Ranking

TREE_SHARE = 10
"""The drawing of the tree may take one part in this many of a budget."""

Progress = Callable[[int, int], None]
"""Told how many files have been read, and of how many."""

BLOCK = 1 << 18
"""Bytes that are written at once."""

BATCH = 1 << 21
"""Characters whose tokens are counted at once: enough to keep every core busy, little beside the whole."""


class Packing:
    """A pack on its way out. Iterate for its text, or call `text` or `write`; then read `report`."""

    def __init__(
        self,
        project: Project,
        request: Request,
        *,
        ask: Ask | None = None,
        count_tokens: bool = True,
    ) -> None:
        self.project = project
        self.request = request
        self._ask = ask
        self.tokens: Counter | None = token_counter(request.budget.counter) if count_tokens else None
        self.progress: Progress | None = None
        self.watch: Callable[[Section], None] | None = None
        self._report: Report | None = None
        self._clean: Clean = as_it_is

    @property
    def report(self) -> Report:
        if self._report is None:
            raise SutlerError("the pack has not been read yet", next_step="iterate over it, or call text() or write()")
        return self._report

    def text(self) -> str:
        return b"".join(self._pieces()).decode()

    def write(self, path: str) -> Report:
        """Write the pack to `path`, all of it or nothing: an old file stays until the new one is whole."""
        write_atomic(path, self.encoded())
        return self.report

    def encoded(self) -> Iterator[bytes]:
        """The text as UTF-8 in blocks of some size, so that writing costs few system calls."""
        waiting: list[bytes] = []
        size = 0
        for piece in self._pieces():
            waiting.append(piece)
            size += len(piece)
            if size >= BLOCK:
                yield b"".join(waiting)
                waiting, size = [], 0
        yield b"".join(waiting)

    def write_parts(self, size: int, name: Callable[[int], str]) -> int:
        """Write the pack as several complete packs of at most `size` each, in the budget's unit; returns how many."""
        from sutler.engine.parts import split_text

        budget = self.request.budget
        texts = split_text(self.text(), self.request.format, size, counter_for(budget.unit, budget.counter))
        for number, text in enumerate(texts, 1):
            write_atomic(name(number), [text.encode()])
        return len(texts)

    def __iter__(self) -> Iterator[str]:
        return (piece.decode() for piece in self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        project, request = self.project, self.request
        snapshot = project.scan()
        changed = project.changes(snapshot, request) if request.asks_history else None
        task = request.goal or (changed.task() if changed else "")
        ranking = project.ranking(snapshot, task) if task else None
        selection = project.select(snapshot, request, ranking, changed)
        with Root(project.place.root) as root, root.reader() as reader:
            size = sum(choice.entry.size for choice in selection.choices)
            self._clean = project.clean(min(size, (request.budget.limit or size) * 4))
            loader = Loader(reader, self._clean, project.settings, self._teller(selection))
            loader.problems.extend(snapshot.problems)
            loader.made.update((one.choice.path, one) for one in (changed.texts if changed else ()))
            account = Account(self, snapshot, selection, loader)
            chunks = account.everything() if request.budget.limit is None else account.within(ranking)
            if project.settings.text("mode") == "strict" or project.place.named:
                # A refusal must come before the first byte: what the user named, or strict mode, may still refuse.
                chunks = iter(list(chunks))
            left_out = named_but_out(snapshot.excluded, project.place.named)
            judge([*loader.problems, *left_out], project.settings, project.place.named, self._ask)
            yield from chunks
        self._report = account.report()

    def _teller(self, selection: Selection) -> Callable[[], None] | None:
        if self.progress is None:
            return None
        tell, total, numbers = self.progress, len(selection.choices), itertools.count(1)
        return lambda: tell(next(numbers), total)

    def preamble(self, selection: Selection, count: Counter) -> Preamble:
        limit = self.request.budget.limit
        paths = sorted(choice.path for choice in selection.choices)
        drawing = drawn_within(paths, count, None if limit is None else limit // TREE_SHARE)
        goal = self._clean(self.request.goal, "") if self.request.goal else CleanText("")
        return Preamble(self._clean(self.project.name, "").text, goal, CleanText(drawing))


class Account:
    """One run of the pipeline and what it came to."""

    def __init__(self, packing: Packing, snapshot: Snapshot, selection: Selection, loader: Loader) -> None:
        self._packing = packing
        self._snapshot = snapshot
        self._selection = selection
        self._loader = loader
        self._shown: list[Shown] = []
        self._left_out: list[Excluded] = []
        self._listing = Listing()
        self._bytes = self._used = 0
        self._total_tokens: int | None = None
        self._pack_id = ""

    def everything(self) -> Iterator[bytes]:
        """No limit: stream in display order, one file in memory at a time."""
        request = self._packing.request
        preamble = self._packing.preamble(self._selection, len)
        if self._packing.tokens is not None:
            self._total_tokens = frame_cost(self._packing.tokens, request, preamble)
        choices = sorted(self._selection.choices, key=display_key)
        sections = fit_everything(choices, self._loader.fetch, request.cut, self._left_out)
        yield from self._rendered(preamble, self._seen(sections))

    def within(self, ranking: Ranking | None) -> Iterator[bytes]:
        """A limit: spend it in the order of claim, then count the very text that leaves."""
        request = self._packing.request
        count = counter_for(request.budget.unit, request.budget.counter)
        preamble = self._packing.preamble(self._selection, count)
        done = compose_within(self._selection.choices, self._loader.fetch, request, preamble, count, ranking)
        for _ in self._seen(done.sections):
            pass
        self._listing, self._left_out = done.fitted.listing, list(done.fitted.excluded)
        data = done.text.encode()
        self._used, self._bytes, self._pack_id = done.used, len(data), done.digest
        if self._packing.tokens is not None:
            counted = request.budget.unit == "tokens"
            self._total_tokens = done.used if counted else self._packing.tokens(done.text)
        yield data

    def _seen(self, sections: Iterable[Section]) -> Iterator[Section]:
        """Sections on their way to the renderer, each noted in the report."""
        counting, request = self._packing.tokens is not None, self._packing.request
        waiting: list[Section] = []
        size = 0
        watch = self._packing.watch
        for section in sections:
            if watch is not None:
                watch(section)
            if not counting or (request.budget.unit == "tokens" and section.cost):
                self._count(waiting)
                waiting, size = [], 0
                self._shown.append(shown_of(section, section.cost if counting else None))
            else:
                waiting.append(section)
                size += len(section.body.text)
                if size >= BATCH:
                    self._count(waiting)
                    waiting, size = [], 0
            yield section
        self._count(waiting)

    def _count(self, sections: Sequence[Section]) -> None:
        """Note sections whose tokens have yet to be counted, many at once."""
        if not sections:
            return
        request = self._packing.request
        texts: list[str] = []
        for section in sections:
            texts += section_text(section, request.format, request.line_numbers)
        counts = iter(batch_counter(request.budget.counter)(texts))
        self._shown += [shown_of(section, next(counts) + next(counts)) for section in sections]

    def _rendered(self, preamble: Preamble, sections: Iterator[Section]) -> Iterator[bytes]:
        request = self._packing.request
        pieces = encoded(
            preamble,
            sections,
            lambda: self._listing,
            format=request.format,
            line_numbers=request.line_numbers,
        )
        while True:
            try:
                piece = next(pieces)
            except StopIteration as stop:
                self._pack_id = stop.value
                return
            self._bytes += len(piece)
            yield piece

    def _scored(self) -> tuple[Shown, ...]:
        """What is shown, with the ranking's score where there was a task."""
        scores = {choice.path: choice.score for choice in self._selection.choices if choice.score}
        if not scores:
            return tuple(self._shown)
        return tuple(replace(one, score=scores.get(one.path, 0.0)) for one in self._shown)

    def report(self) -> Report:
        request = self._packing.request
        tokens = self._total_tokens
        if tokens is not None and self._packing.tokens is not None and request.budget.limit is None:
            glue = self._packing.tokens(shape(request.format).GLUE)
            tokens += sum((one.tokens or 0) + glue for one in self._shown)
        linked = {choice.path for choice in self._selection.choices if choice.entry.links > 1}
        excluded = [*self._snapshot.excluded, *self._selection.excluded, *self._left_out]
        return Report(
            pack_id=self._pack_id,
            format=request.format,
            budget=request.budget,
            used=self._used if request.budget.limit is not None else self._bytes,
            bytes=self._bytes,
            tokens=tokens,
            shown=self._scored(),
            listing=self._listing,
            excluded=tuple(sorted(excluded, key=lambda item: item.path)),
            problems=tuple(sorted(self._loader.problems, key=lambda one: (one.path, one.kind))),
            linked=tuple(one.path for one in self._shown if one.path in linked),
        )
