"""A project, the verbs that a program may use on it, and the pack that it makes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Self, Unpack, cast

from msgspec.structs import replace

import sutler.config as config
from sutler.budget.selection import (
    Budget,
    Cut,
    Request,
    Selection,
    Standing,
    choose,
    parse_detail,
    require_detail,
    require_true_lines,
)
from sutler.config import Settings, Unit
from sutler.errors import SutlerError
from sutler.formats import require_unicode
from sutler.formats.document import CleanText, Section
from sutler.pack.cache import cache_for
from sutler.pack.pipeline import make
from sutler.pack.report import Ask
from sutler.pack.steps import PackRun, Progress
from sutler.pack.tree_secrets import TreeSecrets
from sutler.paths import RelPath
from sutler.scan.classify import facts_of
from sutler.scan.globs import require_globs
from sutler.scan.judge import rules_for
from sutler.scan.place import Place, locate, project_config
from sutler.scan.root import TEMPORARY, Root
from sutler.scan.snapshot import Excluded, FileEntry, FileFacts, Rule, ScanRules, Snapshot
from sutler.scan.walk import scan
from sutler.secrets.cleaner import PER_FILE, Clean, cleaner, masked, numbered, told
from sutler.store import home
from sutler.store.atomic import replacing, write_atomic
from sutler.tokens.counter import counter_for, require_vocabulary

if TYPE_CHECKING:
    from sutler.budget.task_fit import Ranking
    from sutler.pack.changes import Changes
    from sutler.pack.options import Options
    from sutler.pack.report import Report
    from sutler.ranking.score import Ranked
    from sutler.secrets.cleaner import Numbering
    from sutler.survey.wire import FullPack, PackConstraints, PackType, ProjectSnapshot, SummaryPack


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
    def scores(self) -> dict[str, float]:
        """Scores of the ranking by path, if there was one."""
        return self._run.scores

    @property
    def ranked(self) -> dict[str, Ranked]:
        """The ranking by path, with reasons and signals, if there was one."""
        return self._run.ranked

    @property
    def sizes(self) -> dict[str, int]:
        """The sizes of files that might have entered, if the run was watched."""
        return self._run.sizes

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
        run.progress, run.watch, run.empty_ok = self.progress, self.watch, self.empty_ok
        return run


Tell = Callable[[str, int, int], None]
"""Progress callback (step, done, total); total is 0 while unknown."""

Readable = Callable[[Iterable[FileEntry]], Iterable[FileEntry]]
"""Those of some files that a caller may read, in their order."""

Classified = Sequence[tuple[FileEntry, FileFacts]]
"""Every file of a snapshot with what its name says about it."""

WITHHELD = Rule("policy", "kept back from this caller")
GOAL_LIMIT: tuple[tuple[int, Unit], tuple[int, Unit]] = ((60_000, "chars"), (16_000, "tokens"))
"""The ceiling of a pack for a goal without a budget: where no tokens are counted, and where they
are.
"""
UNTICKED = Rule("selection", "unticked by you")
RANKED = 500
"""Files that get a rank; what comes after them has next to nothing to do with the task."""


class Project:
    """A folder, or several files and folders below one root.

    >>> import sutler
    >>> pack = sutler.Project("path/to/project").pack(max_tokens=20_000)   # doctest: +SKIP
    >>> text = pack.text()                                                  # doctest: +SKIP
    >>> pack.report.tokens                                                  # doctest: +SKIP
    """

    def __init__(
        self,
        *paths: str | os.PathLike[str],
        settings: Settings | None = None,
        cwd: str | None = None,
        root: Root | None = None,
    ) -> None:
        """`root`: a directory that is open already; nothing is read by its path."""
        if root is not None:
            self.place = Place(root.host_path)
        else:
            self.place = locate([os.fspath(path) for path in paths], cwd or os.getcwd())
        self._opened = [root] if root is not None else []
        if settings is None:
            anchor = root.anchor if root is not None else self.place.root
            layers = project_config(anchor, os.environ)
            settings = config.resolve([*layers, config.layer_from_environment(os.environ)])
        self.settings = settings
        self.outputs: tuple[str, ...] = ()
        self.unticked: frozenset[str] = frozenset()
        self.tell: Tell | None = None
        self._readable: Readable | None = None
        self._numbering: Numbering | None = None
        self._secrets: list[TreeSecrets] = []
        self._private = home.own_folders(self.place.root, os.environ) or ("\0",)

    def writing_to(self, *paths: str) -> Self:
        """The project without the files that this run writes: a pack must not pack the pack before
        it.
        """
        copy = self._copy(self.settings)
        copy.outputs = tuple(
            os.path.relpath(os.path.abspath(path), self.place.root) for path in paths
        )
        return copy

    def only(self, paths: Iterable[str]) -> Self:
        """The project reduced to these files of it, as if each had been named."""
        copy = self._copy(self.settings)
        copy.place = Place(self.place.root, tuple(RelPath(path) for path in sorted(set(paths))))
        return copy

    def seen_by(self, readable: Readable) -> Self:
        """The project as a caller sees it who may read only what `readable` keeps: asked anew of
        every scan, so that a file which comes between two of them is judged too.
        """
        copy = self._copy(self.settings)
        copy._readable = readable
        return copy

    def numbered(self) -> Self:
        """The project whose clean texts carry ordinals instead of tags, counted over all texts of
        one document.
        """
        if self._numbering is not None:
            return self
        from sutler.secrets.cleaner import Numbering

        copy = self._copy(self.settings)
        copy._numbering = Numbering()
        return copy

    def unticking(self, paths: Iterable[str]) -> Self:
        """The project without these very files, as a person who looks at a list unticks them."""
        copy = self._copy(self.settings)
        copy.unticked = frozenset(paths)
        return copy

    def _copy(self, settings: Settings) -> Self:
        copy = type(self).__new__(type(self))
        copy.place, copy.settings, copy.outputs = self.place, settings, self.outputs
        copy.unticked, copy.tell = self.unticked, self.tell
        copy._private, copy._readable = self._private, self._readable
        copy._numbering = self._numbering
        copy._opened = self._opened
        copy._secrets = self._secrets if settings is self.settings else []
        return copy

    def opened(self) -> Root:
        """The root, opened once for this project and its copies. Refuse if its path names another
        directory by now.
        """
        if not self._opened:
            self._opened.append(Root(self.place.root))
        root = self._opened[0]
        root.require_place()
        return root

    @property
    def unrestricted(self) -> bool:
        """Whether no caller's policy limits what is seen of the project."""
        return self._readable is None

    @property
    def name(self) -> str:
        return os.path.basename(self.place.root)

    def scan(self) -> Snapshot:
        """What is there: entries, exclusions with their rule, problems. Reads names, not
        contents.
        """
        snapshot = self.found()
        return masked(snapshot, self.clean(len(snapshot.entries) * PER_FILE))

    def found(self) -> Snapshot:
        """As `scan`, but with names as they are. Not fit to be shown."""
        tell = self.tell
        counted = None if tell is None else lambda count: tell("scanning", count, 0)
        snapshot = scan(self.opened(), self.rules(), self.place.named, counted)
        if self.unticked:
            snapshot = _without(snapshot, self.unticked, UNTICKED)
        if self._readable is None:
            return snapshot
        readable = {entry.path for entry in self._readable(snapshot.entries)}
        denied = {entry.path for entry in snapshot.entries} - readable
        return _without(snapshot, denied, WITHHELD) if denied else snapshot

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
        """A pack of the project for `goal`. Nothing is read before the pack is iterated or written.
        `since` puts the files changed since a revision first, `diff` adds the diff against it,
        `log` the last commits. `header` is printed before the files, `instructions` behind them.
        """
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
        require_true_lines(request)
        require_detail(request)
        # A faulty glob is refused before the tree is scanned.
        require_globs((*request.include, *request.exclude))
        return Packing(project, request, ask=ask, count_tokens=counting)

    def snapshot(self) -> ProjectSnapshot:
        """Seed 004's ProjectSnapshot: tree, totals, metadata, exclusions and their statistics."""
        from sutler.pack import documents

        return documents.snapshot_of(self)

    def select_pack(self, constraints: PackConstraints | None = None) -> tuple[PackType, str]:
        """Seed 004's PackSelector: full or summary, and the reason. Without constraints the
        settings are asked.
        """
        from sutler.pack import documents

        return documents.select_type(self, constraints or documents.constraints_of(self.settings))

    def full_pack(self, constraints: PackConstraints | None = None) -> FullPack:
        """Seed 004's FullPack, from clean text."""
        from sutler.pack import documents

        made = documents.make_full(self, constraints or documents.constraints_of(self.settings))
        return cast("FullPack", made.document)

    def summary_pack(self, constraints: PackConstraints | None = None) -> SummaryPack:
        """Seed 004's SummaryPack, from clean text."""
        from sutler.pack import documents

        made = documents.make_summary(self, constraints or documents.constraints_of(self.settings))
        return cast("SummaryPack", made.document)

    def rules(self) -> ScanRules:
        return rules_for(self.settings, "pack")

    def request(self, goal: str = "") -> Request:
        """The settings as a request: everything that the stages may ask for."""
        settings = self.settings
        limit, unit = settings.limit()
        if goal and not settings.has_budget:
            limit, unit = GOAL_LIMIT[settings.text("counter") != "none"]
        return Request(
            goal=goal,
            include=settings.words("include"),
            exclude=settings.words("exclude"),
            max_files=settings.number("max_files"),
            budget=Budget(limit, unit, settings.text("counter")),
            cut=Cut(max_file_bytes=settings.number("cut_over") or 0),
            format=settings.format(),
            line_numbers=settings.flag("line_numbers"),
            fill=settings.flag("fill"),
            stop=settings.share("stop"),
            stable_order=settings.flag("stable_order"),
            transforms=settings.words("transforms"),
            detail=parse_detail(settings.words("detail")),
        )

    def ranking(self, snapshot: Snapshot, task: str) -> Ranking:
        """The files of a snapshot in the order of their worth for a task."""
        from sutler.budget.task_fit import Ranking
        from sutler.ranking import rank
        from sutler.ranking.index import Reader
        from sutler.ranking.index_file import DamagedError
        from sutler.ranking.kept_index import index_of, past_of

        entries = [entry for entry in snapshot.entries if not self.ours(entry.path)]
        settings = self.settings.overlaid(config.layer_from_table({"redact": True}, "index"))
        root = self.opened()
        size = sum(entry.size + PER_FILE for entry in entries)
        past = past_of(root, os.environ)
        if self.settings.flag("redact"):
            task = self.secrets.unmarked(task)

        def ranked() -> Ranking:
            index = index_of(
                entries,
                root,
                numbered(self.secrets.hiding(cleaner(settings, size))),  # tags have no score
                os.environ,
                self.tell,
                self.place.named,
            )
            reader = Reader(index)
            return Ranking(task, reader, rank(reader, task, past, limit=RANKED))

        try:
            return ranked()
        except DamagedError:  # the damaged one is gone, so there will be a new one
            return ranked()

    def changes(
        self, snapshot: Snapshot, asked: Request, numbering: Numbering | None = None
    ) -> Changes:
        from sutler.pack.changes import changes_of

        # A pack hides the secrets of other files itself, when all are known.
        clean = self.clean() if numbering is None else numbered(self.plain_clean(), numbering)
        return changes_of(self.opened(), snapshot, asked, clean)

    def standing(self, classified: Classified) -> Standing:
        """Which files matter most, by what uses them: the order of a limited pack without a task."""
        from time import time_ns

        from sutler.pack.sources import central_files
        from sutler.survey.keys import key_files

        with Root(self.place.root) as root:
            users = central_files(root, classified, time_ns(), os.environ)
        keys = frozenset(entry.path for entry, _ in key_files(classified, users))
        return Standing(keys, users)

    def select(self, snapshot: Snapshot, request: Request) -> Selection:
        """Classify and choose, without a task."""
        return self.choose(self.classify(snapshot), request)

    def classify(self, snapshot: Snapshot) -> Classified:
        return [(entry, facts_of(entry.path)) for entry in snapshot.entries]

    def choose(
        self,
        classified: Classified,
        request: Request,
        ranking: Ranking | None = None,
        changed: Changes | None = None,
        standing: Standing | None = None,
    ) -> Selection:
        """The files that enter, in the order of their claim; what this run writes stays out."""
        ours = [entry for entry, _ in classified if self.ours(entry.path)]
        if ours:
            written = {entry.path for entry in ours}  # many, if our own cache lies in the project
            classified = [pair for pair in classified if pair[0].path not in written]
        scores = None
        if ranking is not None:
            scores = {one.path: (one.score, "; ".join(one.reasons[:2])) for one in ranking.ranked}
        since = f"changed since {changed.since}" if changed else ""
        pins = {str(path): since for path in changed.paths} if changed else None
        selection = choose(classified, request, scores, pins, standing)
        if changed and changed.texts:
            texts = tuple(material.choice for material in changed.texts)
            selection = replace(selection, choices=texts + selection.choices)
        if not ours:
            return selection
        rule = Rule("--output", "written by sutler")
        out = (*selection.excluded, *(Excluded(e.path, "not_selected", rule) for e in ours))
        return replace(selection, excluded=tuple(sorted(out, key=lambda item: item.path)))

    def ours(self, path: str) -> bool:
        """Whether this run writes the file, or another run is writing it just now."""
        return path in self.outputs or path.endswith(TEMPORARY) or path.startswith(self._private)

    def clean(self, size: int = 0) -> Clean:
        """The redactor that every text passes before it is cut, counted or shown; `size` is how
        much is to come.
        """
        clean = cleaner(self.settings, size)
        if self.settings.flag("redact"):
            clean = self.secrets.hiding(clean)
        return clean if self._numbering is None else numbered(clean, self._numbering)

    def quotable(self, text: str) -> str:
        """Words for a person or a record that may quote a name or an argument. The user's
        allow-list does not count here, and nothing is quoted with a secret in it.
        """
        values = self.secrets.values()
        shown = CleanText(told(text))
        return (values.hide(shown) if values is not None else shown).text

    def plain_clean(self, size: int = 0) -> Clean:
        """The redactor of a text by itself, which knows nothing of other files."""
        return cleaner(self.settings, size)

    @property
    def secrets(self) -> TreeSecrets:
        """The secrets of the whole tree, shared with copies of this project."""
        if not self._secrets:
            whole = partial(_whole_tree, self.opened, self.rules())
            clean = partial(cleaner, self.settings)
            root, request = self.place.root, self.request()
            cache = partial(cache_for, root, self.settings, request, os.environ)
            self._secrets.append(TreeSecrets(self.opened, whole, clean, self.settings, cache))
        return self._secrets[0]

    @property
    def sees_all(self) -> bool:
        """Whether `found` scans the whole tree."""
        return self._readable is None and not self.place.named and not self.unticked


def _whole_tree(opened: Callable[[], Root], rules: ScanRules) -> Snapshot:
    return scan(opened(), rules)


def _without(snapshot: Snapshot, paths: Set[str], rule: Rule) -> Snapshot:
    """The snapshot with these files excluded by `rule`."""
    dropped = [
        Excluded(entry.path, "not_selected", rule)
        for entry in snapshot.entries
        if entry.path in paths
    ]
    excluded = sorted((*snapshot.excluded, *dropped), key=lambda item: item.path)
    entries = tuple(entry for entry in snapshot.entries if entry.path not in paths)
    return replace(snapshot, entries=entries, excluded=tuple(excluded))
