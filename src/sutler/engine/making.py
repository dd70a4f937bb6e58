"""Choices become framed sections, batch by batch: loaded, cleaned, counted and put between their frames.

A batch is made in this process or in a child, with the same result: what comes back names files by their number, so
that no name has to be carried over.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from sutler.engine import forks, workers
from sutler.engine.batches import MANY_PLAIN_BYTES, NO_TEXT, NOT_TEXT, Batch, Made, Out, Piece
from sutler.engine.memory import NO_CONTENT, UNCOUNTED, Known, Memory, about, known_of
from sutler.engine.report import Shown
from sutler.stages.count import LITTLE, make_ready, token_counter
from sutler.stages.fit import Material, best_rung
from sutler.stages.render import Dressed, Framed, dressed, dressed_text, framed, shape
from sutler.values.pack import Choice, CleanText, Loaded, Request, Section
from sutler.values.snapshot import Excluded, Problem, ProblemKind

if TYPE_CHECKING:
    from sutler.engine.load import Loader

BATCH = 1 << 19
"""Bytes of files that are made at once."""
BATCH_FILES = 256
MANY_BYTES = 1_500_000
"""From this many bytes on that must be looked through or counted, more processes are worth their start."""
HALVES = range(8_000_000, 128_000_000)
"""With so many one process may clean and another count: that one needs more room than either did, and the tokenizer's
memory of words, which is all in the one then, grows with what it has counted."""


Found = tuple[Piece, Dressed] | Out | Loaded | Material
"""A file on its way: done, or out, or yet to be looked through."""


class Maker:
    """Makes sections of `choices`, in their order."""

    def __init__(
        self, choices: Sequence[Choice], loader: Loader, request: Request, memory: Memory, *, counting: bool
    ) -> None:
        self._choices = choices
        self._loader = loader
        self._request = request
        self._memory = memory
        self._counting = counting
        self._cuts = _cuts(choices)
        self._before = 0  # problems that the loader met before
        self.watch: Callable[[Section], None] | None = None  # somebody who looks at each section, in this process

    def made(self, *, redacting: bool) -> Generator[Made, None, None]:
        """Every batch, in order; children or a thread that reads, if there are any, begin at once."""
        batches = len(self._cuts) - 1
        known = self._memory.known
        size = sum([choice.entry.size for choice in self._choices if choice.entry.path not in known])
        if self._counting and size > LITTLE:
            make_ready(self._request.budget.counter)
        if self._bare():
            from sutler.engine.verbatim import AsTheyAre

            return AsTheyAre(self._choices, self._cuts, self._loader, self._request, self._long_way).made(size)
        if size > (MANY_BYTES if redacting or self._counting else MANY_PLAIN_BYTES) and self._may_have_children():
            self._loader.prepare()
            halves = self._counting and redacting and not known and size in HALVES  # about as much work each
            if halves and forks.cores() == 2:
                return workers.in_halves(batches, self._uncounted, self._counted, self._make)
            if not redacting and not self._counting and forks.cores() == 2:
                return workers.in_halves(batches, self._packed, _unpacked, self._make)
            return _all_unpacked(workers.in_children(batches, self._packed, forks.cores()))
        return (self._make(index) for index in range(batches))

    def count_ahead(self, done: Callable[[], bool]) -> None:
        """Until `done`, count files as they are: most need no redaction, and their count will hold."""
        for start, stop in pairwise(self._cuts):
            if done():
                return
            found = (self._loader.load(choice) for choice in self._choices[start:stop])
            sections = [self._unredacted(*pair) for pair in zip(self._choices[start:stop], found, strict=True)]
            whole = [section for section in sections if section is not None and section.level == "full"]
            framing = [dressed(section, self._request.format, self._request.line_numbers) for section in whole]
            for section, tokens in zip(whole, self._counts(whole, framing), strict=True):
                self._memory.suppose(section, tokens or 0)
        self._loader.problems.clear()

    def _unredacted(self, choice: Choice, loaded: Loaded | Excluded) -> Section | None:
        if isinstance(loaded, Excluded):
            return None
        return best_rung(Material(choice, loaded, CleanText(loaded.text)), self._request.cut)

    def _may_have_children(self) -> bool:
        return self.watch is None and not self._loader.made and forks.cores() > 1 and forks.may_fork()

    def _packed(self, index: int) -> forks.Answer:
        batch, text = self._make(index)
        return [msgspec.msgpack.encode(batch), *text]

    def _numbers(self, index: int) -> range:
        return range(self._cuts[index], self._cuts[index + 1])

    def _make(self, index: int) -> Made:
        batch, ready = self._batch(self._numbers(index), self._counting)
        return Made(batch, framed(ready, self._request.format) if ready else NO_TEXT)

    def _uncounted(self, index: int) -> forks.Answer:
        """As `_packed`, with everything at hand for whoever counts."""
        batch, ready = self._batch(self._numbers(index), counting=False)
        start, line, glue = 0, 0, len(shape(self._request.format).GLUE.encode())
        for one in ready:
            end = start + len(one.head.encode()) + len(one.body) + len(one.tail.encode())
            line += len(one.line.encode())
            batch.spans.append((start, end, line))
            start = end + glue
        return [msgspec.msgpack.encode(batch), *(framed(ready, self._request.format) if ready else NO_TEXT)]

    def _counted(self, answer: forks.Came) -> Made:
        """A batch that came uncounted."""
        batch, made = _unpacked(answer)
        text = made.text[0]
        count = token_counter(self._request.budget.counter)
        begun = 0
        for place, (piece, (start, end, line)) in enumerate(zip(batch.pieces, batch.spans, strict=True)):
            tokens = count(str(text[start:end], "utf-8")) + count(str(made.lines[begun:line], "utf-8"))
            known = piece.known and replace(piece.known, tokens=tokens)
            batch.pieces[place] = replace(piece, tokens=tokens, known=known)
            begun = line
        return Made(batch, made)

    def _batch(self, numbers: range, counting: bool) -> tuple[Batch, list[Dressed]]:
        """In three rounds, to read, to look through and to count: taken together they would keep throwing each other
        out of the processor's caches."""
        batch = Batch([], [], [], [])
        self._before = len(self._loader.problems)
        ready: list[Dressed] = []
        waiting: list[tuple[int, Section, Known | None]] = []
        found = [self._found(number, batch) for number in numbers]
        for number, one in zip(numbers, found, strict=True):
            if isinstance(one, tuple):
                if waiting:
                    self._finish(waiting, batch, ready, counting)
                batch.pieces.append(one[0])
                ready.append(one[1])
            elif isinstance(one, Out):
                batch.out.append(one)
            else:
                waiting.append(self._look(number, one, batch))
        if waiting:
            self._finish(waiting, batch, ready, counting)
        return batch, ready

    def _bare(self) -> bool:
        """Whether files leave as they are: nobody looks through them, nobody counts, and there is a native way."""
        request, loader = self._request, self._loader
        verbatim = shape(request.format).VERBATIM and not request.line_numbers
        return verbatim and not self._counting and self.watch is None and loader.bare and loader.frames

    def _long_way(self, number: int) -> tuple[Batch, list[Dressed]]:
        return self._batch(range(number, number + 1), counting=False)

    def _found(self, number: int, batch: Batch) -> Found:
        """A file as it lies there, or as it is known, or why it stays out."""
        quick = self._unchanged(number)
        if quick is not None:
            return quick
        found = self._loader.open(self._choices[number])
        self._tell(number, batch)
        return Out(number, found.reason, found.rule) if isinstance(found, Excluded) else found

    def _tell(self, number: int, batch: Batch) -> None:
        """What the loader met on the way to this file goes with its batch."""
        problems = self._loader.problems
        if len(problems) > self._before:
            batch.problems.extend((number, one.kind, one.detail) for one in problems[self._before :])
            del problems[self._before :]

    def _unchanged(self, number: int) -> tuple[Piece, Dressed] | Out | None:
        """A file that is known to be spotless and has not changed: its bytes go out as they are. One that held no text
        then holds none now."""
        choice = self._choices[number]
        known = self._memory.known.get(choice.path)
        if known is None or not known.sight or self.watch is not None:  # who watches wants to see the text
            return None
        if not known.digest:
            return Out(number, *NOT_TEXT) if known.sight == choice.entry.sight and not choice.entry.named else None
        if self._counting and known.tokens == UNCOUNTED:
            return None
        cut = self._request.cut.max_file_bytes
        if known.about != about(choice.entry.mode, choice.reason) or (cut and known.sight[0] > cut):
            return None
        data = self._loader.unchanged(choice, known.sight)
        if data is None:
            return None
        head, tail, line = known.frame
        tokens = known.tokens if self._counting else None
        return Piece(number, "full", len(data), known.digest, tokens, (), (), known), Dressed(head, data, tail, line)

    def _look(self, number: int, found: Loaded | Material, batch: Batch) -> tuple[int, Section, Known | None]:
        """Clean one file."""
        material = self._loader.cleaned(self._choices[number], found) if isinstance(found, Loaded) else found
        self._tell(number, batch)
        section = best_rung(material, self._request.cut)
        if self.watch is not None:
            self.watch(section)
        return number, section, self._known(material, section)

    def _finish(
        self, waiting: list[tuple[int, Section, Known | None]], batch: Batch, ready: list[Dressed], counting: bool
    ) -> None:
        """Count and dress what has been looked at."""
        request = self._request
        done = [dressed(section, request.format, request.line_numbers) for _, section, _ in waiting]
        sections = [section for _, section, _ in waiting]
        counts = self._counts(sections, done) if counting else [None] * len(sections)
        for (number, section, known), one, tokens in zip(waiting, done, counts, strict=True):
            batch.pieces.append(_piece(number, section, tokens, known and _completed(known, section, tokens, one)))
        ready += done
        waiting.clear()

    def _known(self, material: Material, section: Section) -> Known | None:
        """What to remember of a file: what was known already, or what was found out just now."""
        if section.level != "full" or not self._memory:
            return None
        loaded, old = material.loaded, self._memory.latest(section.path)
        known = old if old is not None and old.digest == section.source else known_of(loaded, material.clean)
        verbatim = loaded.data and section.data is loaded.data and not self._request.line_numbers
        if known is None or not verbatim or not shape(self._request.format).VERBATIM:
            return known
        return replace(known, sight=self._memory.trusted(loaded.sight))

    def _counts(self, sections: Sequence[Section], done: Sequence[Dressed]) -> Sequence[int | None]:
        """The tokens of each section's framed text and its line, from memory where they are known."""
        request = self._request
        counts: list[int | None] = []
        texts: list[str] = []
        for section, one in zip(sections, done, strict=True):
            known = self._memory.tokens(section) if section.level == "full" else UNCOUNTED
            counts.append(None if known == UNCOUNTED else known)
            if known == UNCOUNTED:
                texts += dressed_text(one, section, request.format, request.line_numbers)
        # One by one: the tokenizer's own threads cost more to start than most packs take to count.
        fresh = map(token_counter(request.budget.counter), texts) if texts else iter(())
        return [next(fresh) + next(fresh) if count is None else count for count in counts]

    def shown(self, piece: Piece) -> Shown:
        """The piece as the report has it; what is worth knowing next time is remembered."""
        choice = self._choices[piece.number]
        path = choice.entry.path
        if piece.known is not None:
            self._memory.learn(path, piece.known)
        return Shown(
            path,
            piece.level,
            piece.length,
            piece.tokens,
            0,
            choice.reason,
            piece.sha256,
            piece.rules,
            piece.hidden,
        )

    def problem(self, found: tuple[int, ProblemKind, str]) -> Problem:
        number, kind, detail = found
        return Problem(self._choices[number].path, kind, detail)

    def excluded(self, out: Out) -> Excluded:
        entry = self._choices[out.number].entry
        if self._memory:
            sight = self._memory.trusted(entry.sight) if (out.reason, out.rule) == NOT_TEXT else ()
            self._memory.learn(entry.path, Known(NO_CONTENT, sight=sight))
        return Excluded(entry.path, out.reason, out.rule)


