"""The whole pipeline on one screen: scan, classify, choose, load, clean, fit, render. Then the account of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from sutler.disk.root import Root, write_atomic
from sutler.engine.load import Loader
from sutler.engine.parts import split_text
from sutler.engine.problems import Ask, judge, named_but_out
from sutler.engine.report import Report, Shown, shown_of
from sutler.stages.choose import display_key
from sutler.stages.compose import compose_within
from sutler.stages.count import Counter, count_bytes, counter_for, token_counter
from sutler.stages.fit import fit_everything, frame_cost
from sutler.stages.render import render, section_text, shape
from sutler.stages.tree import drawn_within
from sutler.values.errors import SutlerError
from sutler.values.pack import CleanText, Listing, Preamble, Request, Section, Selection
from sutler.values.snapshot import Excluded, Snapshot

if TYPE_CHECKING:
    from sutler.engine.project import Project

TREE_SHARE = 10
"""The drawing of the tree may take one part in this many of a budget."""

Progress = Callable[[int, int], None]
"""Told how many files have been read, and of how many."""

BLOCK = 1 << 18
"""Characters that are written at once."""


class Packing:
    """A pack on its way out. Iterate for its text, or call `text` or `write`; then read `report`."""

    def __init__(self, project: Project, request: Request, *, ask: Ask | None, count_tokens: bool) -> None:
        self.project = project
        self.request = request
        self._ask = ask
        self.tokens: Counter | None = token_counter(request.budget.counter) if count_tokens else None
        self.progress: Progress | None = None
        self._report: Report | None = None

    @property
    def report(self) -> Report:
        if self._report is None:
            raise SutlerError("the pack has not been read yet", next_step="iterate over it, or call text() or write()")
        return self._report

    def text(self) -> str:
        return "".join(self)

    def write(self, path: str) -> Report:
        """Write the pack to `path`, all of it or nothing: an old file stays until the new one is whole."""
        write_atomic(path, self.encoded())
        return self.report

    def encoded(self) -> Iterator[bytes]:
        """The text as UTF-8 in blocks of some size, so that writing costs few system calls."""
        waiting: list[str] = []
        size = 0
        for chunk in self:
            waiting.append(chunk)
            size += len(chunk)
            if size >= BLOCK:
                yield "".join(waiting).encode()
                waiting, size = [], 0
        yield "".join(waiting).encode()

    def write_parts(self, size: int, name: Callable[[int], str]) -> int:
        """Write the pack as several complete packs of at most `size` each, in the budget's unit; returns how many."""
        budget = self.request.budget
        texts = split_text(self.text(), self.request.format, size, counter_for(budget.unit, budget.counter))
        for number, text in enumerate(texts, 1):
            write_atomic(name(number), [text.encode()])
        return len(texts)

    def __iter__(self) -> Iterator[str]:
        project, request = self.project, self.request
        snapshot = project.scan()
        selection = project.select(snapshot, request)
        with Root(project.place.root) as root, root.reader() as reader:
            loader = Loader(reader, project.clean(), project.settings, self._teller(selection))
            loader.problems.extend(snapshot.problems)
            account = Account(self, snapshot, selection, loader)
            chunks = account.everything() if request.budget.limit is None else account.within()
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
        goal = self.project.clean()(self.request.goal, "goal") if self.request.goal else CleanText("")
        return Preamble(self.project.name, goal, CleanText(drawing))


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

    def everything(self) -> Iterator[str]:
        """No limit: stream in display order, one file in memory at a time."""
        request = self._packing.request
        preamble = self._packing.preamble(self._selection, len)
        if self._packing.tokens is not None:
            self._total_tokens = frame_cost(self._packing.tokens, request, preamble)
        choices = sorted(self._selection.choices, key=display_key)
        sections = fit_everything(choices, self._loader.fetch, request.cut, self._left_out)
        yield from self._rendered(preamble, self._seen(sections))

    def within(self) -> Iterator[str]:
        """A limit: spend it in the order of claim, then count the very text that leaves."""
        request = self._packing.request
        count = counter_for(request.budget.unit, request.budget.counter)
        preamble = self._packing.preamble(self._selection, count)
        done = compose_within(self._selection.choices, self._loader.fetch, request, preamble, count)
        for _ in self._seen(done.sections):
            pass
        self._listing, self._left_out = done.fitted.listing, list(done.fitted.excluded)
        self._used, self._bytes, self._pack_id = done.used, count_bytes(done.text), done.digest
        if self._packing.tokens is not None:
            counted = request.budget.unit == "tokens"
            self._total_tokens = done.used if counted else self._packing.tokens(done.text)
        yield done.text

    def _seen(self, sections: Iterable[Section]) -> Iterator[Section]:
        """Sections on their way to the renderer, each noted in the report."""
        tokens, request = self._packing.tokens, self._packing.request
        for section in sections:
            if tokens is None:
                counted = None
            elif request.budget.unit == "tokens" and section.cost:
                counted = section.cost
            else:
                counted = sum(map(tokens, section_text(section, request.format, request.line_numbers)))
            self._shown.append(shown_of(section, counted))
            yield section

    def _rendered(self, preamble: Preamble, sections: Iterator[Section]) -> Iterator[str]:
        request = self._packing.request
        chunks = render(
            preamble,
            sections,
            lambda: self._listing,
            format=request.format,
            line_numbers=request.line_numbers,
        )
        while True:
            try:
                chunk = next(chunks)
            except StopIteration as stop:
                self._pack_id = stop.value
                return
            self._bytes += count_bytes(chunk)
            yield chunk

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
            shown=tuple(self._shown),
            listing=self._listing,
            excluded=tuple(sorted(excluded, key=lambda item: item.path)),
            problems=tuple(sorted(self._loader.problems, key=lambda one: (one.path, one.kind))),
            linked=tuple(one.path for one in self._shown if one.path in linked),
        )
