"""A pack as programs use it: iterate, or call `text` or `write`; then read its report."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sutler.budget.selection import Request
from sutler.errors import SutlerError
from sutler.formats.document import Section
from sutler.pack.pipeline import make
from sutler.pack.steps import PackRun, Progress
from sutler.store.atomic import replacing, write_atomic
from sutler.tokens.counter import counter_for, require_vocabulary

if TYPE_CHECKING:
    from sutler.pack.project import Project
    from sutler.pack.report import Ask, Report


class Packing:
    """A pack that is made while it is read. Iterate for its text, or call `text` or `write`; then
    read `report`.
    """

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
    def scores(self) -> dict[str, float]:
        """Scores of the ranking by path, if there was one."""
        return self._run.scores

    def text(self) -> str:
        return b"".join(self.encoded()).decode()

    def write(self, path: str) -> Report:
        """Write the pack to `path`, all of it or nothing: an old file stays until the new one is
        whole.
        """
        with replacing(path) as write:
            for run in make(self._started()):
                write(run)
        return self.report

    def encoded(self) -> Iterator[bytes]:
        """The text as UTF-8 in blocks of some size, so that writing costs few system calls."""
        return map(b"".join, make(self._started()))

    def write_parts(self, size: int, name: Callable[[int], str]) -> int:
        """Write the pack as several complete packs of at most `size` each, in the budget's unit;
        returns how many.
        """
        from sutler.pack.parts import split_text

        budget = self.request.budget
        count = counter_for(budget.unit, budget.counter)
        texts = split_text(self.text(), self.request.format, size, count)
        for number, text in enumerate(texts, 1):
            write_atomic(name(number), [text.encode()])
        return len(texts)

    def quotable(self, text: str) -> str:
        """A short text as a summary or a record may quote it: redacted, unless redaction is off."""
        return self._run.quotable(text)

    def __iter__(self) -> Iterator[str]:
        return (block.decode() for block in self.encoded())

    def _new_run(self) -> PackRun:
        return PackRun(self.project, self.request, self._ask, count_tokens=self._count_tokens)

    def _started(self) -> PackRun:
        """A new run, since a pack may be read more than once and the tree may have changed
        between.
        """
        self._run = run = self._new_run()
        run.progress, run.watch = self.progress, self.watch
        return run
