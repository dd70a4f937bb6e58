"""The whole pipeline on one screen: scan, classify, choose, load, clean, fit, render. Then the account of it."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from sutler.disk.output import write_atomic, write_runs
from sutler.disk.root import Root
from sutler.engine.batches import Made
from sutler.engine.clean import PER_FILE, Clean, Redactor, as_it_is, masked, names_of, told
from sutler.engine.database import compiled_ahead
from sutler.engine.load import Loader
from sutler.engine.making import Maker
from sutler.engine.memory import NOTHING, UNCOUNTED, Memory, memory_of
from sutler.engine.problems import Ask, judge, named_but_out
from sutler.engine.report import Report, Shown, shown_of
from sutler.engine.reprint import Reprint
from sutler.engine.workers import Beside
from sutler.stages.choose import display_key
from sutler.stages.count import LITTLE, Counter, counter_for, make_ready, require_vocabulary, token_counter
from sutler.stages.fit import frame_cost
from sutler.stages.render import Framed, assembled, section_text, shape
from sutler.stages.tree import drawing_limit, drawn_within
from sutler.values.errors import SutlerError
from sutler.values.pack import CleanText, Listing, Preamble, Request, Run, Section, Selection
from sutler.values.snapshot import Excluded, Snapshot

if TYPE_CHECKING:
    from sutler.engine.project import Project
    from sutler.stages.task_fit import Ranking

OFFERED, WEIGHED = 4, 6
"""What is counted for a budget, in sizes of the pack: files that are offered in vain count too, and the whole at the
end. For a task more is weighed."""
Progress = Callable[[int, int], None]
"""Told how many files have been read, and of how many."""


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
        if count_tokens:
            require_vocabulary(request.budget.counter)
        self.tokens: Counter | None = self._tokens if count_tokens else None
        self.memory = NOTHING
        self._again: Reprint | None = None
        self.progress: Progress | None = None
        self.watch: Callable[[Section], None] | None = None
        self.scores: dict[str, float] = {}  # of the ranking, once there was one
        self._report: Report | None = None
        self._clean: Clean = as_it_is
        self.tables = Beside(lambda: make_ready(request.budget.counter))

    @property
    def report(self) -> Report:
        if self._report is None:
            raise SutlerError("the pack has not been read yet", next_step="iterate over it, or call text() or write()")
        return self._report

    def text(self) -> str:
        return b"".join(self.encoded()).decode()

    def write(self, path: str) -> Report:
        """Write the pack to `path`, all of it or nothing: an old file stays until the new one is whole."""
        write_runs(path, self._runs())
        return self.report

    def encoded(self) -> Iterator[bytes]:
        """The text as UTF-8 in blocks of some size, so that writing costs few system calls."""
        return map(b"".join, self._runs())

    def write_parts(self, size: int, name: Callable[[int], str]) -> int:
        """Write the pack as several complete packs of at most `size` each, in the budget's unit; returns how many."""
        from sutler.engine.parts import split_text

        budget = self.request.budget
        texts = split_text(self.text(), self.request.format, size, counter_for(budget.unit, budget.counter))
        for number, text in enumerate(texts, 1):
            write_atomic(name(number), [text.encode()])
        return len(texts)

    def __iter__(self) -> Iterator[str]:
        return (block.decode() for block in self.encoded())

    def _runs(self) -> Iterator[Run]:
        self.memory = self._memory()
        again = self._again = self._reprint()
        found: Snapshot | None = None
        if again is not None and again.there():
            found = self._found()
            if (printed := again.printed()) is not None:
                self._report, text = printed
                yield from ((block,) for block in text)
                return
        made = self._made(found)
        try:
            yield from made if again is None else again.kept(made, lambda: self.report)
        finally:
            self.tables.settle()

    def _found(self, scanned: Callable[[], Snapshot] | None = None) -> Snapshot:
        """The tree, as it is."""
        found = (scanned or self.project.found)()
        if self._again is not None:
            self._again.look_at([entry for entry in found.entries if not self.project.ours(entry.path)], found)
        return found

    def _made(self, found: Snapshot | None) -> Iterator[Run]:
        project, request, memory = self.project, self.request, self.memory
        limited = request.budget.limit is not None
        snapshot, early = self._scanned(memory, found)
        changed = project.changes(snapshot, request) if request.asks_history else None
        task = request.goal or (changed.task() if changed else "")
        ranking = project.ranking(snapshot, task) if task else None
        selection = early or project.select(snapshot, request, ranking, changed)
        if ranking is not None:
            self.scores = {choice.path: choice.score for choice in selection.choices}
        if self._again is not None:  # worth a copy when it is made for the second time
            self._again.wanted = all(choice.path in memory.known for choice in selection.choices)
        with Root(project.place.root) as root, root.reader() as reader:
            tell = self._teller(selection)
            loader = Loader(reader, self._clean, project.settings, tell if limited else None, memory)
            loader.problems.extend(snapshot.problems)
            loader.made.update((one.choice.path, one) for one in (changed.texts if changed else ()))
            account = Account(self, snapshot, selection, loader)
            chunks = account.within(ranking) if limited else account.everything(memory, tell)
            if project.settings.text("mode") == "strict" or project.place.named:
                # A refusal must come before the first byte: what the user named, or strict mode, may still refuse.
                chunks = iter([(b"".join(run),) for run in chunks])
            left_out = named_but_out(snapshot.excluded, project.place.named)
            judge([*loader.problems, *left_out], project.settings, project.place.named, self._ask)
            yield from chunks
        self._report = account.report()
        self._remember()

    def _scanned(self, memory: Memory, found: Snapshot | None) -> tuple[Snapshot, Selection | None]:
        """The tree, its names looked through; and what is chosen of it, where no task has a say in that."""
        project, request = self.project, self.request
        redact = project.settings.flag("redact")
        limited = request.budget.limit is not None
        counting = self.tokens is not None and not memory.known
        if limited or request.goal or request.asks_history:
            found = found or self._found()
            if (counting or request.budget.unit == "tokens") and self._much(found):
                self.tables.begin()
            self._clean = self._redactor(found)
            return self._masked(found), None
        large = (redact or counting) and not memory.known and not project.little(LITTLE)
        scanned = project.found_beside() if large and counting and not found else None
        with compiled_ahead(os.environ, wanted=redact and large) as ahead:
            if large and counting:
                self.tables.begin()  # not before the forks
            found = found or self._found(scanned)
            early = project.select(found, request)
            if counting and not ahead.done():
                with Root(project.place.root) as root, root.reader() as reader:
                    loader = Loader(reader, as_it_is, project.settings)
                    choices = sorted(early.choices, key=display_key)
                    Maker(choices, loader, request, memory, counting=True).count_ahead(ahead.done)
            ahead.settle(sum(entry.size for entry in found.entries))
        self._clean = self._redactor(found)
        snapshot = self._masked(found)
        return snapshot, early if snapshot is found else None

    def _much(self, found: Snapshot) -> bool:
        """Whether so much is to be counted that the tokenizer is worth its start."""
        return (WEIGHED if self.request.goal else OFFERED) * self._size(found) > LITTLE

    def _size(self, found: Snapshot) -> int:
        """About how many bytes the pack will have at most."""
        limit = self.request.budget.limit
        size = sum(entry.size for entry in found.entries)
        return size if limit is None else min(size, limit * 4)

    def _redactor(self, found: Snapshot) -> Clean:
        """The cleaner for what is to come; names are dense, and looking through them counts as well."""
        size = self._size(found)
        project = self.project
        weight = max(size, len(found.entries) * PER_FILE)
        return Redactor(lambda: project.clean(weight)) if project.settings.flag("redact") else as_it_is

    def _masked(self, found: Snapshot) -> Snapshot:
        """No secret in any name. That all names are harmless is remembered."""
        if not self.project.settings.flag("redact"):
            return found
        looked_at: list[Snapshot] = []

        def harmless() -> int:
            looked_at.append(masked(found, self._clean))
            return int(looked_at[0] is found)

        if self.memory.figure("names", names_of(found), harmless):
            return found
        return looked_at[0] if looked_at else masked(found, self._clean)

    def said(self, text: str) -> str:
        """A short text as a summary or a record may quote it. Who packs without redaction has sent it as it is."""
        if not self.project.settings.flag("redact"):
            return text
        harmless = self.memory.figure("told", text, lambda: int(told(text) == text))
        if self._report is not None:
            self._remember()
        return text if harmless else told(text)

    def _remember(self) -> None:
        self.memory.save(whole=self.request.budget.limit is None and not self.project.place.named)

    def _tokens(self, text: str) -> int:
        counter = self.request.budget.counter
        return self.memory.figure("tokens", text, lambda: token_counter(counter)(text))

    def _memory(self) -> Memory:
        """What earlier packs found out; of no use where nothing is looked through and nothing counted."""
        settings = self.project.settings
        if self.tokens is None and not settings.flag("redact"):
            return NOTHING
        return memory_of(self.project.place.root, settings, self.request, os.environ)

    def _reprint(self) -> Reprint | None:
        """Where this very pack may be kept. Not one for a task, of which there are many; and none that somebody looks
        at while it is made, or that may still be refused."""
        project, request = self.project, self.request
        settings, place = project.settings, project.place
        passing = request.budget.limit is not None or request.goal or request.asks_history or self.watch is not None
        if passing or place.named or not settings.flag("redact") or settings.text("mode") == "strict":
            return None
        kind = (sorted(settings.values.items()), request, project.name, project.outputs, self.tokens is None)
        return Reprint(f"packs-{self.memory.name.partition('-')[2]}", f"{self.memory.name} {kind}", os.environ)

    def _teller(self, selection: Selection) -> Callable[[], None] | None:
        if self.progress is None:
            return None
        tell, total, numbers = self.progress, len(selection.choices), itertools.count(1)
        return lambda: tell(next(numbers), total)

    def preamble(self, selection: Selection, count: Counter) -> Preamble:
        limit = self.request.budget.limit
        paths = sorted([choice.entry.path for choice in selection.choices])
        drawing = drawn_within(paths, count, drawing_limit(limit, task=bool(self.request.goal)))
        goal = self._clean(self.request.goal, "") if self.request.goal else CleanText("")
        return Preamble(self.said(self.project.name), goal, CleanText(drawing))


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

    def everything(self, memory: Memory, tell: Callable[[], None] | None) -> Iterator[Run]:
        """No limit: stream in display order, a batch of files in memory at a time."""
        request = self._packing.request
        choices = sorted(self._selection.choices, key=display_key)
        counting = self._packing.tokens is not None
        maker = Maker(choices, self._loader, request, memory, counting=counting)
        maker.watch = self._packing.watch
        redacting = self._packing.project.settings.flag("redact")
        early = self._packing.preamble(self._selection, len) if self._packing.tables.busy else None
        self._packing.tables.settle()  # before children are forked
        with closing(maker.made(redacting=redacting)) as batches:  # children begin while the preamble is made
            preamble = early or self._packing.preamble(self._selection, len)
            if self._packing.tokens is not None:
                self._total_tokens = frame_cost(self._packing.tokens, request, preamble)
            yield from self._rendered(preamble, self._framed(maker, batches, tell))

    def within(self, ranking: Ranking | None) -> Iterator[Run]:
        """A limit: spend it in the order of claim, then count the very text that leaves."""
        from sutler.stages.compose import compose_within

        request = self._packing.request
        count = counter_for(request.budget.unit, request.budget.counter)
        preamble = self._packing.preamble(self._selection, count)
        done = compose_within(self._selection.choices, self._loader.fetch, request, preamble, count, ranking)
        if self._packing.watch is not None:
            for section in done.sections:
                self._packing.watch(section)
        self._shown = self._counted(done.sections)
        self._listing, self._left_out = done.fitted.listing, list(done.fitted.excluded)
        data = done.text.encode()
        self._used, self._bytes, self._pack_id = done.used, len(data), done.digest
        if self._packing.tokens is not None:
            counted = request.budget.unit == "tokens"
            self._total_tokens = done.used if counted else self._packing.tokens(done.text)
        yield (data,)

    def _counted(self, sections: Sequence[Section]) -> list[Shown]:
        """The sections as the report has them, with their tokens if those are wanted."""
        request = self._packing.request
        if self._packing.tokens is None:
            return [shown_of(section, None) for section in sections]
        if request.budget.unit == "tokens":
            return [shown_of(section, section.cost) for section in sections]
        return [shown_of(section, self._tokens_of(section)) for section in sections]

    def _tokens_of(self, section: Section) -> int:
        """What a section costs in tokens, counted once for the same content."""
        memory, request = self._packing.memory, self._packing.request
        known = memory.tokens(section) if section.level == "full" else UNCOUNTED
        if known != UNCOUNTED:
            return known
        text, line = section_text(section, request.format, request.line_numbers)

        def count() -> int:
            counter = token_counter(request.budget.counter)
            return counter(text) + counter(line)

        if section.level != "full":
            return memory.figure("section", text + line, count)
        tokens = count()
        memory.counted(section, tokens)
        return tokens

    def _framed(self, maker: Maker, batches: Iterable[Made], tell: Callable[[], None] | None) -> Iterator[Framed]:
        """Sections on their way out, each noted in the report."""
        for batch, framed in batches:
            self._left_out += map(maker.excluded, batch.out)
            self._loader.problems += map(maker.problem, batch.problems)
            self._shown += map(maker.shown, batch.pieces)
            yield framed
            if tell is not None:
                for _ in range(len(batch.pieces) + len(batch.out)):
                    tell()

    def _rendered(self, preamble: Preamble, sections: Iterator[Framed]) -> Iterator[Run]:
        request = self._packing.request
        runs = assembled(
            preamble,
            sections,
            lambda: self._listing,
            format=request.format,
            line_numbers=request.line_numbers,
        )
        while True:
            try:
                run = next(runs)
            except StopIteration as stop:
                self._pack_id = stop.value
                return
            self._bytes += sum(map(len, run))
            yield run

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