def _completed(known: Known, section: Section, tokens: int | None, done: Dressed) -> Known:
    frame = (done.head, done.tail, done.line) if known.sight else ("", "", "")
    counted = known.tokens if tokens is None else tokens
    return replace(known, tokens=counted, about=about(section.mode, section.reason), frame=frame)


def _piece(number: int, section: Section, tokens: int | None, known: Known | None) -> Piece:
    body = section.body
    return Piece(
        number,
        section.level,
        section.length,
        section.sha256,
        tokens,
        tuple([finding.rule for finding in body.findings if finding.confidence > 0]) if body.findings else (),
        body.hidden,
        known,
    )


def _all_unpacked(answers: Generator[forks.Came, None, None]) -> Generator[Made, None, None]:
    with closing(answers):
        yield from map(_unpacked, answers)


def _unpacked(answer: forks.Came) -> Made:
    about, text, frames, lines = answer
    # The text leaves at once. Lines wait for the end, and a view would keep the text alive as long.
    return Made(msgspec.msgpack.decode(about, type=Batch), Framed((text,), frames, bytes(lines)))


def _cuts(choices: Sequence[Choice]) -> list[int]:
    """Where each batch begins, and the end."""
    cuts, size = [0], 0
    for number, choice in enumerate(choices):
        if size >= BATCH or number - cuts[-1] >= BATCH_FILES:
            cuts.append(number)
            size = 0
        size += choice.entry.size
    return [*cuts, len(choices)] if choices else [0]
