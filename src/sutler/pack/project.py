"""Project, with the methods that pack it, and Packing, the pack that it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Unpack, cast

from msgspec.structs import replace

import sutler.config as config
from sutler.budget.selection import Cut, Request, Selection, require_detail, require_true_lines
from sutler.errors import SutlerError
from sutler.formats import require_unicode
from sutler.formats.document import Section
from sutler.pack.pipeline import make
from sutler.pack.report import Ask, Progress
from sutler.pack.scope import Scope
from sutler.pack.steps import PackRun
from sutler.scan.globs import require_globs
from sutler.store.atomic import replacing, write_atomic
from sutler.tokens.counter import counter_for, require_vocabulary

if TYPE_CHECKING:
    from sutler.budget.task_fit import Ranking
    from sutler.pack.options import Options
    from sutler.pack.report import Report
    from sutler.survey.wire import FullPack, PackConstraints, PackType, ProjectSnapshot, SummaryPack


class Packing:
    """A pack that is made while it is read. Iterate for its text, or call `text` or `write`; then
    read `report`."""

    def __init__(
        self,
        project: Project,
        request: Request,
        *,
        ask: Ask | None = None,
        count_tokens: bool = True,
    ) -> None:
        if count_tokens:
            require_vocabulary(request.budget.counter)
        self.project = project
        self.request = request
        self.progress: Progress | None = None
        self.watch: Callable[[Section], None] | None = None
        self.empty_ok = False
        self._ask = ask
        self._count_tokens = count_tokens
        self._run = self._new_run()

    @property
    def report(self) -> Report:
        if self._run.report is None:
            raise SutlerError(
                "the pack has not been read yet",
                next_step="iterate over it, or call text() or write()",
            )
        return self._run.report

    @property
    def chosen(self) -> tuple[Selection, Ranking | None]:
        """Files that might have entered, and the ranking if there was one."""
        return self._run.selection, self._run.ranking

    def text(self) -> str:
        return b"".join(self.encoded()).decode()

    def write(self, path: str) -> Report:
        """Write the pack to `path` atomically: an old file stays until the new one is complete."""
        with replacing(path) as write:
            for piece in self.encoded():
                write(piece)
        return self.report

    def encoded(self) -> Iterator[bytes]:
        """Return the text as UTF-8 in large blocks, so that writing takes few system calls."""
        return make(self._started())

    def write_parts(self, size: int, name: Callable[[int], str]) -> int:
        """Write the pack as several complete packs of at most `size` each, in the budget's unit;
        return their number."""
        from sutler.formats.split import split_text

        budget = self.request.budget
        count = counter_for(budget.unit, budget.counter)
        texts = split_text(self.text(), self.request.format, size, count)
        for number, text in enumerate(texts, 1):
            write_atomic(name(number), [text.encode()])
        return len(texts)

    def quotable(self, text: str) -> str:
        """Redact a short text for a summary or a record, unless redaction is off."""
        return self._run.quotable(text)

    def __iter__(self) -> Iterator[str]:
        return (block.decode() for block in self.encoded())

    def _new_run(self) -> PackRun:
        return PackRun(self.project, self.request, self._ask, count_tokens=self._count_tokens)

    def _started(self) -> PackRun:
        """Return a new run, since a pack may be read more than once and the tree may have changed
        between."""
        self._run = run = self._new_run()
        run.progress, run.watch, run.empty_ok = self.progress, self.watch, self.empty_ok
        return run


class Project(Scope):
    """A folder, or several files and folders below one root.

    >>> import sutler
    >>> pack = sutler.Project("path/to/project").pack(max_tokens=20_000)   # doctest: +SKIP
    >>> text = pack.text()                                                  # doctest: +SKIP
    >>> pack.report.tokens                                                  # doctest: +SKIP"""

    def pack(
        self,
        *,
        goal: str = "",
        ask: Ask | None = None,
        count_tokens: bool = True,
        since: str = "",
        diff: bool = False,
        log: int = 0,
        header: str = "",
        instructions: str = "",
        **options: Unpack[Options],
    ) -> Packing:
        """Return a pack of the project for `goal`. Nothing is read before the pack is iterated or
        written.

        `since` puts the files changed since a revision first, `diff` adds the diff against it,
        `log` the last commits. `header` is printed before the files, `instructions` after them."""
        for name, text in (("goal", goal), ("header", header), ("instructions", instructions)):
            require_unicode(name, text)
        project = self
        if options:
            project = self._copy(
                self.settings.overlaid(config.layer_from_table({**options}, "call"))
            )
        counting = count_tokens and project.settings.text("counter") != "none"
        request = replace(
            project.request(goal),
            since=since,
            diff=diff,
            log=log,
            header=header,
            instructions=instructions,
        )
        if request.reviews:  # its diff is whole while the budget has room, however long
            request = replace(request, cut=Cut(max_file_bytes=0))
        require_true_lines(request)
        require_detail(request)
        # A faulty glob is refused before the tree is scanned.
        if globs := (*request.include, *request.exclude):
            require_globs(globs)
        return Packing(project, request, ask=ask, count_tokens=counting)

    def snapshot(self) -> ProjectSnapshot:
        """Return seed 004's ProjectSnapshot: tree, totals, metadata, exclusions and their
        statistics."""
        from sutler.pack import documents

        return documents.snapshot_of(self)

    def select_pack(self, constraints: PackConstraints | None = None) -> tuple[PackType, str]:
        """Return full or summary, and the reason, as seed 004's PackSelector does. Without
        constraints the settings apply."""
        from sutler.pack import documents

        return documents.select_type(self, constraints or documents.constraints_of(self.settings))

    def full_pack(self, constraints: PackConstraints | None = None) -> FullPack:
        """Return seed 004's FullPack, from clean text."""
        from sutler.pack import documents

        limits = constraints or documents.constraints_of(self.settings)
        return cast("FullPack", documents.make_full(self, limits).document)

    def summary_pack(self, constraints: PackConstraints | None = None) -> SummaryPack:
        """Return seed 004's SummaryPack, from clean text."""
        from sutler.pack import documents

        limits = constraints or documents.constraints_of(self.settings)
        return cast("SummaryPack", documents.make_summary(self, limits).document)
