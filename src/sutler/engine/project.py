"""A project: where it is, how it is set up, and the verbs a program may use on it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypedDict, Unpack

from msgspec.structs import replace

from sutler import config
from sutler.config import Settings
from sutler.disk.root import TEMPORARY, Root
from sutler.disk.walk import scan
from sutler.engine.load import Clean
from sutler.engine.packing import Packing
from sutler.engine.place import locate, project_config
from sutler.engine.problems import Ask
from sutler.stages.choose import choose
from sutler.stages.classify import facts_of
from sutler.stages.render import require_unicode
from sutler.values.pack import Budget, CleanText, Cut, Format, Request, Selection
from sutler.values.snapshot import Excluded, Rule, ScanRules, Snapshot


class Options(TypedDict, total=False):
    """The settings that a call may give; `sutler config` describes each. They outrank files and environment."""

    include: Sequence[str]
    exclude: Sequence[str]
    depth: int
    hidden: bool
    max_files: int
    max_tokens: int
    max_chars: int
    max_bytes: int
    tier: str
    counter: str
    format: Format
    line_numbers: bool
    cut_over: int
    skip_over: int
    on_decode_error: str
    mode: str
    default_excludes: bool
    allow: Sequence[str]


class Project:
    """A folder, or several files and folders below one root.

    >>> import sutler
    >>> pack = sutler.Project("path/to/project").pack(max_tokens=20_000)   # doctest: +SKIP
    >>> text = pack.text()                                                  # doctest: +SKIP
    >>> pack.report.tokens                                                  # doctest: +SKIP
    """

    def __init__(self, *paths: str | os.PathLike[str], settings: Settings | None = None) -> None:
        self.place = locate([os.fspath(path) for path in paths], os.getcwd())
        if settings is None:
            layers = project_config(self.place.root, os.environ)
            settings = config.resolve([*layers, config.layer_from_environment(os.environ)])
        self.settings = settings
        self.outputs: tuple[str, ...] = ()

    def writing_to(self, *paths: str) -> Project:
        """The project without the files that this run writes: a pack must not pack the pack before it."""
        copy = self._copy(self.settings)
        copy.outputs = tuple(os.path.relpath(os.path.abspath(path), self.place.root) for path in paths)
        return copy

    def _copy(self, settings: Settings) -> Project:
        copy = Project.__new__(Project)
        copy.place, copy.settings, copy.outputs = self.place, settings, self.outputs
        return copy

    @property
    def name(self) -> str:
        return os.path.basename(self.place.root)

    def scan(self) -> Snapshot:
        """What is there: entries, exclusions with their rule, problems. Reads names, not contents."""
        with Root(self.place.root) as root:
            return scan(root, self.rules(), self.place.named)

    def pack(
        self, *, goal: str = "", ask: Ask | None = None, count_tokens: bool = True, **options: Unpack[Options]
    ) -> Packing:
        """A pack of the project for `goal`. Nothing is read before the pack is iterated or written."""
        require_unicode("goal", goal)
        project = self
        if options:
            project = self._copy(self.settings.overlaid(config.layer_from_table({**options}, "call")))
        counting = count_tokens and project.settings.text("counter") != "none"
        return Packing(project, project.request(goal), ask=ask, count_tokens=counting)

    def rules(self) -> ScanRules:
        settings = self.settings
        return ScanRules(
            default_excludes=settings.flag("default_excludes"),
            hidden=settings.flag("hidden"),
            depth=settings.number("depth"),
            skip_file_bytes=settings.number("skip_over") or None,
            allow=settings.words("allow"),
        )

    def request(self, goal: str = "") -> Request:
        """The settings as a request: everything that the stages may ask for."""
        settings = self.settings
        limit, unit = settings.limit()
        return Request(
            goal=goal,
            include=settings.words("include"),
            exclude=settings.words("exclude"),
            max_files=settings.number("max_files"),
            budget=Budget(limit, unit, settings.text("counter")),
            cut=Cut(max_file_bytes=settings.number("cut_over") or 0),
            format=settings.format(),
            line_numbers=settings.flag("line_numbers"),
        )

    def select(self, snapshot: Snapshot, request: Request) -> Selection:
        entries = [entry for entry in snapshot.entries if not self._ours(entry.path)]
        selection = choose(((entry, facts_of(entry.path)) for entry in entries), request)
        if len(entries) == len(snapshot.entries):
            return selection
        rule = Rule("--output", "written by sutler")
        ours = [Excluded(entry.path, "not_selected", rule) for entry in snapshot.entries if self._ours(entry.path)]
        return replace(selection, excluded=tuple(sorted((*selection.excluded, *ours), key=lambda item: item.path)))

    def _ours(self, path: str) -> bool:
        """Whether this run writes the file, or another run is writing it just now."""
        return path in self.outputs or path.endswith(TEMPORARY)

    def clean(self) -> Clean:
        """The redactor that every text passes before it is cut, counted or shown."""
        return lambda text, path: CleanText(text)
