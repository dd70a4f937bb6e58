"""Project with all verbs of the Python API: those of packs, and those that use a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from msgspec import Struct

from sutler.config import Settings
from sutler.goals import gather as gathering
from sutler.goals import runner
from sutler.goals.ceiling import Ceiling, ceiling_of
from sutler.goals.gather import Gathering, Ground
from sutler.goals.model_command import Model
from sutler.goals.redactions import Redactions
from sutler.goals.runner import Chosen, Hooks, Job, Prompt
from sutler.pack import project
from sutler.scan.judge import rules_for

PROPOSED = 8
"""Files that ranking proposes to gather before the model is asked."""
NO_PARAMETERS: Mapping[str, str] = {}


class GoalRun(Struct, frozen=True):
    """A goal's prompt, the model's answer (empty without a model), warnings, and the number of
    redactions by file and rule."""

    prompt: Prompt
    answer: str = ""
    notes: tuple[str, ...] = ()
    redactions: Mapping[str, Mapping[str, int]] = {}

    @property
    def text(self) -> str:
        """The prompt as it was sent."""
        return self.prompt.text


class Project(project.Project):
    """A folder, or several files and folders below one root.

    >>> import sutler
    >>> pack = sutler.Project("path/to/project").pack(max_tokens=20_000)   # doctest: +SKIP
    >>> text = pack.text()                                                  # doctest: +SKIP
    >>> project.run_goal("review", model=ask, max_tokens=30_000).answer     # doctest: +SKIP
    >>> project.gather("how are carts priced?", ask).files                  # doctest: +SKIP"""

    def run_goal(
        self,
        goal: str,
        *,
        parameters: Mapping[str, str] = NO_PARAMETERS,
        context: Sequence[str] = (),
        chosen: Chosen = runner.NOTHING_CHOSEN,
        max_tokens: int | None = None,
        model: Model | None = None,
    ) -> GoalRun:
        """Render a goal with its files and, with a `model` (a function from a prompt to an answer),
        send it. A problem with a file is a RefusedError; a script that is not trusted is a
        DeniedError.

        `context` takes paths below the root, globs and `PATH:10-40`; `max_tokens` is a ceiling of
        the whole prompt."""
        redactions, notes = self._redactions(), list[str]()
        job = Job(
            goal=goal,
            words=tuple(f"--{name}={value}" for name, value in parameters.items()),
            paths=tuple(context),
            cwd=self.place.root,
            environ=dict(os.environ),
            mode="strict",
            chosen=chosen,
            ceiling=_ceiling(max_tokens, self.settings),
            settings=self.settings,
        )
        hooks = Hooks(note=notes.append, clean=redactions, count=redactions.count)
        prompt = runner.run(job, hooks)
        answer = model(prompt.text) if model else ""
        return GoalRun(prompt, answer, tuple(notes), redactions.by_path)

    def gather(
        self, request: str, model: Model, *, max_tokens: int | None = None, rank: bool = False
    ) -> Gathering:
        """Let a model ask for the files it needs. `request` may end in `options:` and their pairs;
        `max_tokens` is a ceiling of every question; `rank` proposes the first files. Two unreadable
        answers in a row are an UnreadableAnswerError, which holds the files so far."""
        ground = Ground(
            self.place.root,
            self._redactions(),
            _ceiling(max_tokens, self.settings),
            rules_for(self.settings, "gather"),
        )
        return gathering.gather(request, ground, model, first=self.proposed if rank else None)

    def _redactions(self) -> Redactions:
        return Redactions(self.numbered().clean())

    def proposed(self, request: str) -> Sequence[str]:
        """Return the files that rank best for a request."""
        return [row.path for row in self.ranking(self.scan(), request).ranked[:PROPOSED]]


def _ceiling(max_tokens: int | None, settings: Settings) -> Ceiling | None:
    # A ceiling in tokens needs a vocabulary, even if reports count no tokens.
    counter = settings.text("counter")
    return ceiling_of(max_tokens, "tokens", "o200k_base" if counter == "none" else counter)
